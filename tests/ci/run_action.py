#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a workflow's job here, as far as the examples and action.yml need it.

    run_action.py --action FOLDER --workspace FOLDER --artifacts FOLDER WORKFLOW

Steps with `run` run in the workspace. A step that uses OWNER/rnicd runs action.yml of the
folder, actions/checkout has happened, and actions/upload-artifact copies. Variables, paths and
outputs go from step to step by files, as on GitHub. Exit status 0 when the job succeeds, else 1. Of
expressions there are: inputs.X, steps.X.outputs.Y, failure(), words in quotes, ==, !=, && and ||.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

SHELLS = {None: ["bash", "-e"], "bash": ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"]}
FILES = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT")


class Scope:
    """What the expressions of a job, or of an action, refer to."""

    def __init__(self, inputs):
        self.inputs = inputs
        self.outputs = {}
        self.failed = False

    def value(self, word):
        if word.startswith("'"):
            return word[1:-1]
        if word == "failure()":
            return self.failed
        if match := re.fullmatch(r"inputs\.([\w-]+)", word):
            return self.inputs[match[1]]
        if match := re.fullmatch(r"steps\.([\w-]+)\.outputs\.([\w-]+)", word):
            return self.outputs.get(match[1], {}).get(match[2], "")
        sys.exit(f"run_action.py does not know the expression {word}")

    def compare(self, text):
        match = re.fullmatch(r"(\S+) (==|!=) (\S+)", text)
        if not match:
            return self.value(text)
        is_equal = self.value(match[1]) == self.value(match[3])
        return is_equal if match[2] == "==" else not is_equal

    def condition(self, text):
        """Without a status function, a step runs only while nothing has failed."""
        if text is None:
            return not self.failed
        holds = any(all(self.compare(part.strip()) for part in side.split("&&"))
                    for side in text.split("||"))
        return bool(holds) and ("failure()" in text or not self.failed)

    def substitute(self, value):
        if isinstance(value, bool):
            return str(value).lower()
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda m: str(self.value(m[1])), str(value))


class Job:
    def __init__(self, arguments, environment):
        self.action = pathlib.Path(arguments.action).resolve()
        self.workspace = arguments.workspace
        self.artifacts = pathlib.Path(arguments.artifacts)
        self.environment = {**os.environ, **environment, "GITHUB_JOB": "test"}

    def run_shell(self, step, scope):
        with tempfile.TemporaryDirectory() as folder:
            files = {name: pathlib.Path(folder, name) for name in FILES}
            for file in files.values():
                file.touch()
            environment = {**self.environment, **{name: str(file) for name, file in files.items()},
                           "GITHUB_ACTION_PATH": str(self.action)}
            for name, value in step.get("env", {}).items():
                environment[name] = scope.substitute(value)
            script = pathlib.Path(folder, "step")
            script.write_text(scope.substitute(step["run"]))
            status = subprocess.run([*SHELLS[step.get("shell")], str(script)], env=environment,
                                    cwd=self.workspace, check=False).returncode
            self.take_files(step, scope, files)
        return status == 0

    def take_files(self, step, scope, files):
        def pairs(name):
            return dict(line.split("=", 1) for line in files[name].read_text().splitlines())

        self.environment.update(pairs("GITHUB_ENV"))
        for line in files["GITHUB_PATH"].read_text().splitlines():
            self.environment["PATH"] = f"{line}:{self.environment['PATH']}"
        if "id" in step:
            scope.outputs[step["id"]] = pairs("GITHUB_OUTPUT")

    def run_action(self, step):
        action = yaml.safe_load((self.action / "action.yml").read_text())
        inputs = {name: entry["default"] for name, entry in action["inputs"].items()}
        for name, value in step.get("with", {}).items():
            if name not in inputs:
                sys.exit(f"action.yml has no input {name}")
            inputs[name] = Scope({}).substitute(value)
        return self.run_steps(action["runs"]["steps"], Scope(inputs))

    def upload(self, step, scope):
        values = {name: scope.substitute(value) for name, value in step["with"].items()}
        if not values["name"]:
            sys.exit("an artifact needs a name")
        shutil.copytree(values["path"], self.artifacts / values["name"])
        return True

    def run_step(self, step, scope):
        uses = step.get("uses", "")
        print(f"== {step.get('name') or uses or step['run']}", flush=True)
        if "run" in step:
            return self.run_shell(step, scope)
        if uses.startswith("OWNER/rnicd@"):
            return self.run_action(step)
        if uses.startswith("actions/upload-artifact@"):
            return self.upload(step, scope)
        if uses.startswith("actions/checkout@"):
            return True
        sys.exit(f"run_action.py does not know {uses}")

    def run_steps(self, steps, scope):
        for step in steps:
            if scope.condition(step.get("if")) and not self.run_step(step, scope):
                scope.failed = True
        return not scope.failed


def main():
    parser = argparse.ArgumentParser()
    for option in ("--action", "--workspace", "--artifacts"):
        parser.add_argument(option, required=True)
    parser.add_argument("workflow")
    arguments = parser.parse_args()
    workflow = yaml.safe_load(pathlib.Path(arguments.workflow).read_text())
    (job,) = workflow["jobs"].values()
    succeeds = Job(arguments, workflow.get("env", {})).run_steps(job["steps"], Scope({}))
    print(f"== the job {'succeeds' if succeeds else 'fails'}")
    return 0 if succeeds else 1


if __name__ == "__main__":
    sys.exit(main())

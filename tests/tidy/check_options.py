#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_options.py --tree DIR --cmake CMAKE --compiler CC [--verbs]

A core build, -DRNIC_APIS=OFF -DRNIC_LAB=OFF -DRNIC_SERVE=OFF, needs the libraries of CORE and no
others. Each configuration below finds the pkg-config files of its libraries alone. The
configuration must succeed, and its link commands must name its libraries alone; a configuration
that lacks libraries must fail and name their packages, all of them and no others. Nothing is built.
--verbs says that rdma-core's headers are there.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CORE = {"libisal", "jansson", "libmnl", "libseccomp"}
URING = {"liburing"}
APIS = {"libprotobuf-c"}
LAB = {"libcrypto"}
# The names of the libraries for the linker. libev brings no pkg-config file. cmocka is for tests,
# and the distribution's libibverbs for a test program of the emulated machine.
LINKER_NAMES = {
    "libisal": "isal", "jansson": "jansson", "libmnl": "mnl", "liburing": "uring",
    "libprotobuf-c": "protobuf-c", "libseccomp": "seccomp", "libcrypto": "crypto",
}
ALWAYS_LINKED = {"ev", "pthread", "cmocka"}
# The packages, as in tools/packages.txt.
PACKAGES = {
    "libisal": "libisal-dev", "jansson": "libjansson-dev", "libmnl": "libmnl-dev",
    "libprotobuf-c": "libprotobuf-c-dev", "libseccomp": "libseccomp-dev",
    "libcrypto": "libssl-dev",
}
# Programs that a build without the library must not look for.
PROGRAMS = {"libprotobuf-c": "PROTOC_C"}

OFF = {"RNIC_APIS": "OFF", "RNIC_LAB": "OFF", "RNIC_SERVE": "OFF",
       "RNIC_VERBS": "OFF", "RNIC_URING": "auto"}

# options that are not OFF's, libraries at hand, whether the configuration succeeds
CASES = [
    ({}, CORE | URING, True),
    ({"RNIC_APIS": "ON"}, CORE, False),
    ({"RNIC_APIS": "ON"}, CORE | APIS, True),
    ({"RNIC_SERVE": "ON"}, CORE, True),
]
VERBS_CASES = [
    ({"RNIC_VERBS": "ON", "RNIC_URING": "off"}, CORE | URING, True),
    ({"RNIC_VERBS": "ON", "RNIC_LAB": "ON"}, CORE, False),
    ({"RNIC_VERBS": "ON", "RNIC_LAB": "ON"}, CORE | LAB, True),
]
CORE_CASES = [({}, CORE, True), ({"RNIC_APIS": "ON"}, set(), False)]
CORE_CASES += [({}, CORE - {library}, False) for library in sorted(CORE)]


def pkg_config_file(library):
    folder = subprocess.run(["pkg-config", "--variable=pcfiledir", library],
                            capture_output=True, text=True, check=True).stdout.strip()
    return pathlib.Path(folder) / f"{library}.pc"


def linked_libraries(build):
    """The system's libraries in the link commands of a configured tree."""
    text = (build / "build.ninja").read_text(encoding="utf-8")
    words = " ".join(re.findall(r"^  LINK_LIBRARIES = (.*)$", text, re.MULTILINE)).split()
    names = set()
    for word in words:
        match = re.fullmatch(r"-l(\S+)|/\S*/lib([^/]+)\.(?:so|a)", word)
        if match and not word.startswith(str(build)):
            names.add(match[1] or match[2])
    return names


def judge(arguments, case):
    """What is wrong with a case; nothing when all is well."""
    options, libraries, succeeds = case
    name = " ".join(f"-D{key}={value}" for key, value in options.items()) or "core"
    name = f"{name}, with {' '.join(sorted(libraries))}"
    with tempfile.TemporaryDirectory() as folder:
        found, build = pathlib.Path(folder, "pkgconfig"), pathlib.Path(folder, "build")
        found.mkdir()
        for library in libraries:
            (found / f"{library}.pc").symlink_to(pkg_config_file(library))
        command = [arguments.cmake, "-G", "Ninja", "-S", arguments.tree, "-B", str(build),
                   f"-DCMAKE_C_COMPILER={arguments.compiler}", "-DRNIC_TESTS=ON"]
        command += [f"-D{key}={value}" for key, value in {**OFF, **options}.items()]
        environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(found), "PKG_CONFIG_PATH": ""}
        result = subprocess.run(command, env=environment, capture_output=True, text=True,
                                check=False)
        if (result.returncode == 0) != succeeds:
            return f"{name}: CMake's status is {result.returncode}\n{result.stderr}"
        if not succeeds:
            needed = CORE | (APIS if "RNIC_APIS" in options else set())
            needed |= LAB if "RNIC_LAB" in options else set()
            missing = {PACKAGES[library] for library in needed - libraries}
            named = set(re.findall(r"\blib\S+-dev\b", result.stderr))
            return "" if named == missing else f"{name}: names {' '.join(sorted(named))}"
        allowed = ALWAYS_LINKED | {LINKER_NAMES[library] for library in libraries}
        if options.get("RNIC_VERBS") == "ON":
            allowed.add("ibverbs")  # verbs_puppet
        if options.get("RNIC_SERVE") == "ON":
            allowed.add("microhttpd")  # found without pkg-config
        if options.get("RNIC_URING") == "off":
            allowed.discard("uring")
        linked = linked_libraries(build)
        if not linked <= allowed or "isal" not in linked:
            return f"{name}: links {' '.join(sorted(linked))}"
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
        for library, program in PROGRAMS.items():
            if library not in libraries and f"\n{program}:" in cache:
                return f"{name}: looked for {program}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--verbs", action="store_true")
    arguments = parser.parse_args()
    cases = CORE_CASES + CASES + (VERBS_CASES if arguments.verbs else [])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [fault for fault in pool.map(lambda case: judge(arguments, case), cases) if fault]
    for fault in faults:
        print(fault)
    print(f"{len(cases) - len(faults)} of {len(cases)} configurations need what they should")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

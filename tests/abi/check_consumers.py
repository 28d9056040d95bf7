#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_consumers.py --cmake CMAKE --build BUILD --compiler CC [--sysroot DIR] [--apis]

Programs that find an installation by pkg-config, and by CMake, compile without a warning, link and
run. One of them is the program in rnic(7).
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

from installed_tree import tree_of_arguments

PROGRAM = """#include <{header}>
#include <errno.h>
#include <stdio.h>

int main(void)
{{
	{call};
	return 0;
}}
"""

# pkg-config's name -> header, call, CMake's targets; rnic's program is that of the manual.
MODULES = {
    "rnic-rdma": ("rnic/rdma.h", "puts(rdma_strerror(EBADF))", "rnic::rdma"),
    "rnic-connection": ("rnic/connection.h", "iw_pd_free(NULL)", "rnic::connection"),
    "rnic-rpc": ("rnic/rpc.h", "puts(rnic_rpc_status_text(RNIC_RPC_OK))", "rnic::rpc"),
    "rdma": ("rdma.h", "puts(rdma_strerror(EBADF))", "rnic::rdma rnic::compat"),
    "iwarp": ("iwarp.h", "iw_pd_free(NULL)", "rnic::connection rnic::compat"),
}

PROJECT = """cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C)
set(CMAKE_C_FLAGS "-Wall -Werror")
find_package(rnic {version} REQUIRED COMPONENTS {components})
foreach(wanted "99.0" "0.0" "{version};COMPONENTS;of_no_library")
  unset(rnic_DIR CACHE)
  find_package(rnic ${{wanted}} QUIET)
  if(rnic_FOUND)
    message(FATAL_ERROR "there is a package rnic ${{wanted}}")
  endif()
endforeach()
"""


def manual_program(tree):
    text = (tree.root / "share/man/man7/rnic.7").read_text(encoding="utf-8")
    program = re.search(r"^\.EX\n(#include.*?)^\.EE$", text, re.MULTILINE | re.DOTALL)[1]
    return program.replace("\\e", "\\")


def write_programs(tree, modules):
    for name, (header, call, _) in modules.items():
        text = PROGRAM.format(header=header, call=call) if header else manual_program(tree)
        (tree.scratch / f"{name}.c").write_text(text, encoding="utf-8")


def run_program(tree, name, program):
    if not program.exists():
        return # said already
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tree.libraries)}
    if name != "rnic":
        tree.run(program, env=environment)
        return
    done = subprocess.run([program], capture_output=True, text=True, check=False,
                          env={**environment, "RNIC_SOCKET": str(tree.scratch / "no.sock")})
    tree.expect("the program of rnic(7) says that there is no daemon",
                (done.returncode, done.stderr) == (1, "No such file or directory\n"), done)


def check_pkg_config(tree, modules, compiler, sysroot):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(tree.libraries / "pkgconfig")}
    libraries = [f"--sysroot={sysroot}"] if sysroot else []
    installed = {path.stem for path in tree.libraries.glob("pkgconfig/*.pc")}
    tree.expect("pkg-config's files", installed == set(modules), installed)
    for name in modules:
        flags = tree.run("pkg-config", "--cflags", "--libs", name, env=environment).split()
        version = tree.run("pkg-config", "--modversion", name, env=environment).strip()
        tree.expect(f"version of {name}", version == tree.version, version)
        program = tree.scratch / f"by-pkg-config-{name}"
        tree.run(compiler, *libraries, "-Wall", "-Werror", tree.scratch / f"{name}.c", "-o",
                 program, *flags)
        run_program(tree, name, program)


def check_cmake(tree, modules, compiler, sysroot):
    targets = {target.removeprefix("rnic::")
               for *_, targets in modules.values() for target in targets.split()}
    version = ".".join(tree.version.split(".")[:2])
    text = PROJECT.format(version=version, components=" ".join(sorted(targets)))
    for name, (_, _, libraries) in modules.items():
        text += f"add_executable(by-cmake-{name} {name}.c)\n"
        text += f"target_link_libraries(by-cmake-{name} PRIVATE {libraries})\n"
    (tree.scratch / "CMakeLists.txt").write_text(text, encoding="utf-8")
    build = tree.scratch / "build"
    environment = dict(os.environ)
    if sysroot:
        places = [str(path) for path in pathlib.Path(sysroot).glob("usr/lib/*/pkgconfig")]
        environment.update(PKG_CONFIG_SYSROOT_DIR=sysroot, PKG_CONFIG_LIBDIR=":".join(places))
    tree.run(tree.cmake, "-G", "Ninja", "-S", tree.scratch, "-B", build,
             f"-DCMAKE_PREFIX_PATH={tree.root}", f"-DCMAKE_C_COMPILER={compiler}",
             *([f"-DCMAKE_SYSROOT={sysroot}"] if sysroot else []), env=environment)
    if not tree.complaints:
        tree.run(tree.cmake, "--build", build)
    for name in modules:
        run_program(tree, name, build / f"by-cmake-{name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--sysroot", help="where another machine's libraries are")
    parser.add_argument("--apis", action="store_true")
    arguments, tree = tree_of_arguments(parser)
    modules = {"rnic": (None, None, "rnic::rnic"), **(MODULES if arguments.apis else {})}
    with tree:
        write_programs(tree, modules)
        check_pkg_config(tree, modules, arguments.compiler, arguments.sysroot)
        check_cmake(tree, modules, arguments.compiler, arguments.sysroot)
    return tree.report(f"{len(modules)} programs by pkg-config and by CMake")


if __name__ == "__main__":
    sys.exit(main())

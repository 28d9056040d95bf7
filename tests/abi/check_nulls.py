#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_nulls.py INCLUDE LIBRARIES [apis]

Calls every function of the public headers with NULL for each of its pointers in turn, and other
pointers that lead to zeros. No call may crash. A pointer that the headers do not make optional is
refused: -EINVAL, or -1 and errno, or 0, or NULL. Needs no daemon: a call that looks at its objects
before its pointers crashes here.
"""
import ctypes
import errno
import os
import pathlib
import re
import signal
import struct
import sys

# header, library
HEADERS = [("rnic.h", "librnic.so"), ("rnic_cm.h", "librnic.so")]
API_HEADERS = [("connection.h", "librnic-connection.so"), ("rdma.h", "librnic-rdma.so"),
               ("rpc.h", "librnic-rpc.so"), ("rpc_status.h", "librnic-rpc.so")]

# What the headers make optional, by function ("*": in all of them).
OPTIONAL = {
    "*": {"socket_path", "user", "options"},
    "rnic_query_gid": {"netdev_index"},
    "rnic_create_cq": {"channel"},
    "rnic_create_qp": {"pd"}, # of an XRC target
    "rnic_query_qp": {"attributes", "capacities"},
    "rnic_reg_mr": {"address"}, # EFAULT, or with ON_DEMAND all of memory
    "rnic_rereg_mr": {"address"},
    "rnic_post_send": {"list"}, # the empty list
    "rnic_post_recv": {"list"},
    "rnic_post_srq_recv": {"list"},
    "rnic_wait": {"context"},
    "rnic_cm_bind": {"endpoints"},
    "rnic_cm_listen": {"endpoints"},
    "rnic_cm_resolve_address": {"source"},
    "rnic_iw_ctx_alloc": {"remote_addr", "qp_capacity", "shared_pd"},
    "rnic_iw_open": {"listen_addr"},
    "rnic_iw_peer_data": {"length"},
    "rnic_iw_lmr_register": {"addr"}, # EFAULT
    "rnic_rdma_reg_mr": {"addr"}, # EFAULT
    "rnic_rdma_listen_host": {"host"},
}
REQUIRED_OPTIONS = {"rnic_create_qp", "rnic_create_srq", "rnic_open_xrcd"}

PROTOTYPE = re.compile(r"RNIC_API\s+([\w\s]+?[\s*]+)(rnic_\w+)\(([^;]*?)\);", re.DOTALL)
ROOM = ctypes.create_string_buffer(1 << 20) # zeros, for whatever a pointer leads to
SECONDS = 5


def functions_of(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for result, name, parameters in PROTOTYPE.findall(text):
        listed = []
        for parameter in " ".join(parameters.split()).split(","):
            if parameter.strip() in ("", "void"):
                continue
            is_pointer = "*" in parameter or "[" in parameter
            listed.append((re.search(r"(\w+)(\[\w*\])?$", parameter)[1], is_pointer))
        yield name, " ".join(result.split()), listed


def call(function, result, arguments):
    """What the function returned, and errno; None: it did not return."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        signal.alarm(SECONDS)
        function.restype = None if result == "void" else \
            ctypes.c_void_p if "*" in result else ctypes.c_int64 if "64" in result else ctypes.c_int
        ctypes.set_errno(0)
        returned = function(*arguments)
        os.write(writer, struct.pack("qi", returned or 0, ctypes.get_errno()))
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 64)
    os.close(reader)
    status = os.waitpid(child, 0)[1]
    return struct.unpack("qi", answer) if len(answer) == 12 else status


def is_refused(name, result, returned):
    value, error = returned
    if result == "int" and name.startswith("rnic_rdma_"):
        return value == -1 and error == errno.EINVAL
    return value == (-errno.EINVAL if result == "int" else 0)


def check(name, result, parameters, function):
    problems = []
    optional = OPTIONAL.get(name, set()) | OPTIONAL["*"]
    if name in REQUIRED_OPTIONS:
        optional = optional - {"options"}
    for at, (missing, is_pointer) in enumerate(parameters):
        if not is_pointer or missing in optional:
            continue
        arguments = [(ctypes.c_void_p(None) if i == at else ctypes.cast(ROOM, ctypes.c_void_p))
                     if pointer else ctypes.c_uint64(1)
                     for i, (_, pointer) in enumerate(parameters)]
        returned = call(function, result, arguments)
        if not isinstance(returned, tuple):
            problems.append(f"{name}() with {missing} NULL ends by signal {returned & 127}")
        elif not is_refused(name, result, returned):
            problems.append(f"{name}() with {missing} NULL returns {returned[0]}, "
                            f"errno {returned[1]}")
    return problems


def main():
    include, libraries = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    headers = HEADERS + (API_HEADERS if "apis" in sys.argv[3:] else [])
    problems, count = [], 0
    os.environ["RNIC_SOCKET"] = "/nonexistent/rnicd.sock"
    for header, library in headers:
        loaded = ctypes.CDLL(str(libraries / library), use_errno=True)
        functions = list(functions_of(include / "rnic" / header))
        if not functions:
            problems.append(f"no functions in {header}")
        for name, result, parameters in functions:
            problems += check(name, result, parameters, getattr(loaded, name))
            count += 1
    print("\n".join(problems) or f"{count} functions refuse NULL")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

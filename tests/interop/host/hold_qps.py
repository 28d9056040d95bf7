#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes queue pairs, says so, and keeps them until the input ends: hold_qps.py COUNT"""

import ctypes
import sys

SEND_QUEUE = RECEIVE_QUEUE = 1
RC = 2


class Wishes(ctypes.Structure):
    """struct ibv_qp_init_attr"""
    _fields_ = [("context", ctypes.c_void_p), ("send_cq", ctypes.c_void_p),
                ("recv_cq", ctypes.c_void_p), ("srq", ctypes.c_void_p),
                ("sizes", ctypes.c_uint32 * 5), ("type", ctypes.c_uint32),
                ("signals_all", ctypes.c_int)]


verbs = ctypes.CDLL("libibverbs.so.1")


def call(name, *arguments):
    function = verbs[name]
    function.restype = ctypes.c_void_p
    made = function(*arguments)
    if not made:
        sys.exit(f"{name} fails")
    return ctypes.c_void_p(made)


devices = call("ibv_get_device_list", None)
context = call("ibv_open_device",
               ctypes.c_void_p(ctypes.cast(devices, ctypes.POINTER(ctypes.c_void_p))[0]))
pd = call("ibv_alloc_pd", context)
cq = call("ibv_create_cq", context, 16, None, None, 0)
for _ in range(int(sys.argv[1])):
    wishes = Wishes(send_cq=cq, recv_cq=cq, type=RC)
    wishes.sizes[:] = [SEND_QUEUE, RECEIVE_QUEUE, 1, 1, 0]
    call("ibv_create_qp", pd, ctypes.byref(wishes))
print("ready", flush=True)
sys.stdin.read()

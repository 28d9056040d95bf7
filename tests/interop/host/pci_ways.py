#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pci_ways.py DEVICE ADDRESS NUMA NETDEV: looks for an RDMA device in the ways of programs.

Each way is what a library was read to do, written anew. A way that does not find the PCI address
and the NUMA node of the device says so, and the program ends with status 1.
"""

import ctypes
import os
import sys

DEVICE, ADDRESS, NUMA, NETDEV = sys.argv[1:5]
CLASS = f"/sys/class/infiniband/{DEVICE}"
PCI_DEVICES = "/sys/bus/pci/devices"
failures = []


c_library = ctypes.CDLL(None)
c_library.realpath.restype = ctypes.c_char_p


def realpath(path):
    """realpath() of the C library, which programs call; Python's own goes step by step."""
    room = ctypes.create_string_buffer(4096)
    if c_library.realpath(path.encode(), room) is None:
        raise FileNotFoundError(path)
    return room.value.decode()


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def expect(way, what, found, wanted):
    if found != wanted:
        failures.append(f"{way}: {what} is {found!r}, not {wanted!r}")


def nccl():
    """The real path of the device's link; then the device by its bus and two levels up."""
    path = realpath(f"{CLASS}/device")
    expect("nccl", "address", os.path.basename(path), ADDRESS)
    expect("nccl", "subsystem", os.path.basename(realpath(f"{path}/subsystem")), "pci")
    bus = ADDRESS[:7]
    device = realpath(f"/sys/class/pci_bus/{bus}/../../{ADDRESS}")
    expect("nccl", "device", device, path)
    expect("nccl", "node", read(f"{device}/numa_node"), NUMA)
    expect("nccl", "class", read(f"{device}/class")[:4], "0x02")
    for name in "vendor", "device", "subsystem_vendor", "subsystem_device":
        expect("nccl", name, read(f"{device}/{name}")[:2], "0x")
    speed, unit = read(f"{device}/max_link_speed").split()[:2]
    expect("nccl", "speed", (float(speed) > 0, unit), (True, "GT/s"))
    expect("nccl", "width", int(read(f"{device}/max_link_width")) > 0, True)


def gloo():
    """All network devices of the PCI bus, and what each has below infiniband/ and net/."""
    by_name, by_interface = {}, {}
    for address in os.listdir(PCI_DEVICES):
        if int(read(f"{PCI_DEVICES}/{address}/class"), 16) != 0x020000:
            continue
        for name, addresses in ("infiniband", by_name), ("net", by_interface):
            folder = f"{PCI_DEVICES}/{address}/{name}"
            for entry in os.listdir(folder) if os.path.isdir(folder) else []:
                addresses.setdefault(entry, []).append(address)
    expect("gloo", "address", by_name.get(DEVICE), [ADDRESS])
    expect("gloo", "interface", ADDRESS in by_interface.get(NETDEV, []), True)
    # The distance of two devices is counted in their links, so all links look alike.
    for address in os.listdir(PCI_DEVICES):
        link = os.readlink(f"{PCI_DEVICES}/{address}")
        expect("gloo", f"link of {address}", link[:20], "../../../devices/pci")


def mooncake():
    """Two levels above the device in its class; the NUMA node there."""
    above = realpath(f"{CLASS}/../..")
    expect("mooncake", "address", os.path.basename(above), ADDRESS)
    expect("mooncake", "node", read(f"{above}/numa_node"), NUMA)


def monarch():
    """The last part of the real path of the device's link."""
    expect("monarch", "address", os.path.basename(realpath(f"{CLASS}/device")), ADDRESS)
    expect("monarch", "link", os.path.basename(os.readlink(f"{CLASS}/device")), ADDRESS)
    expect("monarch", "node", read(f"{PCI_DEVICES}/{ADDRESS}/numa_node"), NUMA)
    expect("monarch", "processors", read(f"{CLASS}/device/local_cpulist") != "", True)


def fire_flyer():
    """3FS: the type of each GID, below the path that libibverbs gives; the interface of a port."""
    for index in range(32):
        if read(f"{CLASS}/ports/1/gids/{index}").strip("0:") != "":
            expect("3fs", "type", read(f"{CLASS}/ports/1/gid_attrs/types/{index}"), "RoCE v2")
    expect("3fs", "interface", os.listdir(f"{CLASS}/ports/1/net"), [NETDEV])
    expect("3fs", "interface of the device", os.listdir(f"{CLASS}/device/net"), [NETDEV])


for look in nccl, gloo, mooncake, monarch, fire_flyer:
    try:
        look()
    except OSError as error:
        failures.append(f"{look.__name__}: {error}")
print("\n".join(failures) or "all ways find it")
sys.exit(bool(failures))

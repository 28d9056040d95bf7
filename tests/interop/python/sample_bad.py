# SPDX-License-Identifier: MIT
"""Tests that fail; plugin.sh reads what pytest says of them."""

import os

import pytest


@pytest.mark.rnic(capture=True, fault=[None, "drop@rc-send/first=2,seed=7"])
def test_refused(rnic_devices):
    """One queue pair works over a bad network. Another one is refused: there is no GID 9."""
    a, b = rnic_devices
    words = ["ibv_rc_pingpong", "-n", "20", "-p", "18517", "-g"]
    for index in (0, 9):
        with a.start([*words, "0"]):
            a.wait_port(18517)
            b.run([*words, str(index), "127.0.0.1"])


@pytest.mark.rnic(fault=[None, "drop"])
def test_hang(rnic_devices):
    """None of the client's packets arrive: the error has what its queue pair waits for."""
    a, b = rnic_devices
    words = ["ib_send_bw", "-F", "-x", "0", "-u", "22", "-n", "5", "-p", "18518"]
    with a.start(words):
        a.wait_port(18518)
        b.run([*words, "127.0.0.1"], timeout=4)


@pytest.fixture
def fails_at_its_end(rnic_device):
    yield rnic_device
    raise RuntimeError("the end of a fixture")


def test_teardown(fails_at_its_end):
    fails_at_its_end.run(["ibv_devinfo"])


def test_dead_daemon(rnic_device):
    """A test that sees nothing of it is told."""
    os.kill(rnic_device.pid, 6)


@pytest.mark.rnic(faults="drop=1%")
def test_unknown_setting(rnic_device):
    pass

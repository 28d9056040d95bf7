# SPDX-License-Identifier: MIT
"""Tests that fail; plugin.sh reads what pytest says of them."""

import pytest


@pytest.mark.rnic(capture=True, fault=[None, "drop@rc-send-only/first=2,seed=7"])
def test_refused(rnic_devices):
    """One queue pair works over a bad network. Another one is refused: no GID has index 9."""
    a, b = rnic_devices
    words = ["ibv_rc_pingpong", "-n", "20", "-p", "18517", "-g"]
    for index in (0, 9):
        with a.start([*words, "0"]):
            a.wait_port(18517)
            b.run([*words, str(index), "127.0.0.1"])


@pytest.mark.rnic(capture=True)
def test_hang(rnic_device):
    """A queue pair waits for a peer that is stopped: the report says for what."""
    rnic_device.run(["sh", "-c", "echo waiting; sleep 1000"], timeout=0.5)


@pytest.fixture
def fails_at_its_end(rnic_device):
    yield rnic_device
    raise RuntimeError("the end of a fixture")


def test_teardown(fails_at_its_end):
    fails_at_its_end.run(["ibv_devinfo"])


def test_dead_daemon(rnic_device):
    """A test that sees nothing of it is told."""
    import os
    os.kill(rnic_device.pid, 6)


@pytest.mark.rnic(faults="drop=1%")
def test_unknown_setting(rnic_device):
    pass

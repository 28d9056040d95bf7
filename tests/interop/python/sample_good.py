# SPDX-License-Identifier: MIT
"""Tests as a user of the plug-in writes them; plugin.sh runs them, and all pass."""

import os
import pathlib
import subprocess
import time

import pytest

import rnic


def ping_pong(server, client, address):
    """ibv_rc_pingpong with data checked, between two devices or hosts."""
    words = ["ibv_rc_pingpong", "-c", "-n", "100", "-p", "18516", "-g"]
    with server.start([*words, str(server.gid_index())]) as process:
        server.wait_port(18516)
        done = client.run([*words, str(client.gid_index()), address])
        process.wait()
    assert "100 iters" in done.stdout


def bandwidth(server, client, address):
    """The two sides of ib_send_bw part only when both have all acknowledgements. Where packets
    are lost, ibv_rc_pingpong may leave while its peer still waits for one."""
    words = ["ib_send_bw", "-n", "100", "-p", "18517", "-x"]
    with server.start([*words, str(server.gid_index())]) as process:
        server.wait_port(18517)
        client.run([*words, str(client.gid_index()), address])
        process.wait()


def wait_until_empty(device):
    """The daemon hears of a closed device a moment later: from the end of its socket."""
    end = time.monotonic() + 20
    while device.show("clients") and time.monotonic() < end:
        time.sleep(0.05)
    assert device.show("clients") == []


def is_running(pid):
    try:
        stat = pathlib.Path("/proc", pid, "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_device(rnic_device):
    assert rnic_device.name in rnic_device.run(["ibv_devices"]).stdout
    assert rnic_device.show("device")["state"] == "active"
    assert rnic_device.troubles() == []


@pytest.mark.rnic(devices=3, fault=["drop=2%,seed=7", None], capture=True)
def test_devices(rnic_devices):
    assert [device.name for device in rnic_devices] == ["rnic0", "rnic1", "rnic2"]
    assert len({device.address for device in rnic_devices}) == 3
    assert [device.start_fault for device in rnic_devices] == ["drop=2%,seed=7", None, None]
    bandwidth(rnic_devices[0], rnic_devices[1], "127.0.0.1")
    assert rnic_devices[0].snapshot().moved(rnic_devices[0].first)["sent_pkts"] > 0
    assert rnic_devices[2].counters()["sent_pkts"] == 0
    assert all(device.capture.stat().st_size > 0 for device in rnic_devices[:2])


@pytest.mark.rnic(mtu=4200)
def test_hosts(rnic_hosts):
    a, b = rnic_hosts
    assert a.is_namespace == b.is_namespace == (os.environ["EXPECT_HOSTS"] == "namespaces")
    assert a.device.show("device")["active_mtu"] == "4096"
    ping_pong(a.device, b.device, a.address)
    network = [host.run(["readlink", "/proc/self/ns/net"]).stdout for host in rnic_hosts]
    assert (network[0] != network[1]) == a.is_namespace


@pytest.mark.rnic(hosts="loopback")
def test_hosts_on_loopback(rnic_hosts):
    a, b = rnic_hosts
    assert not a.is_namespace
    ping_pong(a.device, b.device, a.address)


def test_more_devices_later(rnic_make):
    first, second = rnic_make(), rnic_make(name="other", fault="rx:delay=1ms")
    assert "other" in second.run(["ibv_devices"]).stdout
    ping_pong(first, second, "127.0.0.1")


def test_pyverbs(rnic_verbs):
    """pyverbs in the test itself: no rnic-run around pytest."""
    from pyverbs.cq import CQ
    from pyverbs.device import Context
    from pyverbs.mr import MR
    from pyverbs.pd import PD
    import pyverbs.enums as enums

    with Context(name=rnic_verbs.name) as context, PD(context) as pd, CQ(context, 8) as cq, \
            MR(pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE) as mr:
        clients = rnic_verbs.show("clients")
        assert [client["pid"] for client in clients] == [os.getpid()]
        assert rnic_verbs.show("mrs")[0]["lkey"] == mr.lkey
        assert context.query_gid(1, rnic_verbs.gid_index()) is not None
        assert cq is not None
    wait_until_empty(rnic_verbs)


def test_pyverbs_on_the_next_device(rnic_make):
    """The libraries stay in the process; each in_process() leads to its own device."""
    from pyverbs.device import get_device_list

    for device in (rnic_make(name="one"), rnic_make(name="two")):
        with device.in_process():
            assert [found.name.decode() for found in get_device_list()] == [device.name]
    assert "RNIC_SOCKET" not in os.environ


def test_pyverbs_on_several_devices(rnic_devices):
    from pyverbs.device import Context, get_device_list

    with rnic.in_process(*rnic_devices):
        assert {found.name.decode() for found in get_device_list()} == {"rnic0", "rnic1"}
        with Context(name="rnic0"), Context(name="rnic1"):
            for device in rnic_devices:
                assert [row["pid"] for row in device.show("clients")] == [os.getpid()]


def test_conditions(rnic_device):
    with rnic_device.link_down():
        assert rnic_device.show("device")["state"] == "down"
    assert rnic_device.show("device")["state"] == "active"
    with rnic_device.link_flap("5s/5s"):
        assert rnic_device.show("device")["state"] == "down"
    assert rnic_device.show("device")["state"] == "active"
    rnic_device.event("port-err")
    with pytest.raises(rnic.ConditionError, match="no program has it"):
        rnic_device.qp_error(0x812345)
    with pytest.raises(rnic.ConditionError, match="no program has it"):
        rnic_device.event("qp-fatal", 0x812345)
    with pytest.raises(rnic.ConditionError, match="column 6, at 'ENOMEN': expected an errno"):
        with rnic_device.fault("fail=ENOMEN"):
            pass


def test_a_registration_that_fails(rnic_device):
    """The program sees the errno of a kernel, and the rule has its hit."""
    words = ["ibv_rc_pingpong", "-g", str(rnic_device.gid_index())]
    with rnic_device.fault("fail=ENOMEM@reg_mr,drop=1%/qpn=0x7fffff") as rules:
        with pytest.raises(rnic.ProgramFailed, match="register MR"):
            rnic_device.run(words)
        assert rules.hits == [1, 0]
    assert rnic_device.show("faults") == []


def test_program_that_fails(rnic_device):
    with pytest.raises(rnic.ProgramFailed, match="it broke"):
        rnic_device.run(["sh", "-c", "echo it broke >&2; exit 3"])
    assert rnic_device.run(["sh", "-c", "exit 3"], check=False).returncode == 3
    assert rnic_device.run(["cat"], input="given").stdout == "given"


def test_program_that_hangs(rnic_device):
    """It ends with what it has started, and the error has what it printed."""
    with pytest.raises(rnic.ProgramHung, match="before it hung"):
        rnic_device.run(["sh", "-c", "sleep $SLEEP & echo $! before it hung; wait"], timeout=0.5)
    printed = (rnic_device.folder / "program0.out").read_text()
    # Whoever got the orphan may take a moment to bury it.
    end = time.monotonic() + 20
    while is_running(printed.split()[0]) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(printed.split()[0])


def test_environment(rnic_device):
    done = subprocess.run(["ibv_devices"], env=rnic_device.environment(), check=True,
                          capture_output=True, text=True)
    assert rnic_device.name in done.stdout


def test_device_that_dies(rnic_make):
    device = rnic_make()
    os.kill(device.pid, 9)
    with pytest.raises(rnic.DeviceError, match="status -9"):
        device.close()
    assert "did not answer" in device.report()


def test_device_that_does_not_start(tmp_path):
    with pytest.raises(rnic.DeviceError, match="does not start.*nonsense"):
        rnic.Device(fault="nonsense")


def test_without_pytest(tmp_path):
    with rnic.Device(capture=tmp_path / "packets.pcapng") as device:
        folder = device.folder
        device.run(["ibv_devinfo"])
    assert not folder.exists()
    assert (tmp_path / "packets.pcapng").stat().st_size > 0

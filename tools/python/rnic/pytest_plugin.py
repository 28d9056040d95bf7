# SPDX-License-Identifier: MIT
"""Fixtures of pytest for RDMA devices: python3-rnic(7) is their manual.

A test gets devices of its own, and they end with the test. When the test fails, its report shows
what went wrong on each device, and captures are kept.
"""

from __future__ import annotations

import pathlib
import re
import shutil
from typing import Any, Callable, Iterator, Optional, Union

import pytest

from rnic.device import Device
from rnic.host import Host, NoNamespaces, two_hosts

DEFAULT_KEEP = "rnic-failures"
MARKER = ("rnic(devices=2, hosts='auto', mtu=9000, fault=None, capture=False, options=()): the "
          "devices of a test: how many rnic_devices, where rnic_hosts are ('auto', 'namespaces' or "
          "'loopback') and the MTU between them; of each device the faults and further options of "
          "rnicd, and whether its packets are captured. A list of faults has one for each device.")
SETTINGS = {"devices": 2, "hosts": "auto", "mtu": 9000, "fault": None, "capture": False,
            "options": ()}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rnic", "RDMA devices in user space (rnicd)")
    group.addoption("--rnic-fault", metavar="SPEC",
                    help="faults for the devices of tests that ask for none, such as drop=1%%")
    group.addoption("--rnic-capture", action="store_true",
                    help="capture the packets of all devices; captures of failed tests are kept")
    group.addoption("--rnic-keep", metavar="DIR",
                    help="the folder for captures and logs of failed tests (the ini option "
                    f"rnic_keep, else {DEFAULT_KEEP})")
    parser.addini("rnic_keep", "the folder for captures and logs of failed tests",
                  default=DEFAULT_KEEP)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


class Case:
    """The devices of one test, from their start to the report of the test's end."""

    def __init__(self, item: pytest.Item) -> None:
        self.devices: list[Device] = []
        self.has_failed = False
        folder = item.config.getoption("--rnic-keep") or item.config.getini("rnic_keep")
        name = re.sub(r"[^\w.\[\]=+-]+", "-", item.nodeid).strip("-")
        self.keep = pathlib.Path(item.config.invocation_params.dir, folder, name[-150:])

    def kept_files(self, device: Device) -> list[pathlib.Path]:
        """Where the device's files go when the test has failed."""
        if device.capture is None or device.folder not in device.capture.parents:
            return []
        number = self.devices.index(device)
        is_taken = any(other.name == device.name for other in self.devices[:number])
        stem = f"{device.name}-{number}" if is_taken else device.name
        return [self.keep / f"{stem}.pcapng", self.keep / f"{stem}.log"]

    def report(self, device: Device) -> str:
        kept = self.kept_files(device)
        lines = [device.report()] + [f"kept: {path}" for path in kept]
        return "\n".join(lines)

    def finish(self) -> None:
        if self.has_failed and any(map(self.kept_files, self.devices)):
            # A test that runs again keeps what it did last.
            shutil.rmtree(self.keep, ignore_errors=True)
            self.keep.mkdir(parents=True)
        for device in self.devices:
            for here, there in zip((device.capture, device.folder / "rnicd.log"),
                                   self.kept_files(device) if self.has_failed else []):
                if here is not None and here.exists():
                    shutil.move(str(here), str(there))
            device.remove()
        self.devices.clear()


_case_key = pytest.StashKey[Case]()
_open_cases: list[Case] = []


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item,
                              call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    case = item.stash.get(_case_key, None)
    if case is None:
        return
    if report.failed:
        case.has_failed = True
        for device in case.devices:
            report.sections.append((f"rnic device {device.name}", case.report(device)))
    if report.when == "teardown":
        case.finish()
        _open_cases.remove(case)
        del item.stash[_case_key]


def pytest_unconfigure() -> None:
    """The devices of a test that was interrupted are closed; it has no report."""
    while _open_cases:
        _open_cases.pop().finish()


def settings_of(node: pytest.Item) -> dict[str, Any]:
    """What the markers say, the closest last, and the command line where they say nothing."""
    __tracebackhide__ = True
    settings = dict(SETTINGS)
    for marker in reversed(list(node.iter_markers("rnic"))):
        unknown = set(marker.kwargs) - set(SETTINGS)
        if unknown or marker.args:
            raise pytest.UsageError(f"{node.nodeid}: the marker rnic takes "
                                    f"{', '.join(f'{name}=' for name in SETTINGS)} and not "
                                    f"{', '.join(sorted(unknown)) or marker.args}")
        settings.update(marker.kwargs)
    if settings["fault"] is None:
        settings["fault"] = node.config.getoption("--rnic-fault")
    settings["capture"] = settings["capture"] or node.config.getoption("--rnic-capture")
    return settings


def options_of(settings: dict[str, Any], index: int) -> dict[str, Any]:
    """The arguments of a test's device."""
    fault: Optional[Union[str, list[str]]] = settings["fault"]
    if fault is not None and not isinstance(fault, str):
        fault = fault[index] if index < len(fault) else None
    return {"fault": fault, "capture": settings["capture"], "options": settings["options"]}


@pytest.fixture
def rnic_make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Device]]:
    """A function that makes a device, with the arguments of rnic.Device. The device ends with the
    test."""
    __tracebackhide__ = True
    case = Case(request.node)
    request.node.stash[_case_key] = case
    _open_cases.append(case)
    defaults = options_of(settings_of(request.node), 0)

    def make(**options: Any) -> Device:
        device = Device(**{**defaults, **options})
        case.devices.append(device)
        return device

    yield make
    errors = []
    for device in reversed(case.devices):
        try:
            device.close()
        except Exception as error:  # every device is closed, and the first error is told
            errors.append(error)
    if errors:
        raise errors[0]


@pytest.fixture
def rnic_device(rnic_make: Callable[..., Device]) -> Device:
    """A device of the test's own."""
    return rnic_make()


@pytest.fixture
def rnic_devices(rnic_make: Callable[..., Device],
                 request: pytest.FixtureRequest) -> list[Device]:
    """Several devices on this host, rnic0, rnic1 and so on, which reach each other."""
    settings = settings_of(request.node)
    return [rnic_make(name=f"rnic{index}", **options_of(settings, index))
            for index in range(settings["devices"])]


@pytest.fixture
def rnic_hosts(rnic_make: Callable[..., Device],
               request: pytest.FixtureRequest) -> Iterator[tuple[Host, Host]]:
    """Two hosts with a device each."""
    settings = settings_of(request.node)
    try:
        hosts = two_hosts(settings["hosts"], mtu=settings["mtu"], make=rnic_make,
                          options=[options_of(settings, side) for side in range(2)])
        with hosts as pair:
            yield pair
    except NoNamespaces as error:
        pytest.skip(f"no network namespaces: {error}")


@pytest.fixture
def rnic_verbs(rnic_device: Device) -> Iterator[Device]:
    """A device that libibverbs calls of the test itself find: import pyverbs in the test."""
    with rnic_device.in_process():
        yield rnic_device

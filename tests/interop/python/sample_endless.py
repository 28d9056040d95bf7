# SPDX-License-Identifier: MIT
"""A test that does not end; plugin.sh ends pytest in its midst."""

import os
import pathlib
import time


def test_endless(rnic_hosts, rnic_device):
    rnic_hosts[0].start(["sleep", os.environ["SLEEP"]])
    rnic_device.start(["sh", "-c", "sleep $SLEEP & wait"])
    pathlib.Path("reached").touch()
    time.sleep(1000)

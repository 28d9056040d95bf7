#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# newcomer.sh: an ordinary user of a fresh host types README.md, both tutorials and some pages of
# the guide. Nobody else may enter this user's home, a process of the user opens 1,024 files at
# most, and sudo is there for the set-up command alone. debian.sh runs this script as root in a copy
# of the tree.
set -eu

export DEBIAN_FRONTEND=noninteractive
home=/home/newcomer
apt-get update -qq
apt-get install -y -qq --no-install-recommends sudo
useradd --create-home --shell /bin/bash newcomer
cp -r . $home/rnicd
chown -R newcomer: $home
chmod 700 $home

# as_newcomer COMMAND: in the clone, as the user who has just logged in.
as_newcomer() {
	runuser --login newcomer --command "ulimit -n 1024 && cd rnicd && $1"
}

echo "== the set-up command"
if as_newcomer tools/quickstart.sh >$home/refused 2>&1; then
	echo "FAIL  it installs packages without a right to"
	exit 1
fi
if ! grep -q 'as root: apt-get update && apt-get install' $home/refused; then
	cat $home/refused
	echo "FAIL  it does not say what to type as root"
	exit 1
fi
echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/newcomer
as_newcomer tools/quickstart.sh
rm /etc/sudoers.d/newcomer

failures=0
# What the pages name.
apt-get install -y -qq --no-install-recommends busybox-static infiniband-diags iperf3 iproute2 \
	python3-pip python3-setuptools python3-venv python3-wheel
pages='@(README|doc/guide/@(lab|programming|rpc|samples|seeing|sockets|testing)).md'
as_newcomer "tests/debian/type_readme.sh '$pages'" || failures=$((failures + 1))
echo "== the tutorials"
# This host has the network of its own that the pages need.
as_newcomer 'RNIC_TEST_ISOLATED=1 RNIC_BUILD=$PWD/build tests/interop/newcomer/tutorial.sh' ||
	failures=$((failures + 1))
echo "newcomer: $failures failures"
[ $failures -eq 0 ]

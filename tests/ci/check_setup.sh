#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_setup.sh: tools/ci/setup.sh refuses wrong options with one line, changes nothing in a dry
# run, and says so when the distribution is too old. interop_ci_setup starts devices by it, and
# tests/debian/try_ci.sh installs by it.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
setup=$top/tools/ci/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_ACTIONS RUNNER_TEMP
failures=0

fail() {
	failures=$((failures + 1))
	echo "FAIL  $1"
	sed 's/^/      | /' "$work/output"
}

# refuses PATTERN ARGUMENT...: with status 1 and one line.
refuses() {
	local pattern=$1 status
	shift
	"$setup" --folder "$work/folder" "$@" >"$work/output" 2>&1
	status=$?
	if [ $status -ne 1 ] || [ "$(wc -l <"$work/output")" -ne 1 ] ||
		! grep -q -- "$pattern" "$work/output"; then
		fail "$*: status $status, wanted 1 and one line with \"$pattern\""
	fi
}

# plans PATTERN ARGUMENT...: in a dry run.
plans() {
	local pattern=$1
	shift
	if ! "$setup" --folder "$work/folder" --dry-run "$@" >"$work/output" 2>&1 ||
		! grep -qE -- "$pattern" "$work/output"; then
		fail "$*: no line with \"$pattern\""
	fi
}

refuses "a number from 1 to 64" --devices 0
refuses "a number from 1 to 64" --devices 65
refuses "a number from 1 to 64" --devices two
refuses "not both" --netdev lo --address 127.0.0.2
refuses "leave out --netdev, or --devices 2" --netdev lo --devices 2
refuses "an IPv4 address to count from, not '::1'" --address ::1 --devices 2
refuses "an IPv4 address to count from, not '10.0.0.256'" --address 10.0.0.256 --devices 2
refuses "--capture-all'" --capture-all
refuses "--address needs a value" --address
refuses "start, or stop" start stop
refuses "nothing was started with this --folder" env
refuses "nothing was started with this --folder" report
refuses "nothing was started with this --folder" stop
[ ! -e "$work/folder" ] || fail "a refusal makes no folder"
refuses "nothing is installed.*setup.sh install" start
rm -rf "$work/folder"

plans 'cmake --install .* --prefix .*/folder/install$' install
plans "RNIC_APIS=ON" install --apis
plans "install-packages.sh core verbs apis$" --apis
plans 'rnicd --name rnic0 --socket .*/rnic0.sock --netdev lo$' --netdev lo start
plans 'rnicd --name rnic2 --socket .*/rnic2.sock --address 10.0.1.1 ' \
	--address 10.0.0.255 --devices 3 --capture start
plans 'rnicd --name rnic0 .* --address fd77::1$' --address fd77::1 start
plans 'rnicd --name rnic1 .* --address 10.0.0.9$' --address 10.0.0.08 --devices 2 start
plans '--fault drop=1% --capture .*/report/rnic1.pcapng$' --devices 2 --fault drop=1% --capture
cp "$work/output" "$work/first"
plans '^\+ cmake -S ' --devices 2 --fault drop=1% --capture
cmp -s "$work/output" "$work/first" || fail "two dry runs differ"
[ ! -e "$work/folder" ] || fail "a dry run makes no folder"

# The folder of another user, which in /tmp anybody can make.
mkdir "$work/other"
ln -s "$work/other" "$work/link"
for command in start env report stop; do
	"$setup" --folder "$work/link/" $command >"$work/output" 2>&1
	grep -q "is not of this user" "$work/output" || fail "a link as the folder of $command"
done

# A distribution whose rdma-core is older than the drop-in libraries need.
mkdir "$work/pc"
printf 'Name: libibverbs\nDescription: old\nVersion: 1.14.39.0\n' >"$work/pc/libibverbs.pc"
if "$top/tools/install-packages.sh" core verbs >"$work/output" 2>&1; then
	PKG_CONFIG_PATH=$work/pc "$setup" --folder "$work/folder" --build "$work/build" install \
		>"$work/output" 2>&1
	grep -q "libibverbs-dev 1.14.39.0 is older than" "$work/output" || fail "an old rdma-core"
else
	echo "skipped: an old rdma-core: the packages of the build are not Debian's here"
fi
[ ! -e "$work/build" ] || fail "an old rdma-core is not built with"

echo "setup.sh: $failures failures"
[ $failures -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# contain.sh SCRIPT [ARGUMENT...]: runs an interop test apart from all other tests on the machine,
# and leaves nothing of the test behind, however the test ends. lib.sh calls contain.sh, so the user
# starts a test by the test's own name.
#
# As root, the test has network, process, mount and IPC namespaces of its own. No other test shares
# its ports, addresses, process numbers and named namespaces. When the first process in the
# namespaces ends, the kernel ends everything in them. Without root, contain.sh finds the processes
# of the test by their environment.
#
# ctest ends a test with all of its children by SIGKILL. The watcher is none of these children: its
# parent is init. The watcher sees the end of this process by a FIFO, and removes the rest.
#
# The test gets RNIC_TEST_WORK, a directory; RNIC_TEST_ID, a number that no other running test on
# this machine has; and RNIC_TEST_ISOLATED=1 when the test has the namespaces. The test makes
# $RNIC_TEST_WORK/.ended when it has reported how it ended.
set -u

self=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/contain.sh
GRACE_SECONDS=5 # until a test that got a signal must have ended
KILL_SECONDS=30 # until processes that got SIGKILL must have ended
UNSHARE=(unshare --net --ipc --mount --pid --fork --kill-child --mount-proc)

# run SCRIPT [ARGUMENT...]: returns the script's status, also when a signal ends the script
# meanwhile. A shell makes its background processes ignore INT and QUIT; env undoes that.
run() {
	local status signal signalled
	env --default-signal=INT,QUIT "$@" {alive}>&- &
	child=$!
	for signal in HUP INT TERM; do
		# shellcheck disable=SC2064 # the signal of this turn
		trap "signalled=1; end_child $signal" $signal
	done
	while signalled="" && wait $child; status=$? && [ -n "$signalled" ]; do :; done
	trap - HUP INT TERM
	return $status
}

# inside SCRIPT [ARGUMENT...]: the first process of the namespaces. It mounts the file systems that
# new namespaces lack, and then runs the script.
inside() {
	mount -t sysfs sysfs /sys && mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns &&
		mount -t tmpfs tmpfs /dev/shm && ip link set lo up || exit 1
	end_child() { kill -"$1" "$child"; }
	run "$@"
}

# processes_of DIRECTORY: prints the processes that carry the directory in their environment.
processes_of() {
	grep -lszxF "RNIC_TEST_WORK=$1" /proc/[0-9]*/environ | cut -d/ -f3
}

# remove_rest DIRECTORY ID: ends the processes of a test and removes its namespaces and its
# directory.
remove_rest() {
	local pids namespace deadline=$((SECONDS + KILL_SECONDS))
	unset RNIC_TEST_WORK
	while pids=$(processes_of "$1") && [ -n "$pids" ]; do
		if [ $SECONDS -ge $deadline ]; then
			echo "FAIL  SIGKILL does not end these processes:" $pids
			break
		fi
		# shellcheck disable=SC2086 # numbers
		kill -KILL $pids 2>/dev/null
		sleep 0.05 # between two polls
	done
	if [ "$(id -u)" -eq 0 ] && [ ! -e "$1/.isolated" ]; then
		for namespace in /run/netns/rnic-"$2"-*; do
			[ ! -e "$namespace" ] || ip netns delete "${namespace##*/}"
		done
	fi
	[ -n "${RNIC_TEST_KEEP:-}" ] || rm -rf "$1"
}

# The distribution's programs come first. Another python3 in PATH lacks the distribution's modules,
# and may be a script that takes seconds to start the real python3.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
case $1 in
--inside)
	shift
	alive=9 # none
	inside "$@"
	exit
	;;
--watch)
	read -r _ # until the contained test closes the other end
	remove_rest "$2" "$3"
	exit
	;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/rnic-test-XXXXXX") || exit 1
chmod 755 "$work"
mkfifo "$work/.alive"
# shellcheck disable=SC2094 # a pipe with a name: both ends of it
exec {alive}<>"$work/.alive" {watched}<"$work/.alive"
start_watcher() {
	exec <&$watched >/dev/null 2>&1 {watched}<&- {alive}>&-
	cd / && exec setsid "$BASH" "$self" --watch "$work" $$
}
(start_watcher &) # in a subshell that ends, so that init becomes its parent
exec {watched}<&-

isolation=()
if [ "$(id -u)" -eq 0 ] &&
	"${UNSHARE[@]}" "$BASH" "$self" --inside true {alive}>&- 2>/dev/null; then
	export RNIC_TEST_ISOLATED=1
	: >"$work/.isolated"
	isolation=("${UNSHARE[@]}" "$BASH" "$self" --inside)
fi

# end_child SIGNAL: gives the script time to report where the signal came. The script is a child of
# unshare.
end_child() {
	local script=$child deadline=$((SECONDS + GRACE_SECONDS))
	[ ${#isolation[@]} -eq 0 ] || script=$(pgrep -P "$child")
	script=${script:-$child}
	kill -"$1" "$script" 2>/dev/null
	while kill -0 "$script" 2>/dev/null && [ $SECONDS -lt $deadline ]; do
		sleep 0.05 # between two polls
	done
	kill -KILL "$script" 2>/dev/null
}

export RNIC_TEST_WORK=$work RNIC_TEST_ID=$$
TIMEFORMAT="# took %R s, of processors %U s and of the kernel %S s"
time run "${isolation[@]}" "$BASH" "$@"
status=$?
if [ ! -e "$work/.ended" ]; then
	reason="status $status"
	[ $status -le 128 ] || reason="SIG$(kill -l $((status - 128)))"
	echo "FAIL  the test ended before its end: $reason: $*"
	case $status in 0 | 77) status=1 ;; esac # 77 says "skipped" to ctest
fi
[ -z "${RNIC_TEST_KEEP:-}" ] || echo "logs: $work"
remove_rest "$work" $$
exit $status

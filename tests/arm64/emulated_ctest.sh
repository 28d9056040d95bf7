#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# emulated_ctest.sh SYSROOT CTEST OPTION...: ctest over a build for arm64, under qemu-user. What
# qemu-user cannot run is left out by name, and a line says why and who runs it (left_out.txt).
#
# A program that starts another needs the kernel to start qemu-user by itself. The kernel learns how
# in a user namespace (Linux 6.7), where the machine outside learns nothing, unless it knows already
# (package qemu-user-binfmt). The namespace has a network of its own as well. Exit status: ctest's;
# 77 when no namespace can be made.
set -eu

[ $# -ge 2 ] || { sed -n '4,11p' "$0" >&2; exit 1; }
sysroot=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
shift
export QEMU_LD_PREFIX=$sysroot

# The first bytes of a program or library for arm64, and which of their bits count.
MAGIC='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
MASK='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

# left_out CTEST OPTION...: an expression for the tests that do not run here. A name that is no test
# any more is a fault of the list.
left_out() {
	local names=() name who reason known
	known=$(ctest "$@" -N | sed -n 's/^ *Test *#[0-9]*: //p')
	while read -r name who reason; do
		case $name in '' | '#'*) continue ;; esac
		grep -qxF "$name" <<<"$known" || {
			echo "left_out.txt: no test $name" >&2
			return 1
		}
		echo "not under qemu-user: $name ($who runs it): $reason" >&3
		names+=("$name")
	done <"$here/left_out.txt"
	(IFS='|'; echo "^(${names[*]})\$")
}

# Waits until the user namespace has its users, then makes it start arm64's programs.
# shellcheck disable=SC2016 # another shell expands it
BEGIN='
	read -r _ <"$1"
	mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
		printf %s "$2" >/proc/sys/fs/binfmt_misc/register && ip link set lo up || exit 77
	shift 2
	exec "$@"'

# Root keeps its users. An ordinary user has those that /etc/subuid grants, or is root alone.
choose_users() {
	users=(--map-auto --map-root-user)
	if [ "$(id -u)" -eq 0 ]; then
		users=(--user)
	elif ! unshare "${users[@]}" true 2>/dev/null; then
		users=(--map-root-user)
	fi
}

# in_namespace COMMAND...
in_namespace() {
	local child status=0 fifo
	work=$(mktemp -d "${TMPDIR:-/tmp}/rnic-arm64-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkfifo "$work/go"
	exec {fifo}<>"$work/go"
	choose_users
	unshare "${users[@]}" --mount --net bash -c "$BEGIN" begin "$work/go" \
		":rnic-arm64:M::$MAGIC:$MASK:$(command -v qemu-aarch64):OCF" "$@" {fifo}>&- &
	child=$!
	trap 'kill -TERM $child 2>/dev/null; wait $child; exit 143' INT TERM HUP
	if [ "$(id -u)" -eq 0 ]; then
		while [ -e /proc/$child ] &&
			[ "$(readlink /proc/$child/ns/user)" = "$(readlink /proc/$$/ns/user)" ]; do
			sleep 0.05 # between two polls
		done
		echo "0 0 65536" >/proc/$child/uid_map && echo "0 0 65536" >/proc/$child/gid_map
	fi
	echo go >&$fifo
	wait $child || status=$?
	return $status
}

exec 3>&1
except=$(left_out "$@")
status=0
if grep -qs '^enabled' /proc/sys/fs/binfmt_misc/qemu-aarch64; then
	ctest "$@" -E "$except" || status=$?
else
	in_namespace ctest "$@" -E "$except" || status=$?
fi
[ $status -ne 77 ] || echo "skipped: the kernel starts no arm64 programs in a user namespace"
exit $status

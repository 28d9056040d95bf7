#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# boot_host.sh LAYERS FOLDER COMMAND...: boots a host with systemd as its first process, runs a
# command there, and powers the host off. LAYERS are folders with ':' between them, the uppermost
# first, as overlay(5) has them: a root file system and what changes it; they stay as they are.
# FOLDER takes the rest, until the end. The host has a network of its own without a link. The exit
# status is the command's, or 125 when the host does not start. It needs root and systemd-nspawn.
set -u

[ $# -ge 3 ] || { sed -n '4,9p' "$0" >&2; exit 1; }
. "$(dirname "$0")/clean_end.sh"
layers=$1 folder=$2
shift 2
[ -n "$(ls -A /sys/fs/cgroup)" ] || {
	echo "boot_host: /sys/fs/cgroup is empty; \"findmnt /sys\" says what covers it" >&2
	exit 125
}
mkdir "$folder" || exit 1
folder=$(realpath "$folder")
name=rnic-boot-$$
groups=()
nspawn=""

cleanup() {
	[ -z "$nspawn" ] || { kill -TERM "$nspawn" 2>/dev/null; wait "$nspawn"; }
	umount "$folder/root" 2>/dev/null
	umount "$folder/upper" 2>/dev/null
	for group in "${groups[@]}"; do find "$group" -depth -type d -exec rmdir {} \; ; done
	rm -rf "$folder"
}
clean_at_end cleanup

# What is written stays in memory.
mkdir "$folder/upper" "$folder/root"
mount -t tmpfs tmpfs "$folder/upper" || exit 125
mkdir "$folder/upper/changes" "$folder/upper/work"
mount -t overlay -o "lowerdir=$layers,upperdir=$folder/upper/changes,workdir=$folder/upper/work" \
	overlay "$folder/root" || exit 125

# systemd-nspawn makes control groups beside its own. In groups of our own they are easy to remove.
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
	[ -f "$hierarchy/cgroup.procs" ] || continue
	mkdir "$hierarchy/$name" && groups+=("$hierarchy/$name")
done

# The filters of IPAddressDeny= and DevicePolicy= need the capabilities and bpf(2).
(
	for group in "${groups[@]}"; do echo $BASHPID >"$group/cgroup.procs"; done
	SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --directory "$folder/root" \
		--register=no --keep-unit --private-network --console=pipe --machine "$name" \
		--link-journal=no --capability=all --system-call-filter=bpf --boot
) </dev/null >"$folder/console" 2>&1 &
nspawn=$!

# inside COMMAND...: on the host that has booted.
inside() {
	nsenter --target "$leader" --all "$@"
}

leader=""
SECONDS=0
until leader=$(pgrep -P $nspawn -o) && [ -S "/proc/$leader/root/run/systemd/private" ]; do
	if ! kill -0 $nspawn 2>/dev/null || [ $SECONDS -ge 60 ]; then
		cat "$folder/console"
		exit 125
	fi
	sleep 0.1 # between two polls
done
# "degraded": a unit failed that has nothing to do in a container.
inside systemctl is-system-running --wait >/dev/null
case $(inside systemctl is-system-running) in
running | degraded) ;;
*) cat "$folder/console"; exit 125 ;;
esac
inside "$@"
status=$?
inside systemctl poweroff >/dev/null 2>&1
wait $nspawn
nspawn=""
exit $status

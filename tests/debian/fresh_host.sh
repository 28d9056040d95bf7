#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# fresh_host.sh ROOT FOLDER TREE COMMAND...: runs a command on a fresh Debian host: in an overlay of
# the root file system ROOT, with a network of its own that reaches package mirrors through the
# host's, and in a copy of the source tree TREE. FOLDER takes what is written, until the end; then
# nothing stays mounted, no process survives, and the host's network is as before. RNIC_HOST_SHARE
# names a folder that the fresh host has at /mnt; RNIC_HOST_KEEP names one that is made of what was
# written. The exit status is the command's. It needs root.
set -eu

[ $# -ge 4 ] || { sed -n '4,10p' "$0" >&2; exit 1; }
. "$(dirname "$0")/clean_end.sh"
root=$(realpath "$1") folder=$2 tree=$(realpath "$3") share=${RNIC_HOST_SHARE:-}
shift 3
[ -z "$share" ] || share=$(realpath "$share")
mkdir "$folder"
folder=$(realpath "$folder")
host="" network=""

cleanup() {
	for process in $host $network; do kill -KILL "$process" 2>/dev/null || true; done
	wait 2>/dev/null || true
	[ -z "${RNIC_HOST_KEEP:-}" ] || mv "$folder/changes" "$RNIC_HOST_KEEP"
	rm -rf "$folder"
}
clean_at_end cleanup

mkdir "$folder/changes" "$folder/work" "$folder/root"

# Waits for the network, mounts, and leaves the old root behind. By pivot_root(2): in a chroot the
# kernel refuses user namespaces, which `rnic-run --ns` needs.
cat >"$folder/begin" <<'END'
set -eu
root=$1 folder=$2 tree=$3 share=$4
shift 4
until ip -4 route show default | grep -q .; do sleep 0.1; done
mount --make-rprivate /
mount -t overlay -o "lowerdir=$root,upperdir=$folder/changes,workdir=$folder/work" overlay \
	"$folder/root"
cd "$folder/root"
mkdir -p root/rnicd
tar -C "$tree" --exclude='./build' --exclude='./build-*' --exclude=./.git -cf - . |
	tar -C root/rnicd --no-same-owner -xf -
cp --remove-destination /etc/resolv.conf etc/resolv.conf
echo "127.0.0.1 localhost" >etc/hosts
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
[ -z "$share" ] || mount --bind "$share" mnt
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/old
pivot_root . run/old
cd /root/rnicd
umount -l /run/old
ip link set lo up
exec env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
END

# The process that $! names stays in the new network namespace, but not in the PID namespace.
unshare --net --mount bash -c 'exec unshare --pid --fork --kill-child --mount bash "$@"' \
	begin "$folder/begin" "$root" "$folder" "$tree" "$share" "$@" </dev/null &
host=$!
has_network_of_its_own() {
	[ "$(readlink "/proc/$host/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
until has_network_of_its_own; do sleep 0.05; done
slirp4netns --configure --mtu=9000 --disable-host-loopback "$host" eth0 \
	>"$folder/network" 2>&1 &
network=$!
wait "$host"

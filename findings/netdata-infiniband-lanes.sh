#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# netdata shows the traffic of an RDMA port by a factor that depends on the lanes of its link.
# port_xmit_data and port_rcv_data count words of 4 bytes, whatever the link (IBTA 1.4, 16.1.3.5:
# "divided by 4"; Linux, Documentation/ABI/stable/sysfs-class-infiniband). netdata multiplies by
# the lanes of the file "rate" as well. Below, a port with 4 lanes and one with 1 lane count
# 12,500,000 words a second each, which is 400 Mb/s. The port with 4 lanes shows four times as much.
#
# Seen with netdata 1.37.1 of Debian 12.
# What helps: divide by the lanes, or ask another program: node_exporter multiplies by 4 alone.
#
# It needs root and mmdebstrap, and removes the root file system that it makes. The ports are files
# of that root, which has no /sys of the machine.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT

mmdebstrap --quiet --variant=apt --include="netdata-core=1.37.1-2" bookworm "$root" ||
	{ echo "bookworm: there is no netdata 1.37.1"; exit 1; }

# make_port DEVICE RATE: as Linux shows a port, with the counters that netdata wants.
make_port() {
	local port=$root/sys/class/infiniband/$1/ports/1 name
	mkdir -p "$port/counters"
	echo "4: ACTIVE" >"$port/state"
	echo "$2" >"$port/rate"
	for name in port_{rcv,xmit}_{data,packets,errors,discards,wait,constraint_errors} \
		{uni,multi}cast_{rcv,xmit}_packets port_rcv_{switch_relay,remote_physical}_errors \
		symbol_error link_{error_recovery,downed,integrity_errors} VL15_dropped \
		excessive_buffer_overrun_errors local_link_integrity_errors; do
		echo 0 >"$port/counters/$name"
	done
}
make_port mlx5_0 "100 Gb/sec (4X EDR)"
make_port mlx5_1 "25 Gb/sec (1X EDR)"

cat >"$work/run" <<'END'
root=$1 start=${EPOCHREALTIME/./}
mount -t proc proc "$root/proc"
ip link set lo up
chroot "$root" netdata -D -u root >/dev/null 2>&1 &
for ((i = 0; i < 300; i++)); do
	words=$(((${EPOCHREALTIME/./} - start) * 25 / 2))
	for device in mlx5_0 mlx5_1; do
		echo $words >"$root/sys/class/infiniband/$device/ports/1/counters/port_xmit_data"
	done
	sleep 0.1
done
ask() { # the average of ten seconds, in kilobits a second
	local chart=Infiniband.ib_cntbytes_$1-1
	exec 3<>/dev/tcp/127.0.0.1/19999
	printf 'GET %s HTTP/1.0\r\n\r\n' \
		"/api/v1/data?chart=$chart&after=-10&points=1&group=average&format=csv" >&3
	sed -n '$s/.*,-\([0-9]*\)[.0-9]*\r*$/\1/p' <&3
}
ask mlx5_0
ask mlx5_1
END
mapfile -t sent < <(unshare --net --mount --pid --fork --kill-child bash "$work/run" "$root")
echo "4 lanes: ${sent[0]:-none} kilobits a second; 1 lane: ${sent[1]:-none}; both send 400,000"
is_about() { # NUMBER PERCENT of 400,000
	[ "$1" -gt $((4000 * $2 - 40000)) ] && [ "$1" -lt $((4000 * $2 + 40000)) ]
}
is_about "${sent[0]:-0}" 390 && is_about "${sent[1]:-0}" 98 || { echo "this is new"; exit 1; }

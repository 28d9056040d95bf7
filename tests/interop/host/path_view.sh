#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs that read /sys/class/infiniband and /dev/infiniband find the device there, by the shim
# and by a mount namespace, and its counters count what was sent.
#
#   path_view.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"
device=/sys/class/infiniband/rnic0
port=$device/ports/1
# UCX takes no port whose first GID is empty, as it is while the kernel probes the link-local one.
check "the first address can be used" \
	wait_for 10 holds 0 device "any(gid['index'] == 0 for gid in rows['gids'])"

# run_view WAY COMMAND...: on side 0, by the way "shim" or "ns".
run_view() {
	local way=$1 option=()
	shift
	[ "$way" = shim ] || option=(--ns)
	on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "${option[@]}" "$@"
}

# expect WAY PATTERN COMMAND...: its output has a line with the pattern.
expect() {
	local way=$1 pattern=$2
	shift 2
	check "$way: $(echo "$*" | tr '\n\t' '  ' | cut -c1-70): $pattern" \
		matches "$way" "$pattern" "$@"
}

matches() {
	local way=$1 pattern=$2
	shift 2
	run_view "$way" "$@" >"$WORK/seen" 2>&1 || { cat "$WORK/seen"; return 1; }
	grep -Eq -- "$pattern" "$WORK/seen" || { cat "$WORK/seen"; return 1; }
}

# ---- the tree ----

the_tree() {
	local way=$1 shell netdev
	netdev=$(query 0 device "rows['netdev']")
	expect "$way" '^1: CA$' cat $device/node_type
	expect "$way" '^4: ACTIVE$' cat $port/state
	expect "$way" '^5: LinkUp$' cat $port/phys_state
	expect "$way" 'Gb/sec \([14]X [A-Z]+\)$' cat $port/rate
	expect "$way" '^Ethernet$' cat $port/link_layer
	expect "$way" '^0xffff$' cat $port/pkeys/0
	expect "$way" '^RoCE v2$' cat "$port/gid_attrs/types/${side_gid[0]}"
	expect "$way" "^$netdev\$" cat "$port/gid_attrs/ndevs/${side_gid[0]}"
	expect "$way" "^$netdev\$" ls $device/device/net
	expect "$way" '^[0-9]+$' cat "$device/device/net/$netdev/mtu"
	expect "$way" '^rnic0$' cat /sys/class/infiniband_verbs/uverbs0/ibdev
	expect "$way" '^6$' cat /sys/class/infiniband_verbs/abi_version
	expect "$way" 'fw_ver' ls -l $device/
	# As the kernel has it: a link to a device without a bus.
	expect "$way" '^../../devices/virtual/infiniband/rnic0$' readlink $device
	expect "$way" '^4: ACTIVE$' cat /sys/devices/virtual/infiniband/rnic0/ports/1/state
	expect "$way" "^$netdev\$" ls $port/net
	expect "$way" '^port_xmit_data$' ls $port/counters
	# In a mount namespace the interfaces are the kernel's alone.
	if [ "$way" = shim ]; then
		expect "$way" '^rnic0$' ls "/sys/class/net/$netdev/device/infiniband"
		expect "$way" '^4: ACTIVE$' cat \
			"/sys/class/net/$netdev/device/infiniband/rnic0/ports/1/state"
		expect "$way" '^none$' sh -c \
			"[ -e /sys/class/net/other/device/infiniband ] || echo none"
	fi
	expect "$way" 'character special' stat -L -c %F /dev/infiniband/uverbs0
	expect "$way" "^$netdev\$" sh -c "cd $device/device && ls net"
	for shell in dash bash; do
		expect "$way" '^/sys/class/infiniband/rnic0/ports/1/gids/0 0.2.0 yes$' $shell -c "
			read version <$device/fw_ver
			[ -c /dev/infiniband/uverbs0 ] && [ -w /dev/infiniband/uverbs0 ] && is=yes
			echo /sys/class/infiniband/*/ports/*/gids/0 \$version \$is"
	done
	expect "$way" '^1 True True$' python3 -c "
import glob, os
print(len(glob.glob('/sys/class/infiniband/*/ports/1/gids/0')),
      os.path.isdir('$device/device/net/'), os.listdir('/sys/class/infiniband') == ['rnic0'])"
	expect "$way" 'ports/1/pkeys/0$' find $device/ -name 0
	exported "$way"
}

# exported WAY: each of these files fails the collector of node_exporter, for all devices of the
# host, when it is missing, empty or without a number in front (1.5.0, 1.9.0, 1.11.1).
exported() {
	expect "$1" '^complete$' sh -c "
		for file in $device/board_id $device/fw_ver; do [ -s \$file ] || exit; done
		cd $port && for file in state phys_state link_layer rate; do
			[ -s \$file ] || exit; done
		for file in counters/* hw_counters/*; do
			grep -Eq '^[0-9]+\$|^N/A' \$file || exit; done
		echo complete"
}

# ---- the distribution's programs ----

# ucx_opens WAY NAME: UCX finds the transport on the device and can open it.
ucx_opens() {
	run_view "$1" ucx_info -d 2>&1 |
		awk -v name="$2" '/Transport:/ { is_it = $3 == name } is_it' >"$WORK/ucx"
	check "$1: UCX finds $2" grep -q 'Device: rnic0:1' "$WORK/ucx"
	check "$1: UCX opens $2" grep -q 'capabilities:' "$WORK/ucx"
}

the_programs() {
	local way=$1 guid
	guid=$(run_view "$way" cat $device/node_guid | tr -d :)
	expect "$way" "Node GUID: 0x$guid" ibstat
	expect "$way" 'State: Active' ibstat rnic0 1
	expect "$way" '^rnic0$' ibstat -l
	expect "$way" 'state:.*4: ACTIVE' ibstatus
	expect "$way" 'board_id:.*rnicd' ibv_devinfo
	expect "$way" 'GID\[ *[0-9]+\]:.*RoCE v2' ibv_devinfo -v
	# lstopo leaves out devices without a bus, such as rdma_rxe's, unless it is told not to.
	expect "$way" 'OpenFabrics .*Port1State=4.* "rnic0"' \
		env HWLOC_VIRTUAL_LINUX_OSDEV=1 lstopo-no-graphics -v
	ucx_opens "$way" rc_verbs
	ucx_opens "$way" ud_verbs
	expect "$way" 'domain: rnic0-dgram' fi_info -p verbs
}

# Tools that send management datagrams hear why they cannot; the words of their own name a module.
the_management_tools() {
	local tool
	for tool in perfquery smpquery\ nodeinfo\ 0; do
		# shellcheck disable=SC2086
		run_view shim $tool >"$WORK/tool" 2>&1
		check "${tool%% *} fails" test $? -ne 0
		check "and says why, once" test "$(grep -c \
			'^rnic-run: this tool sends management datagrams' "$WORK/tool")" = 1
	done
	run_view shim ibstat >"$WORK/tool" 2>&1
	check "ibstat, which sends none, needs no excuse" fails grep -q 'rnic-run:' "$WORK/tool"
}

# libfabric looks for connections on interfaces other than loopback only.
the_connections() {
	local way
	for way in shim ns; do
		expect "$way" 'type: FI_EP_MSG' fi_info -p verbs -t FI_EP_MSG
	done
	# Releases 1.17 and 2.1 have the same six.
	run_view shim fi_info -p verbs | grep -o 'provider: .*' | sort | uniq -c |
		awk '{ print $3, $1 }' >"$WORK/providers"
	check "libfabric makes six endpoints of the device" diff - "$WORK/providers" <<-'END'
		verbs 2
		verbs;ofi_rxd 1
		verbs;ofi_rxm 3
	END
}

# ---- what only a namespace reaches ----

is_static() {
	! readelf -l "$1" | grep -q INTERP
}

as_nobody() {
	on 0 setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

static_programs() {
	local busybox
	busybox=$(command -v busybox)
	check "busybox is static" is_static "$busybox"
	expect ns '^4: ACTIVE$' "$busybox" cat $port/state
	expect ns '^infiniband$' "$busybox" ls /sys/class
	expect ns '^net$' "$busybox" ls /sys/class
	expect ns '^net$' "$busybox" ls /sys/devices/virtual
	expect ns 'character special' "$busybox" stat -L /dev/infiniband/uverbs0
	expect ns '^null$' "$busybox" ls /dev
	expect shim '^rnic0$' "$BIN/rnic-run" --no-daemon --ns --socket "${side_socket[0]}" \
		"$busybox" ls /sys/class/infiniband
	expect ns '^7$' "$busybox" sh -c "head -c 1 /dev/zero >/dev/null && echo 7"
	check "the shim alone does not reach it" fails run_view shim "$busybox" ls $device
	check "nothing is mounted outside" test ! -e $device
}

fails() {
	! "$@"
}

ordinary_user() {
	[ "$(id -u)" -eq 0 ] || return 0 # the rest ran as one
	if ! as_nobody test -x "$BIN/rnic-run" || ! as_nobody test -r "$WORK"; then
		skip_part "--ns of another user, who cannot reach $BIN or $WORK"
		return 0
	fi
	if ! as_nobody unshare --user --mount true; then
		skip_part "--ns of another user, for whom this kernel makes no namespace"
		return 0
	fi
	as_nobody "$BIN/rnic-run" --no-daemon --ns --socket "${side_socket[0]}" busybox sh -c \
		"id -u; cat $port/state; ls /dev/infiniband; echo 1 >/dev/infiniband/uverbs0" \
		>"$WORK/nobody" 2>&1
	check "nobody: exit status" test $? -eq 0
	check "nobody: stays nobody" grep -q '^65534$' "$WORK/nobody"
	check "nobody: the port" grep -q '^4: ACTIVE$' "$WORK/nobody"
	check "nobody: /dev/infiniband" grep -q '^uverbs0$' "$WORK/nobody"
}

# In a namespace that may have no further ones, without capabilities.
refusal() {
	if ! unshare --user --map-root-user true 2>/dev/null; then
		skip_part "a refused --ns, since there is no user namespace to refuse it in"
		return 0
	fi
	# shellcheck disable=SC2016
	on 0 unshare --user --map-root-user sh -c '
		echo 0 >/proc/sys/user/max_user_namespaces &&
		exec setpriv --bounding-set -all --inh-caps -all "$@"' sh \
		"$BIN/rnic-run" --no-daemon --ns --socket "${side_socket[0]}" true \
		>"$WORK/refused" 2>&1
	check "a kernel that refuses: exit status 1" test $? -eq 1
	check "a kernel that refuses: one clear line" \
		grep -q '^rnic-run: --ns: cannot make a user and mount namespace' "$WORK/refused"
}

disabled() {
	RNIC_DISABLE=1 run_view shim test -e $device
	check "RNIC_DISABLE=1 shows nothing" test $? -ne 0
}

# ---- counters ----

# counter NAME: of side 1, which sends as much as it receives.
counter() {
	rnic 1 cat "$port/$1"
}

# has_risen NAME BEFORE BY
has_risen() {
	[ $(($(counter "$1") - $2)) -ge "$3" ]
}

the_counters() {
	local name size=4096 count=500 folder=$WORK/before
	mkdir -p "$folder/counters" "$folder/hw_counters"
	local wanted=(
		counters/port_xmit_data $((count * size / 4))
		counters/port_rcv_data $((count * size / 4))
		counters/port_xmit_packets $count
		counters/port_rcv_packets $count
		hw_counters/sent_pkts $count
		hw_counters/rcvd_pkts $count
		hw_counters/sent_bytes $((count * size))
		hw_counters/completions $((2 * count))
	)
	for ((i = 0; i < ${#wanted[@]}; i += 2)); do
		counter "${wanted[i]}" >"$folder/${wanted[i]}"
	done
	pair_run ibv_rc_pingpong -s $size -n $count -c
	for ((i = 0; i < ${#wanted[@]}; i += 2)); do
		name=${wanted[i]}
		# The programs have gone, but the daemon may hear of it a moment later.
		check "$name rises by ${wanted[i + 1]} or more" \
			wait_for 5 has_risen "$name" "$(cat "$folder/$name")" "${wanted[i + 1]}"
	done
	check "a name of mlx5" test "$(counter hw_counters/out_of_buffer)" = $((\
	$(counter hw_counters/send_rnr_err) + $(counter hw_counters/dropped_no_receive)))
	check "errors are none" test "$(counter counters/port_rcv_errors)" = 0
	check "how old they may be" test "$(counter hw_counters/lifespan)" = 250
	expect ns '^[1-9][0-9]*$' cat $port/counters/port_rcv_packets
}

# ---- what changes ----

shows_gid() {
	run_view "$1" sh -c "cat $port/gids/*" | grep -q "$2"
}

shows_no_gid() {
	! shows_gid "$@"
}

network_changes() {
	local way
	on 0 ip address add 10.77.0.99/24 dev veth0
	for way in shim ns; do
		check "$way: a new address" wait_for 10 shows_gid $way '^0000.*:ffff:0a4d:0063$'
	done
	on 0 ip address delete 10.77.0.99/24 dev veth0
	check "an address that is gone" wait_for 10 shows_no_gid shim ':ffff:0a4d:0063$'
	on 0 ip link set veth0 down
	check "a port that is down" wait_for 10 matches shim '^1: DOWN$' cat $port/state
	on 0 ip link set veth0 up
	check "and up again" wait_for 10 matches shim '^4: ACTIVE$' cat $port/state
}

# ---- a daemon that was killed ----

leftover() {
	daemon_kill 0
	check "a killed daemon leaves its view" test -d "${side_socket[0]}.view"
	check "its port is free" wait_for 10 port_is_free 0
	daemon_restart 0
	expect shim '^4: ACTIVE$' cat $port/state
}

for way in shim ns; do
	if [ $way = ns ] && ! run_view ns true >"$WORK/ns" 2>&1; then
		check "--ns is refused with a reason" grep -q '^rnic-run: --ns: ' "$WORK/ns"
		skip_part "--ns; $(tail -n 1 "$WORK/ns")"
		continue
	fi
	the_tree $way
	the_programs $way
	[ $way = ns ] || continue
	static_programs
	run_options=(--ns)
	pair_run ibv_rc_pingpong -c
	run_options=()
done
the_management_tools
ordinary_user
refusal
disabled
the_counters
case $1 in
netns-*)
	the_connections
	network_changes
	;;
esac
[ "$1" = one ] || leftover
topology_finish

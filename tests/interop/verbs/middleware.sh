#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# UCX and libfabric of the distribution move data over the device:
#
#   middleware.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/ucx.sh"

topology_start "$@"
ucx_transports="rc_verbs,ud_verbs ud_verbs"
if ! grep -q 'Transport: rc_verbs' <(rnic 0 ucx_info -d); then
	ucx_transports=""
	skip_part "this UCX is built without the transports of verbs, as 1.23 of Debian sid is"
fi
ipv6=()
[ "$3" = 4 ] || ipv6=(-6)
PAIR_SECONDS=30

# middleware WHAT SERVER -- CLIENT: two command lines, which are completed by the port, behind the
# option $port_of_server or $port_of_client, and for the client by the address $meeting_point.
middleware() {
	local what=$1 start=$SECONDS server=()
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	next_port=$((next_port + 1))
	while is_listening 0 $next_port; do next_port=$((next_port + 1)); done
	exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
		"${server[@]}" $port_of_server $next_port >"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $!
	wait_for 20 server_listens_or_ended $server_pid $next_port
	exec_on 1 "$BIN/rnic-run" --no-daemon --socket "${side_socket[1]}" \
		"$@" $port_of_client $next_port "$meeting_point" >"$WORK/client.out" 2>&1 &
	client_pid=$!
	own $!
	pair_wait $((PAIR_SECONDS * (${SLOW:-0} * 3 + 1)))
	pair_judge "$what ($((SECONDS - start)) s)"
}

# UCX sets up a connection of rc_verbs over ud_verbs, and goes by the GID index for the addresses.
ucx() {
	local transports=$1 settings=(UCX_NET_DEVICES=rnic0:1 UCX_TLS="$1,self" UCX_LOG_LEVEL=warn)
	shift
	port_of_server=-p port_of_client=-p meeting_point=$server_address
	middleware "ucx_perftest over $transports: $*" \
		env "${settings[@]}" UCX_IB_GID_INDEX="${side_gid[0]}" "${ucx_perftest[@]}" -- \
		env "${settings[@]}" UCX_IB_GID_INDEX="${side_gid[1]}" \
		"${ucx_perftest[@]}" -w 10 "$@"
}

# fi_pingpong checks what it gets with -c.
libfabric() {
	port_of_server=-B port_of_client=-P meeting_point=${side_address[0]}
	middleware "fi_pingpong $*" fi_pingpong "${ipv6[@]}" -c "$@" -- \
		fi_pingpong "${ipv6[@]}" -c "$@"
}

for transports in $ucx_transports; do
	ucx $transports -t tag_lat -n 1000
	ucx $transports -t tag_bw -s 65536 -n 200
	ucx $transports -t ucp_am_lat -s 1000 -n 200
	ucx $transports -t stream_bw -s 4096 -n 200
	ucx $transports -t ucp_put_bw -s 65536 -n 200
	ucx $transports -t ucp_get -s 65536 -n 200
	ucx $transports -t ucp_fadd -n 200
done

# libfabric looks for verbs on interfaces other than loopback only.
case $1 in
netns-*)
	libfabric -p verbs -e msg -I 100
	libfabric -p verbs -e dgram -I 100 -S 512
	libfabric -p "verbs;ofi_rxm" -e rdm -I 100
	libfabric -p "verbs;ofi_rxd" -e rdm -I 100 -S 4096
	;;
esac

topology_finish

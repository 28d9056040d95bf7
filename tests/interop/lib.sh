# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The interop tests share these functions: they start two RNICs (or one), run programs on them, and
# check that the end is clean.
#
#   netns-1500, netns-9000     two network namespaces, and a veth with the MTU in the name (root)
#
#       namespace 0                        namespace 1
#       rnicd 10.77.0.1   veth0 ---- veth1   rnicd 10.77.0.2
#             fd77::1                              fd77::2
#
#   routed-1500, routed-9000   the same addresses, each behind its own veth to a router (root)
#
#       namespace 0               router                 namespace 1
#       veth0 ---------- port0 10.77.0.254, fe80::1 port1 ---------- veth1
#
#   pair                       two daemons on two loopback addresses, no privileges
#   one                        one daemon that serves both programs
#
# A test sources this file, calls topology_start, runs programs on side 0 (server) and side 1
# (client) and ends with topology_finish. topology_finish checks that the test leaves nothing: no
# object in a daemon, no memory, descriptor, process or file.
#
# Environment: RNIC_BUILD (the build tree), RNIC_TEST_LONG=1 (the long variants),
# RNIC_TEST_DIRECT=1 (the device runs inside the programs), RNIC_TEST_SANITIZE=1 (a build with
# sanitizers: more time and memory), RNIC_TEST_KEEP=1 (keep logs).
# contain.sh adds RNIC_TEST_WORK, RNIC_TEST_ID and RNIC_TEST_ISOLATED.

set -u

SKIP=77
INTEROP=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -n "${RNIC_TEST_WORK:-}" ] || exec "$INTEROP/contain.sh" "$0" "$@"
BUILD=${RNIC_BUILD:?RNIC_BUILD names the build tree}
BIN=$BUILD/bin
LONG=${RNIC_TEST_LONG:-}
SLOW=${RNIC_TEST_SANITIZE:+1}
RUN_ID=$RNIC_TEST_ID
WORK=$RNIC_TEST_WORK
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH

failures=0
checks=0
processes=()   # processes that this test started and that may still run
declare -A starts # start time of each: the kernel may give its number to another process later
side_namespace=("" "")
side_socket=("" "")
side_address=("" "")
side_pid=("" "")
side_held=(0 0)
side_options=("" "")
side_user=("" "") # the uid of the side's programs, where it is not the test's own
side_gid=(0 0)
server_address=127.0.0.1
dad_probes=0 # by which the kernel looks for duplicates of an IPv6 address, one a second
run_options=() # of rnic-run, for pairs of programs
direct=(${RNIC_TEST_DIRECT:+--direct})
daemon_prefix=() # a command that runs rnicd
client_input=/dev/null # of the client that cm_start begins
loopback=127.$((RUN_ID / 250 % 250 + 1)).$((RUN_ID % 250)) # a network of this run alone
multicast_number=$((RUN_ID / 250 % 250)).$((RUN_ID % 250 + 1)) # end of a group of this run alone
next_port=$((20000 + RUN_ID % 120 * 100)) # below the ports that the kernel gives to clients

if [ -n "$SLOW" ]; then
	# The distribution builds its programs without a sanitizer; the libraries of this tree bring
	# the sanitizer along.
	export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
	export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
fi

# ---- results ----

pass() {
	checks=$((checks + 1))
	echo "ok    $1"
}

fail() {
	checks=$((checks + 1))
	failures=$((failures + 1))
	echo "FAIL  $1"
	[ $# -lt 2 ] || tail -n 15 "$2" | sed 's/^/      | /'
}

# check WHAT COMMAND...: the command must succeed.
check() {
	local what=$1
	shift
	if "$@" >"$WORK/check.out" 2>&1; then pass "$what"; else fail "$what" "$WORK/check.out"; fi
}

# say_end WORD...: prints how the test ended. After that the test may end.
say_end() {
	echo "$*"
	: >"$WORK/.ended"
}

skip_test() {
	say_end "skipped: $1"
	exit $SKIP
}

# skip_part REASON: a part of the test cannot run here; run.sh counts it among the skipped tests.
skip_part() {
	echo "skipped: $1"
}

# lacks_descriptors COUNT: whether the hard limit is lower, which "lacks" then says. A login has a
# soft limit of 1024 and a hard one far above that.
lacks_descriptors() {
	lacks="needs $1 descriptors, and the hard limit (ulimit -Hn) is $(ulimit -Hn)"
	[ "$(ulimit -Hn)" != unlimited ] && [ "$(ulimit -Hn)" -lt "$1" ]
}

require_descriptors() {
	! lacks_descriptors "$1" || skip_test "$lacks"
}

# wait_for SECONDS COMMAND...: polls until the command succeeds, for at least so many seconds.
wait_for() {
	local deadline=$((SECONDS + $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $deadline ]; then
			echo "# a wait ran out: $*" >&2
			return 1
		fi
		sleep 0.05 # between two polls
	done
}

# ---- processes ----

# read_process PID: sets process_state and process_start. The start time tells apart two processes
# that have the same number one after the other.
read_process() {
	local stat
	{ read -r stat <"/proc/${1:-none}/stat"; } 2>/dev/null || return 1
	# The name comes first and may hold any character: read the fields after the name.
	read -r process_state _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ process_start _ <<<"${stat##*) }"
}

# own PID: notes a process that this test started.
own() {
	processes+=("$1")
	read_process "$1" || process_start=gone
	starts[$1]=$process_start
}

# is_running PID: PID may be a process that this test started, or any other process.
is_running() {
	read_process "$1" && [ "$process_state" != Z ] &&
		[ "$process_start" = "${starts[$1]:-$process_start}" ]
}

has_ended() {
	! is_running "$1"
}

# signal_process SIGNAL PID...: signals the processes that still run, and no other process that has
# one of the numbers now.
signal_process() {
	local signal=$1 process
	shift
	for process in "$@"; do
		if is_running "$process"; then kill -"$signal" "$process" 2>/dev/null; fi
	done
}

# end_process PID: sends TERM, and KILL to a process that does not end. One that is stopped takes
# TERM when it goes on.
end_process() {
	is_running "$1" || return 0
	signal_process TERM "$1"
	signal_process CONT "$1"
	wait_for 5 has_ended "$1" || signal_process KILL "$1"
}

# expect_end SECONDS PID STATUS WHAT FILE: a child must end with STATUS within SECONDS; FILE holds
# its output.
expect_end() {
	local status
	wait_for "$1" has_ended "$2"
	end_process "$2"
	wait "$2"
	status=$?
	if [ $status -eq "$3" ]; then
		pass "$4 ends with $3"
	else
		fail "$4 ends with $status, not $3" "$5"
	fi
}

# whereabouts: prints the line of the script and its functions. Call it in a trap.
whereabouts() {
	local frame
	echo -n "at line $script_line"
	for ((frame = 2; frame < ${#FUNCNAME[@]} - 1; frame++)); do
		echo -n ", in ${FUNCNAME[frame]} from line ${BASH_LINENO[frame]}"
	done
}

# end_by_signal SIGNAL STATUS COMMAND
end_by_signal() {
	say_end "FAIL  SIG$1 ended the test $(whereabouts), at: $3"
	exit "$2"
}

# contain.sh ends the processes that are left, and removes $WORK.
cleanup() {
	local status=$1 process
	trap - EXIT
	if [ ! -e "$WORK/.ended" ]; then
		say_deaths
		say_end "FAIL  the test ended with status $status $(whereabouts), at: $2"
		case $status in 0 | 77) status=1 ;; esac # 77 says "skipped" to ctest
	fi
	for process in "${processes[@]}"; do end_process "$process"; done
	exit "$status"
}
script_line=0
trap '[ $LINENO -eq 1 ] || script_line=$LINENO' DEBUG # of the script, not of functions or traps
trap 'cleanup $? "$BASH_COMMAND"' EXIT
trap 'end_by_signal HUP 129 "$BASH_COMMAND"' HUP
trap 'end_by_signal INT 130 "$BASH_COMMAND"' INT
trap 'end_by_signal TERM 143 "$BASH_COMMAND"' TERM

. "$INTEROP/daemon_family.sh"

# ---- topology ----

# on SIDE COMMAND...: runs the command in the side's network namespace. In the background the
# command replaces the shell, so that $! is the command.
on() {
	local namespace=${side_namespace[$1]}
	shift
	if [ -n "$namespace" ]; then
		ip netns exec "$namespace" "$@"
	else
		"$@"
	fi
}

exec_on() {
	local namespace=${side_namespace[$1]}
	shift
	if [ -n "$namespace" ]; then exec ip netns exec "$namespace" "$@"; else exec "$@"; fi
}

rnic() {
	local side=$1
	shift
	on "$side" "$BIN/rnic-run" --no-daemon --socket "${side_socket[$side]}" "${direct[@]}" "$@"
}

control() {
	local side=$1
	shift
	on "$side" "$BIN/rnicctl" show --socket "${side_socket[$side]}" "$@"
}

# exec_program SIDE COMMAND...: replaces the shell by a program on the side's device, and of the
# side's user if the test names one.
exec_program() {
	local side=$1 uid=${side_user[$1]} prefix=()
	shift
	[ -z "$uid" ] || prefix=(setpriv --reuid "$uid" --regid "$uid" --clear-groups)
	exec_on "$side" "${prefix[@]}" "$BIN/rnic-run" --no-daemon \
		--socket "${side_socket[$side]}" "${direct[@]}" "${run_options[@]}" "$@"
}

# query SIDE KIND EXPRESSION: prints a Python expression over `rows`, the rows of KIND from rnicctl.
query() {
	control "$1" --json "$2" | python3 -c "
import json, sys
rows = json.load(sys.stdin)['$2']
print($3)"
}

# holds SIDE KIND EXPRESSION: succeeds when the expression is true.
holds() {
	[ "$(query "$1" "$2" "bool($3)")" = True ]
}

# make_router MTU: the namespaces have a router between them, which takes one from the hop limit.
make_router() {
	local mtu=$1 side router=rnic-$RUN_ID-router
	ip netns add "$router"
	ip netns exec "$router" sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	for side in 0 1; do
		ip link add veth$side netns "${side_namespace[$side]}" mtu "$mtu" type veth \
			peer name port$side netns "$router" mtu "$mtu" || exit 1
		ip -netns "$router" address add 10.77.0.254/32 dev port$side
		ip -netns "$router" -6 address add fe80::1/64 dev port$side nodad
		ip -netns "$router" link set port$side up
		ip -netns "$router" route add "10.77.0.$((side + 1))/32" dev port$side
		ip -netns "$router" -6 route add "fd77::$((side + 1))/128" dev port$side
	done
}

# address_side SIDE BITS4 BITS6: gives the side's interface its addresses, and brings it up.
address_side() {
	local side=$1
	# Packets for an address that is being probed get lost.
	on "$side" sysctl -q -w "net.ipv6.conf.veth$side.accept_dad=$((dad_probes > 0))" \
		"net.ipv6.conf.veth$side.dad_transmits=$dad_probes"
	on "$side" ip address add "10.77.0.$((side + 1))/$2" dev "veth$side"
	on "$side" ip -6 address add "fd77::$((side + 1))/$3" dev "veth$side" nodad
	on "$side" ip link set "veth$side" up
}

# make_namespaces netns|routed MTU
make_namespaces() {
	local kind=$1 mtu=$2 side
	[ "$(id -u)" -eq 0 ] || skip_test "network namespaces need root"
	for side in 0 1; do
		side_namespace[side]=rnic-$RUN_ID-$side
		ip netns add "${side_namespace[$side]}" || skip_test "no network namespaces here"
		on $side ip link set lo up
	done
	server_address=10.77.0.1
	if [ "$kind" = routed ]; then
		make_router "$mtu"
		for side in 0 1; do
			address_side $side 32 128
			on $side ip route add 10.77.0.0/24 via 10.77.0.254 dev veth$side onlink
			on $side ip -6 route add fd77::/64 via fe80::1 dev veth$side
		done
		return
	fi
	ip link add veth0 netns "${side_namespace[0]}" mtu "$mtu" type veth \
		peer name veth1 netns "${side_namespace[1]}" mtu "$mtu" || exit 1
	for side in 0 1; do
		on $side ip link set veth$side mtu "$mtu"
		address_side $side 24 64
	done
}

# make_wire MTU OPTION...: namespaces like those of make_namespaces, with a wire between them that
# path_forwarder carries. Sets wire_pid.
make_wire() {
	local mtu=$1 side
	shift
	[ "$(id -u)" -eq 0 ] || skip_test "network namespaces need root"
	[ -c /dev/net/tun ] || skip_test "there is no /dev/net/tun"
	rm -f "$WORK/wire"
	"$BUILD/tests/path_forwarder" wire0 wire1 "$@" >"$WORK/wire" 2>&1 &
	wire_pid=$!
	own $!
	wait_for 20 grep -q ready "$WORK/wire" || skip_test "no wire: $(cat "$WORK/wire")"
	for side in 0 1; do
		side_namespace[side]=rnic-$RUN_ID-$side
		ip netns add "${side_namespace[$side]}" || skip_test "no network namespaces here"
		ip link set wire$side netns "${side_namespace[$side]}" name veth$side
		on $side ip link set lo up
		on $side ip link set veth$side mtu "$mtu" txqueuelen 10000
		address_side $side 24 64
	done
	server_address=10.77.0.1
}

# daemon_start SIDE OPTION...: starts rnicd on the side's socket and waits until rnicd answers.
daemon_start() {
	local side=$1
	shift
	side_options[side]=$(printf '%q ' "$@")
	mkdir -p "$WORK/side$side"
	side_socket[side]=$WORK/side$side/rnicd.sock
	ASAN_OPTIONS=detect_leaks=1 exec_on "$side" "${daemon_prefix[@]}" "$BIN/rnicd" \
		--socket "${side_socket[$side]}" "$@" >"$WORK/daemon$side.log" 2>&1 &
	side_pid[side]=$!
	own $!
	wait_for 20 daemon_answers_or_ended "$side"
	if ! control "$side" device >/dev/null; then
		fail "rnicd starts: $*" "$WORK/daemon$side.log"
		exit 1
	fi
	side_held[side]=$(count_held "${side_pid[$side]}")
}

daemon_answers_or_ended() {
	has_ended "${side_pid[$1]}" || control "$1" device
}

# daemon_restart SIDE: starts an ended daemon again with the same options.
daemon_restart() {
	wait_for 20 port_is_free "$1"
	eval "daemon_start $1 ${side_options[$1]}"
	find_gid "$1" "${side_address[$1]}"
}

find_gid() {
	side_gid[$1]=$(query "$1" device \
		"next(g['index'] for g in rows['gids'] if g['gid'] == '$2')") || {
		fail "side $1 has a GID for $2" "$WORK/daemon$1.log"
		exit 1
	}
}

# Loopback has one IPv6 address. Where contain.sh cannot give each test a loopback of its own, all
# tests share this address.
take_loopback6() {
	local lock
	side_address[0]=::1
	[ -z "${RNIC_TEST_ISOLATED:-}" ] || return 0
	exec {lock}<"${TMPDIR:-/tmp}"
	flock --timeout 120 "$lock" || fail "no other test has ::1"
}

# topology_start TOPOLOGY uring|socket 4|6 [OPTION...]: starts the daemons with the options. The
# side's number replaces "@SIDE" in an option.
topology_start() {
	local topology=$1 port=$2 family=$3 side sides="0 1"
	shift 3
	echo "# $topology, $port, IPv$family${*:+, }$*"
	case $topology in
	netns-* | routed-*)
		make_namespaces "${topology%-*}" "${topology#*-}"
		for side in 0 1; do
			daemon_start $side --netdev veth$side --port "$port" "${@//@SIDE/$side}"
			side_address[side]=$([ "$family" = 6 ] && echo "fd77::$((side + 1))" ||
				echo "10.77.0.$((side + 1))")
		done
		;;
	pair)
		[ "$family" = 4 ] || skip_test "loopback has one IPv6 address only"
		for side in 0 1; do
			side_address[side]=$loopback.$((side + 2))
			daemon_start $side --address "${side_address[$side]}" --port "$port" \
				"${@//@SIDE/$side}"
		done
		;;
	one)
		sides=0
		side_address[0]=$loopback.2
		[ "$family" = 4 ] || take_loopback6
		daemon_start 0 --address "${side_address[0]}" --port "$port" "${@//@SIDE/0}"
		;;
	esac
	for side in $sides; do find_gid "$side" "${side_address[$side]}"; done
	if [ "$topology" = one ]; then
		side_socket[1]=${side_socket[0]}
		side_gid[1]=${side_gid[0]}
	fi
}

is_empty() {
	holds "$1" clients "rows == []" && holds "$1" qps "rows == []" &&
		holds "$1" mrs "rows == []" && holds "$1" mws "rows == []" &&
		holds "$1" cqs "rows == []" && holds "$1" srqs "rows == []" &&
		holds "$1" cm "rows == []"
}

# daemon_finish SIDE: checks that the daemon holds nothing of its clients and ends with status 0,
# and its device processes before it.
daemon_finish() {
	local side=$1 pid=${side_pid[$1]} limit=$((32 * 1024)) status
	[ -z "$SLOW" ] || limit=$((512 * 1024))
	if wait_for 10 is_empty "$side"; then
		pass "side $side: nothing is left"
	else
		control "$side" >"$WORK/left"
		fail "side $side: nothing is left" "$WORK/left"
	fi
	if wait_for 10 holds_no_more "$side"; then
		pass "side $side: no descriptor or mapping of a client is left"
	else
		held_by "$pid" >"$WORK/held"
		fail "side $side: no descriptor or mapping of a client is left" "$WORK/held"
	fi
	check "side $side: resident memory below $limit KiB" \
		test "$(resident_kib "$pid")" -lt $limit
	own_family "$side"
	signal_process TERM "$pid"
	wait_for 10 has_ended "$pid" || signal_process KILL "$pid"
	wait "$pid"
	status=$?
	[ $status -eq 0 ] || fail "side $side: exit status $status on SIGTERM" \
		"$WORK/daemon$side.log"
	wait_for 20 family_has_ended ||
		fail "side $side: device processes outlive rnicd: ${family[*]}"
	check "side $side: no file is left" test -z "$(ls -A "$WORK/side$side")"
}

all_have_ended() {
	local process left=""
	for process in "${processes[@]}"; do
		if is_running "$process"; then left+=" $process"; fi
	done
	# shellcheck disable=SC2086 # numbers
	[ -z "$left" ] || { ps -o pid,args $left; return 1; }
}

# topology_finish: ends and checks the daemons, prints the number of failures, and exits.
topology_finish() {
	local side
	for side in 0 1; do
		[ -z "${side_pid[$side]}" ] || daemon_finish $side
	done
	test_finish
}

test_finish() {
	check "no process is left" all_have_ended
	[ $failures -eq 0 ] || say_deaths
	say_end "# $checks checks, $failures failed"
	[ $failures -eq 0 ]
	exit
}

# ---- two programs ----

is_listening() {
	[ -n "$(on "$1" ss -Hltn "sport = :$2")" ]
}

server_listens_or_ended() {
	has_ended "$1" || is_listening 0 "$2"
}

# forget_output [FILE...]: removes the output of the pair before, or these files of $WORK. The shell
# in the background empties the files some time later; until then the old output would look like the
# output of the next program.
forget_output() {
	[ $# -gt 0 ] || set -- server.out client.out
	rm -f "${@/#/$WORK/}"
}

# pair_start PROGRAM OPTION...: starts the program on both sides, the client once the server
# listens. Sets server_pid and client_pid. The output goes to $WORK/server.out and $WORK/client.out.
pair_start() {
	local program=$1 port gid=-x
	shift
	next_port=$((next_port + 1))
	while is_listening 0 $next_port; do next_port=$((next_port + 1)); done
	port=$next_port
	case $program in ibv_*) gid=-g ;; esac
	forget_output
	exec_program 0 "$program" -p $port $gid "${side_gid[0]}" "$@" >"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $!
	wait_for 20 server_listens_or_ended $server_pid $port
	exec_program 1 "$program" -p $port $gid "${side_gid[1]}" "$@" "$server_address" \
		>"$WORK/client.out" 2>&1 &
	client_pid=$!
	own $!
}

# cm_is_ready [STATE]: succeeds when a CM identifier on the server's side listens or is in STATE.
cm_is_ready() {
	holds 0 cm "any(r['state'] in ('listening', '${1:-listening}') for r in rows)"
}

cm_is_ready_or_ended() {
	has_ended "$server_pid" || cm_is_ready "$1"
}

# cm_start READY SERVER -- CLIENT: two command lines of programs that use librdmacm. The client
# begins once an identifier on the server's side is in the state READY.
cm_start() {
	local ready=$1 server=()
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	forget_output
	exec_program 0 "${server[@]}" >"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $!
	wait_for 20 cm_is_ready_or_ended "$ready"
	exec_program 1 "$@" <"$client_input" >"$WORK/client.out" 2>&1 &
	client_pid=$!
	own $!
}

# cm_run SERVER -- CLIENT: both programs must end with status 0 in time.
cm_run() {
	local start=$SECONDS
	cm_start listening "$@"
	pair_wait $((PAIR_SECONDS * (${SLOW:-0} * 3 + 1)))
	pair_judge "${*/#--/, client} ($((SECONDS - start)) s)"
}

# cm_serve SERVER -- CLIENT: the client must end with status 0 in time; the server never ends by
# itself.
cm_serve() {
	local start=$SECONDS
	cm_start listening "$@"
	wait_for $((PAIR_SECONDS * (${SLOW:-0} * 3 + 1))) has_ended "$client_pid"
	end_process "$client_pid"
	wait "$client_pid"
	client_status=$?
	check "${1##*/} still serves" is_running "$server_pid"
	end_process "$server_pid"
	wait "$server_pid"
	server_status=0
	pair_judge "${*/#--/, client} ($((SECONDS - start)) s)"
}

# mckey_run TOPOLOGY FAMILY: side 0 receives what side 1 sends to a multicast group.
mckey_run() {
	local receiver group=239.9.$multicast_number
	if [ "$1/$2" = one/6 ]; then
		echo "# no mckey: the kernel routes no IPv6 multicast over loopback"
		return 0
	fi
	[ "$2" = 4 ] || group=$(printf "ff15::%x:%x" $((RUN_ID >> 16)) $((RUN_ID & 65535)))
	forget_output
	exec_program 0 stdbuf -oL mckey -m "$group" -b "${side_address[0]}" \
		>"$WORK/server.out" 2>&1 &
	receiver=$!
	own $receiver
	wait_for 20 grep -q "joined dgid" "$WORK/server.out"
	(exec_program 1 timeout 20 mckey -s -m "$group" \
		-b "${side_address[1]:-${side_address[0]}}") >"$WORK/client.out" 2>&1
	client_status=$?
	wait_for 20 has_ended $receiver
	end_process $receiver
	wait $receiver
	server_status=$?
	pair_judge "mckey $group"
}

pair_has_ended() {
	has_ended "$server_pid" && has_ended "$client_pid"
}

# pair_wait SECONDS: sets server_status and client_status; 124 is the status of a killed program.
pair_wait() {
	local hung=""
	wait_for "$1" pair_has_ended || hung=1
	end_process "$client_pid"
	end_process "$server_pid"
	wait "$client_pid"
	client_status=$?
	wait "$server_pid"
	server_status=$?
	[ -z "$hung" ] || client_status=124
}

# pair_run PROGRAM OPTION...: both programs must end with status 0 in time.
PAIR_SECONDS=${PAIR_SECONDS:-60}
pair_run() {
	local start=$SECONDS
	pair_start "$@"
	pair_wait $((PAIR_SECONDS * (${SLOW:-0} * 3 + 1)))
	pair_judge "$* ($((SECONDS - start)) s)"
}

# pair_judge WHAT: checks that both programs ended with status 0.
pair_judge() {
	if [ "$client_status" -eq 0 ] && [ "$server_status" -eq 0 ]; then
		pass "$1"
	else
		cat "$WORK/server.out" "$WORK/client.out" >"$WORK/pair.out"
		fail "$1 (client $client_status, server $server_status)" "$WORK/pair.out"
		return 1
	fi
}

# dissect OPTION...: runs tshark without two protocols: tshark guesses, and takes small SEND
# payloads for packets of these protocols.
dissect() {
	tshark --disable-protocol rpcordma --disable-protocol infiniband.eoib "$@" 2>/dev/null
}

# count_packets FILE FILTER: prints the number of packets that match the filter.
count_packets() {
	dissect -r "$1" -Y "$2" -T fields -e frame.number | wc -l
}

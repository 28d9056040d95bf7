#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs of two ordinary users: family_users.sh TOPOLOGY PORT FAMILY [SCENARIO...]
#
# On root's daemon each user has a device process of the own uid. Programs of one user and of two
# users reach each other by every service; on topology "one" those of one user are on one device
# process, which sends to itself. The daemon of an ordinary user serves this user and root, and
# whom --allow names.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
topology=$1 port_kind=$2 family=$3
shift 3
topology_start "$topology" "$port_kind" "$family"
scenarios=(each_has_a_device one_user two_users own_daemon lanes_run_out)
[ $# -eq 0 ] || scenarios=("$@")
server=${side_address[0]}
port=7900
connections=100
[ -z "$SLOW" ] || connections=20

each_has_a_device() {
	wait_for 15 has_no_device 0
	program_start a1 $user_a
	program_start a2 $user_a
	program_start b $user_b
	check "two programs of a user share a device process" \
		test "$(device_of 0 $user_a | wc -l)" = 1
	check "another user has another one" test "$(device_of 0 $user_b | wc -l)" = 1
	check "it has none of the daemon's standard descriptors" \
		has_own_descriptors "$(device_of 0 $user_b)"
	check "there are no more" test "$(devices_of "${side_pid[0]}" | wc -l)" = 2
	check "none goes before other users' processes" \
		test "$(ps -o ni= -p "$(device_of 0 $user_b)" | tr -d ' ')" = 0
	check "root sees all queue pairs" wait_for 10 sees 0 3
	check "a user sees the own ones only" wait_for 10 sees $user_a 2
	check "another user too" wait_for 10 sees $user_b 1
	check "their queue pair numbers are of two lanes" \
		holds 0 qps "len({r['qpn'] >> 16 for r in rows}) == 2"
	for name in a1 a2 b; do program_end $name; done
}

# has_own_descriptors PID
has_own_descriptors() {
	[ "$(readlink "/proc/$1/fd/0" "/proc/$1/fd/1" "/proc/$1/fd/2" | sed 's/pipe:.*/pipe/' |
		tr '\n' ' ')" = "/dev/null /dev/null pipe " ]
}

# sees UID COUNT: rnicctl shows so many queue pairs to the user.
sees() {
	[ "$(as "$1" "$BIN/rnicctl" show --socket "${side_socket[0]}" --json qps |
		python3 -c "import json, sys; print(len(json.load(sys.stdin)['qps']))")" = "$2" ]
}

all_services() {
	pair_run ibv_rc_pingpong -c -n 200
	pair_run ib_write_bw -F -c RC -s 65536 -n 200
	pair_run ib_read_bw -F -c RC -s 65536 -n 100
	pair_run ibv_uc_pingpong -n 100
	pair_run ibv_ud_pingpong -n 100
	mckey_run "$topology" "$family"
	port=$((port + 10))
	cm_run rping -s -a "$server" -p $port -C 100 -- rping -c -a "$server" -p $port -C 100 -V
	cm_run udaddy -b "$server" -C 20 -- udaddy -s "$server" -C 20
	cm_run "$BUILD/tests/connection_load" serve "$server" $((port + 2)) $connections -- \
		"$BUILD/tests/connection_load" connect "$server" $((port + 2)) $connections 10
	cm_run rstream -T v -I 100 -C 1 -S 4096 -b "$server" -p $((port + 3)) -- \
		rstream -T v -I 100 -C 1 -S 4096 -s "$server" -p $((port + 3))
}

one_user() {
	side_user=($user_a $user_a)
	all_services
	side_user=("" "")
}

two_users() {
	side_user=($user_a $user_b)
	all_services
	side_user=("" $user_b)
	pair_run ibv_rc_pingpong -c -n 200
	side_user=("" "")
}

# ---- the daemon of an ordinary user ----

# own_daemon_start OPTION...: a daemon of user A beside root's. Sets own_socket and own_daemon.
own_daemon_start() {
	local directory=$WORK/own
	mkdir -p "$directory"
	chown $user_a "$directory"
	own_socket=$directory/rnicd.sock
	exec_on 0 setpriv --reuid $user_a --regid $user_a --clear-groups "$BIN/rnicd" \
		--socket "$own_socket" --address "$loopback.77" --port "$port_kind" "$@" \
		>"$WORK/own.log" 2>&1 &
	own_daemon=$!
	own $own_daemon
	wait_for 20 own_daemon_answers || fail "the daemon of a user starts" "$WORK/own.log"
}

own_daemon_answers() {
	"$BIN/rnicctl" show --socket "$own_socket" device
}

own_daemon_end() {
	local process
	for process in $(devices_of "$own_daemon"); do own "$process"; done
	signal_process TERM "$own_daemon"
	wait_for 10 has_ended "$own_daemon"
	wait "$own_daemon"
	check "it ends with 0" test $? -eq 0
}

# uses_own UID COMMAND...: of this user, on the daemon of user A.
uses_own() {
	local uid=$1
	shift
	as "$uid" timeout 10 "$BIN/rnic-run" --no-daemon --socket "$own_socket" "$@"
}

serves() {
	uses_own "$1" "$BUILD/tests/first_completion"
}

# refuses_with SENTENCE UID: the program fails, and says this.
refuses_with() {
	! uses_own "$2" "$BUILD/tests/first_completion" >"$WORK/refused.out" 2>&1
	cat "$WORK/refused.out"
	grep -q -- "$1" "$WORK/refused.out"
}

# has_device_of UID COUNT: the daemon of user A has so many device processes, all of this uid.
has_device_of() {
	local process
	[ "$(devices_of "$own_daemon" | wc -l)" = "$2" ] || return 1
	for process in $(devices_of "$own_daemon"); do
		[ "$(awk '/^Uid:/ { print $2 }' "/proc/$process/status")" = "$1" ] || return 1
	done
}

# own_ports EXPRESSION: true of what rnicctl says of the ports of user A's daemon.
own_ports() {
	"$BIN/rnicctl" show --socket "$own_socket" --json device | python3 -c "
import json, sys
ports = json.load(sys.stdin)['device']['source_ports']
sys.exit(not ($1))"
}

# own_packets_come_from_held_ports: none of the ports is one of root's, and all are held at all
# addresses, too.
own_packets_come_from_held_ports() {
	on 0 ss -Huanp | awk -v pid="pid=$own_daemon," '
		index($0, pid) { n = split($4, part, ":"); port = part[n] }
		!index($0, pid) || port == 4791 { next }
		port >= 61000 && port <= 62016 { exit bad = 1 }
		part[1] == "*" { held[port] = 1 }
		part[1] != "*" { sends[port] = 1 }
		END { for (p in sends) if (!(p in held)) bad = 1; exit bad || !length(held) }'
}

own_daemon() {
	own_daemon_start
	check "a user's daemon sends from ports that root does not hold" \
		own_ports "ports.endswith('instead of ports of other programs')"
	check "and holds these ports, too" own_packets_come_from_held_ports
	check "the log says so" \
		grep -q "others have 1 of the UDP ports .* (user 0 has 62016)" "$WORK/own.log"
	check "a user's daemon serves this user" serves $user_a
	check "and root" serves 0
	check "both by one device process of the user" has_device_of $user_a 1
	check "a program with the device inside works there" \
		uses_own $user_a --direct "$BUILD/tests/first_completion"
	check "and refuses others, naming --allow" refuses_with --allow $user_b
	check "rnicctl of others is served" as $user_b "$BIN/rnicctl" show --socket "$own_socket"
	own_daemon_end
	own_daemon_start --allow $user_b
	check "whom --allow names is served" serves $user_b
	check "its owner too" serves $user_a
	check "all by one device process of the owner" has_device_of $user_a 1
	check "all others are refused" refuses_with --allow 31003
	own_daemon_end
}

# ---- more users than lanes ----

says_no_lane() {
	cat "$WORK/refused.out"
	grep -qi "no lane" "$WORK/refused.out"
}

# 120 users have lanes, and the next one has none until one of the others has none. Seven are for
# root.
lanes_run_out() {
	local number holders=()
	if lacks_descriptors 4096; then
		skip_part "the lanes run out: $lacks"
		return
	fi
	wait_for 15 has_no_device 0
	for ((number = 0; number < 120; number++)); do
		side_user[0]=$((32000 + number))
		(exec_program 0 ibv_asyncwatch -d rnic0) >"$WORK/holder.out" 2>&1 &
		holders+=($!)
		own $!
	done
	side_user[0]=""
	check "120 users have programs" wait_for 60 holds 0 clients "len(rows) == 120"
	check "and a device process each" \
		test "$(devices_of "${side_pid[0]}" | wc -l)" = 120
	check "a user more is refused" new_program_fails $user_a
	check "for there is no lane" says_no_lane
	check "root gets in" new_program_works 0
	check "a user who has one is served" new_program_works 32000
	end_process "${holders[0]}"
	device_signal KILL 0 32000
	check "a lane that ended serves the next" wait_for 5 new_program_works $user_a
	signal_process KILL "${holders[@]}"
	wait "${holders[@]}" 2>/dev/null
	check "without programs no device process stays" wait_for 15 has_no_device 0
}

for scenario in "${scenarios[@]}"; do
	echo "# $scenario"
	$scenario
done
topology_finish

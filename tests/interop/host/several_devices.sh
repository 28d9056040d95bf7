#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One program on the devices of eight daemons: several_devices.sh PORT
#
# The devices have names, GUIDs, GIDs and uverbs of their own, also in the path view, and all pass
# traffic. A daemon that ends takes its device along, and no other one.
. "$(dirname "$0")/../lib.sh"

port=$1
count=8
all=()
mkdir "$WORK/sockets" "$WORK/runtime"
export XDG_RUNTIME_DIR=$WORK/runtime # where rnic-run makes the view
for ((side = 0; side < count; side++)); do
	side_namespace[side]=""
	side_user[side]=""
	side_address[side]=$loopback.$((side + 2))
	daemon_start $side --address "${side_address[side]}" --port "$port"
	all+=(--socket "${side_socket[side]}")
	ln -s "${side_socket[side]}" "$WORK/sockets/$side.sock"
done

# run COMMAND...: a program on all devices.
run() {
	"$BIN/rnic-run" --no-daemon "${all[@]}" "${direct[@]}" "$@"
}

# distinct FIELD: each device that was listed has another one.
distinct() {
	local pattern="s/^device .*\\b$1=\\([^ ]*\\).*/\\1/p"
	[ "$(sed -n "$pattern" "$WORK/program" | sort -u | wc -l)" -eq $count ]
}

echo "# the list"
run ibv_devices >"$WORK/list" 2>&1
check "ibv_devices lists all" test "$(grep -c '^ *rnic[0-7] ' "$WORK/list")" -eq $count
RNIC_SOCKET=$WORK/sockets "$BIN/rnic-run" --no-daemon ibv_devices >"$WORK/list" 2>&1
check "so it does with a directory of sockets" \
	test "$(grep -c '^ *rnic[0-7] ' "$WORK/list")" -eq $count
"$BIN/rnic-run" --no-daemon "${all[@]}" --address 127.0.0.1 true >"$WORK/refused" 2>&1
check "rnic-run wants an address for each" test $? -eq 1
check "and says so" grep -q 'give it once for each socket' "$WORK/refused"
RNIC_SOCKET=${side_socket[0]}:${side_socket[1]} "$BIN/rnicctl" show >"$WORK/refused" 2>&1
check "rnicctl asks which daemon" grep -q 'names 2 sockets; give one of them' "$WORK/refused"

# ---- the path view ----

# sees WAY COMMAND...: prints what a program sees by the shim or by a mount namespace.
sees() {
	local option=()
	[ "$1" = shim ] || option=(--ns)
	shift
	"$BIN/rnic-run" --no-daemon "${all[@]}" "${option[@]}" "$@" 2>&1
}

# the_view WAY: the devices, as programs find them in sysfs.
the_view() {
	local way=$1 names ipv4 bytes
	names=$(seq -f rnic%.0f -s ' ' 0 $((count - 1)))
	check "$way: /sys/class/infiniband has all" \
		test "$(sees "$way" sh -c 'cd /sys/class/infiniband && echo *')" = "$names"
	check "$way: so has ibstat" test "$(sees "$way" ibstat -l | tr '\n' ' ')" = "$names "
	check "$way: uverbs are of their numbers" test "$(sees "$way" sh -c \
		'cat /sys/class/infiniband_verbs/uverbs*/ibdev' | tr '\n' ' ')" = "$names "
	check "$way: and of their devices" test "$(sees "$way" sh -c \
		'cd /sys/class/infiniband_verbs && ls uverbs5/device/net')" = lo
	[ "$way" != shim ] || check "$way: the interface has all" \
		test "$(sees "$way" sh -c 'cd /sys/class/net/lo/device/infiniband && echo *')" = \
		"$names"
	check "$way: /dev/infiniband has all" test "$(sees "$way" ls /dev/infiniband |
		grep -c '^uverbs[0-7]$')" -eq $count
	check "$way: as the kernel has them" test \
		"$(sees "$way" readlink /sys/class/infiniband/rnic5)" = \
		../../devices/virtual/infiniband/rnic5
	ipv4=$(sees "$way" cat /sys/class/infiniband/rnic5/ports/1/gids/0)
	IFS=. read -r -a bytes <<<"${side_address[5]}"
	check "$way: with its address" test "${ipv4:30}" = \
		"$(printf '%02x%02x:%02x%02x' "${bytes[@]}")"
}

the_view shim
if sees ns true >"$WORK/ns"; then
	the_view ns
	check "ns: for a static program" test "$(sees ns busybox ls /sys/class/infiniband |
		wc -l)" -eq $count
else
	skip_part "--ns; $(tail -n 1 "$WORK/ns")"
fi
# A program that looks again and again.
# shellcheck disable=SC2016
(exec "$BIN/rnic-run" --no-daemon "${all[@]}" sh -c '
	watched=/sys/class/infiniband/rnic3
	[ -e $watched ] && echo there
	while [ -L $watched ]; do sleep 0.05; done
	echo gone $(ls /sys/class/infiniband | wc -l) $(ls /dev/infiniband | wc -l)
	until [ -e $watched/ports/1/state ]; do sleep 0.05; done
	echo back $(cat /sys/class/infiniband_verbs/uverbs3/ibdev)' >"$WORK/looker" 2>&1) &
looker=$!
own $looker
check "a program sees them" wait_for 20 grep -qx there "$WORK/looker"

# await LINE: the program prints such a line.
await() {
	wait_for 30 grep -qx "$1" "$WORK/program"
}

# tell COMMAND: the program carries it out. Its earlier output is forgotten.
tell() {
	: >"$WORK/program"
	echo "$1" >&"$commands"
	await "done $1"
}

# program_start [LAUNCHER...]: the program opens its devices, by default those of all sockets.
mkfifo "$WORK/commands"
program_start() {
	local launcher=("$@")
	[ $# -gt 0 ] || launcher=("$BIN/rnic-run" --no-daemon "${all[@]}" "${direct[@]}")
	: >"$WORK/program"
	(exec "${launcher[@]}" "$BUILD/tests/several_devices" <"$WORK/commands" \
		>>"$WORK/program" 2>&1) &
	program=$!
	own $program
	exec {commands}>"$WORK/commands"
	check "it opens them" await "done open"
}

program_end() {
	check "the program ends" tell end
	wait $program
	check "with status 0" test $? -eq 0
	exec {commands}>&-
}

# rdma of iproute2 asks by netlink, and gets a message for each device.
if command -v rdma >/dev/null; then
	run rdma link show >"$WORK/links" 2>&1
	for ((side = 0; side < count; side++)); do
		check "rdma shows rnic$side" \
			grep -q "^link rnic$side/1 state ACTIVE .* netdev lo" "$WORK/links"
	done
	check "and one of them alone" test "$(run rdma dev show rnic5 | grep -c '^5: rnic5:')" -eq 1
else
	skip_part "rdma of iproute2, which is not installed"
fi

echo "# a program that has them all open"
program_start
check "it lists them" tell list
check "all of them" test "$(grep -c '^device ' "$WORK/program")" -eq $count
for field in index dev guid gid; do
	check "each has a $field of its own" distinct $field
done
check "index and uverbs go together" \
	test "$(grep -c 'index=\([0-7]\) dev=uverbs\1 ' "$WORK/program")" -eq $count
check "it passes traffic between them" tell traffic
check "and no byte is wrong" test "$(grep -c '^traffic .* equal$' "$WORK/program")" -eq $count

echo "# a daemon that ends, and one that is killed"
: >"$WORK/program"
# lose SIDE SIGNAL: ends a daemon whose device is in use.
lose() {
	own_family "$1"
	signal_process "$2" "${side_pid[$1]}"
	wait "${side_pid[$1]}"
}
lose 3 TERM
check "its device is lost" await "event rnic3 local catastrophic error"
check "and not to be seen" wait_for 10 grep -qx "gone $((count - 1)) $count" "$WORK/looker"
lose 5 KILL
check "and the other one" await "event rnic5 local catastrophic error"
check "traffic goes on" tell traffic
check "between the others" test "$(grep -c '^traffic .* equal$' "$WORK/program")" -eq $((count - 2))
check "which report nothing" test "$(grep -c '^event ' "$WORK/program")" -eq 0
check "the list goes on" tell list
# names: of the devices that were listed.
names() {
	sed -n 's/^device \([^ ]*\).*/\1/p' "$WORK/program" | tr '\n' ' '
}
check "without them, under the same names" test "$(names)" = \
	"rnic0 rnic1 rnic2 rnic4 rnic6 rnic7 "
check "a directory has them no more" test \
	"$(RNIC_SOCKET=$WORK/sockets "$BIN/rnic-run" --no-daemon ibv_devices 2>&1 |
		grep -c '^ *rnic[0-7] ')" -eq $((count - 2))

echo "# a daemon that comes back"
for side in 3 5; do
	daemon_restart $side
done
check "its device is there again" tell list
check "and to be seen again" wait_for 10 grep -qx "back rnic3" "$WORK/looker"
expect_end 10 $looker 0 "the program that looks" "$WORK/looker"
check "and all are" test "$(grep -c '^device ' "$WORK/program")" -eq $count
program_end

echo "# a directory where sockets come and go"
program_start env RNIC_SOCKET="$WORK/sockets"
rm "$WORK/sockets/0.sock" "$WORK/sockets/3.sock"
check "two go" tell list
check "the others keep their names" test "$(names)" = "rnic1 rnic2 rnic4 rnic5 rnic6 rnic7 "
ln -s "${side_socket[0]}" "$WORK/sockets/0.sock"
check "one comes back" tell list
check "and has its name" test "$(names)" = "rnic0 rnic1 rnic2 rnic4 rnic5 rnic6 rnic7 "
program_end

echo "# perftest on chosen devices"
# perftest_on SERVER CLIENT: the numbers of two devices, of which both programs have all.
perftest_on() {
	local side
	next_port=$((next_port + 1))
	local options=(-x 0 -F -n 200 -p "$next_port")
	forget_output
	(exec "$BIN/rnic-run" --no-daemon "${all[@]}" "${direct[@]}" \
		ib_write_bw -d "rnic$1" "${options[@]}") >"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $server_pid
	wait_for 20 server_listens_or_ended $server_pid $next_port
	(exec "$BIN/rnic-run" --no-daemon "${all[@]}" "${direct[@]}" \
		ib_write_bw -d "rnic$2" "${options[@]}" 127.0.0.1) >"$WORK/client.out" 2>&1 &
	client_pid=$!
	own $client_pid
	pair_wait 30
	pair_judge "ib_write_bw -d rnic$1, client -d rnic$2"
	check "the server is on rnic$1" grep -Eq "Device +: rnic$1\$" "$WORK/server.out"
	local gids="GID: .*:0*\\($(($1 + 2))\\|$(($2 + 2))\\)\$"
	for side in server client; do
		check "the $side knows both addresses" test \
			"$(grep -c "$gids" "$WORK/$side.out")" -eq 2
	done
}
perftest_on 5 2

for ((side = 0; side < count; side++)); do daemon_finish $side; done

has_no_view() {
	[ -z "$(ls -A "$XDG_RUNTIME_DIR")" ]
}
check "no view is left" wait_for 10 has_no_view

# ---- interfaces of their own ----

# one_port_down: the program waits for events of two devices, and the link of one goes down.
one_port_down() {
	local side
	all=()
	for side in 0 1; do
		ip link add rail$side type veth peer name peer$side
		ip address add "10.78.$side.1/24" dev rail$side
		ip link set peer$side up
		ip link set rail$side up
		daemon_start $side --netdev rail$side --port "$port"
		all+=(--socket "${side_socket[side]}")
	done
	program_start
	: >"$WORK/program"
	ip link set rail1 down
	check "the port of one is down" await "event rnic1 port error"
	check "a command" tell list
	check "the other one reports nothing" test "$(grep -c '^event rnic0' "$WORK/program")" -eq 0
	: >"$WORK/program"
	ip link set rail1 up
	check "and is up again" await "event rnic1 port active"
	check "the other one still reports nothing" \
		test "$(grep -c '^event rnic0' "$WORK/program")" -eq 0
	program_end
	for side in 0 1; do daemon_finish $side; done
}

# two_on_one: two daemons share an interface, and so its MAC.
two_on_one() {
	local side
	all=()
	for side in 0 1; do
		[ $side = 0 ] || ip address add 10.78.0.2/24 dev rail0
		daemon_start $side --address "10.78.0.$((side + 1))" --port "$port"
		all+=(--socket "${side_socket[side]}")
	done
	check "two devices on one interface" run ibv_devices
	check "have a GUID each" test "$(run ibv_devices | awk '/rnic/ { print $2 }' |
		sort -u | wc -l)" -eq 2
	for side in 0 1; do daemon_finish $side; done
}

if [ -n "${RNIC_TEST_ISOLATED:-}" ]; then
	echo "# a program that waits for the ports of two devices"
	one_port_down
	echo "# two devices on one interface"
	two_on_one
else
	skip_part "devices of several interfaces, which need a network namespace"
fi
test_finish

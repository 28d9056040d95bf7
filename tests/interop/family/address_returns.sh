#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# An address that cannot be used when it comes, or comes back: address_returns.sh PORT
#
# Somebody else has the UDP port there; or a device process that stands still has not closed the
# sockets of the address when the address went. Neither may keep the address from the users.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
topology_start netns-1500 "$1" 4
address=10.77.3.1

has_gid() {
	holds 0 device "any(g['gid'] == '$address' for g in rows['gids'])"
}

lacks_gid() {
	! has_gid
}

lacks_device() {
	[ -z "$(device_of 0 $user_a)" ]
}

# never SECONDS COMMAND...: fails as soon as the command succeeds in that time.
never() {
	! wait_for "$@"
}

# program_goes_on NAME: events of addresses come, but the device is the same.
program_goes_on() {
	program_works "$1" && [ "$(program_said "$1" "^event device fatal")" -eq 0 ]
}

refusals() {
	grep -c "a new address of veth0 is not used: UDP port 4791 on $address" "$WORK/daemon0.log"
}

is_refused() {
	[ "$(refusals)" = 1 ]
}

echo "# the port is taken"
exec_on 0 python3 -c "
import socket, time
taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND: the address is not there yet
taken.bind(('$address', 4791))
print('bound', flush=True)
time.sleep(100)" >"$WORK/holder.out" 2>&1 &
holder=$!
own $holder
wait_for 10 grep -q bound "$WORK/holder.out"
on 0 ip address add $address/24 dev veth0
check "the log says so" wait_for 5 is_refused
check "rnicctl too" holds 0 device "rows['unused_addresses'] == 1"
check "there is no such GID meanwhile" never 4 has_gid
check "the log says so once" is_refused
end_process $holder
wait $holder 2>/dev/null
check "there is one soon after the port is free" wait_for 15 has_gid
check "rnicctl says so, too" holds 0 device "rows['unused_addresses'] == 0"

echo "# a device process stands still"
program_start a $user_a
program_start b $user_b
check "the programs of both users work" eval "program_works a && program_works b"
device_signal STOP 0 $user_a
on 0 ip address del $address/24 dev veth0
check "the GID goes" wait_for 5 lacks_gid
check "the device process is ended after some seconds" wait_for 20 program_is_told a
check "the log says why" grep -q "keeps the sockets of an address that is gone" "$WORK/daemon0.log"
on 0 ip address add $address/24 dev veth0
check "the address can be used again" wait_for 10 has_gid
check "the log has no other refusal" is_refused
check "the other user noticed nothing" program_goes_on b
check "a new program of the first user works" new_program_works $user_a
for name in a b; do program_end $name; done

echo "# an address goes for a moment"
program_start a $user_a
device_signal STOP 0 $user_a
on 0 ip address del $address/24 dev veth0
wait_for 5 lacks_gid
on 0 ip address add $address/24 dev veth0
check "it is back at once" wait_for 5 has_gid
# That is longer than a group of sockets rests.
check "that costs no device process" never 11 lacks_device
device_signal CONT 0 $user_a
check "which goes on" program_goes_on a
program_end a
topology_finish

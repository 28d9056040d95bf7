#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs of one user, or of nine, attack; another user's program measures how it is served:
#
#     hostile_users.sh [WAY...]
#
# Root's daemon serves both. The victim's rate, its 99th percentile and how long a program waits for
# the control plane stand beside what they are while the attackers only burn processors, in as many
# processes. The ratios are printed; the limits are wide, because this machine may do other things.
. "$(dirname "$0")/../../interop/lib.sh"
. "$(dirname "$0")/../../interop/family/user_programs.sh"

require_users
require_descriptors 4096
seconds=1
counts=1 # of attackers
attempt=1 # to measure beside the attack under way
rate_part=5 # the victim must keep one part in so many of its rate
times_longer=10 # and its percentiles must be at most so many times longer
least_us=20000 # or at most that; a processor's turn is some milliseconds
[ -z "$LONG" ] || seconds=5 counts="1 9"

# The amounts of work of all attackers together, by way; more of it in the long variant.
declare -A amount=([keys]=20000 [keys-end]=5000 [doorbells]=2000 [watches]=50000
	[control-watches]=400000 [fork]=256 [holes]=256 [hanging]=64 [hanging-channel]=64
	[unpolled]=256 [listings]=1000 [silent]=2000 [opens]=0 [stopped]=4000 [device-stopped]=0
	[respawn]=0 [burn]=0)
if [ -n "$LONG" ]; then
	amount+=([keys]=200000 [keys-end]=50000 [doorbells]=16000 [watches]=400000
		[control-watches]=4000000 [fork]=1024 [holes]=3072 [unpolled]=3072 [silent]=10000)
fi
ways=(keys keys-end doorbells watches control-watches fork holes hanging hanging-channel unpolled
	listings silent opens stopped device-stopped respawn)
[ $# -eq 0 ] || ways=("$@")

if [ ! -w /dev/fuse ]; then
	echo "# hanging, hanging-channel: skipped: there is no /dev/fuse for file systems of users"
	mapfile -t ways < <(printf '%s\n' "${ways[@]}" | grep -v ^hanging)
fi

topology_start one uring 4

attacking_users() {
	local number
	for ((number = 0; number < count; number++)); do echo $((first_user + 10 * number)); done
}

# attacker_start UID WAY
attacker_start() {
	(
		side_user[0]=$1
		exec_program 0 "$BUILD/tests/user_attacker" "$2" $((${amount[$2]} / count))
	) >"$WORK/attack.$1.out" 2>&1 &
	attackers+=($!)
	own $!
}

# attack_start WAY: sets attackers, and first_user, the first of the attacking users. An attacker
# has two processes, its program and the one that serves it; so two programs burn.
attack_start() {
	local uid
	attackers=()
	first_user=$user_a
	# These users get no connection for a while: each attempt has others.
	[ "$1" != control-watches ] || first_user=$((user_a + 4 + attempt))
	rm -f "$WORK"/attack.*.out
	for uid in $(attacking_users); do
		attacker_start "$uid" "$1"
		[ "$1" != burn ] || attacker_start "$uid" "$1"
	done
	for uid in $(attacking_users); do
		wait_for 90 grep -q ready "$WORK/attack.$uid.out" || return 1
	done
}

# attack_goes_on WAY: what was measured beside an attacker that had given up would say nothing.
attack_goes_on() {
	local process
	cat "$WORK"/attack.*.out >"$WORK/attack"
	for process in "${attackers[@]}"; do
		is_running "$process" && continue
		fail "$1: process $process still attacks after the measurement" "$WORK/attack"
	done
}

attack_end() {
	local process uid
	for process in "${attackers[@]}"; do
		# shellcheck disable=SC2046 # numbers
		signal_process KILL "$process" $(pgrep -P "$process")
		wait "$process" 2>/dev/null
	done
	for uid in $(attacking_users); do device_signal KILL 0 "$uid"; done
	wait_for 20 holds 0 clients "rows == []" || fail "the attackers are forgotten"
}

# measure WAY: what the victim says while the attack goes on, in $WORK/victim.WAY.
measure() {
	rnic_as $user_b timeout $((20 + seconds * 5)) "$BUILD/tests/user_victim" $seconds \
		>"$WORK/victim.$1" 2>&1 && return 0
	echo "the victim does not come to its end: $(cat "$WORK/victim.$1")"
	return 1
}

# judge WAY: compares with the baseline.
judge() {
	python3 - "$WORK/victim.burn" "$WORK/victim.$1" $rate_part $times_longer $least_us <<'END'
import json, sys
before, now = (json.load(open(name)) for name in sys.argv[1:3])
part, longer, least_us = map(float, sys.argv[3:6])
wrong = now["writes_per_s"] * part < before["writes_per_s"]
words = [f"rate {now['writes_per_s'] / before['writes_per_s']:.2f}"]
for name, us in (("write_p99_us", 1), ("open_p99_ms", 1000)):
    ratio = now[name] / max(before[name], 1e-9)
    wrong |= ratio > longer and now[name] * us > least_us
    words.append(f"{name.rsplit('_', 1)[0]} {ratio:.2f}")
print(", ".join(words), "|", now)
sys.exit(wrong)
END
}

# measure_burning: the baseline, of this moment.
measure_burning() {
	local status
	attack_start burn && measure burn
	status=$?
	attack_goes_on burn
	attack_end
	return $status
}

# try_again WAY: takes the baseline anew; what else the machine does may have changed meanwhile.
try_again() {
	attack_goes_on "$1"
	attack_end
	measure_burning && attack_start "$1"
}

# withstands WAY: measures and judges; again, a few times, when the verdict is bad: other work of
# the machine may have been the reason. The verdict is in $WORK/verdict.
withstands() {
	local status=1
	cp "$WORK/first_baseline" "$WORK/victim.burn"
	for attempt in 1 2 3 4; do
		[ $attempt -eq 1 ] || try_again "$1" || break
		{ measure "$1" && judge "$1"; } >"$WORK/verdict" 2>&1 && status=0 && break
		echo "#     $1, attempt $attempt: $(cat "$WORK/verdict")"
	done
	attempt=1
	return $status
}

# attack_all: each way after the other, by `count` attackers.
attack_all() {
	local way
	measure_burning && echo "#     attackers: $count, burning: $(cat "$WORK/victim.burn")"
	cp "$WORK/victim.burn" "$WORK/first_baseline"
	for way in "${ways[@]}"; do
		if ! attack_start "$way"; then
			cat "$WORK"/attack.*.out >"$WORK/attack"
			fail "$way: the attack begins" "$WORK/attack"
		elif withstands "$way"; then
			pass "$way: $(cat "$WORK/verdict")"
		else
			fail "$way: the victim is served as before" "$WORK/verdict"
		fi
		attack_goes_on "$way"
		attack_end
	done
}

for count in $counts; do attack_all; done
topology_finish

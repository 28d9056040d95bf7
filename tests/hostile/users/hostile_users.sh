#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs of one user, or of nine, attack; another user's program measures how it is served:
#
#     hostile_users.sh [--taken | --shows | --pairs TABLE] [WAY...]
#
# Root's daemon serves both. The victim's rate, its 99th percentile and how long a program waits for
# the control plane stand beside what they are while the attackers only burn processors, in as many
# processes. The ratios are printed; the limits are wide, because this machine may do other things.
#
# The long variant measures pairs: the burners, then the attack, five times. Its limits are narrow,
# and hold for the median of the pairs. What an attack does to the kernel slows others without a
# device, too: a way with a control is measured beside that. Before, all attacks together meet
# root's rnicctl.
#
# --taken: the device processes of the attackers were taken over (taken_device.c), in place of WAYs.
# --shows: only the meeting of all attacks with root's rnicctl.
# --pairs TABLE: only the pairs, of the long variant; appends a line for each way to the file TABLE.
. "$(dirname "$0")/../../interop/lib.sh"
. "$(dirname "$0")/../../interop/family/user_programs.sh"

require_users
require_descriptors 4096
seconds=1
counts=1 # of attackers
attempt=1 # to measure beside the attack under way
rate_least=0.2 # the victim must keep this part of its rate
times_longer=10 # and its percentiles must be at most so many times longer
least_us=20000 # or at most that; a processor's turn is some milliseconds
pairs=1
shows=20 # of root, under all attacks at once
shows_times_longer=5
is_taken="" table="" does_shows=$LONG does_attacks=1
case ${1:-} in
--taken) is_taken=1 does_shows="" && shift ;;
--shows) does_shows=1 does_attacks="" && shift ;;
--pairs) LONG=1 does_shows="" table=$2 && shift 2 ;;
esac
if [ -n "$LONG" ]; then
	seconds=3 counts="1 9" pairs=5
	rate_least=0.9 times_longer=1.5 least_us=0
fi

# The amounts of work of all attackers together, by way; more of it in the long variant.
declare -A amount=([keys]=20000 [keys-end]=5000 [doorbells]=2000 [watches]=50000
	[control-watches]=400000 [fork]=256 [fork-alone]=256 [holes]=256 [hanging]=64
	[hanging-channel]=64 [unpolled]=256 [listings]=1000 [silent]=2000 [greetings]=0
	[identifiers]=0 [opens]=0 [view-watches]=40000 [stopped]=4000 [device-stopped]=0
	[respawn]=0 [burn]=0)
large_amounts() {
	amount+=([keys]=200000 [keys-end]=50000 [doorbells]=16000 [watches]=400000
		[control-watches]=4000000 [fork]=1024 [fork-alone]=1024 [holes]=3072
		[unpolled]=3072 [silent]=10000)
}
# The same without a device, in place of the burners.
declare -A control=([fork]=fork-alone)
# The users of these ways get no connection for a while: each way has its own, and so has each
# attempt by one user, and by nine.
declare -A own_users=([control-watches]=31105 [silent]=31205 [greetings]=31305
	[identifiers]=31405)

ways=(keys keys-end doorbells watches control-watches fork holes hanging hanging-channel unpolled
	listings silent greetings identifiers opens view-watches stopped device-stopped respawn)
[ -z "$is_taken" ] || ways=(opens)
[ $# -eq 0 ] || ways=("$@")

if [ ! -w /dev/fuse ]; then
	echo "# hanging, hanging-channel: skipped: there is no /dev/fuse for file systems of users"
	mapfile -t ways < <(printf '%s\n' "${ways[@]}" | grep -v ^hanging)
fi

# The daemon finds the program of device processes beside itself.
lay_out_taken() {
	mkdir -p "$WORK/taken-packets/bin" "$WORK/taken-packets/libexec"
	cp "$BIN/rnicd" "$WORK/taken-packets/bin"
	cp "$BUILD/tests/taken_device" "$WORK/taken-packets/libexec/rnicd-device"
	chmod -R a+rX "$WORK/taken-packets"
	# shellcheck disable=SC2016 # for the shell that becomes the daemon
	daemon_prefix=(bash -c 'shift; exec "$0" "$@"' "$WORK/taken-packets/bin/rnicd")
}

[ -z "$is_taken" ] || lay_out_taken
topology_start one uring 4

attacking_users() {
	local number
	for ((number = 0; number < count; number++)); do echo $((first_user + 10 * number)); done
}

# program_start UID WAY
program_start() {
	(
		side_user[0]=$1
		exec_program 0 "$BUILD/tests/user_attacker" "$2" $((${amount[$2]} / count))
	) >"$WORK/attack.$1.out" 2>&1 &
	attackers+=($!)
	own $!
}

# attacker_start UID WAY: an attacker has two processes, its program and the one that serves it. So
# two programs burn, and one burns beside a program that no process serves.
attacker_start() {
	program_start "$1" "$2"
	case $2 in burn | fork-alone) program_start "$1" burn ;; esac
}

# attack_start WAY: sets attackers, and first_user, the first of the attacking users.
attack_start() {
	local uid
	attackers=()
	first_user=$user_a
	[ -z "${own_users[$1]:-}" ] || first_user=$((own_users[$1] + attempt + 500 * (count > 1)))
	rm -f "$WORK"/attack.*.out
	for uid in $(attacking_users); do
		attacker_start "$uid" "$1"
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

# judge WAY: compares with the baseline, pair by pair, a line each. The medians decide.
judge() {
	python3 - "$WORK/victim.baseline" "$WORK/victim.$1" $rate_least $times_longer \
		$least_us <<'END'
import json, statistics, sys
before, attacked = ([json.loads(line) for line in open(name)] for name in sys.argv[1:3])
least, longer, least_us = map(float, sys.argv[3:6])

def ratios(name):
    return [now[name] / max(then[name], 1e-9) for then, now in zip(before, attacked)]

words, wrong = [], False
for name, us in (("writes_per_s", 0), ("write_p99_us", 1), ("open_p99_ms", 1000)):
    all_ratios = ratios(name)
    median = statistics.median(all_ratios)
    highest = statistics.median(now[name] for now in attacked) * us
    wrong |= median > longer and highest > least_us if us else median < least
    label = name.rsplit("_", 1)[0] if us else "rate"
    pairs = " ".join(f"{ratio:.2f}" for ratio in all_ratios) if len(all_ratios) > 1 else ""
    words.append(f"{label} {median:.2f}" + (f" ({pairs})" if pairs else ""))
print(", ".join(words), "|", attacked[-1])
sys.exit(wrong)
END
}

# measure_burning: the baseline, of this moment.
measure_burning() {
	local status
	attack_start burn && measure burn && mv "$WORK/victim.burn" "$WORK/victim.baseline"
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

# measure_pair WAY: adds a line to what was measured beside burners, or beside the way's control,
# and one to that of the attack.
measure_pair() {
	local status baseline=${control[$1]:-burn}
	attack_start "$baseline" && measure "$baseline"
	status=$?
	attack_end
	[ $status -eq 0 ] || return 1
	attack_start "$1" && measure "$1"
	status=$?
	attack_goes_on "$1"
	attack_end
	cat "$WORK/victim.$baseline" >>"$WORK/pairs.baseline"
	cat "$WORK/victim.$1" >>"$WORK/pairs.$1"
	attempt=$((attempt + 1))
	return $status
}

# withstands_pairs WAY: the verdict is in $WORK/verdict.
withstands_pairs() {
	local pair status=0
	rm -f "$WORK"/pairs.*
	for ((pair = 0; pair < pairs; pair++)); do measure_pair "$1" || status=1; done
	mv "$WORK/pairs.baseline" "$WORK/victim.baseline"
	mv "$WORK/pairs.$1" "$WORK/victim.$1"
	attempt=1
	[ $status -eq 0 ] && judge "$1" >"$WORK/verdict" 2>&1
}

# withstands WAY: measures and judges; again, a few times, when the verdict is bad: other work of
# the machine may have been the reason. The verdict is in $WORK/verdict.
withstands() {
	local status=1
	cp "$WORK/first_baseline" "$WORK/victim.baseline"
	for attempt in 1 2 3 4; do
		[ $attempt -eq 1 ] || try_again "$1" || break
		{ measure "$1" && judge "$1"; } >"$WORK/verdict" 2>&1 && status=0 && break
		echo "#     $1, attempt $attempt: $(cat "$WORK/verdict")"
	done
	attempt=1
	return $status
}

# attack_all_in_pairs: the same with narrow limits.
attack_all_in_pairs() {
	local way holds
	echo "#     attackers: $count, $pairs pairs of each way"
	for way in "${ways[@]}"; do
		holds=yes
		if withstands_pairs "$way"; then
			pass "$way, beside ${control[$way]:-burn}: $(cat "$WORK/verdict")"
		else
			holds=no
			fail "$way: the victim is served as beside ${control[$way]:-burn}" \
				"$WORK/verdict"
		fi
		[ -z "$table" ] || printf '| %s | %d | %s | %s | %s |\n' "$way" "$count" $holds \
			"$(sed 's/ |.*//' "$WORK/verdict")" \
			"$(cut -d' ' -f1-3 /proc/loadavg)" >>"$table"
	done
}

# all_start WAY...: one attacker of each way, each of another user.
all_start() {
	local way number=0
	attackers=()
	rm -f "$WORK"/attack.*.out
	for way in "$@"; do
		attacker_start $((user_a + 10 * ++number)) "$way"
	done
	number=0
	for way in "$@"; do
		number=$((number + 1))
		wait_for 90 grep -q ready "$WORK/attack.$((user_a + 10 * number)).out" && continue
		cat "$WORK"/attack.*.out >"$WORK/attack"
		fail "all attacks at once: $way begins" "$WORK/attack"
		return 1
	done
}

all_end() {
	local count=$#
	first_user=$((user_a + 10))
	attack_end
}

# time_shows FILE: a line for each `rnicctl show` of root that has all rows, with its milliseconds.
time_shows() {
	local show began
	: >"$1"
	for ((show = 0; show < shows; show++)); do
		began=$(now_ms)
		on 0 timeout 20 "$BIN/rnicctl" show --socket "${side_socket[0]}" \
			>"$WORK/shown" 2>&1 &&
			echo $(($(now_ms) - began)) >>"$1"
	done
}

# show_withstands_all: root's rnicctl, beside burners and under all attacks at once.
show_withstands_all() {
	local burners=() way
	count=1
	for way in "${ways[@]}"; do burners+=(burn); done
	touch "$WORK/shows.burn" "$WORK/shows.all"
	all_start "${burners[@]}" && time_shows "$WORK/shows.burn"
	all_end "${burners[@]}"
	all_start "${ways[@]}" && time_shows "$WORK/shows.all"
	all_end "${ways[@]}"
	if python3 - "$WORK/shows.burn" "$WORK/shows.all" $shows $shows_times_longer \
		>"$WORK/verdict" <<'END'; then
import statistics, sys
burning, attacked = ([int(line) for line in open(name)] for name in sys.argv[1:3])
shows, longer = int(sys.argv[3]), float(sys.argv[4])
usual, under_attack = (statistics.median(times or [0]) for times in (burning, attacked))
print(f"{len(attacked)} of {shows} answers, {under_attack:.0f} ms, at most",
      f"{max(attacked, default=0)}; beside burners {usual:.0f} ms, at most",
      max(burning, default=0))
sys.exit(len(attacked) < shows or under_attack > longer * usual)
END
		pass "rnicctl show of root under all attacks: $(cat "$WORK/verdict")"
	else
		fail "rnicctl show of root answers under all attacks" "$WORK/verdict"
	fi
}

# attack_all: each way after the other, by `count` attackers.
attack_all() {
	local way
	measure_burning && echo "#     attackers: $count, burning: $(cat "$WORK/victim.baseline")"
	cp "$WORK/victim.baseline" "$WORK/first_baseline"
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

[ -z "$does_shows" ] || show_withstands_all
[ -n "$does_attacks" ] || { topology_finish; exit; }
[ -z "$table" ] || echo "| way | attackers | holds | ratios to the burners | load |" >>"$table"
[ -z "$table" ] || echo "|---|--:|---|---|---|" >>"$table"
[ -z "$LONG" ] || large_amounts
for count in $counts; do
	if [ $pairs -gt 1 ]; then attack_all_in_pairs; else attack_all; fi
done
topology_finish

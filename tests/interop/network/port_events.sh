# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced after lib.sh: ibv_asyncwatch on side 0, which prints the events of the port.

watch_start() {
	forget_output watch
	exec_program 0 stdbuf -oL ibv_asyncwatch >"$WORK/watch" 2>&1 &
	watch_pid=$!
	own $watch_pid
	wait_for 20 grep -q "async event" "$WORK/watch"
}

watch_saw_an_outage() {
	check "ibv_asyncwatch saw both events" has_both_events
}

has_both_events() {
	[ "$(grep -o "IBV_EVENT_[A-Z_]*" "$WORK/watch" | tr '\n' ' ')" = \
		"IBV_EVENT_PORT_ERR IBV_EVENT_PORT_ACTIVE " ]
}

watch_end() {
	end_process "$watch_pid"
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Types the pages of doc/, section by section, in the folder $WORK/page. A test sources lib.sh
# first. The pages name addresses and ports, so the test needs a network of its own.

NEWCOMER=$INTEROP/newcomer
PAGE_SECONDS=60 # the most for one script
DOC=$(cd "$INTEROP/../../doc" && pwd)
export PATH=$BIN:$PATH
unset RNIC_SOCKET XDG_RUNTIME_DIR
[ -n "${RNIC_TEST_ISOLATED:-}" ] || skip_test "addresses and ports of the page need a network alone"
mkdir "$WORK/page"
cd "$WORK/page" || exit 1

# Until what a command begins in the background is there: a daemon, or a program that listens.
awaits() {
	local socket
	socket=$(sed -n 's/.*--socket \([^ ]*\).*/\1/p' <<<"$1")
	until case $1 in
		rnicd*) rnicctl show device --socket "$socket" >/dev/null 2>&1 ;;
		*ibv_rc_pingpong* | *ib_write_bw*) [ -n "$(ss -Hltn sport = :18515)" ] ;;
		*ucx_perftest*) [ -n "$(ss -Hltn sport = :13337)" ] ;;
		*hello*) [ -n "$(ss -Hltn sport = :7000)" ] ;;
		*rping\ -c*) rnicctl show cm --socket "$socket" | grep -q connecting ;;
		*rping* | *score*) rnicctl show cm --socket "$socket" | grep -q listening ;;
	esac; do
		sleep 0.05 # between two polls
	done
}
export -f awaits

# run_script [COMMAND...]: $WORK/script by bash below the command. What it prints is in $WORK/typed,
# and what programs in the background print in $WORK/background. Fails when it hangs.
run_script() {
	timeout --kill-after=5 "$PAGE_SECONDS" "$@" bash "$WORK/script" >"$WORK/typed" 2>&1 \
		3>"$WORK/background" </dev/null
	case $? in
	124 | 137)
		echo "it hangs" >>"$WORK/typed"
		return 1
		;;
	esac
}

# judges PAGE TITLE: whether what the section shows has been printed.
judges() {
	if python3 -B "$NEWCOMER/type_page.py" judge "$1" "$2" "$WORK/typed" "$WORK/background" \
		>"$WORK/missing"; then
		pass "$2"
	else
		cat "$WORK/typed" "$WORK/background" "$WORK/missing" >"$WORK/all"
		fail "$2" "$WORK/all"
	fi
}

# types PAGE TITLE [COMMAND...]: the section, by bash below the command.
types() {
	local page=$DOC/$1 title=$2
	shift 2
	python3 -B "$NEWCOMER/type_page.py" script "$page" "$title" >"$WORK/script"
	if run_script "$@"; then judges "$page" "$title"; else fail "$title" "$WORK/typed"; fi
}

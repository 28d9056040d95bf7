# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Types the pages of doc/, section by section, in the folder $WORK/page. A test sources lib.sh
# first. The pages name addresses and ports, so the test needs a network of its own.

NEWCOMER=$INTEROP/newcomer
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
		*ibv_rc_pingpong*) [ -n "$(ss -Hltn sport = :18515)" ] ;;
		*hello*) [ -n "$(ss -Hltn sport = :7000)" ] ;;
		*rping*) rnicctl show cm --socket "$socket" | grep -q listening ;;
	esac; do
		sleep 0.05 # between two polls
	done
}
export -f awaits

# judges PAGE TITLE: whether what the section shows is in $WORK/typed.
judges() {
	if python3 -B "$NEWCOMER/type_page.py" judge "$1" "$2" "$WORK/typed" >"$WORK/missing"; then
		pass "$2"
	else
		cat "$WORK/missing" >>"$WORK/typed"
		fail "$2" "$WORK/typed"
	fi
}

# types PAGE TITLE [COMMAND...]: the section, by bash below the command.
types() {
	local page=$DOC/$1 title=$2
	shift 2
	python3 -B "$NEWCOMER/type_page.py" script "$page" "$title" >"$WORK/script"
	timeout 60 "$@" bash "$WORK/script" >"$WORK/typed" 2>&1 </dev/null
	judges "$page" "$title"
}

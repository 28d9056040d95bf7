#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tools/quickstart.sh on what is built: two at once, and another daemon at the first address. The
# packages and the build are played; tests/debian/type_readme.sh does all of it.
. "$(dirname "$0")/../lib.sh"

quickstart=$(cd "$INTEROP/../.." && pwd)/tools/quickstart.sh
export TMPDIR=$WORK
for program in ibv_rc_pingpong ib_write_bw tshark ss; do
	command -v $program >/dev/null || skip_test "there is no $program"
done

# addresses LOG: of the two RNICs, in the order of their start.
addresses() {
	sed -n 's/^\$ rnicd --address \([0-9.]*\) --socket .\.sock &$/\1/p' "$1"
}

echo "# two at once"
if [ -n "${RNIC_TEST_ISOLATED:-}" ]; then
	"$BIN/rnicd" --address 127.0.0.2 --socket "$WORK/blocker.sock" >"$WORK/blocker.log" 2>&1 &
	blocker=$!
	own $blocker
	wait_for 20 "$BIN/rnicctl" show device --socket "$WORK/blocker.sock"
fi
for i in 0 1; do
	"$quickstart" --built >"$WORK/log$i" 2>&1 &
	running[i]=$!
	own "${running[i]}"
done
for i in 0 1; do
	wait "${running[i]}" || fail "one of two ends well" "$WORK/log$i"
	check "it says that it works" grep -q "it works" "$WORK/log$i"
	check "with packets" grep -q "RC Send Only" "$WORK/log$i"
done
check "four addresses" test "$(addresses <(cat "$WORK"/log[01]) | sort -u | wc -l)" -eq 4
if [ -n "${RNIC_TEST_ISOLATED:-}" ]; then
	check "none is of the other daemon" test -z "$(addresses <(cat "$WORK"/log[01]) |
		grep -xF 127.0.0.2)"
	end_process "$blocker"
fi
check "no folder is left" test -z "$(ls -d "$WORK"/rnicd-quickstart-* 2>/dev/null)"

echo "# the build"
mkdir "$WORK/stubs"
printf '#!/bin/sh\nprintf "ii "\n' >"$WORK/stubs/dpkg-query"
cat >"$WORK/stubs/cmake" <<'END'
#!/bin/sh
[ "$1" = --build ] || exit 0
for i in 1 2 3 4; do echo "[$i/9] Building $i"; done
echo "FAILED: the fifth"
exit 1
END
chmod 755 "$WORK/stubs"/*
PATH=$WORK/stubs:$PATH RNIC_BUILD=$WORK/new "$quickstart" >"$WORK/build.log" 2>&1
check "one that fails is the end" test $? -ne 0
check "with its reason" grep -qx "FAILED: the fifth" "$WORK/build.log"
check "its progress is seen" grep -qxF "[1/9] Building 1" "$WORK/build.log"
check "not each step" test "$(grep -c Building "$WORK/build.log")" -eq 2
check "nothing was started" test -z "$(addresses "$WORK/build.log")"
check "another option is refused" grep -q "usage" <("$quickstart" --help-me 2>&1)
test_finish

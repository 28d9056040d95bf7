#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions that travel: lab_lambda.sh TOPOLOGY PORT FAMILY [FAULTS]
#
# A user writes a C function, compiles it by one command and runs it where the data is. Whoever is
# not trusted is refused; a function that does what it must not is told to its client as that; and
# the server goes on, whatever happens to a client.
. "$(dirname "$0")/../lib.sh"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
topology_start "$1" "$2" "$3" "${options[@]}"
. "$(dirname "$0")/lab_programs.sh"

share=$BUILD/share/rnic
misdeeds=$BUILD/tests/lambda_misdeeds.lambda
secret=$WORK/secret
head -c 32 /dev/urandom | base64 >"$secret"
chmod 600 "$secret"
seq 100000 >"$WORK/table"

# ---- whose code runs ----

rnic 0 timeout 60 "$BIN/rnic-lab" lambda -p 0 >"$WORK/server.out" 2>&1
check "no server without --allow-lambda" test $? -eq 1

# Loops are to end by their CPU time, however many others share the cores.
server_start "" lambda --allow-lambda --secret "$secret" --table "$WORK/table" --wall-limit 60
echo "a b" | client lambda
status=$?
case $1 in
netns-*)
	check "on another host a user is nobody" test $status -eq 1
	check "and is told so" grep -q "its own user on its own host" "$WORK/client.err"
	;;
*)
	check "the server's user is served" says client.out "0 lines, 2 words, 3 bytes"
	if [ "$(id -u)" -eq 0 ]; then
		rnic 1 setpriv --reuid 65533 --clear-groups "$BIN/rnic-lab" lambda -p $next_port \
			"$host" </dev/null >"$WORK/client.out" 2>"$WORK/client.err"
		check "another user is not" grep -q "its own user on its own host" \
			"$WORK/client.err"
	fi
	;;
esac

head -c 32 /dev/urandom | base64 >"$WORK/wrong"
chmod 600 "$WORK/wrong"
echo "a b" | client lambda --secret "$WORK/wrong"
check "the wrong secret" test $? -eq 1
check "and the client is told so" grep -q "this is not the server's secret" "$WORK/client.err"
cp "$secret" "$WORK/public"
chmod 644 "$WORK/public"
echo "a b" | client lambda --secret "$WORK/public"
check "a secret that others may read" grep -q "chmod 600" "$WORK/client.err"

# ---- functions ----

check "at a terminal" terminal "expect > " "type hello, world" "expect 0 lines, 2 words, 12 bytes" \
	"expect > " end -- lambda --secret "$secret"
printf 'one\ntwo words\n' | client lambda --secret "$secret"
check "each line is an input" says client.out "$(printf '%s\n' '0 lines, 1 words, 3 bytes' \
	'0 lines, 2 words, 9 bytes')"
head -c 900000 /dev/urandom >"$WORK/input"
client lambda --secret "$secret" --code "$share/checksum.lambda" --input "$WORK/input" </dev/null
check "the checksum of a file" test "$(cat "$WORK/client.out")" = \
	"$(python3 -c "import zlib; print('%08x' % zlib.crc32(open('$WORK/input', 'rb').read()))")"
client lambda --secret "$secret" --code "$share/table_sum.lambda" --input /dev/null </dev/null
check "a reduction over the server's table" test "$(cat "$WORK/client.out")" = \
	"100000 numbers, sum 5000050000, 1 to 100000"

cat >"$WORK/shout.c" <<'END'
#include <rnic/lambda.h>

int64_t rnic_lambda(const struct rnic_lambda_call *call)
{
	const char *input = call->input;
	char *output = call->output;

	for (uint64_t i = 0; i < call->input_bytes; i++)
		output[i] = input[i] >= 'a' && input[i] <= 'z' ? input[i] - 32 : input[i];
	return (int64_t)call->input_bytes;
}
END
check "one command compiles a function" \
	"$BIN/rnic-lambda-cc" "$WORK/shout.c" -o "$WORK/shout.lambda"
seq 200 | sed 's/$/ times/' | client lambda --secret "$secret" --code "$WORK/shout.lambda"
check "a function of the user's own, 200 times" says client.out "$(seq 200 | sed 's/$/ TIMES/')"

# ---- functions that must not be ----

# 183 is the number of aarch64, 62 that of x86_64.
foreign='\0\76'
[ "$(uname -m)" = x86_64 ] && foreign='\0\267'
cp "$share/checksum.lambda" "$WORK/foreign.lambda"
printf %b "$foreign" | dd of="$WORK/foreign.lambda" bs=1 seek=10 conv=notrunc 2>/dev/null
echo x | client lambda --secret "$secret" --code "$WORK/foreign.lambda"
check "code for another machine" grep -q "not compiled for the server's machine" "$WORK/client.err"
head -c 100 "$share/checksum.lambda" >"$WORK/half.lambda"
echo x | client lambda --secret "$secret" --code "$WORK/half.lambda"
check "half a file" grep -q "is no lambda file" "$WORK/client.err"
head -c 1048576 /dev/zero >"$WORK/large"
client lambda --secret "$secret" --input "$WORK/large" </dev/null
check "an input without room" grep -q "see --buffer-size" "$WORK/client.err"

while IFS=: read -r misdeed reason; do
	echo "$misdeed" | client lambda --secret "$secret" --code "$misdeeds" --timeout 60
	check "$misdeed: status 1" test $? -eq 1
	check "$misdeed: $reason" grep -q "$reason" "$WORK/client.err"
done <<'END'
loop:it used up its CPU time
trap:it crashed: Illegal instruction
read null:it crashed: Segmentation fault at 0x8
write null:it wrote outside of its memory, at 0x8
write input:it wrote to its input or table
write code:it wrote to its code
call:it called the system: open (call 2)
exit:it called the system: exit (call
exit all:it called the system: exit_group (call
deep:it used up its memory
fail:it says that it failed: -7
overflow:more than there is room for
END
printf 'loop\nstill here\n' | client lambda --secret "$secret" --code "$misdeeds" --timeout 60
check "the connection goes on" grep -q "still here" "$WORK/client.out"
server_stop

# ---- ends in the middle ----

# The process that runs a function is a child of the helper of a client's process.
running_function() {
	local client helper
	client=$(pgrep -P "$server_pid") && helper=$(pgrep -P "$client") && pgrep -P "$helper"
}

endless=(--secret "$secret" --allow-lambda --cpu-limit 3600 --wall-limit 3600)
server_start "" lambda "${endless[@]}"
client_start lambda --secret "$secret" --code "$misdeeds"
echo loop >&$typing
check "a function runs" wait_for 20 running_function
function_pid=$(running_function)
signal_process KILL "$client_pid"
wait "$client_pid" 2>/dev/null
exec {typing}>&-
check "it ends with its client" wait_for 20 has_ended "$function_pid"
echo "still here" | client lambda --secret "$secret" --code "$misdeeds"
check "and the server goes on" grep -q "still here" "$WORK/client.out"

client_start lambda --secret "$secret" --code "$misdeeds" --timeout 2
echo loop >&$typing
client_fails "a function takes longer than the client waits" "the peer does not answer"

client_start lambda --secret "$secret" --code "$misdeeds" --timeout 100
echo loop >&$typing
wait_for 20 running_function
function_pid=$(running_function)
signal_process KILL "$server_pid"
wait "$server_pid" 2>/dev/null
client_fails "the server was killed" "the peer is gone"
check "and the function ends with it" wait_for 20 has_ended "$function_pid"

server_start_again "" lambda "${endless[@]}"
echo "still here" | client lambda --secret "$secret" --code "$misdeeds"
check "another server serves" grep -q "still here" "$WORK/client.out"
server_stop

topology_finish

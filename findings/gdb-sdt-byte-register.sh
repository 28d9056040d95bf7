#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# gdb cannot read an argument of a static probe (USDT) that the compiler left in a byte register of
# the newer eight. The assembler calls the low byte of R9 %r9b, so <sys/sdt.h> notes "1@%r9b"; gdb
# looks for a register of that name among its own, which are called r9l. The probe is listed and
# hit, but $_probe_arg0 is an error. An argument in BL is read.
#
# Seen with gdb 13.1-3 of Debian 12 and gdb 16.3-1 of Debian 13 (x86-64), systemtap-sdt-dev of each.
# What helps: cast every argument of a probe to 64 bits.
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes.
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# try RELEASE GDB_VERSION
try() {
	local root=$work/$1 register output
	mmdebstrap --quiet --variant=apt --include="gdb=$2,gcc,libc6-dev,systemtap-sdt-dev" \
		"$1" "$root" || { echo "$1: there is no gdb $2"; status=1; return; }
	for register in r9 rbx; do
		cat >"$root/probe.c" <<-END
			#include <stdint.h>
			#include <sys/sdt.h>
			int main(int count, char **words)
			{
				register uint8_t value __asm__("$register") = 41 + count;
				(void)words;
				__asm__ volatile("" : "+r"(value));
				DTRACE_PROBE1(example, reached, value);
				return 0;
			}
		END
		output=$(chroot "$root" sh -c '
			gcc -O1 -static -no-pie probe.c -o probe &&
			gdb -q -batch -ex "break -probe-stap example:reached" -ex run \
				-ex "print \$_probe_arg0" ./probe' 2>&1 | tail -n 1)
		echo "$1, gdb $2, $register: $output"
		case $register/$output in
		"r9/Invalid register name \`r9b' on expression \`%r9b'.") ;;
		'rbx/$1 = 42') ;;
		*) echo "this is new"; status=1 ;;
		esac
	done
}

try bookworm 13.1-3
try trixie 16.3-1
exit $status

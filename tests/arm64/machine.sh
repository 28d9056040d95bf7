#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# machine.sh SYSROOT BUILD DIRECTORY: boots Debian's arm64 kernel in an emulated machine, which has
# what qemu-user lacks: seccomp, io_uring, process_vm_readv and sockets with all options. It runs
# there, one after the other, what machine_plan.py says, and the distribution's ibv_rc_pingpong
# between two daemons. DIRECTORY takes kernel and file system; only the kernel is worth keeping.
#
# Prints "ok NAME" or "FAIL NAME" for each, with the output of what failed. Exit status: 0, 1 when
# something failed, 77 when there can be no machine, which a line says.
set -u

[ $# -eq 3 ] || { sed -n '4,11p' "$0" >&2; exit 1; }
sysroot=$(realpath "$1") build=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$3" || exit 1
directory=$(realpath "$3")
root=$directory/root
SECONDS_MAX=2400
machine="" # the process that boots it

for program in qemu-system-aarch64 cpio mmdebstrap; do
	command -v $program >/dev/null || {
		echo "skipped: the emulated machine: there is no $program"
		exit 77
	}
done
cleanup() {
	[ -z "$machine" ] || kill "$machine" 2>/dev/null
	rm -rf "$root" "$directory/initrd"
}
trap cleanup EXIT
trap 'exit 143' INT TERM HUP

# Nothing of the packages runs here. The kernel's modules are not needed.
pack() {
	local path
	"$here/make_sysroot.sh" "$directory/kernel" linux-image-cloud-arm64 &&
		"$here/make_sysroot.sh" "$directory/programs" busybox-static ibverbs-utils ||
		return 1
	rm -rf "$root"
	mkdir -p "$root/programs" "$root/$build"
	cp -a "$directory/programs/." "$root"
	# In /bin, or in /usr/bin since Debian 13.
	cp "$(find "$root/bin" "$root/usr/bin" -name busybox -type f | head -n 1)" "$root/busybox"
	for path in lib usr/lib; do
		mkdir -p "$root/$path/aarch64-linux-gnu"
		cp -a "$sysroot/$path/aarch64-linux-gnu/." "$root/$path/aarch64-linux-gnu"
	done
	find "$root" -name '*.a' -delete
	rm -rf "${root:?}"/usr/share "${root:?}"/var
	cp -a "$build/bin" "$build/lib" "$build/libexec" "$build/tests" "$root/$build" &&
		find "$root/$build" -name CMakeFiles -prune -exec rm -r {} + &&
		"$here/machine_plan.py" "$build" "$here/left_out.txt" >"$root/plan.sh" &&
		cp "$here/machine_init.sh" "$root/init" &&
		(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$directory/initrd"
}

# The machine ends with this script, however the script ends.
boot() {
	setpriv --pdeathsig TERM timeout $SECONDS_MAX qemu-system-aarch64 \
		-M virt -cpu max,pauth-impdef=on -smp 2 -m 3072 \
		-accel tcg,thread=multi -display none -monitor none -serial stdio -no-reboot \
		-nic none -kernel "$directory"/kernel/boot/vmlinuz-* -initrd "$directory/initrd" \
		-append "console=ttyAMA0 quiet panic=-1 rnic_build=$build" </dev/null |
		sed -u 's/\r$//' | tee "$directory/console"
}

pack || exit 1
boot &
machine=$!
wait $machine
machine=""
grep -q '^machine: [0-9]* failures$' "$directory/console" || {
	echo "FAIL  the machine ended before its tests"
	exit 1
}
grep -q '^machine: 0 failures$' "$directory/console"

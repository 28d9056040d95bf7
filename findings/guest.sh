# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For findings about a kernel, which source this file: a Linux of Debian in an emulated machine.
#
#   guest_make SUITE KERNEL VERSION PACKAGE...   makes a root file system, $root, with the packages
#                      of Linux VERSION, and with those that are named
#   guest_make_rxe SUITE   the same with the Linux of sid or trixie, rdma_rxe, libibverbs, and
#                      rxe_pair.h
#   guest_program PATH [OPTION...]               compiles PATH.c of $root, and takes the program
#   guest_module NAME  takes a module of that kernel, and those that it needs, into the guest
#   guest_file PATH    takes a file of $root, and the libraries of a program
#   guest_run INIT     boots it, runs the commands INIT by busybox's shell, and ends it; prints the
#                      lines that begin with @@; programs that busybox has too need their path
#
# It needs root, mmdebstrap and qemu-system-x86, and removes the root file system at the end.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
for program in mmdebstrap qemu-system-x86_64; do
	[ -n "$(command -v $program)" ] || { echo "skipped: needs $program"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
guest_tree=$root/guest
declare -A guest_taken=()

guest_make() {
	local suite=$1 version=$3 parts packages
	guest_kernel=$2
	case $suite in
	sid) parts=("linux-binary-$guest_kernel=$version" "linux-modules-$guest_kernel=$version") ;;
	*) parts=("linux-image-$guest_kernel=$version") ;;
	esac
	packages=("${parts[@]}" "${@:4}" busybox-static iproute2 kmod cpio xz-utils zstd)
	mmdebstrap --quiet --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt=force-unsafe-io --include="$(IFS=,; echo "${packages[*]}")" \
		"$suite" "$root" || { echo "$suite: there is no ${packages[*]}"; exit 1; }
	mkdir -p "$guest_tree"/{bin,sbin,proc,sys,dev,etc,run,tmp,modules}
	guest_file /bin/busybox
	guest_file /sbin/ip
}

# The names keep the order in which each module depends on earlier ones.
guest_module() {
	local module
	while read -r module; do
		[ -z "${guest_taken[$module]:-}" ] || continue
		guest_taken[$module]=1
		case $module in
		*.xz) chroot "$root" xz -dc "$module" ;;
		*.zst) chroot "$root" zstd -qdc "$module" ;;
		*) cat "$root$module" ;;
		esac >"$guest_tree/modules/$((100 + ${#guest_taken[@]})).ko"
	done < <(chroot "$root" modprobe -S "$guest_kernel" --show-depends "$1" |
		awk '$1 == "insmod" { print $2 }')
}

guest_file() {
	local file
	for file in "$1" $(chroot "$root" ldd "$1" 2>/dev/null | grep -o '/[^ ():]*'); do
		mkdir -p "$guest_tree$(dirname "$file")"
		cp -L "$root$file" "$guest_tree$file"
	done
}

guest_program() {
	chroot "$root" gcc -o "$1" "$1.c" "${@:2}" || exit 1
	guest_file "$1"
}

guest_make_rxe() {
	local suite=$1 kernel version verbs name
	case $suite in
	sid) kernel=7.2.13+deb14-amd64 version=7.2.13-1 verbs=65.0-1.1 ;;
	trixie) kernel=6.12.117+deb13-amd64 version=6.12.117-1 verbs=56.1-1 ;;
	*) echo "there is no Linux of $suite here: sid, trixie"; exit 1 ;;
	esac
	guest_make "$suite" $kernel $version libibverbs-dev=$verbs ibverbs-providers=$verbs gcc \
		libc6-dev
	cp "$(dirname "${BASH_SOURCE[0]}")/rxe_pair.h" "$root/"
	for name in veth rdma_rxe ib_uverbs; do guest_module $name; done
	for name in /bin/rdma /etc/libibverbs.d/rxe.driver; do guest_file $name; done
	for name in "$root"/usr/lib/*/libibverbs/librxe*.so; do guest_file "${name#"$root"}"; done
}

# Begins what guest_run runs: a wire between two devices of rxe. rxe0 is in this namespace, rxe1 in
# another one, where $other runs a command.
# shellcheck disable=SC2016,SC2034 # for the guest; findings use it
guest_wire='
	unshare -n sleep 1000 &
	sleep 1
	other="nsenter -t $! -n"
	/sbin/ip link add va type veth peer name vb netns $!
	/sbin/ip address add 10.9.9.1/24 dev va; /sbin/ip link set va up
	$other /sbin/ip address add 10.9.9.2/24 dev vb
	$other /sbin/ip link set vb up
	rdma link add rxe0 type rxe netdev va
	$other rdma link add rxe1 type rxe netdev vb
	sleep 1
'

guest_run() {
	local image
	image=$(find "$root/boot" "$root/usr/lib/modules/$guest_kernel" -maxdepth 1 \
		-name 'vmlinuz*' | head -n 1)
	cat >"$guest_tree/init" <<-INIT
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
		for module in /modules/*.ko; do insmod \$module; done
		$1
		poweroff -f
	INIT
	chmod 755 "$guest_tree/init"
	chroot "$root" sh -c 'cd /guest && find . | cpio --quiet -o -H newc' >"$work/initrd"
	timeout 300 qemu-system-x86_64 -machine pc,accel=tcg -m 1024 -nodefaults -display none \
		-no-reboot -kernel "$image" -initrd "$work/initrd" \
		-append "console=ttyS0 quiet panic=-1" -serial stdio </dev/null |
		tr -d '\r' | sed -n 's/^@@ //p'
}

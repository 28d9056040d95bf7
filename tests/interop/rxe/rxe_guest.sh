# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# An emulated machine whose Linux has an rdma_rxe device: Debian's own kernel package, never
# installed, and an initial file system of busybox, the tools that make the device, and
# verbs_puppet. Nothing is written outside the directory that guest_build is given.
#
#   guest_refusal               why there can be no guest here; nothing when there can
#   guest_build DIRECTORY       packs what is missing there, with the packages that rxe_fetch.sh
#                               left in DIRECTORY/package; sets guest_problem if it cannot
#   guest_wire                  makes tap0 in side 0's network namespace; sets guest_problem if it
#                               cannot
#   guest_start DIRECTORY       starts it on tap0; its serial line is $WORK/console, and what is
#                               written to the socket $WORK/agent goes to verbs_puppet in it
#   guest_end                   ends it
#   guest_fault                 the line on its console that tells of a fault of its own, if any
#
# To be sourced behind lib.sh. The guest answers on 10.77.0.2 and fd77::2; guest_pid is qemu.

GUEST_MTU=4500 # room for a path MTU of 4096
guest_problem=""
guest_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# What runs in the guest beside busybox and verbs_puppet.
guest_programs=(rdma tc ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong
	ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat
	rping ucmatose udaddy)
guest_modules=(virtio_pci virtio_net virtio_console ib_uverbs rdma_rxe rdma_ucm crc32_generic
	sch_netem sch_prio ifb sch_ingress cls_matchall cls_u32 act_mirred)

guest_refusal() {
	local program
	[ "$(id -u)" -eq 0 ] || { echo "network namespaces need root"; return; }
	[ "$(uname -m)" = x86_64 ] || { echo "the emulated machine is an x86-64 one"; return; }
	[ -c /dev/net/tun ] || { echo "there is no /dev/net/tun"; return; }
	for program in qemu-system-x86_64 busybox xz zstd make dpkg-deb apt-get \
		"${guest_programs[@]}"; do
		command -v "$program" >/dev/null || { echo "$program is not installed"; return; }
	done
}

# Sets guest_packages. What was fetched before does while the archive cannot be reached.
guest_find_kernel() {
	mapfile -t guest_packages < <(sed "s,^,$1/package/," "$1/package/list" 2>/dev/null)
	[ ${#guest_packages[@]} -gt 0 ] || {
		guest_problem="no kernel can be fetched: $(tail -n 1 "$1/package/apt")"
		return 1
	}
}

# guest_extract DIRECTORY: DIRECTORY/tree, without the modules that no emulated machine needs. The
# modules are below /lib in one release of Debian and below /usr/lib in the next.
guest_extract() {
	local package
	local kept=("*/vmlinuz*" "*/kernel/"{arch,crypto,lib,net,fs/configfs}"/*"
		"*/kernel/drivers/"{infiniband/core,infiniband/sw,virtio,char}"/*"
		"*/kernel/drivers/net/*.ko*" "*.so*")
	mkdir -p "$1/tree"
	for package in "${guest_packages[@]}"; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$1/tree" --wildcards \
			--exclude="*/net/ethernet/*" --exclude="*/net/wireless/*" "${kept[@]}" \
			2>/dev/null
		[ "${PIPESTATUS[0]}" -eq 0 ] ||
			{ guest_problem="$package cannot be unpacked"; return 1; }
	done
	[ -e "$1/tree/lib" ] || ln -s usr/lib "$1/tree/lib"
}

# guest_number FILE OFFSET BYTES: a number in the header of a kernel's image.
guest_number() {
	od -An -j "$2" -N "$3" -t "u$3" "$1" | tr -d ' '
}

# Debian's kernel unpacks itself, which takes seconds when emulated: done here. The image's header
# says where the packed kernel is (Documentation/arch/x86/boot.rst); its length counts four bytes
# behind it.
guest_unpack_kernel() {
	local directory=$1 image offset length unpack
	image=$(find "$directory/tree" -name "vmlinuz*" | head -n 1)
	[ -n "$image" ] || { guest_problem="the packages have no kernel image"; return 1; }
	offset=$((($(guest_number "$image" 0x1f1 1) + 1) * 512 + $(guest_number "$image" 0x248 4)))
	length=$(($(guest_number "$image" 0x24c 4) - 4))
	case $(tail -c +$((offset + 1)) "$image" | head -c 4 | od -An -tx1 | tr -d ' ') in
	fd377a58) unpack=xz ;;
	28b52ffd) unpack=zstd ;;
	*) guest_problem="the kernel image is packed neither by xz nor by zstd"; return 1 ;;
	esac
	tail -c +$((offset + 1)) "$image" | head -c "$length" | $unpack -dc >"$directory/vmlinux" ||
		{ guest_problem="$unpack cannot unpack the kernel image"; return 1; }
}

# The files of the modules in guest_modules and of all that they need, relative to /lib/modules/X.
guest_module_files() {
	awk -F: -v wanted="${guest_modules[*]}" '
		{
			name = $1
			sub(/.*\//, "", name)
			sub(/\.ko.*/, "", name)
			gsub(/-/, "_", name)
			file[name] = $1
			needs[$1] = $2
		}
		function take(path, list, count, i) {
			if (path == "" || path in taken)
				return
			taken[path] = 1
			count = split(needs[path], list, " ")
			for (i = 1; i <= count; i++)
				take(list[i])
			print path
		}
		END {
			count = split(wanted, names, " ")
			for (i = 1; i <= count; i++)
				take(file[names[i]])
		}' "$1"
}

guest_pick_modules() {
	local modules version file copy
	modules=$(echo "$1"/tree/lib/modules/*)
	version=$(basename "$modules")
	busybox depmod -b "$1/tree" "$version"
	for file in $(guest_module_files "$modules/modules.dep"); do
		copy=$1/picked/lib/modules/$version/${file%.xz}
		mkdir -p "$(dirname "$copy")"
		case $file in
		*.xz) xz -dc "$modules/$file" >"$copy" ;;
		*) cp "$modules/$file" "$copy" ;;
		esac
	done
	busybox depmod -b "$1/picked" "$version"
}

# guest_pick_libraries DIRECTORY: DIRECTORY/picked/newer has what verbs_puppet is run with, where
# the packages have more than a kernel.
guest_pick_libraries() {
	local folder=usr/lib/x86_64-linux-gnu from library
	from=$1/tree/$folder
	[ -e "$from/libc.so.6" ] || return 0
	mkdir -p "$1/picked/newer" "$1/picked/$folder/libibverbs"
	for library in ld-linux-x86-64.so.2 libc.so.6 libibverbs.so.1 libnl-3.so.200 \
		libnl-route-3.so.200; do
		cp -L "$from/$library" "$1/picked/newer/"
	done
	cp "$from"/libibverbs/librxe-rdmav*.so "$1/picked/$folder/libibverbs/"
}

# vmlinux and picked/ from the packages, once.
guest_unpack() {
	local wanted="${guest_packages[*]}: ${guest_modules[*]}"
	[ "$(cat "$1/unpacked" 2>/dev/null)" != "$wanted" ] || return 0
	rm -rf "$1/tree" "$1/picked" "$1/unpacked"
	guest_extract "$1" && guest_unpack_kernel "$1" && guest_pick_modules "$1" &&
		guest_pick_libraries "$1" || return 1
	rm -r "$1/tree"
	echo "$wanted" >"$1/unpacked"
}

# guest_pack_program ROOT FILE [NAME]: with the libraries it is linked with.
guest_pack_program() {
	local library
	for library in $(ldd "$2" | grep -o '/[^ )]*'); do
		mkdir -p "$1$(dirname "$library")"
		cp -Lu "$library" "$1$library"
	done
	[ -z "${3:-}" ] || cp -L "$2" "$1/bin/$3"
}

# guest_pack_base DIRECTORY: DIRECTORY/root anew, with the modules, busybox and the programs of
# guest_programs. The C library loads libgcc_s for programs that cancel threads, as rping does.
guest_pack_base() {
	local root=$1/root program
	rm -rf "$root"
	cp -r "$1/picked" "$root"
	mkdir -p "$root"/{bin,sbin,proc,sys,dev,run,tmp}
	cp "$(command -v busybox)" "$root/bin/busybox"
	for program in "${guest_programs[@]}"; do
		guest_pack_program "$root" "$(command -v "$program")" "$program"
	done
	cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 "$root/lib/x86_64-linux-gnu/"
}

# guest_pack_provider DIRECTORY: what the distribution's libibverbs needs for an rdma_rxe device.
guest_pack_provider() {
	local root=$1/root provider
	provider=$(ls /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so 2>/dev/null)
	[ -n "$provider" ] || { guest_problem="ibverbs-providers is not installed"; return 1; }
	mkdir -p "$root$(dirname "$provider")" "$root/etc/libibverbs.d"
	cp "$provider" "$root$provider"
	guest_pack_program "$root" "$provider"
	cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
}

# guest_pack_rnicd DIRECTORY BUILD: what an installation has, and the libraries that it needs.
guest_pack_rnicd() {
	local root=$1/root file
	DESTDIR=$root cmake --install "$2" >"$1/install" 2>&1 ||
		{ guest_problem="$2 is not whole: $(tail -n 1 "$1/install")"; return 1; }
	while read -r file; do
		guest_pack_program "$root" "$file"
	done < <(find "$root/usr" -type f -perm -100 ! -name "*.py")
	rm -rf "${root:?}"/usr/share "${root:?}"/usr/local/{share,include}
}

# guest_run DIRECTORY OPTION...: the machine without a network, until it ends; the options are its
# processors. What it prints is in DIRECTORY/console.
guest_run() {
	local directory=$1
	shift
	setpriv --pdeathsig KILL qemu-system-x86_64 -machine pc "$@" -m 2048 \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$directory/vmlinux" -initrd "$directory/initramfs" \
		-append "console=ttyS0 quiet loglevel=0 panic=-1 no_timer_check net.ifnames=0 \
			random.trust_cpu=on" \
		-serial "file:$directory/console" </dev/null
}

# guest_pack_end DIRECTORY INIT: DIRECTORY/initramfs of DIRECTORY/root, whose first process is INIT.
guest_pack_end() {
	install -m 755 "$2" "$1/root/init"
	cp "$guest_here/guest_mounts.sh" "$1/root/"
	(cd "$1/root" && find . | busybox cpio -o -H newc) >"$1/initramfs" 2>/dev/null
}

# The samples, as their Makefile builds them for any RNIC: what runs in the guest runs at rnicd.
guest_build_samples() {
	local makefile=$guest_here/../../../tools/examples/modular-samples/Makefile
	mkdir -p "$1"
	make -s -C "$1" -f "$makefile" >"$WORK/make" 2>&1 ||
		{ guest_problem="no samples: $(tail -n 1 "$WORK/make")"; return 1; }
	PATH=$1:$PATH
}

guest_pack() {
	local directory=$1 root=$1/root program
	guest_pack_base "$directory"
	for program in rdma_server rdma_client rdma_server_imm rdma_client_imm; do
		guest_pack_program "$root" "$directory/samples/$program" "$program"
	done
	guest_pack_program "$root" "$BUILD/tests/verbs_puppet" verbs_puppet
	guest_pack_provider "$directory" && guest_pack_end "$directory" "$guest_here/rxe_init.sh"
}

guest_build() {
	mkdir -p "$1"
	guest_find_kernel "$1" && guest_unpack "$1" && guest_build_samples "$1/samples" &&
		guest_pack "$1"
}

guest_wire() {
	on 0 ip tuntap add dev tap0 mode tap vnet_hdr ||
		{ guest_problem="no tap device can be made"; return 1; }
	on 0 ip link set tap0 mtu $GUEST_MTU
	on 0 ip address add 10.77.0.1/24 dev tap0
	on 0 ip -6 address add fd77::1/64 dev tap0 nodad
	on 0 ip link set tap0 up
}

# A kernel that is at fault says so and ends at once: a task that hangs for 20 seconds is a fault.
# A late timer is none: a kernel that checks it gives up while it boots on a busy host.
guest_start() {
	# It ends with this script, however that ends. rep movsb and pclmulqdq are slow when
	# emulated, and Linux would use them if it could.
	exec_on 0 setpriv --pdeathsig KILL qemu-system-x86_64 \
		-machine pc -accel tcg,thread=multi -smp 1 -m 512 \
		-cpu max,-erms,-pclmulqdq \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$1/vmlinux" -initrd "$1/initramfs" \
		-append "console=ttyS0 quiet panic=-1 oops=panic softlockup_panic=1 \
			sysctl.kernel.hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=20 \
			no_timer_check net.ifnames=0 mitigations=off nokaslr random.trust_cpu=on \
			guest_mtu=$GUEST_MTU" \
		-serial "file:$WORK/console" \
		-netdev tap,id=data,ifname=tap0,script=no,downscript=no \
		-device virtio-net-pci,netdev=data,romfile= \
		-chardev "socket,id=agent,path=$WORK/agent,server=on,wait=off" \
		-device virtio-serial-pci -device virtserialport,chardev=agent,nr=1 \
		>"$WORK/qemu.log" 2>&1 &
	guest_pid=$!
	own $!
}

guest_end() {
	end_process "$guest_pid"
	wait "$guest_pid"
	rm -f "$WORK/agent"
}

guest_fault() {
	local signs='Kernel panic|Oops|BUG: |blocked for more than|soft lockup|^dead network'
	grep -aE "$signs" "$WORK/console" | head -n 1 | tr -d '\r'
}

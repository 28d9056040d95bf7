#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tests/interop/paths/path_grid.sh BUILD [--only REGEX] [--write]: runs programs over the kinds of
# network that path_grid.py lists, in one boot of an emulated machine with Debian's kernel, and
# holds the table of doc/paths.md against what works. The build is whole. --write puts the table of
# the run into the page. tests/run.sh --long=paths calls it.
#
# Exit status: 0, 1 when something fails, 77 when it cannot run here.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?the build tree}
shift
only=.
what=--judge
while [ $# -gt 0 ]; do
	case $1 in
	--only) only=${2:?} && shift ;;
	--write) what=--write ;;
	*) echo "unknown option $1" >&2 && exit 1 ;;
	esac
	shift
done

skip() {
	echo "path_grid: skipped: $1" >&2
	exit 77
}

# shellcheck source=tests/interop/rxe/rxe_guest.sh
. "$here/../rxe/rxe_guest.sh"
directory=$build/path-grid
guest_programs=(ip tc sysctl wg ibv_rc_pingpong ib_write_bw ib_read_bw ib_send_lat rping)
guest_modules=(veth bridge macvlan 8021q ipvlan vxlan geneve ip_gre ip6_gre wireguard esp4 xfrm_user
	gcm ghash_generic aes_generic ctr seqiv echainiv drbg jitterentropy_rng hmac
	sha256_generic sha512_generic bonding sch_netem sch_tbf sch_fq_codel tun)

[ "$(uname -m)" = x86_64 ] || skip "the guest is an x86-64 one"
for program in qemu-system-x86_64 busybox xz dpkg-deb apt-get cmake "${guest_programs[@]}"; do
	command -v "$program" >/dev/null || skip "$program is not installed"
done
"$here/../rxe/rxe_fetch.sh" "$directory/package"
# shellcheck disable=SC2154 # these functions set it
if ! guest_find_kernel "$directory" || ! guest_unpack "$directory"; then
	skip "$guest_problem"
fi
guest_pack_base "$directory"
guest_pack_rnicd "$directory" "$build" || { echo "path_grid: $guest_problem" >&2 && exit 1; }
python3 "$here/path_grid.py" --list --only "$only" >"$directory/root/paths"
printf '%s\n' "${guest_modules[@]}" >"$directory/root/modules"
guest_pack_end "$directory" "$here/grid_init.sh"
guest_run "$directory" -accel tcg,thread=multi -cpu max,-erms,-pclmulqdq -smp 2
python3 "$here/path_grid.py" $what "$directory/console" --only "$only"

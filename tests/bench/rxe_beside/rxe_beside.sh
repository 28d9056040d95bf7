#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tests/bench/rxe_beside/rxe_beside.sh [--build DIR] [--rounds N] [--mtus "LIST"] [--rtts "LIST"]
# [--only REGEX] [--kvm | --icount]: prints a table of what rnicd does beside what Linux rdma_rxe
# does. Both run in one guest, row by row in turn: a qemu machine of two processors with Debian's
# kernel, where each has two devices on the ends of a veth.
#
#   --build DIR   a build tree, built completely (else build/ is brought up to date)
#   --rounds N    how often everything is measured (3)
#   --mtus LIST   of the veths ("9000 1500")
#   --rtts LIST   round trips of the veths in ms, by netem at both ends; a row then says which
#                 ("0": no netem)
#   --only REGEX  only the rows whose names match
#   --kvm         the processors are the machine's own, where its kernel has a KVM that works
#   --icount      one emulated processor, whose clock counts its instructions: the table then shows
#                 the work of a message, the same on every machine
#
# Else the processors are emulated, so that every machine can measure; ratios say more than numbers
# then. It takes some ten minutes.
#
# Exit status: 0, 1 when a number is missing, 77 when it cannot run here.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=
rounds=3
mtus="9000 1500"
rtts=0
only=.
accelerator=(-accel "tcg,thread=multi" -cpu "max,-erms,-pclmulqdq" -smp 2)
limit_s=60
part=1 # one in so many of the messages

usage() {
	sed -n '4,24s/^# \{0,1\}//p' "$0"
	exit "$1"
}

skip() {
	echo "rxe_beside: skipped: $1" >&2
	exit 77
}

while [ $# -gt 0 ]; do
	case $1 in
	--build) build=${2:?} && shift ;;
	--rounds) rounds=${2:?} && shift ;;
	--mtus) mtus=${2:?} && shift ;;
	--rtts) rtts=${2:?} && shift ;;
	--only) only=${2:?} && shift ;;
	--kvm) accelerator=(-accel kvm -cpu host -smp 2) limit_s=20 ;;
	--icount)
		accelerator=(-accel "tcg,thread=single" -cpu "max,-erms" -smp 1 -icount shift=0)
		limit_s=120
		part=10
		;;
	--help | -h) usage 0 ;;
	*) usage 1 >&2 ;;
	esac
	shift
done

[ "$(uname -m)" = x86_64 ] || skip "the guest is an x86-64 one"
if [ -z "$build" ]; then
	build=$root/build
	"$root/tools/install-packages.sh" build bench rxe || exit 1
	cmake -S "$root" -B "$build" -G Ninja >/dev/null && cmake --build "$build" >/dev/null ||
		exit 1
fi

# shellcheck source=tests/interop/rxe/rxe_guest.sh
. "$root/tests/interop/rxe/rxe_guest.sh"
directory=$build/rxe-beside
image=$directory/root
guest_programs=(rdma ip tc grep ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat
	ib_send_lat ib_atomic_lat)
# shellcheck disable=SC2034 # guest_unpack reads it
guest_modules=(veth crc32_generic ib_uverbs rdma_rxe sch_netem)

for program in qemu-system-x86_64 busybox xz zstd dpkg-deb apt-get cmake "${guest_programs[@]}"; do
	command -v "$program" >/dev/null || skip "$program is not installed"
done
"$root/tests/interop/rxe/rxe_fetch.sh" "$directory/package"
# shellcheck disable=SC2154 # these functions set it
if ! guest_find_kernel "$directory" || ! guest_unpack "$directory"; then
	skip "$guest_problem"
fi

pack() {
	local stacks="rxe rnicd"
	guest_pack_base "$directory"
	guest_pack_rnicd "$directory" "$build" || {
		echo "rxe_beside: $guest_problem" >&2
		exit 1
	}
	guest_pack_provider "$directory" || skip "$guest_problem"
	"$build/bin/rnic-run" --help | grep -q -- --direct && stacks+=" rnicd-direct"
	python3 "$here/rxe_beside.py" --rows "$only" --part $part >"$image/rows"
	cat >"$image/settings" <<-END
		MTUS="$mtus"
		RTTS="$rtts"
		ROUNDS=$rounds
		STACKS="$stacks"
		LIMIT_S=$limit_s
	END
	guest_pack_end "$directory" "$here/guest_init.sh"
}

pack
guest_run "$directory" "${accelerator[@]}"
python3 "$here/rxe_beside.py" --table "$directory/console"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# clang_tidy.sh [--all] BUILD [FILE...]: the checks of .clang-tidy, over the commands that BUILD
# compiled with. Of the product: the C files that changed since the branch left main and a fixed
# sample; with --all every file; or the FILEs. Versions of clang-tidy find different things, so only
# the one of Debian 12 judges. Exit status 0, 1, or 77 where that is missing.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)

version=14
changed_max=20 # more take longer than an entry of a quick suite may

# A file of each kind of code: tables, state machines, parsers, system calls, translations.
sample=(
	daemon/control/cm/request.c
	daemon/control/network/netdev_state.c
	daemon/device/objects/ctl_qp.c
	lib/client/native/rnic_context.c
	lib/dropin/rdmacm/rdma_event.c
	lib/dropin/rsockets/rsocket_work.c
	lib/nic/engine/requester/retry.c
	lib/nic/port/udp/udp_socket.c
	proto/wire/packet.c
	tools/rnicctl/rnicctl.c
)

tidy=
for candidate in clang-tidy-$version clang-tidy; do
	if "$candidate" --version 2>/dev/null | grep -q "version $version\."; then
		tidy=$candidate
		break
	fi
done
if [ -z "$tidy" ]; then
	echo "skipped: there is no clang-tidy $version"
	exit 77
fi

is_all=false
[ "${1:-}" = --all ] && { is_all=true; shift; }
build=${1:?the build tree}
shift
commands=$build/compile_commands.json
[ -f "$commands" ] || { echo "there is no $commands"; exit 1; }

# Every C file of the product that the build compiled, by its path from the repository.
compiled_files() {
	sed -n 's/^ *"file": "\(.*\.c\)",\{0,1\}$/\1/p' "$commands" | sed "s:^$top/::" |
		grep -E '^(daemon|lib|proto|tools)/' | sort -u
}

changed_files() {
	local base
	base=$(git -C "$top" merge-base HEAD origin/main 2>/dev/null) ||
		base=$(git -C "$top" rev-parse --verify -q HEAD~) || return 0
	git -C "$top" diff --name-only --diff-filter=d "$base" -- '*.c'
}

# Those of the named files that the build compiled: without an option of CMake some are left out.
select_files() {
	local changed
	mapfile -t changed < <(changed_files | grep -Fxf <(compiled_files))
	if [ ${#changed[@]} -gt $changed_max ]; then
		echo "$changed_max of ${#changed[@]} changed files are checked, all by --all" >&2
		changed=("${changed[@]:0:changed_max}")
	fi
	printf '%s\n' "${changed[@]}"
	printf '%s\n' "${sample[@]}" | grep -Fxf <(compiled_files)
}

if [ $# -gt 0 ]; then
	files=("$@")
elif $is_all; then
	mapfile -t files < <(compiled_files)
else
	mapfile -t files < <(select_files | grep . | sort -u)
	for file in "${sample[@]}"; do
		[ -f "$top/$file" ] || { echo "the sample has no $file any more"; exit 1; }
	done
fi
[ ${#files[@]} -gt 0 ] || { echo "no file to check"; exit 1; }

cd "$top" || exit 1
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 4 \
	"$tidy" -p "$build" --quiet --config-file="$top/.clang-tidy" 2>/dev/null
status=$?
result="no complaint"
[ $status -eq 0 ] || result=complaints
echo "clang-tidy: ${#files[@]} files, $result"
[ $status -eq 0 ]

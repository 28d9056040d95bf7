#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# debian.sh FOLDER [RELEASE...]: what a newcomer does works on a fresh Debian 13 and 12, trixie and
# bookworm. The first two uses are tried on sid too, the next release in the making. They may fail
# there: sid changes each day.
#
#   start    the quick start, and the benchmark straight after it
#   suites   tests/run.sh --quick
#   newcomer what an ordinary user types first: README.md, the tutorials, and more
#   readme   every command of README.md and of doc/, page by page
#   packages the packages of debian/ are built, and lintian has nothing to say
#   install  these packages are installed on another host, used there, and purged
#   units    these packages on a host that systemd boots
#   ci       what the CI job of another project does: tools/ci/setup.sh and action.yml
#   containers  on Debian 13: programs in containers of it, on this machine, find a device; the
#            image of tools/packaging/containers is built
#
# FOLDER, which must not exist, takes one root file system a release; each use has an overlay of it
# on a host of its own (fresh_host.sh), and all uses of a release share a folder, /mnt on their
# hosts. RNIC_DEBIAN_USES names some of the uses; install and units need packages. Exit status: 0,
# 1 when something failed, 77 when it cannot run here (it needs root).
set -u

[ $# -ge 1 ] || { sed -n '4,22p' "$0" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
folder=$1
shift
releases=("$@")
[ ${#releases[@]} -gt 0 ] || releases=(trixie bookworm sid)
uses=${RNIC_DEBIAN_USES:-start suites newcomer readme packages install units ci containers}
use_seconds=3600 # the most for one use
failures=0

[ "$(id -u)" -eq 0 ] || { echo "debian: skipped: overlays and networks need root" >&2; exit 77; }
for program in mmdebstrap slirp4netns systemd-nspawn; do
	command -v $program >/dev/null || {
		echo "debian: skipped: there is no $program: tools/install-packages.sh debian" >&2
		exit 77
	}
done

command_of() {
	case $1 in
	start) echo "tools/quickstart.sh && tests/bench/run.sh --quick" ;;
	newcomer) echo "tests/debian/newcomer.sh" ;;
	suites) echo "tests/run.sh --quick" ;;
	readme) echo "tests/debian/type_readme.sh && export RNIC_BUILD=\$PWD/build &&
		tests/interop/newcomer/tutorial.sh && tests/interop/newcomer/mistakes.sh" ;;
	packages) echo "tests/debian/build_packages.sh" ;;
	install) echo "tests/debian/install_packages.sh" ;;
	units) echo "tests/debian/try_units.sh --prepare" ;;
	ci) echo "tests/debian/try_ci.sh" ;;
	esac
}

# run RELEASE USE: the command of the use, on a fresh host.
run() {
	RNIC_HOST_SHARE=$folder/$1-share timeout --kill-after=30 $use_seconds \
		"$here/fresh_host.sh" "$folder/$1" "$folder/$1-$2" "$top" \
		bash -c "$(command_of "$2")"
}

# run_booted RELEASE USE: the same, and then the script of the use on that host, booted.
run_booted() {
	RNIC_HOST_KEEP=$folder/$1-changes run "$1" "$2" &&
		timeout --kill-after=30 $use_seconds "$here/boot_host.sh" \
			"$folder/$1-changes:$folder/$1" "$folder/$1-booted" \
			/root/rnicd/tests/debian/try_units.sh
}

run_containers() {
	timeout --kill-after=30 $use_seconds \
		"$here/try_containers.sh" "$folder/$1" "$folder/$1-containers"
}

# is_for RELEASE USE
is_for() {
	case $1:$2 in
	sid:start | sid:suites) true ;;
	sid:*) false ;;
	# A container's C library must not be older than this machine's.
	*:containers) [ "$1" = trixie ] ;;
	*) true ;;
	esac
}

# failed RELEASE WHAT LOG
failed() {
	if [ "$1" = sid ]; then
		echo "seen  sid: $2, which fails nothing"
	else
		failures=$((failures + 1))
		echo "FAIL  $1: $2"
	fi
	tail -n 60 "$3" | sed 's/^/      | /'
}

# use RELEASE USE
use() {
	local status
	is_for "$1" "$2" || return 0
	echo "== debian: $1: $2"
	SECONDS=0
	case $2 in
	units) run_booted "$1" "$2" ;;
	containers) run_containers "$1" ;;
	*) run "$1" "$2" ;;
	esac >"$folder/$1-$2.log" 2>&1
	status=$?
	sed -n 's/^skipped: checks of /debian: &/p' "$folder/$1-$2.log"
	if [ $status -eq 0 ]; then
		echo "ok    $1: $2 ($SECONDS s)"
		return
	fi
	failed "$1" "$2: status $status after $SECONDS s" "$folder/$1-$2.log"
}

mkdir -p "$folder" || exit 1
for release in "${releases[@]}"; do
	echo "== debian: $release: the root file system"
	# The lists of sid are good for days only, and a mirror may be older.
	lists=()
	[ "$release" != sid ] || lists=(--aptopt='Acquire::Check-Valid-Until "false"')
	if ! mmdebstrap --variant=minbase --dpkgopt=force-unsafe-io --include=iproute2,mount \
		"${lists[@]}" "$release" "$folder/$release" 2>"$folder/$release.log"; then
		failed "$release" "no root file system" "$folder/$release.log"
		continue
	fi
	mkdir "$folder/$release-share"
	for one in $uses; do use "$release" "$one"; done
	rm -rf "${folder:?}/$release" "$folder/$release-share" "$folder/$release-changes"
done
echo "debian: $failures failures"
[ $failures -eq 0 ]

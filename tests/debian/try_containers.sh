#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# try_containers.sh ROOT FOLDER: programs in containers of the root file system ROOT, a Debian, find
# the device of a daemon outside, in podman (runc), bubblewrap and systemd-nspawn; and the image of
# tools/packaging/containers/Containerfile, whose base is ROOT, is such a daemon. FOLDER, which must
# not exist, takes images and sockets, until the end. No registry is asked. It needs root; checks of
# a runtime that is missing are skipped.
set -u

[ $# -eq 2 ] || { sed -n '4,9p' "$0" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$here/clean_end.sh"
root=$(realpath "$1")
mkdir -m 755 "$2" || exit 1
folder=$(realpath "$2")
cdi=/run/cdi/rnicd-try-$$.json
failures=0
device=rnic0-$$ # other runs have theirs beside this one, in the same folder
unset GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_ACTIONS RNIC_SOCKET

# has RUNTIME PROGRAM...: whether the programs are there that the runtime consists of.
has() {
	local program
	for program in "${@:2}"; do
		type -P "$program" >/dev/null || {
			echo "skipped: checks of $1: there is no $program" >&2
			return
		}
	done
	echo "$1"
}
has_podman=$(has podman podman runc)
has_bwrap=$(has bubblewrap bwrap)
has_nspawn=$(has systemd-nspawn systemd-nspawn)

# Its images are in FOLDER. podman refuses a --runroot of more than 50 characters, which a folder in
# FOLDER may have. The limits below are those that a root without CAP_SYS_RESOURCE can set.
run_root=$(mktemp -d /run/rnic-podman-XXXXXX) || exit 1
podman() {
	command podman --root "$folder/images" --runroot "$run_root" --runtime runc "$@"
}
export CONTAINERS_CONF=$folder/containers.conf
cat >"$CONTAINERS_CONF" <<'END'
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
END

cleanup() {
	[ -z "$has_podman" ] || podman rm --all --force --time 2 >/dev/null 2>&1
	"$top/tools/ci/setup.sh" --folder "$folder/host" stop 2>/dev/null
	rm -f "$cdi"
	# A build that was ended leaves its mounts.
	awk -v folder="$folder/" -v run="$run_root/" '
		index($2, folder) == 1 || index($2, run) == 1 { print $2 }' /proc/mounts | tac |
		xargs -r umount --lazy
	rm -rf "$folder" "$run_root"
}
clean_at_end cleanup

# check WHAT COMMAND...
check() {
	local what=$1
	shift
	SECONDS=0
	if "$@" >"$folder/output" 2>&1; then
		echo "ok    $what ($SECONDS s)"
	else
		failures=$((failures + 1))
		echo "FAIL  $what"
		tail -n 40 "$folder/output" | sed 's/^/      | /'
	fi
}

# has_device COMMAND...: the command before ibv_devinfo.
has_device() {
	"$@" ibv_devinfo >"$folder/devinfo" 2>&1
	cat "$folder/devinfo"
	grep -q 'hca_id:.rnic0' "$folder/devinfo" && grep -q PORT_ACTIVE "$folder/devinfo"
}

# pingpong SERVER -- CLIENT: two commands before the program.
pingpong() {
	local server=() deadline=$((SECONDS + 30))
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	"${server[@]}" timeout 40 ibv_rc_pingpong -g 0 -c -n 200 &
	until "$@" ibv_rc_pingpong -g 0 -c -n 200 127.0.0.1; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.3 # between two polls
	done
	wait $!
}

# What a specification says, as options of bubblewrap and systemd-nspawn.
options_of() {
	python3 - "$1" "$2" <<'END'
import json, sys
edits = json.load(open(sys.argv[1]))["devices"][0]["containerEdits"]
for entry in edits["mounts"]:
    if sys.argv[2] == "bwrap":
        print("--ro-bind", entry["hostPath"], entry["containerPath"], sep="\n")
    else:
        print(f"--bind-ro={entry['hostPath']}:{entry['containerPath']}")
for entry in edits["env"]:
    if sys.argv[2] == "bwrap":
        print("--setenv", *entry.split("=", 1), sep="\n")
    else:
        print(f"--setenv={entry}")
END
}

in_podman() {
	podman run --rm --network=host --device rnicd.local/rnic=$device program "$@"
}
in_bwrap() {
	bwrap --bind "$folder/program" / --dev /dev --proc /proc --tmpfs /opt "${bwrap[@]}" "$@"
}
in_nspawn() {
	systemd-nspawn --quiet --directory "$folder/program" --register=no --keep-unit --pipe \
		--machine "rnic-try-$$-$RANDOM" "${nspawn[@]}" "$@" </dev/null
}

# make_program: what a container has: ROOT and ibverbs-utils, nothing of rnicd.
make_program() {
	mkdir "$folder/empty" "$folder/work" "$folder/program" || return
	RNIC_HOST_KEEP=$folder/changes "$here/fresh_host.sh" "$root" "$folder/fresh" \
		"$folder/empty" sh -c 'apt-get update -qq &&
			apt-get install -y -qq --no-install-recommends ibverbs-utils' || return
	mount -t overlay -o "lowerdir=$root,upperdir=$folder/changes,workdir=$folder/work" \
		overlay "$folder/program"
}

# import FOLDER NAME: makes an image.
import() {
	tar -C "$1" --one-file-system -cf - . | podman import - "$2"
}

echo "# a program's root file system, and its image"
check "the root file system" make_program
[ -z "$has_podman" ] || check "the image" import "$folder/program" program

echo "# the daemon is the host's"
check "install" "$top/tools/ci/setup.sh" --folder "$folder/host" --build "$folder/build"
mkdir -p "${cdi%/*}"
specify() {
	"$folder/host/install/bin/rnicctl" cdi --device "$device" \
		--socket "$folder/host/sockets/rnic0.sock" >"$cdi"
}
check "the specification" specify
mapfile -t bwrap < <(options_of "$cdi" bwrap)
mapfile -t nspawn < <(options_of "$cdi" nspawn)
if [ -n "$has_podman" ]; then
	check "podman, without a network" has_device podman run --rm --network=none \
		--device rnicd.local/rnic=$device program
	check "podman, as an ordinary user" has_device podman run --rm --network=none \
		--user 4711 --device rnicd.local/rnic=$device program
fi
[ -z "$has_bwrap" ] || check "bubblewrap" has_device in_bwrap
[ -z "$has_nspawn" ] || check "systemd-nspawn" has_device in_nspawn
[ -z "$has_podman" ] || [ -z "$has_bwrap" ] ||
	check "podman to bubblewrap" pingpong in_podman -- in_bwrap
[ -z "$has_bwrap" ] || [ -z "$has_nspawn" ] ||
	check "bubblewrap to systemd-nspawn" pingpong in_bwrap -- in_nspawn

ends() {
	echo "containers: $failures failures"
	[ $failures -eq 0 ]
	exit
}
[ -n "$has_podman" ] || ends

echo "# the daemon is in a container of the image that the Containerfile makes"
check "the base of the image" import "$root" base
mkdir "$folder/source"
tar -C "$top" --exclude='./build' --exclude='./build-*' --exclude=./.git -cf - . |
	tar -C "$folder/source" --no-same-owner -xf -
check "the image" podman build --isolation chroot --network host --build-arg BASE=base \
	--tag rnicd --file "$folder/source/tools/packaging/containers/Containerfile" \
	"$folder/source"
libraries=/usr/lib/$(uname -m)-linux-gnu/rnic
check "the daemon" podman run --detach --name device --network=none --read-only \
	--security-opt no-new-privileges \
	--volume socket:/run/rnicd --volume "libraries:$libraries" rnicd --address 127.0.0.2
in_other() {
	podman run --rm --network=container:device --volume socket:/run/rnicd:ro \
		--volume "libraries:$libraries:ro" --env RNIC_SOCKET=/run/rnicd/rnicd.sock \
		--env LD_PRELOAD="$libraries/verbs/libibverbs.so.1" program "$@"
}
SECONDS=0
until podman exec device rnicctl show device >/dev/null 2>&1 || [ $SECONDS -gt 20 ]; do
	sleep 0.2 # between two polls
done
check "a program in another container" has_device in_other
check "two programs in two other containers" pingpong in_other -- in_other
check "what it says of them" podman exec device rnicctl show --socket /run/rnicd/rnicd.sock
ends

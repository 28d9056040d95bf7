#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# try_containers.sh ROOT FOLDER: programs in containers of the root file system ROOT, a Debian, find
# the device of a daemon outside, in podman (runc), bubblewrap and systemd-nspawn; and the image of
# tools/containers/Containerfile, whose base is ROOT, is such a daemon. FOLDER, which must not
# exist, takes images and sockets, until the end. No registry is asked. It needs root and these
# programs.
set -u

[ $# -eq 2 ] || { sed -n '4,9p' "$0" >&2; exit 1; }
top=$(cd "$(dirname "$0")/../.." && pwd)
root=$(realpath "$1")
mkdir -m 755 "$2" || exit 1
folder=$(realpath "$2")
cdi=/run/cdi/rnicd-try-$$.json
failures=0
background=()
device=rnic0-$$ # other runs have theirs beside this one, in the same folder
unset GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_ACTIONS RNIC_SOCKET

# Its images and containers are in FOLDER. These limits are those that a root without
# CAP_SYS_RESOURCE can set.
podman() {
	command podman --root "$folder/images" --runroot "$folder/run" --runtime runc "$@"
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
	status=$?
	trap - EXIT
	for process in "${background[@]}"; do kill "$process" 2>/dev/null; done
	podman rm --all --force --time 2 >/dev/null 2>&1
	"$top/tools/ci/setup.sh" --folder "$folder/host" stop 2>/dev/null
	rm -f "$cdi"
	# A build that was ended leaves its mounts.
	awk -v folder="$folder/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | tac |
		xargs -r umount --lazy
	rm -rf "$folder"
	exit $status
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

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

echo "# a program's image: $root and ibverbs-utils, nothing of rnicd"
tar -C "$root" --one-file-system -cf "$folder/root.tar" .
check "import" podman import "$folder/root.tar" base
mkdir "$folder/empty"
printf 'FROM base\nRUN apt-get update -qq && apt-get install -y -qq %s ibverbs-utils\n' \
	--no-install-recommends >"$folder/Containerfile"
check "build" podman build --isolation chroot --network host --tag program \
	--file "$folder/Containerfile" "$folder/empty"
mkdir -p "$folder/program"
podman create --name export --network none program true >/dev/null
podman export export | tar -C "$folder/program" -xf -

echo "# the daemon is the host's"
check "install" "$top/tools/ci/setup.sh" --folder "$folder/host" --build "$folder/build"
mkdir -p "${cdi%/*}"
"$folder/host/install/bin/rnicctl" cdi --device "$device" \
	--socket "$folder/host/sockets/rnic0.sock" >"$cdi"
mapfile -t bwrap < <(options_of "$cdi" bwrap)
mapfile -t nspawn < <(options_of "$cdi" nspawn)
check "podman, without a network" has_device podman run --rm --network=none \
	--device rnicd.local/rnic=$device program
check "podman, as an ordinary user" has_device podman run --rm --network=none --user 4711 \
	--device rnicd.local/rnic=$device program
check "bubblewrap" has_device in_bwrap
check "systemd-nspawn" has_device in_nspawn
check "podman to bubblewrap" pingpong in_podman -- in_bwrap
check "bubblewrap to systemd-nspawn" pingpong in_bwrap -- in_nspawn

echo "# the daemon is in a container of the image that the Containerfile makes"
mkdir "$folder/source"
tar -C "$top" --exclude='./build' --exclude='./build-*' --exclude=./.git -cf - . |
	tar -C "$folder/source" --no-same-owner -xf -
check "the image" podman build --isolation chroot --network host --build-arg BASE=base \
	--tag rnicd --file "$folder/source/tools/containers/Containerfile" "$folder/source"
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
echo "containers: $failures failures"
[ $failures -eq 0 ]

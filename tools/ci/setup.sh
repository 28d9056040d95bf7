#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# setup.sh [OPTION...] [COMMAND]: RDMA devices for a CI job, from the source tree of this script.
#
#   install   installs the packages of the build where they are missing (root, or sudo), builds,
#             and installs rnicd into a folder of the job
#   start     starts the devices; those that run already stay; logs and captures of others go
#   env       prints the variables that a shell needs: eval "$(tools/ci/setup.sh env)"
#   report    prints what the devices and their logs say of troubles, and collects logs and captures
#   stop      ends the devices
#
# Without a command: install and start. On GitHub, start adds rnic-run to the PATH and sets the
# variables for the later steps.
#
#   --devices N       so many devices, 1 to 64, each with a daemon and a socket of its own [1]
#   --netdev IF       the device of this network interface
#   --address IP      the address of the first device; the next one has the next address. Without
#                     --netdev and --address: loopback addresses from 127.0.0.2 on that are free
#   --fault SPEC      faults that every device injects, see rnicd(8)
#   --capture         every device writes its packets to a file in the report
#   --folder DIR      what is installed, sockets, logs and the report [/var/lib/rnicd-ci for root,
#                     else rnicd-ci-UID in $RUNNER_TEMP, $XDG_RUNTIME_DIR or /tmp]
#   --build DIR       the build tree [build-ci in the source tree]
#   --apis            build the programming interfaces of rnicd, too
#   --dry-run         print what install, start and stop would do
#
# Programs find device 0 by RNIC_SOCKET. RNIC_SOCKET_I and RNIC_ADDRESS_I are of device I:
# rnic-run --socket "$RNIC_SOCKET_1" PROGRAM.
set -eu
umask go-w # programs in the folder are not for others to change

top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tools/loopback_address.sh"
OLDEST_VERBS=1.14.44 # what older headers lack, the drop-in libraries need
START_SECONDS=20 # until a daemon answers
END_SECONDS=10   # until a daemon that got SIGTERM has ended
devices=1
netdev=""
address=""
fault=""
capture=""
folder=""
build=$top/build-ci
apis=OFF
dry=""
command=""
started=() # the devices that this call has started

complain() {
	echo "setup.sh: $*" >&2
	exit 1
}

usage() {
	sed -n '4,32s/^# \{0,1\}//p' "$0"
}

check_options() {
	local octet='(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])'
	[[ $devices =~ ^([1-9]|[1-5][0-9]|6[0-4])$ ]] ||
		complain "--devices is a number from 1 to 64"
	[ -z "$netdev" ] || [ -z "$address" ] || complain "--netdev or --address, not both"
	[ -z "$netdev" ] || [ "$devices" -eq 1 ] ||
		complain "an interface is one device: leave out --netdev, or --devices $devices"
	[ "$devices" -eq 1 ] || [ -z "$address" ] ||
		[[ $address =~ ^($octet\.){3}$octet$ ]] ||
		complain "several devices need an IPv4 address to count from, not '$address'"
}

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--devices | --netdev | --address | --fault | --folder | --build)
			[ $# -ge 2 ] || complain "$1 needs a value"
			printf -v "${1#--}" %s "$2"
			shift
			;;
		--capture) capture=1 ;;
		--apis) apis=ON ;;
		--dry-run) dry=1 ;;
		--help | -h) usage; exit 0 ;;
		install | start | env | report | stop)
			[ -z "$command" ] || complain "one command at a time: $command, or $1"
			command=$1
			;;
		*) complain "there is no '$1'; --help says what there is" ;;
		esac
		shift
	done
	check_options
}

# run COMMAND...: does it, or says that it would.
run() {
	if [ -n "$dry" ]; then
		printf '+'
		printf ' %q' "$@"
		echo
		return
	fi
	"$@"
}

# /var/lib for root: nobody else can replace the sockets there, and programs run there, as those of
# dpkg do. /run is mounted noexec on some machines.
choose_folder() {
	[ -z "$folder" ] || return 0
	if [ "$(id -u)" -eq 0 ]; then
		folder=/var/lib/rnicd-ci
	else
		folder=${RUNNER_TEMP:-${XDG_RUNTIME_DIR:-/tmp}}/rnicd-ci-$(id -u)
	fi
}

# check_directory PATH SAFE: only this user, root and the owner of "/" may own the directory. Others
# may not write in it, unless its mode has the bit SAFE: 01000, the sticky bit, or 0 for none. The
# group that has its user's name has no other member.
check_directory() {
	local uid user group mode mask=022
	read -r uid user group mode < <(stat -L -c '%u %U %G %a' "$1")
	[ "$user" = UNKNOWN ] || [ "$user" != "$group" ] || mask=002
	case $uid in
	0 | "$(id -u)" | "$(stat -c %u /)") ;;
	*) complain "user $uid owns $1; choose another --folder" ;;
	esac
	((!(8#$mode & 8#$mask) || 8#$mode & 8#$2)) ||
		complain "others may write in $1; choose another --folder"
}

# Who may write in a directory above the folder can replace the folder.
check_way() {
	local path=$folder
	check_directory "$path" 0
	while [ "$path" != / ]; do
		path=$(dirname "$path")
		check_directory "$path" 01000
	done
}

# take_folder [may_make]: takes the folder, or makes it. It must belong to this user, with whose
# rights its programs run. In /tmp another user may have made it first.
take_folder() {
	folder=$(realpath -sm -- "$folder") # without slashes at the end, which would follow a link
	if [ ! -e "$folder" ] && [ ! -L "$folder" ]; then
		[ $# -gt 0 ] ||
			complain "there is no $folder: nothing was started with this --folder"
		run mkdir -p "$(dirname "$folder")"
		run mkdir -m 755 "$folder"
		[ -z "$dry" ] || return 0
	fi
	if [ ! -O "$folder" ] || [ -L "$folder" ] || [ ! -d "$folder" ]; then
		complain "$folder is not of this user; choose another --folder"
	fi
	folder=$(realpath "$folder") # as daemons know it
	check_way
	[ $# -eq 0 ] || run mkdir -p "$folder/report" "$folder/sockets"
}

# ---- install ----

# build_step COMMAND...: what it prints is for the log, until it fails.
build_step() {
	if [ -n "$dry" ]; then
		run "$@"
	elif ! "$@" >>"$folder/build.log" 2>&1; then
		tail -n 40 "$folder/build.log" >&2
		complain "the build failed: $folder/build.log"
	fi
}

# Before a build that would be for nothing.
check_execution() {
	local probe=$folder/probe
	[ -z "$dry" ] || return 0
	echo '#!/bin/sh' >"$probe"
	chmod 755 "$probe"
	"$probe" 2>/dev/null ||
		complain "programs cannot run from $folder (noexec?); choose another --folder"
	rm "$probe"
}

install_tree() {
	local groups=(core verbs) verbs
	[ "$apis" = OFF ] || groups+=(apis)
	check_execution
	run "$top/tools/install-packages.sh" "${groups[@]}"
	verbs=$(pkg-config --modversion libibverbs 2>/dev/null || echo unknown)
	[ -n "$dry" ] || pkg-config --atleast-version=$OLDEST_VERBS libibverbs 2>/dev/null ||
		complain "libibverbs-dev $verbs is older than $OLDEST_VERBS: this release of the" \
			"distribution is too old; Ubuntu 24.04 and Debian 12 are new enough"
	[ -n "$dry" ] || : >"$folder/build.log"
	build_step cmake -S "$top" -B "$build" -G Ninja -DRNIC_TESTS=OFF -DRNIC_LAB=OFF \
		-DRNIC_SERVE=OFF "-DRNIC_APIS=$apis" -DCMAKE_BUILD_TYPE=RelWithDebInfo
	build_step cmake --build "$build"
	build_step cmake --install "$build" --prefix "$folder/install"
	say_limits
}

# What works less well here than elsewhere, and what becomes of it.
say_limits() {
	[ -z "$dry" ] || return 0
	if grep -q 'URING_FOUND:INTERNAL=1' "$build/CMakeCache.txt"; then
		echo "io_uring: built in; rnicd takes socket calls where the kernel refuses it"
	else
		echo "io_uring: left out, liburing is older than 2.3; rnicd takes socket calls"
	fi
	if unshare --user --map-root-user --mount true 2>/dev/null; then
		echo "user namespaces: permitted; rnic-run --ns works"
	else
		echo "user namespaces: refused by this kernel; everything but rnic-run --ns works"
	fi
}

# ---- start ----

# socket_of I: in a folder that has sockets alone, so that `rnicctl cdi` can give it to containers.
socket_of() {
	echo "$folder/sockets/rnic$1.sock"
}

control() {
	"$folder/install/bin/rnicctl" --socket "$(socket_of "$1")" "${@:2}"
}

answers() {
	control "$1" show device >/dev/null 2>&1
}

# is_daemon PID I: the process with this number is the daemon of device I.
is_daemon() {
	tr '\0' '\n' 2>/dev/null <"/proc/${1:-none}/cmdline" | grep -qxF -- "$(socket_of "$2")"
}

pid_of() {
	cat "$folder/rnic$1.pid" 2>/dev/null || true
}

# device_options I: sets the options of rnicd for device I.
device_options() {
	options=(--name "rnic$1" --socket "$(socket_of "$1")")
	[ -z "$netdev" ] || options+=(--netdev "$netdev")
	[ -n "$netdev" ] || options+=(--address "$next")
	[ -z "$fault" ] || options+=(--fault "$fault")
	[ -z "$capture" ] || options+=(--capture "$folder/report/rnic$1.pcapng")
}

# launch I: starts the daemon and waits until it answers.
launch() {
	local log=$folder/rnic$1.log deadline=$((SECONDS + START_SECONDS)) daemon
	device_options "$1"
	if [ -n "$dry" ]; then
		run "$folder/install/bin/rnicd" "${options[@]}"
		return
	fi
	setsid "$folder/install/bin/rnicd" "${options[@]}" </dev/null >"$log" 2>&1 &
	daemon=$!
	echo "$daemon" >"$folder/rnic$1.pid"
	started+=("$1")
	# Another daemon may answer there.
	until answers "$1" && kill -0 "$daemon" 2>/dev/null; do
		kill -0 "$daemon" 2>/dev/null || return 1
		[ $SECONDS -lt $deadline ] || { kill -KILL "$daemon"; return 1; }
		sleep 0.1
	done
}

# address_of I: prints the first IPv4 address of the device, else its first address.
address_of() {
	control "$1" show device | awk '$1 == "GID" && $3 !~ /:/ { address = $3; exit }
		$1 == "GID" && address == "" { address = $3 } END { print address }'
}

# end_started: ends the devices of a call that fails, or that a signal ends, before it has them all.
# The last one may be a child that is no daemon yet, and may have no file with its number.
end_started() {
	local status=$? i child deadline=$((SECONDS + END_SECONDS))
	trap - EXIT
	for child in $(jobs -p); do kill -TERM "$child" 2>/dev/null || true; done
	for i in "${started[@]}"; do stop_device "$i"; done
	while [ -n "$(jobs -rp)" ]; do
		[ $SECONDS -lt $deadline ] || kill -KILL "$(jobs -rp | head -n 1)" || true
		sleep 0.1
	done
	exit $status
}

# start_device I: where no address was asked for, the next free one of loopback.
start_device() {
	local asked=$folder/rnic$1.asked wish="$netdev $address $fault $capture"
	if [ -z "$dry" ] && is_daemon "$(pid_of "$1")" "$1" && answers "$1"; then
		[ "$(cat "$asked" 2>/dev/null)" = "$wish" ] ||
			complain "device $1 runs with other options; first: setup.sh stop"
		echo "device $1 runs already"
		next=$(cat "$folder/rnic$1.address")
		return
	fi
	until launch "$1"; do
		[ -z "$netdev$address" ] && may_move "$next" "$folder/rnic$1.log" || {
			cat "$folder/rnic$1.log" >&2
			complain "device $1 did not start: $folder/rnic$1.log"
		}
		next=$(next_address "$next")
	done
	[ -z "$dry" ] || return 0
	echo "$wish" >"$asked"
	address_of "$1" >"$folder/rnic$1.address"
	echo "device $1: $(cat "$folder/rnic$1.address"), socket $(socket_of "$1")"
}

# forget_devices: removes what an earlier run has left of devices that do not run.
forget_devices() {
	local i
	for i in $(numbers_of '*' "$folder" "$folder/report"); do
		! is_daemon "$(pid_of "$i")" "$i" || continue
		run rm -f "$folder/rnic$i".{pid,asked,address,log} \
			"$folder/report/rnic$i".{txt,json,log,pcapng}
	done
}

start_devices() {
	local i
	# In a dry run nothing is installed before.
	[ -n "$dry" ] || [ -x "$folder/install/bin/rnicd" ] ||
		complain "nothing is installed in $folder/install; first: setup.sh install"
	forget_devices
	next=$address
	[ -n "$netdev$address" ] || next=$FIRST_LOOPBACK
	trap end_started EXIT
	trap 'exit 130' HUP INT TERM
	for ((i = 0; i < devices; i++)); do
		start_device $i
		[ $((i + 1)) -eq "$devices" ] || next=$(next_address "$next")
	done
	trap - EXIT HUP INT TERM
	[ -z "$dry" ] || return 0
	[ -z "${GITHUB_ENV:-}" ] || variables >>"$GITHUB_ENV"
	[ -z "${GITHUB_PATH:-}" ] || echo "$folder/install/bin" >>"$GITHUB_PATH"
	[ -z "${GITHUB_OUTPUT:-}" ] || echo "socket=$(socket_of 0)" >>"$GITHUB_OUTPUT"
	[ -n "${GITHUB_ENV:-}" ] || echo "next: eval \"\$($0 --folder $folder env)\""
}

# ---- env, report, stop ----

# numbers_of SUFFIX FOLDER...: the numbers of the devices that have such files there.
numbers_of() {
	find "${@:2}" -maxdepth 1 -name "rnic*.$1" 2>/dev/null |
		sed -n 's|.*/rnic\([0-9][0-9]*\)\.[^/]*$|\1|p' | sort -nu
}

# known: the numbers of the devices that were started.
known() {
	numbers_of address "$folder"
}

variables() {
	local i
	echo "RNIC_SOCKET=$(socket_of 0)"
	echo "RNIC_REPORT=$folder/report"
	echo "RNIC_EXPLAIN=$folder/install/bin/rnicctl" # a program that fails says why
	for i in $(known); do
		echo "RNIC_SOCKET_$i=$(socket_of "$i")"
		echo "RNIC_ADDRESS_$i=$(cat "$folder/rnic$i.address")"
	done
}

print_environment() {
	local line
	[ -n "$(known)" ] || complain "no device was started with this --folder"
	while IFS= read -r line; do
		printf 'export %s=%q\n' "${line%%=*}" "${line#*=}"
	done < <(variables)
	printf 'export PATH=%q:"%s"\n' "$folder/install/bin" "\$PATH"
}

# Captures lie in the report from the start. A daemon writes its last packets after a moment.
report() {
	local i group=${GITHUB_ACTIONS:+::group::}
	# What was found is uploaded, whatever a device does meanwhile.
	[ -z "${GITHUB_OUTPUT:-}" ] || {
		echo "folder=$folder/report"
		echo "name=rnicd-${GITHUB_JOB:-job}-${GITHUB_RUN_ATTEMPT:-1}-$$-$RANDOM"
	} >>"$GITHUB_OUTPUT"
	mkdir -p "$folder/report"
	rm -f "$folder/report"/rnic*.{txt,json} # of an earlier report
	sleep 0.5
	for i in $(known); do
		echo "${group}rnicd: device $i"
		if answers "$i"; then
			control "$i" show >"$folder/report/rnic$i.txt" || true
			control "$i" show --json all >"$folder/report/rnic$i.json" || true
			control "$i" show troubles || true
		else
			echo "no daemon answers any more; the end of its log:"
			tail -n 20 "$folder/rnic$i.log" 2>&1 || true
		fi
		[ -z "$group" ] || echo "::endgroup::"
	done
	# A daemon that did not start has only a log.
	find "$folder" -maxdepth 1 \( -name 'rnic*.log' -o -name build.log \) \
		-exec cp {} "$folder/report" \;
	echo "logs and captures: $folder/report"
}

stop_device() {
	local daemon deadline=$((SECONDS + END_SECONDS))
	daemon=$(pid_of "$1")
	if is_daemon "$daemon" "$1"; then
		run kill -TERM "$daemon" || true
		while [ -z "$dry" ] && is_daemon "$daemon" "$1"; do
			[ $SECONDS -lt $deadline ] || { kill -KILL "$daemon" || true; break; }
			sleep 0.1
		done
	fi
	run rm -f "$folder/rnic$1.pid" "$folder/rnic$1.asked" "$folder/rnic$1.address"
}

stop_devices() {
	local i
	for i in $(numbers_of pid "$folder"); do stop_device "$i"; done
}

parse "$@"
choose_folder
case $command in
"" | install | start) take_folder may_make ;;
*) take_folder ;;
esac
case $command in
"")
	install_tree
	start_devices
	;;
install) install_tree ;;
start) start_devices ;;
env) print_environment ;;
report) report ;;
stop) stop_devices ;;
esac

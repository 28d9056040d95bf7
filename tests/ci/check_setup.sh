#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_setup.sh: tools/ci/setup.sh refuses wrong options and unsafe folders with one line, changes
# nothing in a dry run, and says so when the distribution is too old. The machine stays as it is:
# interop_ci_setup starts devices by setup.sh, and tests/debian/try_ci.sh installs packages and
# builds by it.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
setup=$top/tools/ci/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_ACTIONS RUNNER_TEMP
failures=0

# These programs stand for those of the machine: nothing is installed or built, whatever setup.sh
# does. All packages are there, but for $MISSING.
export MISSING=""
mkdir "$work/stubs"
cat >"$work/stubs/dpkg-query" <<'END'
#!/bin/sh
for package; do :; done
[ "$package" = "$MISSING" ] || printf 'ii '
END
printf '#!/bin/sh\nshift\nexec "$@"\n' >"$work/stubs/sudo"
printf '#!/bin/sh\necho "$@" >>"%s"\n' "$work/apt.calls" >"$work/stubs/apt-get"
printf '#!/bin/sh\necho "a stub was called" >&2\nexit 1\n' >"$work/stubs/cmake"
chmod 755 "$work/stubs"/*
PATH=$work/stubs:$PATH

fail() {
	failures=$((failures + 1))
	echo "FAIL  $1"
	sed 's/^/      | /' "$work/output"
}

# refuses PATTERN ARGUMENT...: with status 1 and one line.
refuses() {
	local pattern=$1 status
	shift
	"$setup" --folder "$work/folder" "$@" >"$work/output" 2>&1
	status=$?
	if [ $status -ne 1 ] || [ "$(wc -l <"$work/output")" -ne 1 ] ||
		! grep -q -- "$pattern" "$work/output"; then
		fail "$*: status $status, wanted 1 and one line with \"$pattern\""
	fi
}

# plans PATTERN ARGUMENT...: in a dry run.
plans() {
	local pattern=$1
	shift
	if ! "$setup" --folder "$work/folder" --dry-run "$@" >"$work/output" 2>&1 ||
		! grep -qE -- "$pattern" "$work/output"; then
		fail "$*: no line with \"$pattern\""
	fi
}

refuses "a number from 1 to 64" --devices 0
refuses "a number from 1 to 64" --devices 65
refuses "a number from 1 to 64" --devices two
refuses "not both" --netdev lo --address 127.0.0.2
refuses "leave out --netdev, or --devices 2" --netdev lo --devices 2
refuses "an IPv4 address to count from, not '::1'" --address ::1 --devices 2
refuses "an IPv4 address to count from, not '10.0.0.256'" --address 10.0.0.256 --devices 2
refuses "--capture-all'" --capture-all
refuses "--address needs a value" --address
refuses "start, or stop" start stop
refuses "nothing was started with this --folder" env
refuses "nothing was started with this --folder" report
refuses "nothing was started with this --folder" stop
[ ! -e "$work/folder" ] || fail "a refusal makes no folder"
refuses "nothing is installed.*setup.sh install" start
rm -rf "$work/folder"

plans 'cmake --install .* --prefix .*/folder/install$' install
plans "RNIC_APIS=ON" install --apis
plans "install-packages.sh core verbs apis$" --apis
plans 'rnicd --name rnic0 --socket .*/rnic0.sock --netdev lo$' --netdev lo start
plans 'rnicd --name rnic2 --socket .*/rnic2.sock --address 10.0.1.1 ' \
	--address 10.0.0.255 --devices 3 --capture start
plans 'rnicd --name rnic0 .* --address fd77::1$' --address fd77::1 start
plans 'rnicd --name rnic1 .* --address 10.0.0.9$' --address 10.0.0.08 --devices 2 start
plans '--fault drop=1% --capture .*/report/rnic1.pcapng$' --devices 2 --fault drop=1% --capture
cp "$work/output" "$work/first"
plans '^\+ cmake -S ' --devices 2 --fault drop=1% --capture
cmp -s "$work/output" "$work/first" || fail "two dry runs differ"
[ ! -e "$work/folder" ] || fail "a dry run makes no folder"

# refuses_folder PATTERN FOLDER: whatever the command is.
refuses_folder() {
	local command
	for command in install start env report stop; do
		refuses "$1" --folder "$2" $command
	done
}

# Other users must not put programs or sockets there. In /tmp anybody can make a link.
mkdir "$work/other"
ln -s "$work/other" "$work/link"
for end in "" / // /. //.//; do refuses_folder "is not of this user" "$work/link$end"; done
for mode in 757 1777; do
	chmod $mode "$work/other"
	refuses_folder "others may write in $work/other;" "$work/other"
done
mkdir -m 700 "$work/other/below"
chmod 777 "$work/other"
refuses_folder "others may write in $work/other;" "$work/other/below"
refuses "others may write in $work/other;" --folder "$work/other/new" start
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$work/other"
	chgrp 4711 "$work/other/below"
	chmod 770 "$work/other/below"
	refuses_folder "others may write in $work/other/below;" "$work/other/below"
	chown 4711 "$work/other/below"
	refuses_folder "is not of this user" "$work/other/below"
	mkdir "$work/other/below/own"
	refuses_folder "user 4711 owns $work/other/below;" "$work/other/below/own"
else
	echo "skipped: folders of other users and groups: they need root"
fi

# A file system whose programs do not run.
if unshare --user --map-root-user --mount true 2>/dev/null; then
	mkdir "$work/noexec"
	# shellcheck disable=SC2016 # the inner shell has them
	unshare --user --map-root-user --mount sh -c '
		mount -t tmpfs -o noexec,mode=755 tmpfs "$1" && "$2" --folder "$1/ci" install' \
		sh "$work/noexec" "$setup" >"$work/output" 2>&1
	grep -q "programs cannot run from $work/noexec/ci" "$work/output" || fail "noexec"
else
	echo "skipped: a file system without programs: the kernel refuses user namespaces"
fi

# A stricter mask of the user's holds.
(umask 077 && "$setup" --folder "$work/mine" start >"$work/output" 2>&1)
[ "$(stat -c %a "$work/mine/report")" = 700 ] || fail "the mask 077"

# A distribution whose rdma-core is older than the drop-in libraries need.
mkdir "$work/pc"
printf 'Name: libibverbs\nDescription: old\nVersion: 1.14.39.0\n' >"$work/pc/libibverbs.pc"

# stops_at_old_verbs PACKAGE: where this package is missing; "" where none is.
stops_at_old_verbs() {
	MISSING=$1 PKG_CONFIG_PATH=$work/pc "$setup" --folder "$work/folder" \
		--build "$work/build" install >"$work/output" 2>&1
	grep -q "libibverbs-dev 1.14.39.0 is older than" "$work/output" || fail "an old rdma-core"
	[ ! -e "$work/build" ] || fail "an old rdma-core is not built with"
}

stops_at_old_verbs ""
[ ! -e "$work/apt.calls" ] || fail "with all packages apt-get has nothing to do"
stops_at_old_verbs libisal-dev
grep -q "install .* libisal-dev$" "$work/apt.calls" || fail "apt-get installs what is missing"

# Without root and sudo, what a person is told to type is what would be done.
mkdir "$work/visitor"
printf '#!/bin/sh\necho 1000\n' >"$work/visitor/id"
printf '#!/bin/sh\nexit 1\n' >"$work/visitor/sudo"
chmod 755 "$work/visitor"/*
PATH=$work/visitor:$PATH MISSING=libisal-dev "$top/tools/install-packages.sh" core \
	>"$work/output" 2>&1 && fail "packages are missing, and all is well"
told=$(sed -n 's/.*as root: apt-get update && apt-get \(install .*\)$/\1/p' "$work/output")
grep -q -- "-qq ${told:-nothing}$" "$work/apt.calls" || fail "the advice is another command"

# Where sudo wants a password, it asks at a terminal, and only there.
cat >"$work/visitor/sudo" <<'END'
#!/bin/sh
case $1 in
-n) exit 1 ;;
-v) echo "who are you" ;;
*) exec "$@" ;;
esac
END
install="$top/tools/install-packages.sh core"
rm "$work/apt.calls"
PATH=$work/visitor:$PATH MISSING=libisal-dev $install </dev/null >"$work/output" 2>&1 &&
	fail "without a terminal nobody gives a password"
[ ! -e "$work/apt.calls" ] || fail "without a terminal nothing is installed"
PATH=$work/visitor:$PATH MISSING=libisal-dev script -qec "$install" /dev/null </dev/null \
	>"$work/output" 2>&1 || fail "sudo asks at a terminal"
grep -q "who are you" "$work/output" || fail "sudo asks for a password"
grep -q "install .* libisal-dev$" "$work/apt.calls" || fail "sudo with a password installs"

printf '#!/bin/sh\nexit 1\n' >"$work/stubs/apt-get"
for command in "" install; do
	# shellcheck disable=SC2086 # no command is no argument
	MISSING=libisal-dev PKG_CONFIG_PATH=$work/pc refuses "^installing libisal-dev$" $command
done

echo "setup.sh: $failures failures"
[ $failures -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# install_packages.sh: installs the packages in /mnt on a fresh host, lets an ordinary user run a
# program on the device, and purges the packages: nothing may be left, and the distribution's
# libraries stay as they were. Then autopkgtest runs the tests of debian/tests. debian.sh runs this
# script.
set -eu

export DEBIAN_FRONTEND=noninteractive
tree=$PWD
packages=(/mnt/*.deb)
names=()
for package in "${packages[@]}"; do names+=("$(dpkg-deb --field "$package" Package)"); done
[ ${#names[@]} -eq 6 ] || { echo "there are no 6 packages in /mnt: ${names[*]}"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL  $*"
	exit 1
}

# What apt and dpkg keep for themselves is theirs.
list_files() {
	find / -xdev \( -path /tmp -o -path /root -o -path /var/cache -o -path /var/log -o \
		-path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort
}

list_packages() {
	dpkg-query --show --showformat '${binary:Package}\n' | sort
}

# as_user COMMAND...: as an ordinary user who has just logged in.
as_user() {
	(cd /home/visitor && runuser -u visitor -- timeout 60 "$@")
}

# The programs that an rnic-run started end by themselves.
wait_for_daemons() {
	SECONDS=0
	while readlink /proc/[0-9]*/exe 2>/dev/null | grep -q '^/usr/.*/rnicd'; do
		[ $SECONDS -lt 30 ] || fail "a daemon still runs"
		sleep 0.2 # between two polls
	done
}

echo "== what the packages need, they bring"
apt-get update -qq
useradd --create-home --shell /bin/bash visitor
list_files >"$work/before"
list_packages >"$work/packages"
apt-get install -y -qq --no-install-recommends "${packages[@]}"
for program in rnicd rnicctl rnic-run rnic-inspect rnic-lab rnic-lambda-cc; do
	as_user $program --version
done
for name in "${names[@]}"; do
	dpkg -L "$name" | while read -r file; do
		! ldd "$file" 2>/dev/null | grep "not found" || fail "$file lacks libraries"
	done
done

echo "== only rnic-run puts our libraries before the distribution's"
apt-get install -y -qq --no-install-recommends ibverbs-utils perftest
[ -z "$(ldconfig 2>&1)" ] || fail "ldconfig complains: $(ldconfig 2>&1)"
ldconfig -p | awk '/lib(ibverbs|rdmacm)\.so/ { print $NF }' >"$work/found"
! grep rnic "$work/found" || fail "the loader finds our drop-ins by itself"
while read -r file; do
	owner=$(dpkg -S "$(realpath "$file")" | cut -d: -f1)
	case $owner in
	libibverbs1 | librdmacm1*) dpkg --verify "$owner" || fail "$owner has changed" ;;
	*) fail "$file is of $owner" ;;
	esac
done <"$work/found"
[ "$(wc -l <"$work/found")" -eq 2 ] || fail "not two libraries: $(cat "$work/found")"

echo "== an ordinary user runs ib_write_bw"
as_user rnic-run ib_write_bw >"$work/server" 2>&1 &
server=$!
SECONDS=0
until as_user rnic-run ib_write_bw 127.0.0.1 >"$work/client" 2>&1; do
	[ $SECONDS -lt 30 ] || { cat "$work/server" "$work/client"; fail "ib_write_bw"; }
	sleep 0.2 # between two polls
done
wait $server
grep '^ *65536 ' "$work/client"
wait_for_daemons

echo "== an ordinary user on the daemon of root"
rnicd --netdev lo --socket /run/rnicd/lo.sock >"$work/log" 2>&1 &
daemon=$!
until grep -q 'serves at /run/rnicd/lo.sock' "$work/log"; do
	kill -0 $daemon || { cat "$work/log"; fail "rnicd"; }
	sleep 0.1 # between two polls
done
as_user env RNIC_SOCKET=/run/rnicd/lo.sock rnic-run --no-daemon ibv_devices | grep rnic0
kill $daemon
wait $daemon

echo "== purge"
apt-get purge -y -qq "${names[@]}"
# What they needed goes as well, whatever apt thinks of it.
mapfile -t needed < <(list_packages | comm -13 "$work/packages" -)
apt-get purge -y -qq "${needed[@]}"
list_files >"$work/after"
diff "$work/before" "$work/after" || fail "files are left, or missing"
[ ! -e /run/rnicd ] || fail "/run/rnicd is left"

echo "== autopkgtest"
apt-get install -y -qq --no-install-recommends autopkgtest
autopkgtest --user visitor "${packages[@]}" "$tree" -- null

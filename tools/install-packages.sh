#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# install-packages.sh GROUP...: installs the missing Debian packages of these groups of
# packages.txt; build stands for the groups core, verbs, apis and lab. As root with apt-get, else
# with sudo when sudo needs no password, else prints the missing packages and fails.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

is_installed() {
	dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'
}

groups=()
for group in "$@"; do
	case $group in
	build) groups+=(core verbs apis lab) ;;
	*) groups+=("$group") ;;
	esac
done

missing=()
for group in "${groups[@]}"; do
	grep -q "^$group " "$here/packages.txt" || {
		echo "packages.txt has no group $group" >&2
		exit 1
	}
	while read -r package; do
		is_installed "$package" || missing+=("$package")
	done < <(awk -v group="$group" '$1 == group { print $2 }' "$here/packages.txt")
done
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null || {
	echo "not a Debian system; install what these packages hold: ${missing[*]}" >&2
	exit 1
}
install=(install --no-install-recommends)
if [ "$(id -u)" -eq 0 ]; then
	become=()
elif sudo -n true 2>/dev/null; then
	become=(sudo -n)
else
	echo "packages are missing; as root: apt-get update &&" \
		"apt-get ${install[*]} ${missing[*]}" >&2
	exit 1
fi

echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -o DPkg::Lock::Timeout=300) # another apt may be at work
"${become[@]}" "${apt[@]}" update -qq
"${become[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}" -y -qq "${install[@]}" \
	"${missing[@]}" >/dev/null

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# install-packages.sh GROUP...: installs the missing Debian packages of these groups of
# packages.txt; build stands for the groups core, verbs, apis, lab and serve. As root with apt-get,
# else with sudo, which asks for a password only at a terminal. Prints the missing packages and
# fails where the user may not use sudo.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

is_installed() {
	dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'
}

# Nobody types a password where no terminal is.
may_sudo_with_password() {
	[ -t 0 ] && [ -t 2 ] && command -v sudo >/dev/null || return 1
	echo "packages are missing; sudo installs ${missing[*]}" >&2
	sudo -v
}

groups=()
for group in "$@"; do
	case $group in
	build) groups+=(core verbs apis lab serve) ;;
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
elif may_sudo_with_password; then
	become=(sudo)
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

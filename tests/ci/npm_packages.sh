#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# npm_packages.sh PACKAGE@VERSION...: prints a folder in whose node_modules these packages of npm
# are. It stays in the user's cache, for the next time. Exit status 77, with the reason, where npm
# cannot bring them; 1 when none is named.
set -u

[ $# -ge 1 ] || { echo "npm_packages.sh: no package is named"; exit 1; }
# In /tmp another user could have put other programs there.
[ -n "${XDG_CACHE_HOME:-${HOME:-}}" ] || {
	echo "skipped: there is no folder for packages of npm: HOME is empty"
	exit 77
}
name=$(printf '%s\n' "$@" | sha256sum | cut -c 1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rnicd-npm/$name
if [ ! -d "$cache" ]; then
	command -v npm >/dev/null || { echo "skipped: there is no npm"; exit 77; }
	mkdir -p "${cache%/*}"
	new=$(mktemp -d "$cache-XXXXXX")
	trap 'rm -rf "$new"' EXIT
	if ! timeout 150 npm install --silent --ignore-scripts --no-audit --no-fund \
		--prefix "$new" "$@" >"$new/log" 2>&1; then
		echo "skipped: npm cannot install $*"
		exit 77
	fi
	# Another test may have been faster.
	mv -T "$new" "$cache" 2>/dev/null || [ -d "$cache" ] || exit 1
fi
echo "$cache"

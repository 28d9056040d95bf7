#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_units.sh CMAKE BUILD: the units of an installation have no directive that systemd does not
# know, and leave no more open than try_units.sh allows. Exit status 77 without systemd-analyze.
set -eu
cmake=$1 build=$2
most=31 # tenths of the exposure that systemd-analyze counts

command -v systemd-analyze >/dev/null || {
	echo "skipped: there is no systemd-analyze"
	exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder" >/dev/null

# The program of the unit would have to be where the unit has it.
mkdir "$folder/units"
for unit in "$folder"/lib/systemd/*/*; do
	sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "$unit" >"$folder/units/$(basename "$unit")"
done
cd "$folder/units"
for unit in rnicd@lo.service rnicd@lo.socket rnicd.service; do
	systemd-analyze --man=no verify "./$unit" 2>"$folder/complaints" || true
	if grep "$folder" "$folder/complaints"; then
		echo "$unit: see above"
		exit 1
	fi
done
if ! systemd-analyze security --no-pager --offline=true --threshold=$most ./rnicd@.service \
	>"$folder/exposure"; then
	cat "$folder/exposure"
	exit 1
fi
tail -n 1 "$folder/exposure"

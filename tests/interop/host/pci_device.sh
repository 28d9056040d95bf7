#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The shape of a PCI device (--pci, --numa), as programs look for it: pci_device.sh PORT
. "$(dirname "$0")/../lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
pci=(0000:f8:00.0 0000:f8:00.1)
numa=(0 1)
all=()
for side in 0 1; do
	side_address[side]=$loopback.$((side + 2))
	daemon_start $side --address "${side_address[side]}" --port "$1" --name "nic$side" \
		--pci "${pci[side]}" --numa ${numa[side]}
	all+=(--socket "${side_socket[side]}")
done

# in_all_ways WHAT SIDE OPTION...: a program finds the side's device in each way.
in_all_ways() {
	local what=$1 side=$2
	shift 2
	check "$what: nic$side is found" "$BIN/rnic-run" --no-daemon "$@" \
		python3 "$here/pci_ways.py" "nic$side" "${pci[side]}" "${numa[side]}" lo
}

# c_path WAY PATH: realpath(3) of the path ends in the first device's address.
c_path() {
	check "$1: realpath $2" grep -q "/${pci[0]}\$" <("$BIN/rnic-run" --no-daemon \
		--socket "${side_socket[0]}" "${option[@]}" realpath "$2" 2>&1)
}

# machines_own: how many PCI devices of the machine a program sees.
machines_own() {
	"$BIN/rnic-run" --no-daemon "${all[@]}" "${option[@]}" ls /sys/bus/pci/devices |
		grep -cv '^0000:f8:00'
}

for way in shim --ns; do
	if [ $way = --ns ] && ! "$BIN/rnic-run" --no-daemon "${all[@]}" --ns true 2>"$WORK/ns"; then
		skip_part "--ns; $(tail -n 1 "$WORK/ns")"
		continue
	fi
	option=()
	[ $way = shim ] || option=(--ns)
	for side in 0 1; do
		in_all_ways "$way" $side "${option[@]}" --socket "${side_socket[side]}"
		in_all_ways "$way, of two devices" $side "${option[@]}" "${all[@]}"
	done
	c_path $way /sys/class/infiniband/nic0/device
	c_path $way /sys/class/infiniband/nic0/../..
	c_path $way "/sys/class/pci_bus/0000:f8/../../${pci[0]}"
	check "$way: the machine's own PCI devices are there too" test \
		"$(machines_own)" -eq "$(find /sys/bus/pci/devices -mindepth 1 2>/dev/null | wc -l)"
done
check "the machine itself has no such device" test ! -e "/sys/bus/pci/devices/${pci[0]}"
side_namespace=("" "")
for side in 0 1; do find_gid $side "${side_address[$side]}"; done
pair_run ibv_rc_pingpong -c

echo "# what is no address"
for wrong in 18:00.0 0000:18:00.8 ../etc; do
	"$BIN/rnicd" --address "$loopback.9" --socket "$WORK/none.sock" --pci "$wrong" \
		>"$WORK/wrong" 2>&1
	check "--pci $wrong is refused" grep -q -- "--pci needs an address such as" "$WORK/wrong"
done
"$BIN/rnicd" --address "$loopback.9" --socket "$WORK/none.sock" --numa 0 >"$WORK/wrong" 2>&1
check "--numa alone is refused" grep -q -- "--numa is for a device with --pci" "$WORK/wrong"
topology_finish

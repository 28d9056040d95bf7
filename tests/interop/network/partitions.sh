#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Partition keys: programs of the distribution on pkey_index 1 of daemons that have one, and the
# counter of what was of another partition.
. "$(dirname "$0")/../lib.sh"

topology_start pair socket 4 --pkeys 0xffff,0x8001
check "ibv_devinfo counts both" grep -q "pkey_tbl_len:[[:space:]]*2" <(rnic 0 ibv_devinfo -v 2>&1)
check "rnicctl shows both" holds 0 device "rows['pkeys'] == '0xffff,0x8001'"
cat >"$WORK/pkeys.py" <<'EOF'
import ctypes
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = ctypes.c_void_p
device = ctypes.c_void_p(verbs.ibv_get_device_list(None)[0])
context = ctypes.c_void_p(verbs.ibv_open_device(device))
swapped = lambda pkey: pkey >> 8 | (pkey & 0xff) << 8
index = lambda pkey: verbs.ibv_get_pkey_index(context, 1, ctypes.c_uint16(swapped(pkey)))
assert [index(pkey) for pkey in (0xffff, 0x8001, 0x0001)] == [0, 1, -1]
pkey = ctypes.c_uint16()
assert verbs.ibv_query_pkey(context, 1, 1, ctypes.byref(pkey)) == 0
assert pkey.value == swapped(0x8001)
assert verbs.ibv_query_pkey(context, 1, 2, ctypes.byref(pkey)) == -1
EOF
check "libibverbs finds keys and indices" rnic 0 python3 "$WORK/pkeys.py"
pair_run ib_send_bw -F -c RC -n 100 --pkey_index=1
pair_run ib_send_bw -F -c UD -s 1024 -n 100 --pkey_index=1
check "nothing was dropped" holds 0 counters "rows['dropped_bad_pkey'] == 0"
daemon_finish 1
side_pid[1]=""

echo "# side 1 in another partition"
daemon_start 1 --address "${side_address[1]}" --port socket --pkeys 0xffff,0x8002
find_gid 1 "${side_address[1]}"
pair_run ib_send_bw -F -c RC -n 100
pair_start ib_send_bw -F -c RC -n 100 --pkey_index=1
check "packets of it are dropped and counted" \
	wait_for 20 holds 0 counters "rows['dropped_bad_pkey'] > 0"
check "the listing says so" \
	wait_for 20 holds 0 qps "any('partition' in r['last_error'] for r in rows)"
end_process "$client_pid"
end_process "$server_pid"
wait "$client_pid" "$server_pid"

topology_finish

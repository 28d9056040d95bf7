#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# type_readme.sh [--check | PATTERN]: types every command of README.md and of the pages of doc/, in
# order, in the top folder of a fresh clone on a fresh Debian. --check types nothing and says only
# whether each command of a page has its place below, in the same order, and whether each page with
# commands is typed. With PATTERN only the pages are typed whose names match, as doc/guide/*.
#
# Each step names a command as the page has it. A second argument is typed in its stead where the
# page leaves something to the reader: a name, an address, how long. A command that cannot be typed
# here has a reason. tests/debian/debian.sh runs this script on a host of its own.
set -u -a # commands see the variables of others

top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/debian
page=""       # whose commands these are
commands=()   # of the page
next=0        # the index of the command that comes next
read_pages=() # that this script or another test types
all_commands=0
typed=0
faults=0
is_check=""
only=${1:-}
[ "$only" != --check ] || { is_check=1; only=""; }
logs=$(mktemp -d)
output=$logs/none
background=() # process groups

. "$here/clean_end.sh"
. "$here/type_readme_steps.sh"

cleanup() {
	end_background
	end_hosts
	rm -rf "$logs"
}
clean_at_end cleanup
cd "$top" || exit 1

page README.md
types 'tools/quickstart.sh'
for _ in 1 2; do prints_command; done
says 'it works'
serves 'build/bin/rnic-run ib_write_bw' tcp 18515
types 'build/bin/rnic-run ib_write_bw 127.0.0.1'
says '^ *65536 +5000 '
end_background
serves 'build/bin/rnic-run --direct ib_send_lat' tcp 18515
types 'build/bin/rnic-run --direct ib_send_lat 127.0.0.1'
says '^ *2 +1000 '
end_background

# The other pages take the programs from the PATH.
export PATH=$PWD/build/bin:$PATH

page doc/guide/running.md
types 'export PATH=$PWD/build/bin:$PATH'
serves 'rnic-run ib_write_bw' tcp 18515
types 'rnic-run ib_write_bw 127.0.0.1'
says '^ *65536 +5000 '
end_background
has_two_hosts
serves 'host-a$ rnicd --netdev eth0 &' rnic
serves 'host-a$ rnic-run ib_write_bw -x 1' tcp 18515
serves 'host-b$ rnicd --netdev eth0 &' rnic
types 'host-b$ rnic-run ib_write_bw -x 1 host-a'
says '^ *65536 +5000 '
says 'GID: 00:00:00:00:00:00:00:00:00:00:255:255:'
end_background
serves 'rnic-run --direct ib_send_lat' tcp 18515
types 'rnic-run --direct ib_send_lat 127.0.0.1'
says '^ *2 +1000 '
end_background
starts 'rnicd --address 127.0.0.2 --socket a.sock' rnic a.sock
starts 'rnicd --address 127.0.0.3 --socket b.sock' rnic b.sock
types "rnic-run --socket a.sock --socket b.sock sh -c 'ls /sys/class/infiniband'"
says '^rnic1$'
end_background
reads '`rnicd --capture FILE`'
starts 'rnicd --address 127.0.0.2 --socket a.sock --capture packets.pcapng' rnic a.sock
starts 'rnic-run --socket a.sock ibv_rc_pingpong -g 0' tcp 18515
runs 'rnic-run --socket a.sock ibv_rc_pingpong -g 0 127.0.0.1'
end_background
types 'rnic-inspect FILE' 'rnic-inspect packets.pcapng'
says 'RC'
leaves 'rnic-run mpirun --mca pml ucx --mca osc ucx -n 2 PROGRAM' 'it needs a program of the reader'
leaves 'GLOO_DEVICE_TRANSPORT=IBVERBS rnic-run python3 PROGRAM' 'it needs a program of the reader'

page doc/guide/seeing.md
installs infiniband-diags
types 'rnic-run /usr/sbin/ibstat'
says "State: Active"
types "rnic-run sh -c 'cat /sys/class/infiniband/rnic0/ports/1/gids/0'"
says '^([0-9a-f]{4}:){7}[0-9a-f]{4}$'
types "rnic-run sh -c 'cat /sys/class/infiniband/rnic0/ports/1/counters/port_xmit_data'"
says '^[0-9]+$'
installs busybox-static
types 'rnic-run --ns busybox ls /sys/class/infiniband'
says '^rnic0$'
installs iproute2
types 'rnic-run rdma link show'
says '^link rnic0/1 state ACTIVE '
types 'rnic-run rdma resource show qp'
leaves 'rnic-run rdma monitor' 'it waits for changes; interop_rdma_tool_* has them'
starts 'rnic-run ib_write_bw' tcp 18515
types 'rnicctl show'
says 'ib_write_bw'
types 'rnicctl show paths'
says 'paths'
end_background
leaves 'rnicctl explain --last --peer a.sock' \
'it needs a failure; interop_mistaken_programs_* has some'

page doc/guide/programming.md
writes_fragment 1 rnic/rdma.h
types 'cc program.c -Ibuild/include -Lbuild/lib -lrnic-rdma -lrnic -Wl,-rpath,$PWD/build/lib'
writes_fragment 2 rnic/connection.h
types 'cc program.c -Ibuild/include -Lbuild/lib -lrnic-connection -lrnic -Wl,-rpath,$PWD/build/lib'
leaves 'cc program.c -Ibuild/include -Ibuild/include/rnic/compat -Lbuild/lib'\
' -liwarp -Wl,-rpath,$PWD/build/lib' 'it needs a program of the reader'

page doc/guide/sockets.md
installs iperf3
types 'preload=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so'
starts 'rnicd --address 127.0.0.2 --socket a.sock' rnic a.sock
export RNIC_SOCKET=$top/a.sock
serves 'rnic-run sh -c "LD_PRELOAD=$preload:\$LD_PRELOAD iperf3 -s"' cm a.sock
types 'rnic-run sh -c "LD_PRELOAD=$preload:\$LD_PRELOAD iperf3 -c 10.0.0.1"' \
	'rnic-run sh -c "LD_PRELOAD=$preload:\$LD_PRELOAD iperf3 -c 127.0.0.2 -t 2"'
says 'receiver'
unset RNIC_SOCKET
end_background

page doc/guide/rpc.md
starts 'rnicd --address 127.0.0.2 --socket a.sock' rnic a.sock
starts 'rnicd --address 127.0.0.3 --socket b.sock' rnic b.sock
serves 'RNIC_SOCKET=a.sock rpc_echo serve 7777 &' cm a.sock
types 'RNIC_SOCKET=b.sock rpc_echo add 127.0.0.2 7777 10000'
says '^10000 calls, 0 failed, total 10000$'
types 'RNIC_SOCKET=b.sock rpc_echo --rc pour 127.0.0.2 7777 100000000'
says '^pour: success$'
end_background

page doc/guide/samples.md
serves 'rnic-run build/bin/samples/rdma_server &' cm
types 'rnic-run build/bin/samples/rdma_client 127.0.0.1'
says 'WRITE of 4096 bytes and READ of them, 4 times: verified'
end_background

page doc/guide/lab.md
serves 'rnic-run rnic-lab read' tcp 7471 \
	'(echo "Hello from server memory!"; sleep 60) | rnic-run rnic-lab read'
types 'rnic-run rnic-lab read 127.0.0.1' \
	'printf "0 5\n11 99\n" | rnic-run rnic-lab read 127.0.0.1; [ $? -eq 1 ]'
says 'Read data \(6 bytes from position 0\): Hello'
says 'this range is outside the stored text, which has positions 0 to 24'
end_background
types 'rnic-lab trace send --bytes 100'
says 'A ---> B  SEND ONLY +1000 +100  bytes 0 to 99, wants an ACK'
types 'seq 100000 > numbers'
types '(umask 077; head -c 32 /dev/urandom > key)'
serves 'rnic-run rnic-lab lambda --allow-lambda --secret key --table numbers &' tcp 7471
types 'rnic-lambda-cc tools/lab/sdk/table_sum.c -o table_sum.lambda'
types 'rnic-run rnic-lab lambda host-a --secret key --code table_sum.lambda --input /dev/null' \
	'rnic-run rnic-lab lambda 127.0.0.1 --secret key --code table_sum.lambda --input /dev/null'
says '^100000 numbers, sum 5000050000, 1 to 100000$'
end_background

page doc/guide/testing.md
installs python3-venv
installs python3-pip
installs python3-setuptools
installs python3-wheel
types 'python3 -m venv --system-site-packages build/venv'
types 'build/venv/bin/pip install --no-build-isolation tools/python'
says 'Successfully installed rnic'
leaves 'rnic-run --scenario outage.scenario -- ./test' \
'it needs a program of the reader; interop_scenario_* plays some'

. "$here/type_operation.sh"
ends

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The second half of type_readme.sh: the pages about debugging, operation, building and speed.

page doc/guide/debugging.md
runs 'tools/install-packages.sh build test'
runs 'apt-get install -y -qq --no-install-recommends gdb procps'
runs 'cmake -S . -B build -G Ninja -DRNIC_TESTS=ON && cmake --build build'
starts 'rnic-run ib_write_bw' tcp 18515
types 'rnicctl show'
says 'ib_write_bw'
leaves 'tshark -r FILE -Y frame.comment -T fields -e frame.number -e frame.comment' \
'it needs a capture of the reader; interop_capture_comments_* reads one'
leaves 'rnic-run --explain PROGRAM' 'it needs a program that fails; interop_explained has some'
types 'rnic-run gdb -q -batch -ex run --args ibv_devinfo'
says 'hca_id:'
types "gdb -q -batch -p \"\$(pgrep -n -x rnicd-device)\" -ex 'thread apply all backtrace'"
says 'device_loop_run'
types 'gcore -o device.core "$(pgrep -n -x rnicd-device)"'
types 'gdb -q -batch -ex backtrace build/libexec/rnicd-device device.core.*'
says 'device_loop_run'
leaves 'gdb -p "$(pgrep -n -x rnicd-device)" -ex continue' 'it waits for a crash'
types 'rnic-run --direct gdb -q -batch -ex run --args ibv_devinfo'
says 'hca_id:'
types 'gdb -q -batch -p "$(pgrep -o -x rnicd)" -ex backtrace'
says 'event_loop_run'
end_background
types 'build/tests/storm --seed 9010656'
types 'gdb -q -batch -ex run --args build/tests/storm --seed 9010656'
says 'exited normally'
types 'build/tests/script_runner tests/script/both_directions.rnic'
leaves 'cmake -S . -B build-sanitize -G Ninja -DRNIC_SANITIZE="address;undefined" -DRNIC_TESTS=ON' \
	'tests/run.sh types it'

page doc/guide/profiling.md
installs linux-perf
starts 'rnic-run ib_write_bw -D 20' tcp 18515
starts 'rnic-run ib_write_bw -D 20 127.0.0.1' rnic
types 'perf record --call-graph dwarf -o perf.data -p'\
' "$(pgrep -d, -x '\''rnicd|rnicd-device|ib_write_bw'\'')" -- sleep 2'
types 'perf report -i perf.data --stdio --no-children --sort comm,dso,symbol -g none'
says 'rnicd-device'
types 'perf stat -e context-switches,cpu-migrations,page-faults -p'\
' "$(pgrep -d, -x '\''rnicd|rnicd-device'\'')" -- sleep 2'
says 'context-switches'
types 'gdb -q -batch -p "$(pgrep -n rnicd-device)" -x tools/examples/gdb_probes.py'
# Which events come first depends on the moment; interop_probes asks for four kinds.
says '^[a-z_]+ +QP [0-9]+ '
end_background

page doc/operate/ci.md
leaves 'tools/ci/setup.sh --devices 2 --capture' 'tests/debian/try_ci.sh types it'
leaves 'eval "$(tools/ci/setup.sh env)"' 'tests/debian/try_ci.sh types it'
leaves 'rnic-run ./my_tests || { tools/ci/setup.sh report; exit 1; }' \
	'it needs a program of the reader'
leaves 'tools/ci/setup.sh stop' 'tests/debian/try_ci.sh types it'

page doc/operate/containers.md
like='tests/debian/try_containers.sh types its like'
leaves 'rnicctl cdi --socket /run/rnicd/eth0.sock > /etc/cdi/rnicd-eth0.json' "$like"
leaves 'podman run --device rnicd.local/rnic=eth0 IMAGE ibv_devinfo' "$like"
leaves 'podman build --file tools/packaging/containers/Containerfile --tag rnicd .' "$like"
leaves 'podman run --detach --network=host --volume /run/rnicd:/run/rnicd rnicd --netdev eth0' \
	"$like"

page doc/operate/packages.md
leaves 'apt-get install ../rnicd_*.deb ../rnic-tools_*.deb ../rnic-verbs_*.deb ../librnic0_*.deb' \
	'tests/debian/install_packages.sh types its like'
leaves 'systemctl enable --now rnicd@eth0' 'tests/debian/try_units.sh types its like'
leaves 'systemctl enable --now rnicd@eth0.socket' 'tests/debian/try_units.sh types its like'
leaves 'systemctl restart rnicd@eth0' 'it needs systemd'
leaves 'systemctl reload rnicd@eth0' 'it needs systemd: try_units.sh'
leaves 'systemctl --user start rnicd' 'it needs systemd'
starts 'rnicd --address 127.0.0.2' rnic
types 'rnicctl show troubles'
end_background
leaves 'journalctl --unit rnicd@eth0' 'it needs systemd'

page doc/performance.md
types 'tests/bench/run.sh' 'tests/bench/run.sh --quick'
says 'ib_write_bw'

page doc/building.md
runs 'rm -rf build'
reads '`tools/install-packages.sh build`'
types 'cmake -S . -B build -G Ninja && cmake --build build'
types 'tests/run.sh' 'tests/run.sh --quick'
types 'ctest --test-dir build -L sim --output-on-failure'
types 'cmake --install build'
writes_fragment 1 rnic/rdma.h
types 'cc program.c $(pkg-config --cflags --libs rnic-rdma)'
installs man-db
types 'man -l build/share/man/man3/rnic_open.3'
says 'rnic_open'
types 'apt-get build-dep .' 'apt-get build-dep --simulate .'
leaves 'dpkg-buildpackage -us -uc -b' 'tests/debian/build_packages.sh types it'
leaves 'PATH=/usr/bin:/bin:/usr/sbin:/sbin dpkg-buildpackage -us -uc -b' \
	'it is the same with another PATH'

typed_elsewhere doc/tutorial.md tests/interop/newcomer/tutorial.sh
typed_elsewhere doc/on-the-wire.md tests/interop/newcomer/tutorial.sh
typed_elsewhere doc/mistakes.md tests/interop/newcomer/mistakes.sh
typed_elsewhere doc/guide/conditions.md tests/interop/newcomer/conditions_page.sh

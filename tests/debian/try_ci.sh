#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# try_ci.sh: what another project's CI job does, on a fresh host: tools/ci/setup.sh as root, as an
# ordinary user without sudo, and where liburing is old; then action.yml and the example workflows,
# by run_action.py. debian.sh runs this script in a copy of the tree.
set -u

export DEBIAN_FRONTEND=noninteractive
unset GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_ACTIONS RUNNER_TEMP
tree=$PWD
work=$(mktemp -d)
chmod 755 "$work"
failures=0
trap 'rm -rf "$work"' EXIT

fail() {
	failures=$((failures + 1))
	echo "FAIL  $1"
	tail -n 40 "$work/output" | sed 's/^/      | /'
}

# check WHAT COMMAND...
check() {
	local what=$1
	shift
	SECONDS=0
	if "$@" >"$work/output" 2>&1; then echo "ok    $what ($SECONDS s)"; else fail "$what"; fi
}

# says PATTERN: in what the last command has printed.
says() {
	grep -qE -- "$1" "$work/output" || fail "no line with: $1"
}

# as_user COMMAND...: without any right of root. Another user's job has another place for its files.
as_user() {
	(cd /home/visitor/rnicd && runuser -u visitor -- env HOME=/home/visitor "$@")
}

# pingpong [PREFIX...]: between the first two devices, with checked data.
# shellcheck disable=SC2016 # the variables are those of the job
pingpong() {
	"$@" bash -euc '
		eval "$(tools/ci/setup.sh env)"
		rnic-run --no-daemon ibv_rc_pingpong -g 0 -c -n 200 &
		server=$!
		deadline=$((SECONDS + 20))
		until rnic-run --no-daemon --socket "$RNIC_SOCKET_1" \
			ibv_rc_pingpong -g 0 -c -n 200 127.0.0.1; do
			kill -0 $server && [ $SECONDS -lt $deadline ] || exit 1
			sleep 0.2 # between two polls
		done
		wait $server'
}

no_daemon_runs() {
	! readlink /proc/[0-9]*/exe | grep -E '/rnicd(-device)?$'
}

# reads_capture FILE: every packet is good, and there are some.
reads_capture() {
	local installed
	installed=$(dirname "$(dirname "$1")")/install
	"$installed/bin/rnic-inspect" "$1" >"$work/packets" && grep -q "RC SEND" "$work/packets"
}

echo "# an ordinary user, without sudo, before anybody has installed packages"
useradd --create-home --shell /bin/bash visitor
cp -r "$tree" /home/visitor/rnicd
chown -R visitor: /home/visitor/rnicd
as_user tools/ci/setup.sh >"$work/output" 2>&1 && fail "no packages, and no complaint"
says "as root: apt-get update && apt-get install --no-install-recommends .*libisal-dev"

echo "# root"
check "install and start" tools/ci/setup.sh --devices 2 --capture
says "^device 1: 127.0.0.3, socket /var/lib/rnicd-ci/sockets/rnic1.sock$"
says "^io_uring: built in"
cp "$work/output" "$work/root"
apt-get install -y -qq --no-install-recommends ibverbs-utils >/dev/null
check "a program on two devices" pingpong
check "the same again changes nothing" tools/ci/setup.sh --devices 2 --capture
says "^device 1 runs already$"
check "the report" tools/ci/setup.sh report
check "the capture" reads_capture /var/lib/rnicd-ci/report/rnic1.pcapng
check "another user's program on root's devices" \
	as_user env RNIC_SOCKET=/var/lib/rnicd-ci/sockets/rnic1.sock \
	/var/lib/rnicd-ci/install/bin/rnic-run --no-daemon ibv_devinfo
says "hca_id:.rnic1"
check "stop" tools/ci/setup.sh stop
check "no process stays" no_daemon_runs

echo "# an ordinary user, without sudo, and with an old liburing"
mkdir "$work/pc"
printf 'Name: liburing\nDescription: old\nVersion: 2.1\nLibs: -luring\n' >"$work/pc/liburing.pc"
check "install and start" as_user env PKG_CONFIG_PATH="$work/pc" tools/ci/setup.sh --devices 2
says "^io_uring: left out, liburing is older than 2.3"
says "^device 0: 127.0.0.2, socket /tmp/rnicd-ci-[0-9]+/sockets/rnic0.sock$"
check "a program on two devices" pingpong as_user
check "stop" as_user tools/ci/setup.sh stop
check "no process stays" no_daemon_runs

# job WORKFLOW [PROJECT]: in an empty folder, or one with the files of a project.
job() {
	rm -rf "$work/project"
	mkdir -p "$work/project" "$work/artifacts"
	[ $# -lt 2 ] || cp -r "$2"/. "$work/project"
	GITHUB_ACTIONS=true python3 "$tree/tests/ci/run_action.py" --action "$tree" \
		--workspace "$work/project" --artifacts "$work/artifacts" "$1"
	status=$?
	tools/ci/setup.sh stop
	return $status
}

fails() {
	! "$@"
}

echo "# the action and the example workflows"
apt-get install -y -qq --no-install-recommends python3-yaml sudo make >/dev/null
examples=$tree/tools/ci/examples
check "a project in C" job "$examples/c_project.yml" "$tree/tools/examples/modular-samples"
says "its data is verified"
check "a project in Python" job "$examples/python_project.yml" "$examples/python_project"
says "^OK$"
check "no artifact of jobs that succeed" rmdir "$work/artifacts"
sed 's|run: rnic-run .*|run: rnic-run ibv_rc_pingpong -g 9 127.0.0.1|' \
	"$examples/python_project.yml" >"$work/failing.yml"
check "a job that fails" fails job "$work/failing.yml"
says "::group::rnicd: device 0"
check "its artifact has the log" grep -r "serves at" "$work/artifacts" --include=rnic0.log
check "and the capture" test -n "$(find "$work/artifacts" -name rnic0.pcapng -size +0)"
sed "s|verified|verified; false|; s|wait .server|wait \$server; false|" \
	"$examples/c_project.yml" >"$work/failing.yml"
rm -rf "$work/artifacts"
check "a step that fails behind the action" \
	fails job "$work/failing.yml" "$tree/tools/examples/modular-samples"
check "its artifact has the captures of both devices" \
	bash -c "[ \"\$(find '$work/artifacts' -name '*.pcapng' | wc -l)\" -eq 2 ]"
rm -rf "$work/artifacts" /var/lib/rnicd-ci
sed "s|devices: 2|devices: 0|" "$examples/c_project.yml" >"$work/failing.yml"
check "a wrong input" fails job "$work/failing.yml" "$tree/tools/examples/modular-samples"
says "^setup.sh: --devices is a number from 1 to 64$"
check "has no artifact" rmdir "$work/artifacts"
check "no process stays" no_daemon_runs
echo "ci: $failures failures"
[ $failures -eq 0 ]

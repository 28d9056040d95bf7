# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The common part of the four run scripts. They take the program's arguments, and from the
# environment:
#
#   RDMA_BIN    folder of the programs (this one's parent)
#   RDMA_RUN    a command before each, such as "rnic-run" where no kernel knows an RDMA device
#   RDMA_LOG    also append the output of the program to this file

set -eu

# launch PROGRAM ARGUMENT...: becomes the program, so that signals and exit status are its own.
launch() {
	local bin=${RDMA_BIN:-$(dirname "$0")/..} program=$1 run
	shift
	read -ra run <<<"${RDMA_RUN:-}"
	if [ ! -x "$bin/$program" ]; then
		echo "there is no $bin/$program: build it with make, or set RDMA_BIN" >&2
		exit 127
	fi
	# Registered memory is locked memory. Who may not raise the limit has what he has.
	ulimit -l unlimited 2>/dev/null || true
	if [ -n "${RDMA_LOG:-}" ]; then
		exec > >(tee -a "$RDMA_LOG") 2>&1
		echo "$(date -Is) $program $*"
	fi
	exec "${run[@]}" "$bin/$program" "$@"
}

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Example 1, the server: run_server.sh [OPTION...] [PORT]
. "$(dirname "$0")/launch.sh"
launch rdma_server "$@"

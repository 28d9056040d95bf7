#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Example 2, the server: run_server_imm.sh [OPTION...] [PORT]
. "$(dirname "$0")/launch.sh"
launch rdma_server_imm "$@"

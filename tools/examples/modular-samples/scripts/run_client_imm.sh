#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Example 2, the client: run_client_imm.sh [OPTION...] HOST [PORT]
. "$(dirname "$0")/launch.sh"
launch rdma_client_imm "$@"

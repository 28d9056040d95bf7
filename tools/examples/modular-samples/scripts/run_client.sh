#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Example 1, the client: run_client.sh [OPTION...] HOST [PORT]
. "$(dirname "$0")/launch.sh"
launch rdma_client "$@"

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced: `ucx_perftest` has the words of the command. One that is built with MPI waits for mpirun
# without -P 0.

ucx_perftest=(ucx_perftest)
! ucx_perftest -h 2>/dev/null | grep -q -e '-P <0|1>' || ucx_perftest+=(-P 0)

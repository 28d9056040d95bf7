#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# UCX of Debian sid has no transport of verbs. "ucx_info -v" tells with which options the library
# was built; --with-verbs, --enable-rc and --enable-ud are among them, as in Debian 13, where
# "ucx_info -b" has a module "ib". In sid that module is in no package: UCX's configure only warned
# where it found no verbs. A program that asks for rc or ud gets "transport is not available", and
# one that asks for nothing, such as Debian's MPICH, runs over TCP without a word.
#
# Seen with ucx-utils 1.23.0~rc1-1 of sid.
# What helps: ask "ucx_info -b" for the modules, not "ucx_info -v". MPI over libfabric has verbs.
#
# It needs root and mmdebstrap, and removes the root file system that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mmdebstrap --quiet --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
	--include=ucx-utils=1.23.0~rc1-1 sid "$root" ||
	{ echo "sid: there is no ucx-utils 1.23.0~rc1-1"; exit 1; }
options=$(chroot "$root" ucx_info -v 2>/dev/null |
	grep -oE -- '--(with-verbs|enable-(rc|ud))( |$)' | tr -d '\n')
modules=$(chroot "$root" ucx_info -b 2>/dev/null | sed -n 's/^#define uct_MODULES *//p')
echo "built with $options"
echo "modules $modules"
[[ $options = '--with-verbs --enable-rc --enable-ud ' && $modules != *:ib[:\"]* ]] ||
	{ echo "this is new"; exit 1; }

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rxe_fetch.sh DIRECTORY: fetches the kernel's package to there, unless it has the newest. What
# apt-get said is in DIRECTORY/apt. rxe.sh calls it while it still has the host's network.
mkdir -p "$1" && cd "$1" || exit
name=$(apt-cache depends linux-image-amd64 2>/dev/null |
	awk '/Depends: linux-image-/ { print $2; exit }')
[ -n "$name" ] || { echo "apt knows no linux-image-amd64" >apt; exit 1; }
apt-get download -qq "$name" >apt 2>&1

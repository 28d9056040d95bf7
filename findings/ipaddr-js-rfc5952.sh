#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ipaddr.js has a method toRFC5952String(), which does not give the form of that RFC for
# ::ffff:192.0.2.1, the GID of a RoCE port with this IPv4 address. RFC 5952, section 5, recommends
# the mixed notation where a well-known prefix, such as ::ffff:0:0/96, shows that the last 32 bits
# are an IPv4 address; glibc's inet_ntop() and the rdma tools write it so. The method returns
# ::ffff:c000:201. A program that compares such texts finds no GID.
#
# Seen with ipaddr.js 2.2.0 of npm and node 20.
# What helps: compare bytes, ipaddr.parse(text).toByteArray().
#
# It needs npm.
set -u

[ -n "$(command -v npm)" ] || { echo "skipped: needs npm"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
npm install --silent ipaddr.js@2.2.0 >/dev/null || { echo "there is no ipaddr.js 2.2.0"; exit 1; }
output=$(node -p 'require("ipaddr.js").parse("::ffff:192.0.2.1").toRFC5952String()')
echo "ipaddr.js 2.2.0: $output"
[ "$output" = ::ffff:c000:201 ] || { echo "this is new"; exit 1; }

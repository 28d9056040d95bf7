/* SPDX-License-Identifier: MIT */
/* GIDs and the IP addresses they stand for (IBTA A17.4.1.2): IPv4 as ::ffff:a.b.c.d, else IPv6. */
#ifndef PROTO_WIRE_GID_H
#define PROTO_WIRE_GID_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RNIC_GID_TEXT_BYTES 46

struct rnic_gid rnic_gid_from_ipv4(const uint8_t address[4]);
struct rnic_gid rnic_gid_from_ipv6(const uint8_t address[16]);
bool rnic_gid_is_ipv4(const struct rnic_gid *gid);
bool rnic_gid_is_zero(const struct rnic_gid *gid);
bool rnic_gid_is_link_local(const struct rnic_gid *gid); /* fe80::/10 */
bool rnic_gid_is_multicast(const struct rnic_gid *gid);	 /* ff00::/8, or 224.0.0.0/4 mapped */

/*
 * The GID that stands for `gid` on the wire. A group of interface-local scope (RFC 4291, 2.7)
 * becomes the link-local one: kernels neither send the former over a link nor receive it, and
 * RNICs, which know no scopes, do. Every other GID stands for itself.
 */
struct rnic_gid rnic_gid_on_wire(const struct rnic_gid *gid);

/* The four bytes of the IPv4 address; only for a GID for which rnic_gid_is_ipv4() holds. */
const uint8_t *rnic_gid_ipv4(const struct rnic_gid *gid);

/* Writes "192.0.2.1" or "2001:db8::1" with a final zero; returns `text`. */
char *rnic_gid_text(const struct rnic_gid *gid, char text[RNIC_GID_TEXT_BYTES]);

static inline bool rnic_gid_equal(const struct rnic_gid *a, const struct rnic_gid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

#endif

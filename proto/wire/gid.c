/* SPDX-License-Identifier: MIT */
#include "proto/wire/gid.h"

#include <arpa/inet.h>
#include <assert.h>

#define IPV4_OFFSET 12

/* Of a multicast address, in its second byte. */
#define SCOPE_MASK	0x0f
#define SCOPE_INTERFACE 1
#define SCOPE_LINK	2

_Static_assert(RNIC_GID_TEXT_BYTES >= INET6_ADDRSTRLEN, "room for any address");

static const uint8_t ipv4_mapped_prefix[IPV4_OFFSET] = {[10] = 0xff, [11] = 0xff};

struct rnic_gid rnic_gid_from_ipv4(const uint8_t address[4])
{
	struct rnic_gid gid;

	memcpy(gid.bytes, ipv4_mapped_prefix, IPV4_OFFSET);
	memcpy(gid.bytes + IPV4_OFFSET, address, 4);
	return gid;
}

struct rnic_gid rnic_gid_from_ipv6(const uint8_t address[16])
{
	struct rnic_gid gid;

	memcpy(gid.bytes, address, sizeof(gid.bytes));
	return gid;
}

bool rnic_gid_is_ipv4(const struct rnic_gid *gid)
{
	return memcmp(gid->bytes, ipv4_mapped_prefix, IPV4_OFFSET) == 0;
}

bool rnic_gid_is_zero(const struct rnic_gid *gid)
{
	static const struct rnic_gid zero;

	return rnic_gid_equal(gid, &zero);
}

bool rnic_gid_is_link_local(const struct rnic_gid *gid)
{
	return gid->bytes[0] == 0xfe && (gid->bytes[1] & 0xc0) == 0x80;
}

bool rnic_gid_is_multicast(const struct rnic_gid *gid)
{
	if (rnic_gid_is_ipv4(gid))
		return (gid->bytes[IPV4_OFFSET] & 0xf0) == 0xe0;
	return gid->bytes[0] == 0xff;
}

struct rnic_gid rnic_gid_on_wire(const struct rnic_gid *gid)
{
	struct rnic_gid out = *gid;

	if (gid->bytes[0] == 0xff && (gid->bytes[1] & SCOPE_MASK) == SCOPE_INTERFACE)
		out.bytes[1] = (gid->bytes[1] & (uint8_t)~SCOPE_MASK) | SCOPE_LINK;
	return out;
}

const uint8_t *rnic_gid_ipv4(const struct rnic_gid *gid)
{
	assert(rnic_gid_is_ipv4(gid));
	return gid->bytes + IPV4_OFFSET;
}

char *rnic_gid_text(const struct rnic_gid *gid, char text[RNIC_GID_TEXT_BYTES])
{
	const char *done;

	if (rnic_gid_is_ipv4(gid))
		done = inet_ntop(AF_INET, rnic_gid_ipv4(gid), text, RNIC_GID_TEXT_BYTES);
	else
		done = inet_ntop(AF_INET6, gid->bytes, text, RNIC_GID_TEXT_BYTES);
	assert(done == text);
	return text;
}

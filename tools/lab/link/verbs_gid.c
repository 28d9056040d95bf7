/* SPDX-License-Identifier: MIT */
#include "tools/lab/link/verbs_gid.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

/* The grades of a GID, from unusable to the very address. */
enum { UNUSABLE, USABLE, ROCE_V2, SAME_FAMILY, SAME_ADDRESS };

static bool is_ipv4(const uint8_t address[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

static bool is_link_local(const uint8_t address[16])
{
	return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

/* `local` as a GID. */
static bool to_gid(const struct sockaddr *local, uint8_t gid[16])
{
	if (local && local->sa_family == AF_INET6) {
		memcpy(gid, &((const struct sockaddr_in6 *)(const void *)local)->sin6_addr, 16);
		return true;
	}
	if (local && local->sa_family == AF_INET) {
		memset(gid, 0, 10);
		memset(gid + 10, 0xff, 2);
		memcpy(gid + 12, &((const struct sockaddr_in *)(const void *)local)->sin_addr, 4);
		return true;
	}
	return false;
}

int verbs_gid_score(const union ibv_gid *gid, uint32_t type, const struct sockaddr *local)
{
	static const union ibv_gid none;
	uint8_t wanted[16];

	if (memcmp(gid, &none, sizeof(none)) == 0)
		return UNUSABLE;
	if (type != IBV_GID_TYPE_ROCE_V2)
		return USABLE;
	if (!to_gid(local, wanted))
		return ROCE_V2;
	if (memcmp(gid->raw, wanted, sizeof(wanted)) == 0)
		return SAME_ADDRESS;
	if (is_ipv4(gid->raw) == is_ipv4(wanted) && !is_link_local(gid->raw))
		return SAME_FAMILY;
	return ROCE_V2;
}

int verbs_gid_find(struct ibv_context *context, uint8_t port, int count,
		   const struct sockaddr *local)
{
	int best_score = UNUSABLE, best = -ENOENT;

	for (int i = 0; i < count; i++) {
		struct ibv_gid_entry entry;
		int score;

		if (ibv_query_gid_ex(context, port, (uint32_t)i, &entry, 0) != 0)
			continue;
		score = verbs_gid_score(&entry.gid, entry.gid_type, local);
		if (score > best_score) {
			best_score = score;
			best = i;
		}
	}
	return best;
}

/* SPDX-License-Identifier: MIT */
/* What datagrams need beside queue pairs: the way back to a sender, and multicast groups. */
#include "verbs/ibv_objects.h"
#include "verbs/ibv_translate.h"

#include "wire/gid.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* An IPv4 header lies in the last 20 bytes of the 40 in front of a datagram (IBTA A17.4.5.1). */
#define IPV4_AT			20
#define IPV4_VERSION_AND_LENGTH 0x45

#define FLOW_LABEL_MASK	    0xfffff
#define TRAFFIC_CLASS_SHIFT 20

/* The way that a datagram came, as its first 40 bytes tell it. */
struct way {
	struct rnic_gid source;
	struct rnic_gid dest;
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit;
};

static void read_way(const struct ibv_grh *grh, struct way *way)
{
	const uint8_t *ipv4 = (const uint8_t *)grh + IPV4_AT;
	uint32_t first = be32toh(grh->version_tclass_flow);

	if (first == 0 && ipv4[0] == IPV4_VERSION_AND_LENGTH) {
		*way = (struct way){
			.source = rnic_gid_from_ipv4(ipv4 + 12),
			.dest = rnic_gid_from_ipv4(ipv4 + 16),
			.traffic_class = ipv4[1],
			.hop_limit = ipv4[8],
		};
		return;
	}
	*way = (struct way){
		.source = rnic_gid_from_ipv6(grh->sgid.raw),
		.dest = rnic_gid_from_ipv6(grh->dgid.raw),
		.flow_label = first & FLOW_LABEL_MASK,
		.traffic_class = (uint8_t)(first >> TRAFFIC_CLASS_SHIFT),
		.hop_limit = grh->hop_limit,
	};
}

/* Returns the index of `gid` among the device's own, or a negative errno. */
static int find_gid(struct ibv_context *context, const struct rnic_gid *gid)
{
	struct rnic_context *native = rnic_verbs_native(context);
	uint32_t count = rnic_get_device_attributes(native)->gid_count;

	for (uint32_t index = 0; index < count; index++) {
		struct rnic_gid own;
		int error = rnic_query_gid(native, index, &own, NULL);

		if (error != 0)
			return error;
		if (rnic_gid_equal(&own, gid))
			return (int)index;
	}
	return -EINVAL;
}

/* RoCE has no way back without the header. One to a multicast group came to no GID of ours. */
int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attributes)
{
	struct way way;
	int index;

	if (port != RNIC_VERBS_PORT || (wc->wc_flags & IBV_WC_GRH) == 0)
		return rnic_verbs_errno(-EINVAL);
	read_way(grh, &way);
	index = find_gid(context, &way.dest);
	if (index < 0)
		return rnic_verbs_errno(index);
	*attributes = (struct ibv_ah_attr){
		.grh.flow_label = way.flow_label,
		.grh.sgid_index = (uint8_t)index,
		.grh.hop_limit = way.hop_limit,
		.grh.traffic_class = way.traffic_class,
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.is_global = 1,
		.port_num = port,
	};
	memcpy(attributes->grh.dgid.raw, way.source.bytes, sizeof(way.source.bytes));
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port)
{
	struct ibv_ah_attr attributes;
	int error = ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes);

	return error == 0 ? ibv_create_ah(pd, &attributes) : rnic_verbs_null(error);
}

static struct rnic_gid group_of(const union ibv_gid *gid)
{
	return rnic_gid_from_ipv6(gid->raw);
}

/* The LID of a group means nothing on RoCE. */
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct rnic_gid group = group_of(gid);

	(void)lid;
	return rnic_verbs_errno(rnic_attach_mcast(rnic_verbs_qp(qp)->native, &group));
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct rnic_gid group = group_of(gid);

	(void)lid;
	return rnic_verbs_errno(rnic_detach_mcast(rnic_verbs_qp(qp)->native, &group));
}

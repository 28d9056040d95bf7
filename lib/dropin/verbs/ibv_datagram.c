/* SPDX-License-Identifier: MIT */
/* Calls for datagrams beside queue pairs: the way back to a sender, and multicast groups. */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include "proto/wire/gid.h"
#include "proto/wire/ip_header.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define FLOW_LABEL_MASK 0xfffff

/* Returns the index of `gid` among the device's own, or a negative errno. */
static int verbs_datagram_find_gid(struct ibv_context *context, const struct rnic_gid *gid)
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

/*
 * Without the header RoCE has no way back. A datagram to a multicast group came to no GID of ours.
 */
int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attributes)
{
	struct rnic_addresses way;
	int index;

	if (port != RNIC_VERBS_PORT || (wc->wc_flags & IBV_WC_GRH) == 0)
		return rnic_verbs_errno(-EINVAL);
	rnic_grh_read((const uint8_t *)grh, &way);
	index = verbs_datagram_find_gid(context, &way.dest);
	if (index < 0)
		return rnic_verbs_errno(index);
	*attributes = (struct ibv_ah_attr){
		.grh.flow_label = be32toh(grh->version_tclass_flow) & FLOW_LABEL_MASK,
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
	int error = -rnic_verbs_check_pd(pd);

	if (error == 0)
		error = ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes);
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
	int error = rnic_verbs_check_qp(qp);

	(void)lid;
	if (error == 0)
		error = rnic_attach_mcast(rnic_verbs_qp(qp)->native, &group);
	return rnic_verbs_errno(error);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct rnic_gid group = group_of(gid);
	int error = rnic_verbs_check_qp(qp);

	(void)lid;
	if (error == 0)
		error = rnic_detach_mcast(rnic_verbs_qp(qp)->native, &group);
	return rnic_verbs_errno(error);
}

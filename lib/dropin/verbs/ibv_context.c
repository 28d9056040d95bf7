/* SPDX-License-Identifier: MIT */
/* Questions about a device, its port and its GIDs, and its asynchronous events. */
#include "lib/dropin/verbs/ibv_objects.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

/* Bits that the headers of rdma-core 44 lack. */
#define DEVICE_FLUSH_GLOBAL	 (UINT64_C(1) << 38) /* IB_UVERBS_DEVICE_FLUSH_GLOBAL */
#define DEVICE_ATOMIC_WRITE	 (UINT64_C(1) << 40) /* IB_UVERBS_DEVICE_ATOMIC_WRITE */
#define ODP_SUPPORT_FLUSH	 (1U << 6)	     /* IBV_ODP_SUPPORT_FLUSH */
#define ODP_SUPPORT_ATOMIC_WRITE (1U << 7)	     /* IBV_ODP_SUPPORT_ATOMIC_WRITE */

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	rnic_verbs_device_attr(rnic_get_device_attributes(rnic_verbs_native(context)), attributes);
	return 0;
}

/* Copies the part of `whole` that the caller knows and clears what it knows beyond that. */
static void copy_known(void *to, size_t to_bytes, const void *whole, size_t whole_bytes)
{
	const size_t known = to_bytes < whole_bytes ? to_bytes : whole_bytes;

	memcpy(to, whole, known);
	memset((uint8_t *)to + known, 0, to_bytes - known);
}

int rnic_verbs_query_device_ex(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attributes, size_t bytes)
{
	const uint32_t datagram =
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t unreliable = datagram | IBV_ODP_SUPPORT_WRITE;
	const uint32_t reliable = unreliable | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
				  ODP_SUPPORT_FLUSH | ODP_SUPPORT_ATOMIC_WRITE;
	struct ibv_device_attr_ex whole = {
		.odp_caps =
			{
				.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
				.per_transport_caps =
					{
						.rc_odp_caps = reliable,
						.uc_odp_caps = unreliable,
						.ud_odp_caps = datagram,
					},
			},
		.xrc_odp_caps = reliable,
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = 1000000, /* kHz: timestamps count nanoseconds */
		.max_dm_size = RNIC_VERBS_DM_BYTES_MAX,
		.phys_port_cnt_ex = 1,
	};

	if (input != NULL && input->comp_mask != 0)
		return rnic_verbs_errno(-EINVAL);
	if (bytes < sizeof(whole.orig_attr))
		return rnic_verbs_errno(-EINVAL);
	ibv_query_device(context, &whole.orig_attr);
	whole.device_cap_flags_ex =
		whole.orig_attr.device_cap_flags | DEVICE_FLUSH_GLOBAL | DEVICE_ATOMIC_WRITE;
	copy_known(attributes, bytes, &whole, sizeof(whole));
	return 0;
}

/* The clock that stamps completions, in its ticks, all of them in the nanoseconds. */
int rnic_verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	struct timespec now;

	(void)context;
	if ((values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK) != 0)
		return rnic_verbs_errno(-EOPNOTSUPP);
	if (values->comp_mask == 0)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	values->raw_clock = (struct timespec){.tv_nsec = now.tv_sec * 1000000000 + now.tv_nsec};
	return 0;
}

int rnic_verbs_query_port(struct ibv_context *context, uint8_t port,
			  struct ibv_port_attr *attributes, size_t bytes)
{
	struct rnic_port_attributes native;
	struct ibv_port_attr whole;
	int error;

	if (port != RNIC_VERBS_PORT)
		return rnic_verbs_errno(-EINVAL);
	error = rnic_query_port(rnic_verbs_native(context), &native);
	if (error != 0)
		return rnic_verbs_errno(error);
	rnic_verbs_port_attr(&native, &whole);
	whole.pkey_tbl_len =
		(uint16_t)rnic_get_device_attributes(rnic_verbs_native(context))->pkey_count;
	copy_known(attributes, bytes, &whole, sizeof(whole));
	return 0;
}

/* Programs from before port_cap_flags2 have room up to there only, padding included. */
int ibv_query_port(struct ibv_context *context, uint8_t port,
		   struct _compat_ibv_port_attr *attributes)
{
	return rnic_verbs_query_port(context, port, (struct ibv_port_attr *)attributes,
				     offsetof(struct ibv_port_attr, port_cap_flags2));
}

static bool gid_is_empty(const struct rnic_gid *gid)
{
	static const struct rnic_gid empty;

	return memcmp(gid, &empty, sizeof(empty)) == 0;
}

/* Here an empty slot is a GID of zeros, unlike in the extended query. */
int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct rnic_gid native;
	int error =
		port == RNIC_VERBS_PORT && index >= 0
			? rnic_query_gid(rnic_verbs_native(context), (uint32_t)index, &native, NULL)
			: -EINVAL;

	if (error == 0)
		memcpy(gid->raw, native.bytes, sizeof(gid->raw));
	return rnic_verbs_minus_one(error);
}

/* Returns 0, -ENODATA for an empty slot, or another negative errno. */
static int gid_entry(struct ibv_context *context, uint32_t port, uint32_t index,
		     struct ibv_gid_entry *entry)
{
	struct rnic_gid gid;
	uint32_t netdev_index;
	int error;

	if (port != RNIC_VERBS_PORT)
		return -EINVAL;
	error = rnic_query_gid(rnic_verbs_native(context), index, &gid, &netdev_index);
	if (error != 0)
		return error;
	if (gid_is_empty(&gid))
		return -ENODATA;
	*entry = (struct ibv_gid_entry){
		.gid_index = index,
		.port_num = port,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = netdev_index,
	};
	memcpy(entry->gid.raw, gid.bytes, sizeof(entry->gid.raw));
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry whole;
	int error = flags == 0 ? gid_entry(context, port, index, &whole) : -EOPNOTSUPP;

	if (error != 0)
		return rnic_verbs_errno(error);
	copy_known(entry, entry_size, &whole, sizeof(whole));
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	const uint32_t count = rnic_get_device_attributes(rnic_verbs_native(context))->gid_count;
	struct ibv_gid_entry whole;
	size_t found = 0;
	int error;

	if (flags != 0)
		return -EOPNOTSUPP;
	for (uint32_t index = 0; index < count; index++) {
		error = gid_entry(context, RNIC_VERBS_PORT, index, &whole);
		if (error == -ENODATA)
			continue;
		if (error != 0)
			return error;
		if (found == max_entries)
			return -EINVAL;
		copy_known((uint8_t *)entries + found++ * entry_size, entry_size, &whole,
			   sizeof(whole));
	}
	return (ssize_t)found;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	uint16_t native;
	int error = port == RNIC_VERBS_PORT && index >= 0
			    ? rnic_query_pkey(rnic_verbs_native(context), (uint32_t)index, &native)
			    : -EINVAL;

	if (error == 0)
		*pkey = htons(native);
	return rnic_verbs_minus_one(error);
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	uint16_t native;
	int error = port == RNIC_VERBS_PORT ? 0 : -EINVAL;

	for (uint32_t i = 0; error == 0; i++) {
		error = rnic_query_pkey(rnic_verbs_native(context), i, &native);
		if (error == 0 && native == ntohs(pkey))
			return (int)i;
	}
	return rnic_verbs_minus_one(error);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct rnic_async_event native;
	int error = rnic_get_async_event(rnic_verbs_native(context), &native);

	if (error == 0)
		rnic_verbs_async_event(&native, event);
	return rnic_verbs_minus_one(error);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct rnic_async_event native;

	rnic_verbs_native_event(event, &native);
	rnic_ack_async_event(&native);
}

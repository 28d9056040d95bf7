/* SPDX-License-Identifier: MIT */
/*
 * The symbols through which rdma-core's library and its providers talk to each other. Programs link
 * providers (perftest and UCX link libmlx5), so the loader must find these symbols, in the version
 * node of each release's private interface; but no provider ever serves our device.
 * ibv_query_gid_type is different: programs call it, and it answers.
 */
#include "lib/dropin/verbs/ibv_objects.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>

#define STRING(text) #text

/* The same function under one name in the private node of every release that has one. */
#define IN_NODE(function, name, node)                                                              \
	__asm__(".symver " STRING(function) ", " STRING(name) "@IBVERBS_PRIVATE_" STRING(node));
#define IN_ALL_NODES(function, name)                                                               \
	IN_NODE(function, name, 25)                                                                \
	IN_NODE(function, name, 33)                                                                \
	IN_NODE(function, name, 34)                                                                \
	IN_NODE(function, name, 57)                                                                \
	IN_NODE(function, name, 59)                                                                \
	IN_NODE(function, name, 64)                                                                \
	IN_NODE(function, name, 65)

RNIC_API int rnic_private_refuse(void);
RNIC_API void *rnic_private_null(void);
RNIC_API void rnic_private_ignore(void);
RNIC_API int rnic_private_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index,
					 unsigned *type);
RNIC_API extern bool rnic_private_flag;

__attribute__((used)) int rnic_private_refuse(void)
{
	return rnic_verbs_errno(-EOPNOTSUPP);
}

__attribute__((used)) void *rnic_private_null(void)
{
	return rnic_verbs_null(EOPNOTSUPP);
}

/* Takes any arguments, and so also a log message with many of them. */
__attribute__((used)) void rnic_private_ignore(void)
{
}

__attribute__((used)) bool rnic_private_flag;

#define GID_TYPE_ROCE_V2 1 /* as this function counts, unlike enum ibv_gid_type */

__attribute__((used)) int rnic_private_query_gid_type(struct ibv_context *context, uint8_t port,
						      unsigned index, unsigned *type)
{
	const uint32_t count = rnic_get_device_attributes(rnic_verbs_native(context))->gid_count;

	if (port != RNIC_VERBS_PORT || index >= count)
		return rnic_verbs_minus_one(-EINVAL);
	*type = GID_TYPE_ROCE_V2;
	return 0;
}

IN_ALL_NODES(rnic_private_query_gid_type, ibv_query_gid_type)
IN_ALL_NODES(rnic_private_flag, verbs_allow_disassociate_destroy)

#define REFUSE(name)  IN_ALL_NODES(rnic_private_refuse, name)
#define NOTHING(name) IN_ALL_NODES(rnic_private_null, name)
#define IGNORE(name)  IN_ALL_NODES(rnic_private_ignore, name)
#include "lib/dropin/verbs/ibv_private.def"

/* SPDX-License-Identifier: MIT */
/*
 * The functions that libibverbs.so.1 hands to librdmacm.so.1, so that a process holds the native
 * code once. librdmacm calls nothing else of that code, and uses the native context of a context of
 * libibverbs.
 *
 * The symbol's version node is RNIC_PRIVATE_4. The number rises with every change of the table. The
 * loader then refuses a pair of libraries that do not belong together and names the node, also
 * where it finds another vendor's libibverbs. `bytes` is for builds in between.
 *
 * The reference of librdmacm is weak, and the table is there all the same: the loader asks for the
 * node. A linker that runs under rnic-run may find our librdmacm.so.1, which some library of the
 * program needs, by LD_LIBRARY_PATH, and another vendor's libibverbs.so as the program's own. Such
 * a linker refuses the program for a strong reference that nobody defines. What else librdmacm
 * takes from libibverbs is public, and every libibverbs defines it.
 */
#ifndef LIB_DROPIN_VERBS_IBV_NATIVE_H
#define LIB_DROPIN_VERBS_IBV_NATIVE_H

#include "lib/client/native/drop_in_calls.h"
#include "lib/client/native/fork_list.h"
#include "lib/client/native/rnic_wait.h"

#include <rnic/rnic_cm.h>

#include <stdint.h>

struct ibv_ah_attr;
struct ibv_context;
struct ibv_qp;
struct ibv_qp_attr;

/* Functions of the native code under their own names, without the prefix. */
#define RNIC_NATIVE_FUNCTIONS(X)                                                                   \
	X(cm_accept)                                                                               \
	X(cm_ack_event)                                                                            \
	X(cm_bind)                                                                                 \
	X(cm_channel_fd)                                                                           \
	X(cm_connect)                                                                              \
	X(cm_connection_attributes)                                                                \
	X(cm_create_channel)                                                                       \
	X(cm_create_id)                                                                            \
	X(cm_destroy_channel)                                                                      \
	X(cm_destroy_id)                                                                           \
	X(cm_disconnect)                                                                           \
	X(cm_end_by_call)                                                                          \
	X(cm_end_id)                                                                               \
	X(cm_establish)                                                                            \
	X(cm_get_event)                                                                            \
	X(cm_has_open_events)                                                                      \
	X(cm_join_mcast)                                                                           \
	X(cm_leave_mcast)                                                                          \
	X(cm_let_take)                                                                             \
	X(cm_listen)                                                                               \
	X(cm_migrate)                                                                              \
	X(cm_notify)                                                                               \
	X(cm_qp_attributes)                                                                        \
	X(cm_query)                                                                                \
	X(cm_reject)                                                                               \
	X(cm_resolve_address)                                                                      \
	X(cm_resolve_route)                                                                        \
	X(cm_set_option)                                                                           \
	X(cm_set_user)                                                                             \
	X(cm_took_back)                                                                            \
	X(cm_user)                                                                                 \
	X(context_check)                                                                           \
	X(context_loss_fd)                                                                         \
	X(fork_list_add)                                                                           \
	X(wait_awake)                                                                              \
	X(wait_for_end_of_process)                                                                 \
	X(wait_in_device)

struct rnic_native_table {
	uint64_t bytes; /* of the table, as libibverbs was built */
	/* The connection to the daemon that the context uses; it lives as long as the context. */
	struct rnic_context *(*context)(struct ibv_context *verbs);
	void (*ah_attr)(const struct rnic_path *from, struct ibv_ah_attr *to);
	/* As rnic_connect_qp(): makes the steps to RTR and to RTS in one request. */
	int (*connect_qp)(struct ibv_qp *qp, const struct rnic_qp_attributes *attributes,
			  uint32_t receive_mask, uint32_t send_mask);
	void (*qp_attr)(const struct rnic_qp_attributes *from, struct ibv_qp_attr *to);
#define RNIC_NATIVE_MEMBER(name) __typeof__(&rnic_##name) name;
	RNIC_NATIVE_FUNCTIONS(RNIC_NATIVE_MEMBER)
#undef RNIC_NATIVE_MEMBER
};

#ifndef RNIC_NATIVE_IS_DEFINED_HERE
#pragma weak rnic_native
#endif
RNIC_API extern const struct rnic_native_table rnic_native;

#endif

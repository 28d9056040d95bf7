/* SPDX-License-Identifier: MIT */
/*
 * Between the structs of libibverbs and ours, and between their return conventions and ours. Byte
 * order, names and widths differ, and only here; values never do (asserted in the .c file).
 */
#ifndef LIB_DROPIN_VERBS_IBV_TRANSLATE_H
#define LIB_DROPIN_VERBS_IBV_TRANSLATE_H

#include "lib/dropin/verbs/ibv_objects.h"
#include "proto/shm/wqe.h"

/* Negative errno to what verbs return: the errno itself, also left in `errno`. 0 stays 0. */
int rnic_verbs_errno(int error);

/* Negative errno to -1 with `errno` set. 0 stays 0. */
int rnic_verbs_minus_one(int error);

/* Sets `errno` to `error` (positive) and returns NULL, for functions that return a pointer. */
void *rnic_verbs_null(int error);

void rnic_verbs_device_attr(const struct rnic_device_attributes *from, struct ibv_device_attr *to);
void rnic_verbs_port_attr(const struct rnic_port_attributes *from, struct ibv_port_attr *to);

void rnic_verbs_path(const struct ibv_ah_attr *from, struct rnic_path *to);
void rnic_verbs_ah_attr(const struct rnic_path *from, struct ibv_ah_attr *to);

void rnic_verbs_capacities(const struct ibv_qp_cap *from, struct rnic_qp_capacities *to);
void rnic_verbs_qp_cap(const struct rnic_qp_capacities *from, struct ibv_qp_cap *to);

/*
 * Returns `mask` (enum ibv_qp_attr_mask) without what the other end of XRC has: programs give both
 * ends all, and kernels ignore the rest.
 */
int rnic_verbs_qp_mask(enum ibv_qp_type type, int mask);
void rnic_verbs_qp_attributes(const struct ibv_qp_attr *from, struct rnic_qp_attributes *to);
void rnic_verbs_qp_attr(const struct rnic_qp_attributes *from, struct ibv_qp_attr *to);

/*
 * The flags that the device knows. Of the rest IP_CSUM asks for something, a checksum in the
 * payload, which no queue pair of ours writes: the caller refuses it. Others have no meaning, and
 * Linux's providers ignore them.
 */
uint8_t rnic_verbs_send_flags(unsigned flags);

static inline bool rnic_verbs_are_send_flags_served(unsigned flags)
{
	return (flags & IBV_SEND_IP_CSUM) == 0;
}

/*
 * The operands of a BIND_MW, and the window's new key in to->rkey. -EINVAL: no window, or bytes of
 * no region.
 */
int rnic_verbs_bind(struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info,
		    struct rnic_send_wqe *to);

/*
 * Everything of a request but its payload, for rnic_send_append() of a queue pair of `type`.
 * -EINVAL: a bind of a window that is not of type 2, or as of rnic_verbs_bind(), or IP_CSUM.
 * -EOPNOTSUPP: no such opcode.
 */
int rnic_verbs_send_wqe(const struct ibv_send_wr *from, enum rnic_qp_type type,
			struct rnic_send_wqe *to);

/* The layouts are the same. The program has written `list` before its call came here, so that no
 * compiler sees both types of one element. */
static inline const struct rnic_sge *rnic_verbs_sges(const struct ibv_sge *list)
{
	return (const struct rnic_sge *)(const void *)list;
}

void rnic_verbs_wc(const struct rnic_completion *from, struct ibv_wc *to);

void rnic_verbs_async_event(const struct rnic_async_event *from, struct ibv_async_event *to);
void rnic_verbs_native_event(const struct ibv_async_event *from, struct rnic_async_event *to);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The operands of a send WQE: one function for each kind (enum rnic_wr_operands), and one for each
 * kind of queue pair that adds operands of its own. rnic_post_send() and the drop-in library write
 * WQEs by these functions, each from requests of its own. A caller sets the operands of an
 * operation that the queue pair's type has, and of no other.
 */
#ifndef LIB_CLIENT_NATIVE_QUEUES_WQE_OPERANDS_H
#define LIB_CLIENT_NATIVE_QUEUES_WQE_OPERANDS_H

#include "lib/client/native/rnic_objects.h"

#include <errno.h>

static inline void rnic_wqe_set_remote(struct rnic_send_wqe *wqe, uint64_t address, uint32_t rkey)
{
	wqe->remote_address = address;
	wqe->rkey = rkey;
}

/* SWAP and ADD; ADD ignores `compare`. */
static inline void rnic_wqe_set_atomic(struct rnic_send_wqe *wqe, uint64_t compare,
				       uint64_t swap_or_add)
{
	wqe->atomic.compare = compare;
	wqe->atomic.swap_or_add = swap_or_add;
}

static inline void rnic_wqe_set_flush(struct rnic_send_wqe *wqe, uint32_t length, uint32_t type)
{
	wqe->flush.length = length;
	wqe->flush.type = type;
}

/*
 * The low 8 bits of `tag` become those of the window's new key, which is wqe->rkey afterwards; the
 * caller sets remote_address. -EINVAL: no window, or bytes of no region.
 */
static inline int rnic_wqe_set_bind(struct rnic_send_wqe *wqe, const struct rnic_mw *mw,
				    uint32_t tag, const struct rnic_mr *mr, uint64_t length,
				    uint32_t access)
{
	if (mw == NULL || (mr == NULL && length != 0))
		return -EINVAL;
	wqe->rkey = (mw->rkey & ~(uint32_t)UINT8_MAX) | (uint8_t)tag;
	wqe->immediate = mr != NULL ? mr->lkey : 0;
	wqe->bind.length = length;
	wqe->bind.access = access;
	return 0;
}

/* UD. The device completes a WQE without an address handle in error. */
static inline void rnic_wqe_set_datagram(struct rnic_send_wqe *wqe, const struct rnic_ah *ah,
					 uint32_t remote_qpn, uint32_t remote_qkey)
{
	const struct rnic_handle none = {0};
	const struct rnic_handle handle = ah != NULL ? ah->handle : none;

	wqe->datagram.ah_slot = handle.slot;
	wqe->datagram.ah_generation = handle.generation;
	wqe->datagram.remote_qpn = remote_qpn;
	wqe->datagram.remote_qkey = remote_qkey;
}

/* XRC initiators, with any operation. */
static inline void rnic_wqe_set_srq(struct rnic_send_wqe *wqe, uint32_t srqn)
{
	wqe->srqn = srqn;
}

#endif

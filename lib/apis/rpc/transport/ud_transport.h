/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of conversations over one UD queue pair.
 *
 * Sending copies into a slot of registered memory; polling its completion frees the slot. Receiving
 * lends a slot until the next call. A datagram without a slot waits in its conversation.
 *
 * Queue pairs take receives in turn, so each posted slot is written sooner or later. To keep the
 * memory in use small, the transport posts a few slots first, and more once a turn needs most of
 * them.
 */
#ifndef LIB_APIS_RPC_TRANSPORT_UD_TRANSPORT_H
#define LIB_APIS_RPC_TRANSPORT_UD_TRANSPORT_H

#include "lib/apis/rpc/transport/transport.h"
#include "lib/apis/rpc/transport/transport_slots.h"

#define UD_DATAGRAM_BYTES 4096u /* of a slot; what a route carries may be less */

/* The most datagrams that are posted together. */
#define UD_BATCH 64u

struct ud_transport {
	struct transport base;
	struct transport_device *device;
	struct transport_slots slots;
	struct transport_completions completions;
	struct rnic_qp *qp;
	uint32_t qkey;
	uint32_t mtu_bytes; /* of the port */
	uint32_t posted;    /* slots that are, or were and will be again */
	uint32_t taken;	    /* datagrams since the completion queue was empty */
	uint32_t route_count;
	int64_t lent; /* the slot that the caller reads; -1: none */
	/* Sends that wait for the end of the turn. */
	struct rnic_send_wr batch[UD_BATCH];
	struct rnic_sge batch_sges[UD_BATCH];
	uint32_t batch_count;
};

/* Errors of the objects that it makes. On failure nothing is left. */
int ud_transport_open(struct ud_transport *transport, struct transport_device *device,
		      uint32_t receive_slots, uint32_t send_slots);

/* Closes the transport, after its routes. */
void ud_transport_close(struct ud_transport *transport);

/* Takes datagrams with this key, which the peers know; it may replace an earlier key. */
int ud_transport_use_qkey(struct ud_transport *transport, uint32_t qkey);

#endif

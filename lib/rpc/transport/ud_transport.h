/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of sessions over one UD queue pair.
 *
 * Sending copies into a slot of registered memory; polling its completion frees the slot. Receiving
 * lends a slot until the next call. A datagram without a slot waits in its session.
 */
#ifndef LIB_RPC_TRANSPORT_UD_TRANSPORT_H
#define LIB_RPC_TRANSPORT_UD_TRANSPORT_H

#include "rpc/transport/transport.h"
#include "rpc/transport/transport_slots.h"

#define UD_DATAGRAM_BYTES 1024u /* fits every path MTU of an interface of 1500 bytes */

struct ud_transport {
	struct transport base;
	struct transport_device *device;
	struct transport_slots slots;
	struct transport_completions completions;
	struct rnic_qp *qp;
	uint32_t qkey;
	int64_t lent; /* the slot that the caller reads; -1: none */
};

/* Errors of the objects that it makes. On failure nothing is left. */
int ud_transport_open(struct ud_transport *transport, struct transport_device *device,
		      uint32_t receive_slots, uint32_t send_slots);

/* Closes the transport, after its routes. */
void ud_transport_close(struct ud_transport *transport);

/* Takes datagrams with this key, which the peers know; it may replace an earlier key. */
int ud_transport_use_qkey(struct ud_transport *transport, uint32_t qkey);

#endif

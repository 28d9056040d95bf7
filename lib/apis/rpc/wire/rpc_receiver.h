/* SPDX-License-Identifier: MIT */
/*
 * The receiving half of an RPC conversation: puts fragments into order, drops duplicates, and joins
 * fragments into messages.
 *
 * A fragment comes whole, or in parts where large datagrams do not arrive. Fragments begin at
 * multiples of their size, parts at multiples of theirs within a fragment, so that the place of a
 * datagram in its message says which of the two it is.
 *
 * Memory is bounded and the caller's: a window of fragments and one message. A fragment that comes
 * in its turn goes straight to its message, unless the caller has a whole one. The receiver accepts
 * a fragment only within the granted credit, and grants more only as the caller takes messages. A
 * slow reader therefore stops the sender and not this host.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_RECEIVER_H
#define LIB_APIS_RPC_WIRE_RPC_RECEIVER_H

#include "lib/apis/rpc/wire/rpc_packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most parts of a fragment. */
#define RPC_PARTS_MAX 64u

struct rpc_slot {
	bool is_full;
	uint16_t bytes;
	uint64_t parts; /* bit i: part i has arrived; 0: none, or the fragment came whole */
	uint32_t message;
	uint32_t offset;
	uint32_t total;
};

struct rpc_receiver {
	struct rpc_slot *slots;	 /* by sequence */
	uint8_t *fragments;	 /* payload_bytes for each slot */
	uint8_t *assembly;	 /* max_message_bytes */
	uint32_t window_packets; /* a power of two */
	uint32_t largest_window;
	uint32_t payload_bytes;
	uint32_t largest_bytes; /* payload_bytes may have */
	uint32_t part_bytes;	/* 0: fragments come whole */
	uint32_t max_message_bytes;
	uint32_t taken;	     /* the next fragment to join into a message */
	uint32_t cumulative; /* the next that has not arrived */
	uint32_t end;	     /* all from here on have not arrived */
	uint32_t told;	     /* the `taken` that was last granted to the peer */
	uint32_t message;    /* the one in the making */
	uint32_t total;
	uint32_t joined_bytes;
	bool is_joining;
	bool is_whole; /* the assembly is: it waits for the caller */
	bool is_lent;  /* the caller reads it */
};

/* The bytes of memory for rpc_receiver_init(), aligned as malloc() does. */
size_t rpc_receiver_memory_bytes(uint32_t window_packets, uint32_t payload_bytes,
				 uint32_t max_message_bytes);

void rpc_receiver_init(struct rpc_receiver *receiver, uint32_t window_packets,
		       uint32_t payload_bytes, uint32_t max_message_bytes, void *memory);

/*
 * Takes fragments of `payload_bytes` bytes in a window of `window_packets`, a power of two, both at
 * most those of rpc_receiver_init(), and parts of
 * `part_bytes` bytes, at most RPC_PARTS_MAX to a fragment; 0: all fragments come whole. Call it
 * before the first fragment.
 */
void rpc_receiver_agree(struct rpc_receiver *receiver, uint32_t window_packets,
			uint32_t payload_bytes, uint32_t part_bytes);

/* Sets the peer's first sequence, once it is known. */
void rpc_receiver_start(struct rpc_receiver *receiver, uint32_t first_sequence);

/*
 * Accepts a fragment, or a part of one; drops duplicates and fragments beyond the credit. -EPROTO:
 * too long, or a part that is none.
 */
int rpc_receiver_accept(struct rpc_receiver *receiver, const struct rpc_packet *packet);

/*
 * Returns 1 and the next whole message, or 0 when there is none. Its bytes stay until the next
 * call. -EPROTO: the fragments are not of one message. -EMSGSIZE: the message is larger than this
 * side takes.
 */
int rpc_receiver_take(struct rpc_receiver *receiver, const uint8_t **bytes, uint32_t *length);

/* Writes the received sequences and the credit into a datagram. */
void rpc_receiver_report(struct rpc_receiver *receiver, struct rpc_packet *packet);

/* Whether so much credit came back that the peer should learn of it. */
bool rpc_receiver_has_news(const struct rpc_receiver *receiver);

#endif

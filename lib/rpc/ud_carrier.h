/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of RPC sessions over one UD queue pair, and the descriptor to sleep on: completions,
 * events of the connection manager, and a timer. Client and server each own one.
 *
 * Sending copies into a slot of registered memory, which is free again when its completion was
 * polled; receiving lends a slot until the next call. What finds no slot waits in its session.
 */
#ifndef LIB_RPC_UD_CARRIER_H
#define LIB_RPC_UD_CARRIER_H

#include "rpc/rpc_packet.h"

#include <rnic/rnic.h>
#include <rnic/rnic_cm.h>

#include <stdbool.h>
#include <stdint.h>

#define UD_DATAGRAM_BYTES 1024u /* fits every path MTU of an interface of 1500 bytes */
#define UD_SEND_SLOTS	  256u
#define UD_RECEIVE_SLOTS  1024u

struct ud_carrier {
	struct rnic_context *context;
	struct rnic_pd *pd;
	struct rnic_channel *channel;
	struct rnic_cq *cq;
	struct rnic_qp *qp;
	struct rnic_mr *mr;
	struct rnic_cm_channel *cm;
	uint8_t *memory;
	int epoll_fd;
	int timer_fd;
	uint32_t qkey;
	uint16_t free_slots[UD_SEND_SLOTS];
	uint32_t free_count;
	struct rnic_completion completions[32];
	uint32_t completion_count;
	uint32_t completion_next;
	struct rnic_gid local_gid; /* that datagrams came to, and its index */
	uint8_t local_gid_index;
	bool knows_local_gid;
	int64_t lent; /* the slot that the caller reads; -1: none */
};

struct ud_datagram {
	const uint8_t *bytes;
	uint32_t length;
	struct rnic_path source; /* to answer to */
	uint32_t source_qpn;
};

/* Errors of rnic_open() and of the objects. On failure nothing is left. */
int ud_carrier_open(struct ud_carrier *carrier, const char *socket_path);
void ud_carrier_close(struct ud_carrier *carrier);

/* Takes datagrams with this key, of the peers that know it; also when it had another one. */
int ud_carrier_use_qkey(struct ud_carrier *carrier, uint32_t qkey);

/* Where the next datagram is to be written, UD_DATAGRAM_BYTES; NULL: all slots are under way. */
uint8_t *ud_carrier_room(struct ud_carrier *carrier);

/* Sends the first `bytes` bytes of that room. */
int ud_carrier_send(struct ud_carrier *carrier, struct rnic_ah *ah, uint32_t qpn, uint32_t bytes);

/* 1 and a datagram, valid until the next call; 0: none. */
int ud_carrier_receive(struct ud_carrier *carrier, struct ud_datagram *datagram);

/* Waits until there is something to do, `timeout_ms` at most, and clears what woke it. */
int ud_carrier_wait(struct ud_carrier *carrier, int timeout_ms);

/* Asks to be woken by completions. Receive again after it, then wait. */
int ud_carrier_arm(struct ud_carrier *carrier);

/* Makes the descriptor readable at `deadline_ns`; RPC_NEVER: not by time. */
void ud_carrier_set_timer(struct ud_carrier *carrier, uint64_t deadline_ns);

/* The monotonic clock. */
uint64_t ud_carrier_now_ns(void);

/* Fills `bytes` bytes with what nobody can guess. */
void ud_carrier_random(void *bytes, size_t count);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A conversation: messages both ways between a client and a server over datagrams that may be lost,
 * doubled, reordered or forged. Each message arrives once and in order, or the conversation ends.
 *
 * A machine without I/O, clock, or allocation. The owner gives it datagrams and the time, and
 * fetches its datagrams. After each call the owner transmits until rpc_conversation_transmit()
 * returns 0, then sleeps until rpc_conversation_next_deadline_ns(). Memory is the caller's, its
 * size fixed at the beginning. The owner of the transport checks that datagrams come from the
 * peer's address.
 *
 * A conversation ends when either side closes it, when the peer says that it knows no such
 * conversation, when the peer is silent for `dead_ns` although asked each `keepalive_ns`, or when
 * the oldest fragment does not arrive for `dead_ns`: every wait ends.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_CONVERSATION_H
#define LIB_APIS_RPC_WIRE_RPC_CONVERSATION_H

#include "lib/apis/rpc/wire/rpc_packet.h"
#include "lib/apis/rpc/wire/rpc_receiver.h"
#include "lib/apis/rpc/wire/rpc_sender.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A message holds a call's body up to this size; with frame and service's name that fits the
 * default message limit of a conversation.
 */
#define RPC_BODY_INLINE_BYTES (128u << 10)

/* `code` of a CLOSE. */
enum rpc_close {
	RPC_CLOSE_DONE = 1,
	RPC_CLOSE_NO_CONVERSATION, /* from a peer that does not know the conversation */
	RPC_CLOSE_PROTOCOL,
	RPC_CLOSE_TOO_LARGE, /* a message larger than the receiver takes */
	RPC_CLOSE_REFUSED,   /* the server takes no more conversations */
};

enum rpc_conversation_state {
	RPC_CONVERSATION_OPENING,
	RPC_CONVERSATION_OPEN,
	RPC_CONVERSATION_CLOSED,
	RPC_CONVERSATION_STATES,
};

struct rpc_conversation_config {
	uint32_t datagram_bytes; /* RPC_HEADER_BYTES + 64 to RPC_DATAGRAM_MAX_BYTES; the same on
				    both sides */
	uint32_t offer_bytes;	 /* of the largest datagrams that this side takes and its path may
				    carry, datagram_bytes to RPC_DATAGRAM_MAX_BYTES; 0: no offer */
	uint32_t window_packets; /* a power of two, 4 to RPC_WINDOW_PACKETS */
	uint32_t max_message_bytes; /* received; 1 to RPC_MESSAGE_LIMIT_BYTES */
	uint64_t rto_initial_ns;
	uint64_t rto_min_ns;
	uint64_t rto_max_ns;
	uint64_t keepalive_ns;
	uint64_t dead_ns;
};

/*
 * For networks of a data centre: 1 KiB datagrams, 4 KiB where both sides agree, 20 ms, dead after
 * 5 s.
 */
extern const struct rpc_conversation_config rpc_conversation_defaults;

/* The identity of this side; both numbers are random, so that a stranger cannot guess them. */
struct rpc_conversation_self {
	uint32_t connection; /* not 0; unique among this side's conversations */
	uint32_t first_sequence;
	uint8_t identity[RPC_IDENTITY_BYTES]; /* of the client, or of the server's incarnation */
};

struct rpc_conversation {
	struct rpc_conversation_config config;
	struct rpc_conversation_self self;
	enum rpc_conversation_state state;
	int error; /* the reason for CLOSED: -ECONNRESET, -ETIMEDOUT, -EPROTO, -EMSGSIZE,
		      -ECONNREFUSED, -EHOSTUNREACH, -ESHUTDOWN when a side closed it */
	uint32_t datagram_bytes; /* the largest, once the conversation is open */
	bool is_urgent; /* the peer should look at the datagram that was written last, soon */
	bool is_client;
	uint32_t peer; /* 0: not known yet */
	uint8_t peer_identity[RPC_IDENTITY_BYTES];
	bool owes_ack;
	uint64_t ack_waits_until_ns; /* until then no ACK leaves by itself; 0: one does */
	bool owes_ping;
	bool owes_opening;   /* OPEN of a client, OPENED of a server */
	uint16_t owes_close; /* enum rpc_close, 0: no */
	uint64_t open_timer_ns;
	uint64_t open_interval_ns;
	uint64_t heard_ns;
	uint64_t asked_ns; /* time of the last PING */
	/* The first datagram that wants an answer and has none; RPC_NEVER: there is none. */
	uint64_t unanswered_ns;
	bool is_closed_by_peer;
	struct rpc_sender sender;
	struct rpc_receiver receiver;
	uint64_t received;
	uint64_t refused; /* datagrams that did not fit the conversation's state */
};

/* -EINVAL: a value outside the range in its comment. */
int rpc_conversation_check_config(const struct rpc_conversation_config *config);

/*
 * The bytes of memory for a conversation with this (checked) configuration, aligned as malloc()
 * does. A conversation with a smaller offer can use the memory too.
 */
size_t rpc_conversation_memory_bytes(const struct rpc_conversation_config *config);

/* Begins a conversation of a client. */
void rpc_conversation_open(struct rpc_conversation *conversation,
			   const struct rpc_conversation_config *config,
			   const struct rpc_conversation_self *self, void *memory, uint64_t now_ns);

/*
 * Lowers the offer of a server's configuration to what the client of this OPEN takes, if that is
 * less: the conversation needs less memory then. A client that makes no offer gets none.
 */
void rpc_conversation_lower_offer(struct rpc_conversation_config *config,
				  const struct rpc_packet *open);

/* Begins a server's end, from the client's OPEN. */
void rpc_conversation_accept(struct rpc_conversation *conversation,
			     const struct rpc_conversation_config *config,
			     const struct rpc_conversation_self *self,
			     const struct rpc_packet *open, void *memory, uint64_t now_ns);

/* Takes a packet whose `to` is this conversation's, or an OPEN of its peer. */
void rpc_conversation_receive(struct rpc_conversation *conversation,
			      const struct rpc_packet *packet, uint64_t now_ns);

/*
 * Until `until_ns` an acknowledgement waits for DATA that takes it along; 0: it waits no longer.
 * The owner expects to send DATA very soon. This saves a datagram, and a turn of the peer.
 */
void rpc_conversation_hold_ack(struct rpc_conversation *conversation, uint64_t until_ns);

/* Writes the next datagram into datagram_bytes bytes; returns its length, or 0: none now. */
uint32_t rpc_conversation_transmit(struct rpc_conversation *conversation, void *datagram,
				   uint64_t now_ns);

/* The latest time for the next rpc_conversation_tick(); RPC_NEVER for a closed conversation. */
uint64_t rpc_conversation_next_deadline_ns(const struct rpc_conversation *conversation);
void rpc_conversation_tick(struct rpc_conversation *conversation, uint64_t now_ns);

/*
 * Sends a message, also before the conversation is open. The message and its bytes are the
 * conversation's until rpc_conversation_take_released() returns them. -ECONNRESET: the conversation
 * is closed and took nothing. -EMSGSIZE: empty, or beyond RPC_MESSAGE_LIMIT_BYTES.
 */
int rpc_conversation_send(struct rpc_conversation *conversation, struct rpc_outgoing *message);

/* Gives back a message that has arrived, or in a closed conversation any; NULL: none. */
struct rpc_outgoing *rpc_conversation_take_released(struct rpc_conversation *conversation);

/* The most bytes of a chunk that one message of the peer may hold; older peers refuse more. */
static inline uint32_t rpc_conversation_chunk_bytes(const struct rpc_conversation *conversation)
{
	return conversation->sender.limits.asks ? RPC_BODY_INLINE_BYTES : RPC_BODY_INLINE_BYTES / 2;
}

/* Whether the peer has all messages, and the caller has taken all back. */
static inline bool rpc_conversation_is_drained(const struct rpc_conversation *conversation)
{
	return conversation->sender.oldest == NULL;
}

/* Returns true and the next message, whose bytes stay until the next call. */
bool rpc_conversation_take(struct rpc_conversation *conversation, const uint8_t **bytes,
			   uint32_t *length);

/*
 * Closes the conversation and tells the peer once. Messages without an acknowledgement may or may
 * not have arrived.
 */
void rpc_conversation_close(struct rpc_conversation *conversation);

/* Ends the conversation without a transport: the peer cannot be told. */
void rpc_conversation_lose(struct rpc_conversation *conversation);

/* Why the conversation has ended, a part of a sentence. A close by either side is no error. */
const char *rpc_conversation_end_text(const struct rpc_conversation *conversation);

/*
 * Makes the answer to a datagram for an unknown conversation; returns its length, or 0: none is
 * due.
 */
uint32_t rpc_conversation_refuse(const struct rpc_packet *packet, enum rpc_close code,
				 void *datagram, size_t room);

#endif

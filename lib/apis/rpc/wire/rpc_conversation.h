/* SPDX-License-Identifier: MIT */
/*
 * A session: messages both ways between a client and a server over datagrams that may be lost,
 * doubled, reordered or forged. Each message arrives once and in order, or the session ends.
 *
 * A machine without I/O, clock, or allocation. The owner gives it datagrams and the time, and
 * fetches its datagrams. After each call the owner transmits until rpc_session_transmit() returns
 * 0, then sleeps until rpc_session_next_deadline_ns(). Memory is the caller's, its size fixed at
 * the beginning. The owner of the transport checks that datagrams come from the peer's address.
 *
 * A session ends when either side closes it, when the peer says that it knows no such session, when
 * the peer is silent for `dead_ns` although asked each `keepalive_ns`, or when the oldest fragment
 * does not arrive for `dead_ns`: every wait ends.
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
 * default message limit of a session.
 */
#define RPC_BODY_INLINE_BYTES (128u << 10)

/* `code` of a CLOSE. */
enum rpc_close {
	RPC_CLOSE_DONE = 1,
	RPC_CLOSE_NO_SESSION, /* from a peer that does not know the session */
	RPC_CLOSE_PROTOCOL,
	RPC_CLOSE_TOO_LARGE, /* a message larger than the receiver takes */
	RPC_CLOSE_REFUSED,   /* the server takes no more sessions */
};

enum rpc_session_state {
	RPC_SESSION_OPENING,
	RPC_SESSION_OPEN,
	RPC_SESSION_CLOSED,
	RPC_SESSION_STATES,
};

struct rpc_session_config {
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
extern const struct rpc_session_config rpc_session_defaults;

/* The identity of this side; both numbers are random, so that a stranger cannot guess them. */
struct rpc_session_self {
	uint32_t connection; /* not 0; unique among this side's sessions */
	uint32_t first_sequence;
	uint8_t identity[RPC_IDENTITY_BYTES]; /* of the client, or of the server's incarnation */
};

struct rpc_session {
	struct rpc_session_config config;
	struct rpc_session_self self;
	enum rpc_session_state state;
	int error; /* the reason for CLOSED: -ECONNRESET, -ETIMEDOUT, -EPROTO, -EMSGSIZE,
		      -ECONNREFUSED, -EHOSTUNREACH, -ESHUTDOWN when a side closed it */
	uint32_t datagram_bytes; /* the largest, once the session is open */
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
	uint64_t refused; /* datagrams that did not fit the session's state */
};

/* -EINVAL: a value outside the range in its comment. */
int rpc_session_check_config(const struct rpc_session_config *config);

/*
 * The bytes of memory for a session with this (checked) configuration, aligned as malloc() does. A
 * session with a smaller offer can use the memory too.
 */
size_t rpc_session_memory_bytes(const struct rpc_session_config *config);

/* Begins a session of a client. */
void rpc_session_open(struct rpc_session *session, const struct rpc_session_config *config,
		      const struct rpc_session_self *self, void *memory, uint64_t now_ns);

/*
 * Lowers the offer of a server's configuration to what the client of this OPEN takes, if that is
 * less: the session needs less memory then. A client that makes no offer gets none.
 */
void rpc_session_lower_offer(struct rpc_session_config *config, const struct rpc_packet *open);

/* Begins a server's end, from the client's OPEN. */
void rpc_session_accept(struct rpc_session *session, const struct rpc_session_config *config,
			const struct rpc_session_self *self, const struct rpc_packet *open,
			void *memory, uint64_t now_ns);

/* Takes a packet whose `to` is this session's, or an OPEN of its peer. */
void rpc_session_receive(struct rpc_session *session, const struct rpc_packet *packet,
			 uint64_t now_ns);

/*
 * Until `until_ns` an acknowledgement waits for DATA that takes it along; 0: it waits no longer.
 * The owner expects to send DATA very soon. This saves a datagram, and a turn of the peer.
 */
void rpc_session_hold_ack(struct rpc_session *session, uint64_t until_ns);

/* Writes the next datagram into datagram_bytes bytes; returns its length, or 0: none now. */
uint32_t rpc_session_transmit(struct rpc_session *session, void *datagram, uint64_t now_ns);

/* The latest time for the next rpc_session_tick(); RPC_NEVER for a closed session. */
uint64_t rpc_session_next_deadline_ns(const struct rpc_session *session);
void rpc_session_tick(struct rpc_session *session, uint64_t now_ns);

/*
 * Sends a message, also before the session is open. The message and its bytes are the session's
 * until rpc_session_take_released() returns them. -ECONNRESET: the session is closed and took
 * nothing. -EMSGSIZE: empty, or beyond RPC_MESSAGE_LIMIT_BYTES.
 */
int rpc_session_send(struct rpc_session *session, struct rpc_outgoing *message);

/* Gives back a message that has arrived, or in a closed session any; NULL: none. */
struct rpc_outgoing *rpc_session_take_released(struct rpc_session *session);

/* The most bytes of a chunk that one message of the peer may hold; older peers refuse more. */
static inline uint32_t rpc_session_chunk_bytes(const struct rpc_session *session)
{
	return session->sender.limits.asks ? RPC_BODY_INLINE_BYTES : RPC_BODY_INLINE_BYTES / 2;
}

/* Whether the peer has all messages, and the caller has taken all back. */
static inline bool rpc_session_is_drained(const struct rpc_session *session)
{
	return session->sender.oldest == NULL;
}

/* Returns true and the next message, whose bytes stay until the next call. */
bool rpc_session_take(struct rpc_session *session, const uint8_t **bytes, uint32_t *length);

/*
 * Closes the session and tells the peer once. Messages without an acknowledgement may or may not
 * have arrived.
 */
void rpc_session_close(struct rpc_session *session);

/* Ends the session without a transport: the peer cannot be told. */
void rpc_session_lose(struct rpc_session *session);

/* Why the session has ended, a part of a sentence. A close by either side is no error. */
const char *rpc_session_end_text(const struct rpc_session *session);

/* Makes the answer to a datagram for an unknown session; returns its length, or 0: none is due. */
uint32_t rpc_session_refuse(const struct rpc_packet *packet, enum rpc_close code, void *datagram,
			    size_t room);

#endif

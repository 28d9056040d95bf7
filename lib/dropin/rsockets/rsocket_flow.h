/* SPDX-License-Identifier: MIT */
/*
 * The flow of bytes through one end of a stream, as a machine without I/O: where in the peer's
 * memory the next bytes go, how many messages the peer can take, which of our memory the peer may
 * write to, and when to tell it so. The owner copies bytes, posts work requests and reports
 * completions.
 *
 * Both directions have a ring. Bytes to send lie in the sending ring from rnic_rsocket_flow_write()
 * until their request completes. The receiving ring is two halves: this side publishes each half as
 * a whole, the peer fills it, this side reads it and publishes it again.
 *
 * Invariants: the peer never has more than the ring to write to, and this side refuses a message
 * that claims more bytes than the peer was given. The receiver counts (modulo 2^16) and limits
 * messages of data and mappings; the others have receives in reserve and rely on the RNR retry.
 */
#ifndef LIB_DROPIN_RSOCKETS_RSOCKET_FLOW_H
#define LIB_DROPIN_RSOCKETS_RSOCKET_FLOW_H

#include "lib/dropin/rsockets/rsocket_wire.h"

/* Entries of our list of the peer's buffers. */
#define RNIC_RSOCKET_LIST_ENTRIES 2u

/* Work requests for messages that carry no data, beside those for data. */
#define RNIC_RSOCKET_CONTROL_REQUESTS 4u

/* Room below which this side sends nothing, so that a full ring does not lead to a trickle. */
#define RNIC_RSOCKET_LOW_WATER_BYTES 2048u

struct rnic_rsocket_flow_limits {
	uint32_t send_bytes;	   /* of the sending ring */
	uint32_t send_requests;	   /* work requests for data */
	uint32_t receive_bytes;	   /* of the receiving ring, even */
	uint32_t receive_requests; /* receives that are kept posted, at most 65534 */
	uint64_t receive_address;  /* of the receiving ring */
	uint32_t receive_key;
};

struct rnic_rsocket_flow {
	struct rnic_rsocket_flow_limits limits;
	bool is_swapped; /* the peer's memory is of the other byte order */

	/* Sending. */
	struct rnic_rsocket_target buffers[RNIC_RSOCKET_LIST_ENTRIES]; /* the peer's, in turn */
	uint32_t buffer_count;
	uint32_t next_entry; /* of our list, which the peer writes next */
	uint32_t send_at;    /* in the ring */
	uint32_t send_free;
	uint32_t requests_free;
	uint32_t controls_free;
	uint16_t sent;
	uint16_t send_limit; /* of `sent`: at this count nothing may be sent */

	/* Receiving. */
	struct rnic_rsocket_target peer_list;
	uint32_t peer_entry; /* of the peer's list, which we write next */
	uint32_t publish_at; /* in the ring: the half that is published next */
	uint32_t read_at;
	uint32_t readable;
	uint32_t open;	/* bytes that the peer may still write */
	uint32_t freed; /* bytes that were read and not published again */
	uint16_t received;
	uint16_t granted_at; /* what `received` was when the peer was last told */
};

/* A RDMA WRITE of bytes of the sending ring: two pieces when it goes round its end. */
struct rnic_rsocket_write {
	uint64_t address;
	uint32_t key;
	uint32_t message;
	uint32_t at[2];
	uint32_t bytes[2];
};

/* A message to the peer, and with `has_target` an entry of its list. */
struct rnic_rsocket_update {
	uint32_t message;
	bool has_target;
	uint64_t address;
	uint32_t key;
	struct rnic_rsocket_target target;
};

/* The kind of a completed request. */
enum rnic_rsocket_request {
	RNIC_RSOCKET_REQUEST_DATA, /* bytes of the ring, also those that go into a mapping */
	RNIC_RSOCKET_REQUEST_MAPPING,
	RNIC_RSOCKET_REQUEST_CONTROL,
};

void rnic_rsocket_flow_init(struct rnic_rsocket_flow *flow,
			    const struct rnic_rsocket_flow_limits *limits);

/* The facts for the peer about this end; the caller adds its list and its map. */
void rnic_rsocket_flow_greet(const struct rnic_rsocket_flow *flow,
			     struct rnic_rsocket_greeting *greeting);

/* Begins with the facts that the peer told. */
void rnic_rsocket_flow_begin(struct rnic_rsocket_flow *flow,
			     const struct rnic_rsocket_greeting *peer);

/* ---- sending ---- */

/* Bytes that the next write may carry; 0: not now. The number only grows until the next write. */
uint32_t rnic_rsocket_flow_room(const struct rnic_rsocket_flow *flow);

/* The same for bytes that go into a mapping, and whether an entry of the map can be written. */
uint32_t rnic_rsocket_flow_direct_room(const struct rnic_rsocket_flow *flow);
bool rnic_rsocket_flow_has_mapping_room(const struct rnic_rsocket_flow *flow);

/* Where in the ring the next `bytes` go, at most the room. */
void rnic_rsocket_flow_pieces(const struct rnic_rsocket_flow *flow, uint32_t bytes, uint32_t at[2],
			      uint32_t piece_bytes[2]);

/* Takes `bytes` of the room, at least 1. A direct write has no address but the caller's. */
void rnic_rsocket_flow_write(struct rnic_rsocket_flow *flow, uint32_t bytes,
			     struct rnic_rsocket_write *write);
void rnic_rsocket_flow_write_direct(struct rnic_rsocket_flow *flow, uint32_t bytes,
				    struct rnic_rsocket_write *write);
void rnic_rsocket_flow_write_mapping(struct rnic_rsocket_flow *flow);

/* Takes a request for a message without data. False: all are under way. */
bool rnic_rsocket_flow_take_control(struct rnic_rsocket_flow *flow);

/* A request is complete; `bytes` of the ring are free again. */
void rnic_rsocket_flow_sent(struct rnic_rsocket_flow *flow, enum rnic_rsocket_request request,
			    uint32_t bytes);

/* Whether no request is under way. */
bool rnic_rsocket_flow_is_idle(const struct rnic_rsocket_flow *flow);

/* ---- receiving ---- */

/* Takes a message. -EPROTO: no such message, or more data than there was room for. */
int rnic_rsocket_flow_receive(struct rnic_rsocket_flow *flow, uint32_t message);

/*
 * After a CREDIT message: takes entry `next_entry` of our list as the caller read it. True: the
 * entry was new. The caller then sets its length in memory to 0 and looks at the next.
 */
bool rnic_rsocket_flow_take_buffer(struct rnic_rsocket_flow *flow,
				   const struct rnic_rsocket_target *entry);

/* The application has read `bytes` of the readable bytes, from `read_at` on. */
void rnic_rsocket_flow_consume(struct rnic_rsocket_flow *flow, uint32_t bytes);

/* Takes the next update that is due, and the request for it. */
bool rnic_rsocket_flow_take_update(struct rnic_rsocket_flow *flow,
				   struct rnic_rsocket_update *update);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The packet of an RPC conversation: a fixed header of 48 bytes, big-endian, and a payload. Every
 * packet of any kind acknowledges. A datagram holds one packet, or several of DATA (below).
 *
 *	0  magic 0x5250       2  version        3  kind
 *	4  to (connection)    8  from (connection)
 *	12 sequence           16 cumulative     20 selective (64 bits)
 *	28 credit             32 message        36 offset       40 total
 *	44 payload bytes      46 code
 *
 * Datagrams have at most 1,024 bytes (rpc_conversation_defaults), unless both sides agree on a
 * size. OPEN, which grants nothing, has in `credit` the bytes of the largest datagram that the
 * client offers, and OPENED has in `total` the size on which the server agrees, from 1,024 to the
 * offer; 0 in either: no offer, no agreement. A version that knows of no sizes sends 0 and looks at
 * no offer. In a conversation of an agreed size
 * - the credit may be 256 fragments ahead, of which `selective` can report 64;
 * - all fragments of a message but the last fill a datagram;
 * - a fragment may come in parts, where large datagrams do not arrive: DATA with the sequence of
 *   the fragment, the offset of the part, and as much payload as a datagram of 1,024 bytes has.
 *   The fragment has arrived when all its parts have;
 * - DATA may have more DATA behind it in its datagram, which then has at most 1,024 bytes;
 * - DATA whose code is RPC_DATA_ASKS asks for an acknowledgement at once. Other DATA needs one
 *   only when something is missing, and no attention before. Elsewhere, all DATA asks.
 *
 * The decoder trusts nothing: its result is consistent in itself, and `payload` lies within the
 * given bytes. The ICRC detects damage on the network, not this header.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_PACKET_H
#define LIB_APIS_RPC_WIRE_RPC_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPC_PACKET_VERSION	1
#define RPC_HEADER_BYTES	48u
#define RPC_DATAGRAM_MAX_BYTES	4096u
#define RPC_IDENTITY_BYTES	16u
#define RPC_MESSAGE_LIMIT_BYTES (1u << 30)

enum rpc_packet_kind {
	RPC_PACKET_OPEN = 1, /* `sequence` is the first; payload: the client's identity */
	RPC_PACKET_OPENED,   /* likewise from the server; the payload is its incarnation */
	RPC_PACKET_DATA,     /* a fragment */
	RPC_PACKET_ACK,
	RPC_PACKET_PING,  /* asks for an ACK */
	RPC_PACKET_CLOSE, /* `code` has the reason; ends the conversation at once */
	RPC_PACKET_KINDS,
};

/* `code` of DATA. */
#define RPC_DATA_ASKS 1u

struct rpc_packet {
	enum rpc_packet_kind kind;
	uint32_t to;   /* the receiver's connection identifier; 0 in OPEN, where it is unknown */
	uint32_t from; /* the sender's; 0 only in a CLOSE for an unknown conversation */
	uint32_t sequence;
	uint32_t cumulative; /* all before it have arrived */
	uint64_t selective;  /* bit i: cumulative + 1 + i has arrived */
	uint32_t credit;     /* the first sequence that must not be sent yet; of OPEN: the offer */
	uint32_t message;
	uint32_t offset; /* of the fragment in its message */
	uint32_t total;	 /* bytes of the message; of OPENED: of an agreed datagram */
	uint16_t payload_bytes;
	uint16_t code;
	const uint8_t *payload; /* the caller's bytes */
};

/* Whether sequence `a` is before `b`, over the wrap. */
static inline int rpc_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/*
 * Reads the first packet in `bytes` bytes. Returns its bytes: another packet may lie behind DATA.
 * -EBADMSG: not a packet of ours. -EPROTONOSUPPORT: another version. Either way the caller drops
 * what it has not read.
 */
int rpc_packet_decode(struct rpc_packet *packet, const void *datagram, size_t bytes);

/*
 * Reads the packet at `*at` of a datagram of `bytes` bytes, and moves `*at` behind the packet.
 * Returns false at the end, and where no packet of ours is: the rest of the datagram is dropped.
 */
bool rpc_packet_next(struct rpc_packet *packet, const void *datagram, size_t bytes, size_t *at);

/*
 * Writes header and payload; `payload` may lie at datagram + RPC_HEADER_BYTES already. Returns the
 * bytes of the datagram, or -EMSGSIZE when they are more than `room`.
 */
int rpc_packet_encode(const struct rpc_packet *packet, void *datagram, size_t room);

#endif

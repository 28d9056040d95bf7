/* SPDX-License-Identifier: MIT */
/*
 * The bytes that two ends of an rsocket exchange, as rdma-core's docs/rsocket describes them: the
 * private data of a connection, the immediate values of its RDMA WRITEs, the entries that these put
 * into the peer's memory, and the headers of datagrams. Functions here neither keep nor do
 * anything; they validate all that they decode.
 *
 * The private data and the headers are big-endian. Entries in memory are in the byte order of the
 * host whose memory it is.
 */
#ifndef LIB_DROPIN_RSOCKETS_RSOCKET_WIRE_H
#define LIB_DROPIN_RSOCKETS_RSOCKET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of the peer to write to. */
struct rnic_rsocket_target {
	uint64_t address;
	uint32_t key;
	uint32_t length; /* bytes; of a list of targets, entries */
};

/* ---- connections ---- */

#define RNIC_RSOCKET_GREETING_BYTES 40u

/* The facts that each side tells the other in the private data of REQ and REP. */
struct rnic_rsocket_greeting {
	bool is_big_endian;
	uint16_t credits;	/* receives that are posted */
	uint32_t iomap_entries; /* for mappings of the peer's; they follow the list below */
	struct rnic_rsocket_target list;   /* where the peer says which buffers may be written */
	struct rnic_rsocket_target buffer; /* the first of them */
};

void rnic_rsocket_greeting_encode(const struct rnic_rsocket_greeting *greeting,
				  uint8_t bytes[static RNIC_RSOCKET_GREETING_BYTES]);

/* -EPROTO: too short, or a list without entries. -ENOTSUP: another version of the protocol. */
int rnic_rsocket_greeting_decode(const void *data, size_t length,
				 struct rnic_rsocket_greeting *greeting);

/* The number of entries of a map for a wish of `wanted`: eight bits carry the number. */
uint32_t rnic_rsocket_iomap_entries(uint32_t wanted);

/* ---- messages: the immediate value of a WRITE ---- */

enum rnic_rsocket_message_kind {
	RNIC_RSOCKET_DATA = 0,	 /* so many bytes are in the buffer */
	RNIC_RSOCKET_CREDIT = 4, /* messages may be sent up to this count; the list may be new */
	RNIC_RSOCKET_IOMAP = 6,	 /* this entry of the map is new */
	RNIC_RSOCKET_CONTROL = 7,
};

enum rnic_rsocket_control {
	RNIC_RSOCKET_DISCONNECT = 0, /* neither sends nor receives any more */
	RNIC_RSOCKET_KEEPALIVE = 1,
	RNIC_RSOCKET_SHUTDOWN = 2, /* sends no more */
};

#define RNIC_RSOCKET_MESSAGE_VALUE_MAX ((1u << 29) - 1)

static inline uint32_t rnic_rsocket_message(enum rnic_rsocket_message_kind kind, uint32_t value)
{
	return (uint32_t)kind << 29 | (value & RNIC_RSOCKET_MESSAGE_VALUE_MAX);
}

static inline enum rnic_rsocket_message_kind rnic_rsocket_message_kind(uint32_t message)
{
	return (enum rnic_rsocket_message_kind)(message >> 29);
}

static inline uint32_t rnic_rsocket_message_value(uint32_t message)
{
	return message & RNIC_RSOCKET_MESSAGE_VALUE_MAX;
}

/* ---- entries in memory ---- */

#define RNIC_RSOCKET_TARGET_BYTES  16u
#define RNIC_RSOCKET_MAPPING_BYTES 24u

struct rnic_rsocket_mapping {
	uint64_t offset; /* what the peer calls the first byte */
	struct rnic_rsocket_target target;
};

/* For memory of a host of the other byte order when `is_swapped`. */
void rnic_rsocket_target_encode(const struct rnic_rsocket_target *target, bool is_swapped,
				uint8_t bytes[static RNIC_RSOCKET_TARGET_BYTES]);
void rnic_rsocket_mapping_encode(const struct rnic_rsocket_mapping *mapping, bool is_swapped,
				 uint8_t bytes[static RNIC_RSOCKET_MAPPING_BYTES]);

/*
 * Reads from this host's memory, where the peer may be writing: first the length, which a writer
 * that goes upwards writes last. An entry of length 0 is one that nobody has written.
 */
struct rnic_rsocket_target rnic_rsocket_target_read(const volatile void *entry);
struct rnic_rsocket_mapping rnic_rsocket_mapping_read(const volatile void *entry);

/* ---- datagrams ---- */

#define RNIC_RSOCKET_ENVELOPE_MAX_BYTES 28u /* of one over UDP */
#define RNIC_RSOCKET_LABEL_MAX_BYTES	24u /* of one over a queue pair */

enum rnic_rsocket_envelope_kind {
	RNIC_RSOCKET_ENVELOPE_DATA = 0,	 /* the payload follows */
	RNIC_RSOCKET_ENVELOPE_REPLY = 7, /* only tells the number of the queue pair */
};

/* An IP address as both headers have it. */
struct rnic_rsocket_address {
	uint8_t version; /* 4 or 6 */
	uint8_t bytes[16];
};

/* In front of a datagram over UDP. */
struct rnic_rsocket_envelope {
	enum rnic_rsocket_envelope_kind kind;
	uint32_t qpn;			     /* of the sender */
	struct rnic_rsocket_address address; /* of the sender */
};

/* In front of a datagram over a queue pair. */
struct rnic_rsocket_label {
	uint16_t port; /* of the sender, in host order */
	struct rnic_rsocket_address address;
};

/* Both return the header's bytes. */
size_t rnic_rsocket_envelope_encode(const struct rnic_rsocket_envelope *envelope,
				    uint8_t bytes[static RNIC_RSOCKET_ENVELOPE_MAX_BYTES]);
size_t rnic_rsocket_label_encode(const struct rnic_rsocket_label *label,
				 uint8_t bytes[static RNIC_RSOCKET_LABEL_MAX_BYTES]);

/* Both return the header's bytes, or -EPROTO for bytes that are no such header. */
int rnic_rsocket_envelope_decode(const uint8_t *data, size_t length,
				 struct rnic_rsocket_envelope *envelope);
int rnic_rsocket_label_decode(const uint8_t *data, size_t length, struct rnic_rsocket_label *label);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The messages that two rnic-labs exchange over TCP before they connect over RDMA. Each type has a
 * fixed size, in network byte order, behind a header of magic, version, type and size.
 *
 *   client                                   server
 *   HELLO (its mode, its queue pair)      ->
 *                                         <- CHALLENGE            lambda only
 *   PROOF                                 ->                      lambda only
 *                                         <- ANSWER (its queue pair and region), or REFUSAL
 *   READY                                 ->
 *
 * Decoded values are within the bounds stated here; nobody may trust a peer beyond that. Pure: no
 * I/O, no allocation.
 */
#ifndef TOOLS_LAB_EXCHANGE_EXCHANGE_MESSAGE_H
#define TOOLS_LAB_EXCHANGE_EXCHANGE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum {
	LAB_EXCHANGE_VERSION = 1,
	LAB_MESSAGE_BYTES_MAX = 256,
	LAB_REASON_BYTES = 200, /* with the zero at its end */
	LAB_NONCE_BYTES = 32,
	LAB_PROOF_BYTES = 32,
	LAB_PLACE_BYTES = 64, /* name of a Unix socket, with the zero at its end */
};

/* The largest region: 1 GiB. */
#define LAB_REGION_BYTES_MAX (UINT32_C(1) << 30)

enum lab_message_type {
	LAB_HELLO = 1,
	LAB_ANSWER,
	LAB_READY,
	LAB_REFUSAL,
	LAB_CHALLENGE,
	LAB_PROOF,
};

/* TRACE has no peer, and is in no message. */
enum lab_mode_id { LAB_SEND = 1, LAB_WRITE, LAB_READ, LAB_LAMBDA, LAB_TRACE };

/* The ways for a client to prove that the server may run its code. */
enum lab_proof_method { LAB_BY_SECRET = 1 << 0, LAB_BY_LOCAL_USER = 1 << 1 };

/* One end of the connection: HELLO and ANSWER. */
struct lab_endpoint {
	uint8_t mode;		 /* enum lab_mode_id */
	uint8_t mtu;		 /* enum ibv_mtu: 1 (256) to 5 (4096) */
	uint16_t lid;		 /* 0 on Ethernet */
	uint32_t qpn;		 /* 2 to 2^24 - 1 */
	uint32_t psn;		 /* below 2^24 */
	uint32_t region_key;	 /* of the region that the other end may use; ... */
	uint64_t region_address; /* ... its addresses do not wrap */
	uint32_t region_bytes;	 /* at most LAB_REGION_BYTES_MAX, 0 for none */
	uint8_t gid[16];	 /* no multicast; zero only with a lid */
	uint8_t nonce[LAB_NONCE_BYTES];
};

struct lab_challenge {
	uint8_t methods;	     /* of enum lab_proof_method, at least one */
	char place[LAB_PLACE_BYTES]; /* the place for a local user's proof; printable, "" without */
	uint8_t nonce[LAB_NONCE_BYTES];
};

struct lab_proof {
	uint8_t method; /* one of enum lab_proof_method */
	uint8_t code[LAB_PROOF_BYTES];
};

struct lab_message {
	enum lab_message_type type;
	union {
		struct lab_endpoint endpoint;
		struct lab_challenge challenge;
		struct lab_proof proof;
		char reason[LAB_REASON_BYTES]; /* printable */
	};
};

/* Writes a message that is within bounds; returns its size. */
size_t lab_message_encode(const struct lab_message *message, uint8_t bytes[LAB_MESSAGE_BYTES_MAX]);

/*
 * Decodes the message at the beginning of `bytes`. Returns its size, 0 when more bytes are needed
 * (never more than LAB_MESSAGE_BYTES_MAX in all), -EPROTONOSUPPORT for another version, and
 * -EBADMSG for bytes of another protocol.
 */
int lab_message_decode(const uint8_t *bytes, size_t count, struct lab_message *message);

#endif

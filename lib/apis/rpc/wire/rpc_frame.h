/* SPDX-License-Identifier: MIT */
/*
 * The message of a call: a header of 32 bytes, big-endian, the service's name, and the protocol
 * buffer, which this layer does not read.
 *
 *	0  kind        1  flags     2  bytes of the name   4  method
 *	8  call        16 settled   24 timeout in ms       28 status
 *
 * The decoder makes all checks that need no knowledge of the services. It keeps the status of an
 * answer as received: a status unknown to this side is still an error.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_FRAME_H
#define LIB_APIS_RPC_WIRE_RPC_FRAME_H

#include <rnic/rpc_status.h>

#include <stddef.h>
#include <stdint.h>

#define RPC_FRAME_BYTES		   32u
#define RPC_SERVICE_NAME_MAX_BYTES 255u

enum rpc_frame_kind {
	RPC_FRAME_REQUEST = 1,
	RPC_FRAME_ANSWER,
	RPC_FRAME_CANCEL, /* the caller no longer wants the answer */
	RPC_FRAME_GRANT,  /* rpc_bulk.h */
	RPC_FRAME_CHUNK,
	RPC_FRAME_KINDS,
};

enum rpc_frame_flag {
	RPC_FRAME_IDEMPOTENT = 1 << 0, /* a second execution does no harm */
	/*
	 * Request and answer: the payload is the length of a body that comes in chunks. CANCEL:
	 * asks for a CHUNK without bytes, which says that no more come.
	 */
	RPC_FRAME_LARGE = 1 << 1,
	RPC_FRAME_STREAM = 1 << 2, /* the caller takes chunks before the answer */
	RPC_FRAME_FLAGS = RPC_FRAME_IDEMPOTENT | RPC_FRAME_LARGE | RPC_FRAME_STREAM,
};

struct rpc_frame {
	enum rpc_frame_kind kind;
	uint8_t flags;
	uint16_t service_bytes;
	uint32_t method;
	uint64_t call;
	uint64_t settled;    /* from a client: no call before it needs an answer any more */
	uint32_t timeout_ms; /* at the time of sending; 0: none */
	uint32_t status;     /* enum rnic_rpc_status, of ANSWER */
	const char *service; /* not terminated; the caller's bytes, like the payload */
	const uint8_t *payload;
	uint32_t payload_bytes;
};

/* -EBADMSG: not a frame. */
int rpc_frame_decode(struct rpc_frame *frame, const void *message, size_t bytes);

/* The size of the frame as a message. */
size_t rpc_frame_bytes(const struct rpc_frame *frame);

/* Writes rpc_frame_bytes() bytes. The payload may lie in its place already. */
void rpc_frame_encode(const struct rpc_frame *frame, void *message);

#endif

/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_frame.h"

#include "lib/apis/rpc/wire/rpc_bytes.h"

#include <errno.h>
#include <stdbool.h>

enum {
	AT_KIND = 0,
	AT_FLAGS = 1,
	AT_SERVICE_BYTES = 2,
	AT_METHOD = 4,
	AT_CALL = 8,
	AT_SETTLED = 16,
	AT_TIMEOUT = 24,
	AT_STATUS = 28,
};

static const char *const texts[RNIC_RPC_STATUS_COUNT] = {
	[RNIC_RPC_OK] = "success",
	[RNIC_RPC_CANCELLED] = "cancelled by the caller",
	[RNIC_RPC_DEADLINE_EXCEEDED] = "no answer before the deadline",
	[RNIC_RPC_NO_SERVICE] = "the server has no such service",
	[RNIC_RPC_NO_METHOD] = "the service has no such method",
	[RNIC_RPC_BAD_REQUEST] = "the server could not read the request",
	[RNIC_RPC_BAD_ANSWER] = "the answer could not be read",
	[RNIC_RPC_OVERLOADED] = "the server has too much to do",
	[RNIC_RPC_UNAVAILABLE] = "no server answers",
	[RNIC_RPC_OUTCOME_UNKNOWN] = "the server went away; the call may have been executed",
	[RNIC_RPC_INTERNAL] = "the service failed",
	[RNIC_RPC_TOO_LARGE] = "larger than the other side takes",
};

const char *rnic_rpc_status_text(uint32_t status)
{
	return status < RNIC_RPC_STATUS_COUNT ? texts[status] : "an unknown error";
}

/* The flags that each kind may have. */
static const uint8_t flags_of[RPC_FRAME_KINDS] = {
	[RPC_FRAME_REQUEST] = RPC_FRAME_FLAGS,
	[RPC_FRAME_ANSWER] = RPC_FRAME_LARGE,
	[RPC_FRAME_CANCEL] = RPC_FRAME_LARGE,
};

static bool check_frame(const struct rpc_frame *frame)
{
	if (frame->kind < RPC_FRAME_REQUEST || frame->kind >= RPC_FRAME_KINDS)
		return false;
	if ((frame->flags & ~flags_of[frame->kind]) != 0)
		return false;
	if (frame->kind == RPC_FRAME_REQUEST)
		return frame->service_bytes > 0 &&
		       frame->service_bytes <= RPC_SERVICE_NAME_MAX_BYTES && frame->status == 0 &&
		       frame->settled <= frame->call;
	if (frame->service_bytes > 0 || frame->method != 0)
		return false;
	if (frame->kind == RPC_FRAME_CANCEL)
		return frame->payload_bytes == 0 && frame->status == 0;
	if (frame->kind == RPC_FRAME_ANSWER)
		return frame->settled == 0 &&
		       (frame->status == RNIC_RPC_OK || frame->payload_bytes == 0);
	return frame->settled == 0 && frame->status == 0;
}

int rpc_frame_decode(struct rpc_frame *frame, const void *message, size_t bytes)
{
	const uint8_t *header = message;
	struct rpc_frame found;

	if (bytes < RPC_FRAME_BYTES || bytes > UINT32_MAX)
		return -EBADMSG;
	found = (struct rpc_frame){
		.kind = header[AT_KIND],
		.flags = header[AT_FLAGS],
		.service_bytes = rpc_read16(header + AT_SERVICE_BYTES),
		.method = rpc_read32(header + AT_METHOD),
		.call = rpc_read64(header + AT_CALL),
		.settled = rpc_read64(header + AT_SETTLED),
		.timeout_ms = rpc_read32(header + AT_TIMEOUT),
		.status = rpc_read32(header + AT_STATUS),
		.service = (const char *)header + RPC_FRAME_BYTES,
	};
	if (found.service_bytes > bytes - RPC_FRAME_BYTES)
		return -EBADMSG;
	found.payload = header + RPC_FRAME_BYTES + found.service_bytes;
	found.payload_bytes = (uint32_t)(bytes - RPC_FRAME_BYTES - found.service_bytes);
	if (!check_frame(&found))
		return -EBADMSG;
	*frame = found;
	return 0;
}

size_t rpc_frame_bytes(const struct rpc_frame *frame)
{
	return (size_t)RPC_FRAME_BYTES + frame->service_bytes + frame->payload_bytes;
}

void rpc_frame_encode(const struct rpc_frame *frame, void *message)
{
	uint8_t *header = message;
	uint8_t *payload = header + RPC_FRAME_BYTES + frame->service_bytes;

	header[AT_KIND] = (uint8_t)frame->kind;
	header[AT_FLAGS] = frame->flags;
	rpc_write16(header + AT_SERVICE_BYTES, frame->service_bytes);
	rpc_write32(header + AT_METHOD, frame->method);
	rpc_write64(header + AT_CALL, frame->call);
	rpc_write64(header + AT_SETTLED, frame->settled);
	rpc_write32(header + AT_TIMEOUT, frame->timeout_ms);
	rpc_write32(header + AT_STATUS, frame->status);
	if (frame->service_bytes > 0)
		memcpy(header + RPC_FRAME_BYTES, frame->service, frame->service_bytes);
	if (frame->payload_bytes > 0 && frame->payload != payload)
		memcpy(payload, frame->payload, frame->payload_bytes);
}

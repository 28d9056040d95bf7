/* SPDX-License-Identifier: MIT */
#include "proto/ctl/process_message.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <string.h>

/* A text in a payload, which must end in a zero. `bytes` 0: none. */
struct process_text {
	uint16_t offset;
	uint16_t bytes;
};

/* What the messages of an operation carry: a struct of `bytes` (0: no operation), and a tail whose
 * length process_tail_bytes() reads from the struct. */
struct process_operation {
	uint16_t bytes;
	struct process_text texts[2];
};

#define TEXT(type, member)                                                                         \
	{                                                                                          \
		offsetof(type, member), sizeof(((type *)NULL)->member)                             \
	}

static const struct process_operation process_operations[RNIC_PROCESS_OPERATION_COUNT] = {
	[RNIC_PROCESS_START] = {sizeof(struct rnic_process_start), {{0}}},
	[RNIC_PROCESS_READY] = {sizeof(struct rnic_process_ready),
				{TEXT(struct rnic_process_ready, udp_port),
				 TEXT(struct rnic_process_ready, reason)}},
	[RNIC_PROCESS_GID] = {sizeof(struct rnic_process_gid), {{0}}},
	[RNIC_PROCESS_FACTS] = {sizeof(struct rnic_process_facts), {{0}}},
	[RNIC_PROCESS_CLIENT] = {sizeof(struct rnic_process_client),
				 {TEXT(struct rnic_process_client, program)}},
	[RNIC_PROCESS_ROWS] = {sizeof(struct rnic_process_rows), {{0}}},
	[RNIC_PROCESS_ROWS_REPLY] = {sizeof(struct rnic_process_rows_reply), {{0}}},
	[RNIC_PROCESS_PACKET] = {sizeof(struct rnic_process_packet), {{0}}},
	[RNIC_PROCESS_JOIN] = {sizeof(struct rnic_process_group), {{0}}},
	[RNIC_PROCESS_JOINED] = {sizeof(struct rnic_process_group), {{0}}},
	[RNIC_PROCESS_LEAVE] = {sizeof(struct rnic_process_group), {{0}}},
	[RNIC_PROCESS_TROUBLE] = {sizeof(struct rnic_process_trouble),
				  {TEXT(struct rnic_process_trouble, subject),
				   TEXT(struct rnic_process_trouble, reason)}},
	[RNIC_PROCESS_CLIENT_GONE] = {sizeof(struct rnic_process_client_gone), {{0}}},
	[RNIC_PROCESS_PROBE] = {sizeof(struct rnic_process_probe), {{0}}},
	[RNIC_PROCESS_PROBED] = {sizeof(struct rnic_process_probe), {{0}}},
	[RNIC_PROCESS_ORDER] = {sizeof(struct rnic_process_order), {{0}}},
	[RNIC_PROCESS_ORDER_REPLY] = {sizeof(struct rnic_process_order_reply),
				      {TEXT(struct rnic_process_order_reply, reason)}},
	[RNIC_PROCESS_RULES] = {sizeof(struct rnic_process_rules), {{0}}},
};

/* The bytes that a payload itself says follow its struct. */
static uint64_t process_tail_bytes(uint16_t operation, const uint8_t *payload)
{
	struct rnic_process_rows_reply rows;
	struct rnic_process_packet packet;

	switch (operation) {
	case RNIC_PROCESS_ROWS_REPLY:
		memcpy(&rows, payload, sizeof(rows));
		return (uint64_t)rows.row_count * rows.row_bytes;
	case RNIC_PROCESS_PACKET:
		memcpy(&packet, payload, sizeof(packet));
		return packet.datagram_bytes;
	default:
		return 0;
	}
}

int rnic_process_check(const void *message, size_t received)
{
	const uint8_t *payload = (const uint8_t *)message + sizeof(struct rnic_process_header);
	const struct process_operation *operation;
	struct rnic_process_header header;

	if (received < sizeof(header) || received > RNIC_PROCESS_MESSAGE_BYTES)
		return -EPROTO;
	memcpy(&header, message, sizeof(header));
	if (header.magic != RNIC_PROCESS_MAGIC || header.version != RNIC_PROCESS_VERSION ||
	    header.bytes != received || header.reserved != 0 ||
	    header.operation >= RNIC_COUNT_OF(process_operations))
		return -EPROTO;
	operation = &process_operations[header.operation];
	if (operation->bytes == 0 || received - sizeof(header) < operation->bytes ||
	    received - sizeof(header) - operation->bytes !=
		    process_tail_bytes(header.operation, payload))
		return -EPROTO;
	for (size_t i = 0; i < RNIC_COUNT_OF(operation->texts); i++) {
		const struct process_text *text = &operation->texts[i];

		if (text->bytes != 0 && memchr(payload + text->offset, 0, text->bytes) == NULL)
			return -EPROTO;
	}
	return 0;
}

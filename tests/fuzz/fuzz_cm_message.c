/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a connection management message, as they are, and behind a right header: random
 * bytes alone nearly never have one. A message that decodes is encoded again: reserved bits may
 * differ from the input, never from the second encoding; the addresses in its private data survive
 * likewise.
 */
#include "proto/mad/cm_message.h"
#include "proto/mad/ip_cm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_addresses(const uint8_t *bytes)
{
	struct rnic_ip_cm header, again;
	uint8_t encoded[RNIC_IP_CM_BYTES];

	if (rnic_ip_cm_decode(&header, bytes) != 0)
		return;
	rnic_ip_cm_encode(&header, encoded);
	require(rnic_ip_cm_decode(&again, encoded) == 0);
	require(memcmp(&header.source, &again.source, sizeof(header.source)) == 0);
	require(memcmp(&header.dest, &again.dest, sizeof(header.dest)) == 0);
	require(header.source_port == again.source_port);
}

/* Returns whether the bytes are a message. */
static bool check_message(const uint8_t *data, size_t size)
{
	uint8_t encoded[RNIC_MAD_BYTES], again[RNIC_MAD_BYTES];
	struct rnic_cm_message message;
	uint16_t port_space, port;

	if (rnic_cm_decode(&message, data, size) != 0)
		return false;
	rnic_cm_encode(&message, encoded);
	require(rnic_cm_decode(&message, encoded, sizeof(encoded)) == 0);
	rnic_cm_encode(&message, again);
	require(memcmp(encoded, again, sizeof(again)) == 0);
	if (message.kind == RNIC_CM_REQ) {
		check_addresses(message.req.private_data);
		if (rnic_service_id_split(message.req.service_id, &port_space, &port))
			require(rnic_service_id(port_space, port) == message.req.service_id);
	}
	return true;
}

/* The first byte chooses the kind; what follows it lies behind the header. */
static void check_with_header(const uint8_t *data, size_t size)
{
	const struct rnic_mad_header header = {
		.base_version = RNIC_MAD_BASE_VERSION,
		.management_class = RNIC_MAD_CLASS_CM,
		.class_version = RNIC_MAD_CLASS_CM_VERSION,
		.method = RNIC_MAD_METHOD_SEND,
		.transaction_id = size,
		.attribute_id = (uint16_t)(RNIC_CM_REQ + data[0] % (RNIC_CM_APR - RNIC_CM_REQ + 1)),
	};
	uint8_t bytes[RNIC_MAD_BYTES] = {0};
	const size_t body_bytes = size - 1 < RNIC_MAD_DATA_BYTES ? size - 1 : RNIC_MAD_DATA_BYTES;

	rnic_mad_header_encode(&header, bytes);
	memcpy(bytes + RNIC_MAD_HEADER_BYTES, data + 1, body_bytes);
	require(check_message(bytes, sizeof(bytes)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_message(data, size);
	if (size > 0)
		check_with_header(data, size);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "tools/lab/exchange/exchange_message.h"

#include "proto/base/be.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* magic 4, version 2, type 2, size of the rest 4 */
enum { HEADER_BYTES = 12, MAGIC = 0x524c4142 /* "RLAB" */ };

enum { ENDPOINT_BYTES = 28 + 16 + LAB_NONCE_BYTES };
enum { CHALLENGE_BYTES = 4 + LAB_PLACE_BYTES + LAB_NONCE_BYTES };
enum { PROOF_BYTES = 4 + LAB_PROOF_BYTES };

_Static_assert(HEADER_BYTES + LAB_REASON_BYTES <= LAB_MESSAGE_BYTES_MAX, "the longest body fits");

/* Text has at least one zero behind it, which fill its field. */
static bool is_text(const uint8_t *bytes, size_t room)
{
	size_t length = strnlen((const char *)bytes, room);

	if (length == room)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	}
	for (size_t i = length; i < room; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

static bool exchange_message_is_zero(const uint8_t *bytes, size_t count)
{
	while (count > 0 && bytes[count - 1] == 0)
		count--;
	return count == 0;
}

/* ---- HELLO, ANSWER ---- */

static void encode_endpoint(const struct lab_message *message, uint8_t *body)
{
	const struct lab_endpoint *endpoint = &message->endpoint;

	body[0] = endpoint->mode;
	body[1] = endpoint->mtu;
	rnic_be16_write(body + 2, endpoint->lid);
	rnic_be32_write(body + 4, endpoint->qpn);
	rnic_be32_write(body + 8, endpoint->psn);
	rnic_be32_write(body + 12, endpoint->region_key);
	rnic_be64_write(body + 16, endpoint->region_address);
	rnic_be32_write(body + 24, endpoint->region_bytes);
	memcpy(body + 28, endpoint->gid, sizeof(endpoint->gid));
	memcpy(body + 44, endpoint->nonce, sizeof(endpoint->nonce));
}

static bool is_sound(const struct lab_endpoint *endpoint)
{
	bool has_gid = !exchange_message_is_zero(endpoint->gid, sizeof(endpoint->gid));

	return endpoint->mode >= LAB_SEND && endpoint->mode <= LAB_LAMBDA && endpoint->mtu >= 1 &&
	       endpoint->mtu <= 5 && endpoint->qpn >= 2 && endpoint->qpn < 1 << 24 &&
	       endpoint->psn < 1 << 24 && endpoint->region_bytes <= LAB_REGION_BYTES_MAX &&
	       endpoint->region_address <= UINT64_MAX - endpoint->region_bytes &&
	       endpoint->gid[0] != 0xff && (has_gid || endpoint->lid != 0);
}

static bool decode_endpoint(const uint8_t *body, struct lab_message *message)
{
	struct lab_endpoint *endpoint = &message->endpoint;

	*endpoint = (struct lab_endpoint){
		.mode = body[0],
		.mtu = body[1],
		.lid = rnic_be16_read(body + 2),
		.qpn = rnic_be32_read(body + 4),
		.psn = rnic_be32_read(body + 8),
		.region_key = rnic_be32_read(body + 12),
		.region_address = rnic_be64_read(body + 16),
		.region_bytes = rnic_be32_read(body + 24),
	};
	memcpy(endpoint->gid, body + 28, sizeof(endpoint->gid));
	memcpy(endpoint->nonce, body + 44, sizeof(endpoint->nonce));
	return is_sound(endpoint);
}

/* ---- CHALLENGE, PROOF, REFUSAL, READY ---- */

static void encode_challenge(const struct lab_message *message, uint8_t *body)
{
	const struct lab_challenge *challenge = &message->challenge;

	body[0] = challenge->methods;
	memcpy(body + 4, challenge->place, strnlen(challenge->place, LAB_PLACE_BYTES - 1));
	memcpy(body + 4 + LAB_PLACE_BYTES, challenge->nonce, LAB_NONCE_BYTES);
}

static bool decode_challenge(const uint8_t *body, struct lab_message *message)
{
	struct lab_challenge *challenge = &message->challenge;

	challenge->methods = body[0];
	memcpy(challenge->place, body + 4, LAB_PLACE_BYTES);
	memcpy(challenge->nonce, body + 4 + LAB_PLACE_BYTES, LAB_NONCE_BYTES);
	return body[0] != 0 && (body[0] & ~(LAB_BY_SECRET | LAB_BY_LOCAL_USER)) == 0 &&
	       exchange_message_is_zero(body + 1, 3) && is_text(body + 4, LAB_PLACE_BYTES);
}

static void encode_proof(const struct lab_message *message, uint8_t *body)
{
	body[0] = message->proof.method;
	memcpy(body + 4, message->proof.code, LAB_PROOF_BYTES);
}

static bool decode_proof(const uint8_t *body, struct lab_message *message)
{
	message->proof.method = body[0];
	memcpy(message->proof.code, body + 4, LAB_PROOF_BYTES);
	return (body[0] == LAB_BY_SECRET || body[0] == LAB_BY_LOCAL_USER) &&
	       exchange_message_is_zero(body + 1, 3);
}

static void encode_reason(const struct lab_message *message, uint8_t *body)
{
	memcpy(body, message->reason, strnlen(message->reason, LAB_REASON_BYTES - 1));
}

static bool decode_reason(const uint8_t *body, struct lab_message *message)
{
	memcpy(message->reason, body, LAB_REASON_BYTES);
	return is_text(body, LAB_REASON_BYTES);
}

static void encode_nothing(const struct lab_message *message, uint8_t *body)
{
	(void)message;
	(void)body;
}

static bool decode_nothing(const uint8_t *body, struct lab_message *message)
{
	(void)body;
	(void)message;
	return true;
}

static const struct {
	uint32_t bytes;
	void (*encode)(const struct lab_message *message, uint8_t *body);
	bool (*decode)(const uint8_t *body, struct lab_message *message);
} bodies[] = {
	[LAB_HELLO] = {ENDPOINT_BYTES, encode_endpoint, decode_endpoint},
	[LAB_ANSWER] = {ENDPOINT_BYTES, encode_endpoint, decode_endpoint},
	[LAB_READY] = {0, encode_nothing, decode_nothing},
	[LAB_REFUSAL] = {LAB_REASON_BYTES, encode_reason, decode_reason},
	[LAB_CHALLENGE] = {CHALLENGE_BYTES, encode_challenge, decode_challenge},
	[LAB_PROOF] = {PROOF_BYTES, encode_proof, decode_proof},
};

size_t lab_message_encode(const struct lab_message *message, uint8_t bytes[LAB_MESSAGE_BYTES_MAX])
{
	size_t size = HEADER_BYTES + bodies[message->type].bytes;

	memset(bytes, 0, size);
	rnic_be32_write(bytes, MAGIC);
	rnic_be16_write(bytes + 4, LAB_EXCHANGE_VERSION);
	rnic_be16_write(bytes + 6, (uint16_t)message->type);
	rnic_be32_write(bytes + 8, bodies[message->type].bytes);
	bodies[message->type].encode(message, bytes + HEADER_BYTES);
	return size;
}

int lab_message_decode(const uint8_t *bytes, size_t count, struct lab_message *message)
{
	uint32_t body_bytes;
	uint16_t type;

	if (count < HEADER_BYTES)
		return 0;
	if (rnic_be32_read(bytes) != MAGIC)
		return -EBADMSG;
	if (rnic_be16_read(bytes + 4) != LAB_EXCHANGE_VERSION)
		return -EPROTONOSUPPORT;
	type = rnic_be16_read(bytes + 6);
	body_bytes = rnic_be32_read(bytes + 8);
	if (type < LAB_HELLO || type >= RNIC_COUNT_OF(bodies) || body_bytes != bodies[type].bytes)
		return -EBADMSG;
	if (count - HEADER_BYTES < body_bytes)
		return 0;
	message->type = type;
	if (!bodies[type].decode(bytes + HEADER_BYTES, message))
		return -EBADMSG;
	return (int)(HEADER_BYTES + body_bytes);
}

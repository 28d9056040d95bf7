/* SPDX-License-Identifier: MIT */
#include "proto/mad/cm_message.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <string.h>

/* A field: where it is in the struct, and where on the wire. */
struct field {
	uint8_t kind;
	uint8_t width; /* bits; 0: bytes, as many as the member has */
	uint16_t bit;
	uint16_t member;
	uint16_t member_bytes;
};

#define MEMBER(message, name)	    offsetof(struct rnic_cm_message, message.name)
#define MEMBER_BYTES(message, name) sizeof(((struct rnic_cm_message *)0)->message.name)

#define KIND_req      RNIC_CM_REQ
#define KIND_mra      RNIC_CM_MRA
#define KIND_rej      RNIC_CM_REJ
#define KIND_rep      RNIC_CM_REP
#define KIND_rtu      RNIC_CM_RTU
#define KIND_dreq     RNIC_CM_DREQ
#define KIND_drep     RNIC_CM_DREP
#define KIND_sidr_req RNIC_CM_SIDR_REQ
#define KIND_sidr_rep RNIC_CM_SIDR_REP
#define KIND_lap      RNIC_CM_LAP
#define KIND_apr      RNIC_CM_APR

#define FIELD_ROW(message, name, byte, bit, width)                                                 \
	{KIND_##message, width, 8 * (byte) + (bit), MEMBER(message, name),                         \
	 MEMBER_BYTES(message, name)},
#define BYTES_ROW(message, name, byte, length)                                                     \
	{KIND_##message, 0, 8 * (byte), MEMBER(message, name), length},

static const struct field fields[] = {RNIC_CM_FIELDS_ALL(FIELD_ROW, BYTES_ROW)};

#define IS_INSIDE(message, name, byte, bit, width)                                                 \
	_Static_assert(8 * (byte) + (bit) + (width) <= 8 * RNIC_MAD_DATA_BYTES, #name);
#define ARE_INSIDE(message, name, byte, length)                                                    \
	_Static_assert((byte) + (length) <= RNIC_MAD_DATA_BYTES, #name);

RNIC_CM_FIELDS_ALL(IS_INSIDE, ARE_INSIDE)

/* --- numbers of any width, none of which spans more than 8 bytes ------------------------------ */

static uint64_t ones(uint32_t width)
{
	return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static uint64_t read_bits(const uint8_t *data, uint32_t bit, uint32_t width)
{
	uint32_t last = bit + width - 1;
	uint64_t value = 0;

	for (uint32_t i = bit / 8; i <= last / 8; i++)
		value = value << 8 | data[i];
	return value >> (7 - last % 8) & ones(width);
}

/* The bits must be zero before. */
static void write_bits(uint8_t *data, uint32_t bit, uint32_t width, uint64_t value)
{
	uint32_t last = bit + width - 1;

	value = (value & ones(width)) << (7 - last % 8);
	for (uint32_t i = last / 8 + 1; i-- > bit / 8; value >>= 8)
		data[i] |= (uint8_t)value;
}

/* --- numbers in members of any size ----------------------------------------------------------- */

static uint64_t load(const uint8_t *member, uint32_t bytes)
{
	uint64_t wide;
	uint32_t word;
	uint16_t half;

	switch (bytes) {
	case 1:
		return *member;
	case 2:
		memcpy(&half, member, sizeof(half));
		return half;
	case 4:
		memcpy(&word, member, sizeof(word));
		return word;
	default:
		memcpy(&wide, member, sizeof(wide));
		return wide;
	}
}

static void cm_message_store(uint8_t *member, uint32_t bytes, uint64_t value)
{
	uint32_t word = (uint32_t)value;
	uint16_t half = (uint16_t)value;

	switch (bytes) {
	case 1:
		*member = (uint8_t)value;
		break;
	case 2:
		memcpy(member, &half, sizeof(half));
		break;
	case 4:
		memcpy(member, &word, sizeof(word));
		break;
	default:
		memcpy(member, &value, sizeof(value));
		break;
	}
}

/* ---------------------------------------------------------------------------------------------- */

int rnic_cm_decode(struct rnic_cm_message *out, const uint8_t *bytes, size_t length)
{
	const uint8_t *data = bytes + RNIC_MAD_HEADER_BYTES;
	struct rnic_mad_header header;

	if (length != RNIC_MAD_BYTES)
		return -EBADMSG;
	rnic_mad_header_decode(&header, bytes);
	if (header.base_version != RNIC_MAD_BASE_VERSION ||
	    header.management_class != RNIC_MAD_CLASS_CM ||
	    header.class_version != RNIC_MAD_CLASS_CM_VERSION ||
	    header.method != RNIC_MAD_METHOD_SEND)
		return -EPROTO;
	if (rnic_cm_kind_text(header.attribute_id) == NULL)
		return -EOPNOTSUPP;
	memset(out, 0, sizeof(*out));
	out->kind = (enum rnic_cm_kind)header.attribute_id;
	out->transaction_id = header.transaction_id;
	out->attribute_modifier = header.attribute_modifier;
	for (size_t i = 0; i < RNIC_COUNT_OF(fields); i++) {
		const struct field *field = &fields[i];
		uint8_t *member = (uint8_t *)out + field->member;

		if (field->kind != header.attribute_id)
			continue;
		if (field->width == 0)
			memcpy(member, data + field->bit / 8, field->member_bytes);
		else
			cm_message_store(member, field->member_bytes,
					 read_bits(data, field->bit, field->width));
	}
	return 0;
}

void rnic_cm_encode(const struct rnic_cm_message *message, uint8_t out[RNIC_MAD_BYTES])
{
	const struct rnic_mad_header header = {
		.base_version = RNIC_MAD_BASE_VERSION,
		.management_class = RNIC_MAD_CLASS_CM,
		.class_version = RNIC_MAD_CLASS_CM_VERSION,
		.method = RNIC_MAD_METHOD_SEND,
		.transaction_id = message->transaction_id,
		.attribute_id = (uint16_t)message->kind,
		.attribute_modifier = message->attribute_modifier,
	};
	uint8_t *data = out + RNIC_MAD_HEADER_BYTES;

	rnic_mad_header_encode(&header, out);
	memset(data, 0, RNIC_MAD_DATA_BYTES);
	for (size_t i = 0; i < RNIC_COUNT_OF(fields); i++) {
		const struct field *field = &fields[i];
		const uint8_t *member = (const uint8_t *)message + field->member;

		if (field->kind != message->kind)
			continue;
		if (field->width == 0)
			memcpy(data + field->bit / 8, member, field->member_bytes);
		else
			write_bits(data, field->bit, field->width,
				   load(member, field->member_bytes));
	}
}

const char *rnic_cm_kind_text(uint32_t kind)
{
	static const char *const texts[] = {"REQ",  "MRA",	"REJ",	    "REP", "RTU", "DREQ",
					    "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};

	if (kind < RNIC_CM_REQ || kind > RNIC_CM_APR)
		return NULL;
	return texts[kind - RNIC_CM_REQ];
}

enum rnic_cause rnic_cm_reject_cause(uint32_t reason)
{
	switch ((enum rnic_cm_reject_reason)reason) {
	case RNIC_CM_REJECT_INVALID_SERVICE_ID:
		return RNIC_CAUSE_CM_NO_LISTENER;
	case RNIC_CM_REJECT_CONSUMER:
		return RNIC_CAUSE_CM_REFUSED;
	case RNIC_CM_REJECT_STALE_CONNECTION:
		return RNIC_CAUSE_CM_STALE;
	case RNIC_CM_REJECT_TIMEOUT:
		return RNIC_CAUSE_CM_UNANSWERED;
	default:
		return RNIC_CAUSE_CM_REJECTED;
	}
}

enum rnic_cause rnic_cm_sidr_cause(uint32_t status)
{
	switch ((enum rnic_cm_sidr_status)status) {
	case RNIC_CM_SIDR_UNSUPPORTED:
		return RNIC_CAUSE_CM_NO_LISTENER;
	case RNIC_CM_SIDR_REJECT:
		return RNIC_CAUSE_CM_REFUSED;
	default:
		return RNIC_CAUSE_CM_REJECTED;
	}
}

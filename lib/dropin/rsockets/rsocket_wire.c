/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rsockets/rsocket_wire.h"

#include "proto/base/be.h"

#include <errno.h>
#include <string.h>

#define VERSION 1u

#define FLAG_BIG_ENDIAN 0x01u
#define FLAG_IOMAP	0x02u

/* Numbers above this travel as multiples of 256, marked by this bit. */
#define COARSE 0x80u

#define ENVELOPE_TAG 0x55555555u

/* --- connections ----------------------------------------------------------------------------- */

static uint8_t entries_encode(uint32_t entries)
{
	if (entries <= COARSE)
		return (uint8_t)entries;
	return (uint8_t)(COARSE | (entries >> 8 < COARSE ? entries >> 8 : COARSE - 1));
}

static uint32_t entries_decode(uint8_t byte)
{
	return byte <= COARSE ? byte : (uint32_t)(byte - COARSE) << 8;
}

uint32_t rnic_rsocket_iomap_entries(uint32_t wanted)
{
	return entries_decode(entries_encode(wanted));
}

static void put_target(const struct rnic_rsocket_target *target, uint8_t *bytes)
{
	rnic_be64_write(bytes, target->address);
	rnic_be32_write(bytes + 8, target->key);
	rnic_be32_write(bytes + 12, target->length);
}

static struct rnic_rsocket_target get_target(const uint8_t *bytes)
{
	return (struct rnic_rsocket_target){
		.address = rnic_be64_read(bytes),
		.key = rnic_be32_read(bytes + 8),
		.length = rnic_be32_read(bytes + 12),
	};
}

void rnic_rsocket_greeting_encode(const struct rnic_rsocket_greeting *greeting,
				  uint8_t bytes[static RNIC_RSOCKET_GREETING_BYTES])
{
	memset(bytes, 0, RNIC_RSOCKET_GREETING_BYTES);
	bytes[0] = VERSION;
	bytes[1] = FLAG_IOMAP | (greeting->is_big_endian ? FLAG_BIG_ENDIAN : 0);
	rnic_be16_write(bytes + 2, greeting->credits);
	bytes[7] = entries_encode(greeting->iomap_entries);
	put_target(&greeting->list, bytes + 8);
	put_target(&greeting->buffer, bytes + 24);
}

int rnic_rsocket_greeting_decode(const void *data, size_t length,
				 struct rnic_rsocket_greeting *greeting)
{
	const uint8_t *bytes = data;
	struct rnic_rsocket_greeting read;

	if (data == NULL || length < RNIC_RSOCKET_GREETING_BYTES)
		return -EPROTO;
	if (bytes[0] != VERSION)
		return -ENOTSUP;
	read = (struct rnic_rsocket_greeting){
		.is_big_endian = (bytes[1] & FLAG_BIG_ENDIAN) != 0,
		.credits = rnic_be16_read(bytes + 2),
		.iomap_entries = bytes[1] & FLAG_IOMAP ? entries_decode(bytes[7]) : 0,
		.list = get_target(bytes + 8),
		.buffer = get_target(bytes + 24),
	};
	if (read.list.length == 0)
		return -EPROTO;
	*greeting = read;
	return 0;
}

/* --- entries in memory ----------------------------------------------------------------------- */

void rnic_rsocket_target_encode(const struct rnic_rsocket_target *target, bool is_swapped,
				uint8_t bytes[static RNIC_RSOCKET_TARGET_BYTES])
{
	const uint64_t address = is_swapped ? __builtin_bswap64(target->address) : target->address;
	const uint32_t key = is_swapped ? __builtin_bswap32(target->key) : target->key;
	const uint32_t length = is_swapped ? __builtin_bswap32(target->length) : target->length;

	memcpy(bytes, &address, sizeof(address));
	memcpy(bytes + 8, &key, sizeof(key));
	memcpy(bytes + 12, &length, sizeof(length));
}

void rnic_rsocket_mapping_encode(const struct rnic_rsocket_mapping *mapping, bool is_swapped,
				 uint8_t bytes[static RNIC_RSOCKET_MAPPING_BYTES])
{
	const uint64_t offset = is_swapped ? __builtin_bswap64(mapping->offset) : mapping->offset;

	memcpy(bytes, &offset, sizeof(offset));
	rnic_rsocket_target_encode(&mapping->target, is_swapped, bytes + sizeof(offset));
}

struct rnic_rsocket_target rnic_rsocket_target_read(const volatile void *entry)
{
	const volatile uint32_t *words = entry;
	struct rnic_rsocket_target target = {
		.length = __atomic_load_n(&words[3], __ATOMIC_ACQUIRE),
	};

	target.key = words[2];
	target.address = *(const volatile uint64_t *)entry;
	return target;
}

struct rnic_rsocket_mapping rnic_rsocket_mapping_read(const volatile void *entry)
{
	const volatile uint64_t *words = entry;
	struct rnic_rsocket_mapping mapping = {.target = rnic_rsocket_target_read(&words[1])};

	mapping.offset = words[0];
	return mapping;
}

/* --- datagrams ------------------------------------------------------------------------------- */

static size_t label_address_bytes(uint8_t version)
{
	return version == 6 ? 16 : 4;
}

/* An envelope is tag, version, kind, length, 0, number, address. */
static size_t envelope_bytes(uint8_t version)
{
	return 12 + label_address_bytes(version);
}

/* A label is version, length, port, for IPv6 a flow label, address. */
static size_t label_address_at(uint8_t version)
{
	return version == 6 ? 8 : 4;
}

static size_t label_bytes(uint8_t version)
{
	return label_address_at(version) + label_address_bytes(version);
}

size_t rnic_rsocket_envelope_encode(const struct rnic_rsocket_envelope *envelope,
				    uint8_t bytes[static RNIC_RSOCKET_ENVELOPE_MAX_BYTES])
{
	const uint8_t version = envelope->address.version;
	const size_t length = envelope_bytes(version);

	rnic_be32_write(bytes, ENVELOPE_TAG);
	bytes[4] = version;
	bytes[5] = (uint8_t)envelope->kind;
	bytes[6] = (uint8_t)length;
	bytes[7] = 0;
	rnic_be32_write(bytes + 8, envelope->qpn & 0xffffff);
	memcpy(bytes + 12, envelope->address.bytes, label_address_bytes(version));
	return length;
}

int rnic_rsocket_envelope_decode(const uint8_t *data, size_t length,
				 struct rnic_rsocket_envelope *envelope)
{
	uint8_t version;

	if (length < envelope_bytes(4) || rnic_be32_read(data) != ENVELOPE_TAG)
		return -EPROTO;
	version = data[4];
	if ((version != 4 && version != 6) || data[6] != envelope_bytes(version) ||
	    length < data[6])
		return -EPROTO;
	if (data[5] != RNIC_RSOCKET_ENVELOPE_DATA && data[5] != RNIC_RSOCKET_ENVELOPE_REPLY)
		return -EPROTO;
	*envelope = (struct rnic_rsocket_envelope){
		.kind = (enum rnic_rsocket_envelope_kind)data[5],
		.qpn = rnic_be32_read(data + 8) & 0xffffff,
		.address.version = version,
	};
	memcpy(envelope->address.bytes, data + 12, label_address_bytes(version));
	return data[6];
}

size_t rnic_rsocket_label_encode(const struct rnic_rsocket_label *label,
				 uint8_t bytes[static RNIC_RSOCKET_LABEL_MAX_BYTES])
{
	const uint8_t version = label->address.version;

	memset(bytes, 0, RNIC_RSOCKET_LABEL_MAX_BYTES);
	bytes[0] = version;
	bytes[1] = (uint8_t)label_bytes(version);
	rnic_be16_write(bytes + 2, label->port);
	memcpy(bytes + label_address_at(version), label->address.bytes,
	       label_address_bytes(version));
	return label_bytes(version);
}

int rnic_rsocket_label_decode(const uint8_t *data, size_t length, struct rnic_rsocket_label *label)
{
	uint8_t version;

	if (length < label_bytes(4))
		return -EPROTO;
	version = data[0];
	if ((version != 4 && version != 6) || data[1] != label_bytes(version) || length < data[1])
		return -EPROTO;
	*label = (struct rnic_rsocket_label){
		.port = rnic_be16_read(data + 2),
		.address.version = version,
	};
	memcpy(label->address.bytes, data + label_address_at(version),
	       label_address_bytes(version));
	return data[1];
}

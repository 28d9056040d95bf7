/* SPDX-License-Identifier: MIT */
/*
 * Big-endian integers as they lie on the wire, read from and written to byte pointers: alignment
 * never matters and the width is part of the name. Code outside proto/ holds host integers only.
 */
#ifndef PROTO_BASE_BE_H
#define PROTO_BASE_BE_H

#include <stdint.h>

static inline uint16_t rnic_be16_read(const uint8_t *bytes)
{
	return (uint16_t)((uint32_t)bytes[0] << 8 | bytes[1]);
}

static inline uint32_t rnic_be24_read(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
}

static inline uint32_t rnic_be32_read(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | rnic_be24_read(bytes + 1);
}

static inline uint64_t rnic_be64_read(const uint8_t *bytes)
{
	return (uint64_t)rnic_be32_read(bytes) << 32 | rnic_be32_read(bytes + 4);
}

static inline void rnic_be16_write(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static inline void rnic_be24_write(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 16);
	bytes[1] = (uint8_t)(value >> 8);
	bytes[2] = (uint8_t)value;
}

static inline void rnic_be32_write(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 24);
	rnic_be24_write(bytes + 1, value);
}

static inline void rnic_be64_write(uint8_t *bytes, uint64_t value)
{
	rnic_be32_write(bytes, (uint32_t)(value >> 32));
	rnic_be32_write(bytes + 4, (uint32_t)value);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Big-endian integers in the messages of the RPC library, which uses public headers only. */
#ifndef LIB_APIS_RPC_WIRE_RPC_BYTES_H
#define LIB_APIS_RPC_WIRE_RPC_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t rpc_read16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return be16toh(value);
}

static inline uint32_t rpc_read32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return be32toh(value);
}

static inline uint64_t rpc_read64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

static inline void rpc_write16(uint8_t *bytes, uint16_t value)
{
	value = htobe16(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void rpc_write32(uint8_t *bytes, uint32_t value)
{
	value = htobe32(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void rpc_write64(uint8_t *bytes, uint64_t value)
{
	value = htobe64(value);
	memcpy(bytes, &value, sizeof(value));
}

#endif

/* SPDX-License-Identifier: MIT */
/* The operations that rnic-lab trace shows. */
#ifndef TOOLS_LAB_TRACE_TRACE_OPERATION_H
#define TOOLS_LAB_TRACE_TRACE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

struct trace_operation {
	const char *name;     /* on the command line */
	const char *words;    /* in the trace */
	int opcode;	      /* enum ibv_wr_opcode */
	bool takes_receive;   /* of B */
	bool is_atomic;	      /* of 8 bytes */
	bool has_data_return; /* from B to A */
};

/* The operation of this name, or NULL. */
const struct trace_operation *trace_operation_find(const char *name);

/* The packet sequence numbers that a work request of so many bytes takes. */
static inline uint32_t trace_packets_of(uint32_t bytes, uint32_t mtu_bytes)
{
	return bytes == 0 ? 1 : (bytes + mtu_bytes - 1) / mtu_bytes;
}

#endif

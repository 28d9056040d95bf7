/* SPDX-License-Identifier: MIT */
/* What the server of example 2 SENDs about each message: its number, and whether it is verified. */
#ifndef IMM_REPLY_H
#define IMM_REPLY_H

#include <endian.h>
#include <stdint.h>

struct imm_reply {
	uint32_t number;      /* big-endian, as the immediate data was */
	uint32_t is_verified; /* big-endian, 0 or 1 */
};

static inline struct imm_reply imm_reply_make(uint32_t number, int is_verified)
{
	return (struct imm_reply){htobe32(number), htobe32(is_verified != 0)};
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The server's SEND about each message in example 2: the message's number, and whether it is
 * verified.
 */
#ifndef IMM_REPLY_H
#define IMM_REPLY_H

#include <endian.h>
#include <stdint.h>

struct imm_reply {
	uint32_t number;      /* big-endian, like the immediate data */
	uint32_t is_verified; /* big-endian, 0 or 1 */
};

static inline struct imm_reply imm_reply_make(uint32_t number, int is_verified)
{
	return (struct imm_reply){htobe32(number), htobe32(is_verified != 0)};
}

#endif

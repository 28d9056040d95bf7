/* SPDX-License-Identifier: MIT */
/*
 * The server's SEND about each message in example 2: the message's number, and whether it is
 * verified.
 *
 * The reply is this long for the sake of captures. Wireshark looks at the first 16 bytes of every
 * SEND, whether they are RPC-over-RDMA: it calls a shorter packet malformed, and guesses by the
 * last of the four words, which is small there.
 */
#ifndef IMM_REPLY_H
#define IMM_REPLY_H

#include <endian.h>
#include <stdint.h>

enum {
	IMM_REPLY_VERIFIED = 0x676f6f64, /* "good" */
	IMM_REPLY_DAMAGED = 0x6261643a,	 /* "bad:" */
};

struct imm_reply {
	char name[8];
	uint32_t number;  /* big-endian, like the immediate data */
	uint32_t verdict; /* big-endian */
};

static inline struct imm_reply imm_reply_make(uint32_t number, int is_verified)
{
	return (struct imm_reply){
		.name = {'i', 'm', 'm', '-', 'r', 'e', 'p', 'l'},
		.number = htobe32(number),
		.verdict = htobe32(is_verified ? IMM_REPLY_VERIFIED : IMM_REPLY_DAMAGED),
	};
}

#endif

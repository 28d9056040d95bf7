/* SPDX-License-Identifier: MIT */
#include "proto/wire/timeout.h"

/* In units of 10 us; code 0 is the longest. */
static const uint32_t rnr_timer_units[32] = {
	65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
	48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

#define RNR_TIMER_UNIT_NS   10000
#define ACK_TIMEOUT_UNIT_NS 4096

uint64_t rnic_ack_timeout_ns(uint8_t code)
{
	code &= 31;
	return code == 0 ? UINT64_MAX : (uint64_t)ACK_TIMEOUT_UNIT_NS << code;
}

uint64_t rnic_rnr_timer_ns(uint8_t code)
{
	return (uint64_t)rnr_timer_units[code & 31] * RNR_TIMER_UNIT_NS;
}

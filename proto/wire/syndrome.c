/* SPDX-License-Identifier: MIT */
#include "proto/wire/syndrome.h"

#include "proto/base/bits.h"

static const uint16_t credits_of_code[RNIC_CREDITS_NOT_CARRIED] = {
	0,    1,    2,	  3,	4,    6,     8,	    12,	   16,	  24,	32,
	48,   64,   96,	  128,	192,  256,   384,   512,   768,	  1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

static const char *const nak_texts[] = {
	[RNIC_NAK_PSN_SEQUENCE_ERROR] = "NAK PSN sequence error",
	[RNIC_NAK_INVALID_REQUEST] = "NAK invalid request",
	[RNIC_NAK_REMOTE_ACCESS_ERROR] = "NAK remote access error",
	[RNIC_NAK_REMOTE_OPERATIONAL_ERROR] = "NAK remote operational error",
	[RNIC_NAK_INVALID_RD_REQUEST] = "NAK invalid RD request",
};

uint32_t rnic_credits_from_code(uint8_t code)
{
	code &= 31;
	return code == RNIC_CREDITS_NOT_CARRIED ? UINT32_MAX : credits_of_code[code];
}

uint8_t rnic_credits_to_code(uint32_t entries)
{
	uint8_t code = RNIC_COUNT_OF(credits_of_code) - 1;

	while (credits_of_code[code] > entries)
		code--;
	return code;
}

const char *rnic_syndrome_text(uint8_t syndrome)
{
	uint8_t value = rnic_syndrome_value(syndrome);

	switch (rnic_syndrome_kind(syndrome)) {
	case RNIC_SYNDROME_ACK:
		return value == RNIC_CREDITS_NOT_CARRIED ? "ACK" : "ACK with credits";
	case RNIC_SYNDROME_RNR_NAK:
		return "RNR NAK";
	case RNIC_SYNDROME_NAK:
		return value < RNIC_COUNT_OF(nak_texts) ? nak_texts[value] : "NAK reserved code";
	case RNIC_SYNDROME_RESERVED:
		break;
	}
	return "reserved syndrome";
}

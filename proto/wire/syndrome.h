/* SPDX-License-Identifier: MIT */
/*
 * The AETH syndrome (IBTA 1.4, 9.7.5.2.2, tables 43 to 46): acknowledge with credits, RNR NAK with
 * a timer, NAK with a code.
 */
#ifndef PROTO_WIRE_SYNDROME_H
#define PROTO_WIRE_SYNDROME_H

#include <stdbool.h>
#include <stdint.h>

enum rnic_syndrome_kind {
	RNIC_SYNDROME_ACK = 0,
	RNIC_SYNDROME_RNR_NAK = 1,
	RNIC_SYNDROME_RESERVED = 2,
	RNIC_SYNDROME_NAK = 3,
};

enum rnic_nak_code {
	RNIC_NAK_PSN_SEQUENCE_ERROR = 0,
	RNIC_NAK_INVALID_REQUEST = 1,
	RNIC_NAK_REMOTE_ACCESS_ERROR = 2,
	RNIC_NAK_REMOTE_OPERATIONAL_ERROR = 3,
	RNIC_NAK_INVALID_RD_REQUEST = 4,
};

/* The credit code that means "no end-to-end credits are carried". */
#define RNIC_CREDITS_NOT_CARRIED 31

static inline enum rnic_syndrome_kind rnic_syndrome_kind(uint8_t syndrome)
{
	return (enum rnic_syndrome_kind)(syndrome >> 5 & 3);
}

/* The low five bits: credit code, RNR timer code or NAK code, by kind. */
static inline uint8_t rnic_syndrome_value(uint8_t syndrome)
{
	return syndrome & 31;
}

static inline uint8_t rnic_syndrome_make(enum rnic_syndrome_kind kind, uint8_t value)
{
	return (uint8_t)((uint8_t)kind << 5 | (value & 31));
}

/*
 * Receive entries that a credit code stands for; IBTA 1.4, table 46. UINT32_MAX (no limit) for
 * RNIC_CREDITS_NOT_CARRIED. `code` is masked to 5 bits.
 */
uint32_t rnic_credits_from_code(uint8_t code);

/* The largest code, 0..30, whose credits do not exceed `entries`. */
uint8_t rnic_credits_to_code(uint32_t entries);

/* A sentence fragment for people, such as "NAK remote access error"; never NULL. */
const char *rnic_syndrome_text(uint8_t syndrome);

#endif

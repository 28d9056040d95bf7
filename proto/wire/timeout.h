/* SPDX-License-Identifier: MIT */
/* The two 5-bit time encodings of the transport: local ACK timeout and RNR timer. */
#ifndef PROTO_WIRE_TIMEOUT_H
#define PROTO_WIRE_TIMEOUT_H

#include <stdint.h>

/* IBTA 1.4, 9.7.6.1.3: 4.096 us * 2^code; UINT64_MAX (never) for code 0. `code` is masked to 5
 * bits. */
uint64_t rnic_ack_timeout_ns(uint8_t code);

/* IBTA 1.4, table 45: 0.01 ms .. 655.36 ms. `code` is masked to 5 bits. */
uint64_t rnic_rnr_timer_ns(uint8_t code);

#endif

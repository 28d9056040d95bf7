/* SPDX-License-Identifier: MIT */
/*
 * Counters of the device, one line each in counters.def: COUNTER(identifier, "name", "help"). Names
 * equal those of other software RNICs where the meaning is the same.
 */
#ifndef LIB_NIC_ENGINE_COUNTERS_H
#define LIB_NIC_ENGINE_COUNTERS_H

enum counter {
#define COUNTER(identifier, name, help) COUNTER_##identifier,
#include "lib/nic/engine/counters.def"
#undef COUNTER
	COUNTER_COUNT,
};

/* "rcvd_pkts" for COUNTER_RECEIVED_PACKETS; never NULL. */
const char *counter_name(enum counter counter);

#endif

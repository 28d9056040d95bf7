/* SPDX-License-Identifier: MIT */
/*
 * Checks the ICRC of what a port received. A port does not see the IPv4 identification, which the
 * ICRC covers; the check expects the likely one, because that costs half (icrc.h).
 */
#ifndef LIB_NIC_PATH_ICRC_CHECK_H
#define LIB_NIC_PATH_ICRC_CHECK_H

#include "lib/nic/port/port.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
struct icrc_check {
	bool is_counting_up; /* identifications of packets that came in one buffer */
	uint64_t bad;	     /* datagrams */
};

/* Whether the ICRC of a received datagram is right; counts a wrong one. */
bool icrc_check_is_good(struct icrc_check *check, const struct datagram *datagram);

#endif

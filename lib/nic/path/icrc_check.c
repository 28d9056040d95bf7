/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/icrc_check.h"

#include "proto/wire/icrc.h"

/*
 * Packets that one segmented send became count up from 0, those that were sent one by one are all
 * 0; a buffer of UDP_GRO may hold either, and the last packet tells what to expect.
 */
bool icrc_check_is_good(struct icrc_check *check, const struct datagram *datagram)
{
	uint16_t expected = check->is_counting_up ? datagram->gso_batch_position : 0;
	uint16_t identification = 0;

	if (rnic_icrc_check_expecting(&datagram->addresses, expected, datagram->bytes,
				      datagram->length, &identification) == RNIC_ICRC_BAD) {
		check->bad++;
		return false;
	}
	if (datagram->gso_batch_position != 0)
		check->is_counting_up = identification != 0;
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/icrc_check.h"

#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"

static struct icrc_suspect *suspect_find(struct icrc_check *check, const struct rnic_gid *source)
{
	for (uint32_t i = 0; i < check->suspect_count; i++)
		if (rnic_gid_equal(&check->suspects[i].source, source))
			return &check->suspects[i];
	return NULL;
}

/* A place for a new suspect: of one that has the fewest packets, when all are taken. */
static struct icrc_suspect *suspect_place(struct icrc_check *check)
{
	struct icrc_suspect *least = &check->suspects[0];

	if (check->suspect_count < ICRC_SUSPECTS_MAX)
		return &check->suspects[check->suspect_count++];
	for (uint32_t i = 1; i < ICRC_SUSPECTS_MAX; i++)
		if (check->suspects[i].bad < least->bad)
			least = &check->suspects[i];
	return least;
}

static bool suspect_is_slow(const struct icrc_suspect *suspect, uint64_t now_ns)
{
	return suspect->accused_at == ICRC_ACCUSED_FIRST && suspect->bad >= ICRC_ACCUSED_SLOW &&
	       now_ns > suspect->first_ns && now_ns - suspect->first_ns >= ICRC_ACCUSED_NS;
}

static void suspect_note(struct icrc_check *check, const struct datagram *datagram)
{
	struct icrc_suspect *suspect = suspect_find(check, &datagram->addresses.source);

	if (suspect == NULL) {
		suspect = suspect_place(check);
		*suspect = (struct icrc_suspect){datagram->addresses.source, 0,
						 datagram->received_ns, ICRC_ACCUSED_FIRST};
	}
	suspect->bad++;
	if (suspect->bad < suspect->accused_at && !suspect_is_slow(suspect, datagram->received_ns))
		return;
	suspect->accused_at = ICRC_ACCUSED_FACTOR * suspect->accused_at;
	check->accused = *suspect;
	check->has_accused = true;
}

static void suspect_clear(struct icrc_check *check, const struct rnic_gid *source)
{
	struct icrc_suspect *suspect = suspect_find(check, source);

	if (suspect != NULL)
		*suspect = check->suspects[--check->suspect_count];
}

bool icrc_check_take_accused(struct icrc_check *check, struct icrc_suspect *accused)
{
	if (!check->has_accused)
		return false;
	*accused = check->accused;
	check->has_accused = false;
	return true;
}

/*
 * The identification that is the likely one, and costs least. A sender that counts goes on with the
 * next number. Packets that one segmented send became count up from 0, those that were sent one by
 * one are all 0; a buffer of UDP_GRO may hold either, and the last packet tells what to expect.
 */
static uint16_t expected_identification(const struct icrc_check *check,
					const struct datagram *datagram)
{
	if (check->is_from_counter)
		return identification_order_next(&check->order, &datagram->addresses);
	return check->is_counting_up ? datagram->gso_batch_position : 0;
}

bool icrc_check_is_good(struct icrc_check *check, const struct datagram *datagram)
{
	uint16_t expected = expected_identification(check, datagram);
	uint16_t identification = 0;

	if (rnic_icrc_check_expecting(&datagram->addresses, expected, datagram->bytes,
				      datagram->length, &identification) == RNIC_ICRC_BAD) {
		check->bad++;
		suspect_note(check, datagram);
		return false;
	}
	check->is_from_counter = identification_may_count(identification);
	if (check->is_from_counter &&
	    !identification_order_fits(&check->order, &datagram->addresses, identification,
				       datagram->received_ns)) {
		check->doubtful++;
		return false;
	}
	if (check->suspect_count > 0)
		suspect_clear(check, &datagram->addresses.source);
	if (datagram->gso_batch_position != 0)
		check->is_counting_up = identification != 0;
	return true;
}

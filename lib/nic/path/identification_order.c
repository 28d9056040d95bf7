/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/identification_order.h"

#include "proto/base/be.h"
#include "proto/wire/gid.h"
#include "proto/wire/ip_header.h"

/* 2^64 divided by the golden ratio: its product spreads neighbouring addresses over all sets. */
#define SPREAD	     UINT64_C(0x9e3779b97f4a7c15)
#define SPREAD_SHIFT 58

_Static_assert(IDENTIFICATION_SETS == 1 << (64 - SPREAD_SHIFT), "the product names a set");

/*
 * Numbers of a segmented send say nothing of a count. A count that goes through them is taken to go
 * from the last number to the first behind them.
 */
#define NUMBERS (UINT32_C(65536) - IDENTIFICATION_OF_BATCHES)

/* After this time a sender may have sent any number: nothing is far. */
#define STALE_NS (UINT64_C(65536) * IDENTIFICATION_NS)

static uint64_t passed_ns(const struct identification_sender *sender, uint64_t now_ns)
{
	return now_ns > sender->received_ns ? now_ns - sender->received_ns : 0;
}

/* What the place of a sender is worth: most where the sender has shown order and sends now. */
static uint32_t sender_worth(const struct identification_sender *sender, uint64_t now_ns)
{
	if (passed_ns(sender, now_ns) >= STALE_NS)
		return 0;
	return sender->proof + sender->proof_needed;
}

/* The sender's way in its set; IDENTIFICATION_WAYS: it has no place. */
static uint32_t way_find(const struct identification_sender *set, uint64_t addresses)
{
	for (uint32_t i = 0; i < IDENTIFICATION_WAYS; i++)
		if (set[i].addresses == addresses && set[i].proof_needed != 0)
			return i;
	return IDENTIFICATION_WAYS;
}

/* The wire is hostile: a sender that is new takes the place of one that is worth the least. */
static struct identification_sender *sender_place(struct identification_sender *set,
						  uint64_t now_ns)
{
	struct identification_sender *least = &set[0];

	for (uint32_t i = 0; i < IDENTIFICATION_WAYS; i++) {
		if (set[i].proof_needed == 0)
			return &set[i];
		if (sender_worth(&set[i], now_ns) < sender_worth(least, now_ns))
			least = &set[i];
	}
	return least;
}

static bool identification_is_near(uint32_t ahead)
{
	return ahead <= IDENTIFICATION_NEAR || ahead >= NUMBERS - IDENTIFICATION_NEAR;
}

/* Whether the sender has shown order, and cannot have come so far ahead by counting. */
static bool is_doubtful(const struct identification_sender *sender, uint32_t ahead, uint64_t now_ns)
{
	const uint64_t sent_meanwhile = passed_ns(sender, now_ns) / IDENTIFICATION_NS;

	return sender->proof >= sender->proof_needed &&
	       ahead > sent_meanwhile + IDENTIFICATION_AHEAD;
}

static uint64_t key_of(const struct rnic_addresses *addresses)
{
	return (uint64_t)rnic_be32_read(rnic_gid_ipv4(&addresses->source)) << 32 |
	       rnic_be32_read(rnic_gid_ipv4(&addresses->dest));
}

static uint64_t set_of(uint64_t key)
{
	return key * SPREAD >> SPREAD_SHIFT;
}

/* Whether the packet fits what is known of its sender; takes note of it. */
static bool sender_fits(struct identification_sender *sender, uint16_t identification,
			uint64_t received_ns)
{
	const uint32_t ahead = identification >= sender->last
				       ? (uint32_t)identification - sender->last
				       : identification + NUMBERS - sender->last;

	if (identification_is_near(ahead)) {
		sender->proof += sender->proof < IDENTIFICATION_PROOF_MAX;
		return true;
	}
	if (!is_doubtful(sender, ahead, received_ns)) {
		sender->proof = 0;
		return true;
	}
	sender->proof = 0;
	if (sender->proof_needed < IDENTIFICATION_PROOF_MAX)
		sender->proof_needed *= 2;
	return false;
}

bool identification_order_fits(struct identification_order *order,
			       const struct rnic_addresses *addresses, uint16_t identification,
			       uint64_t received_ns)
{
	const uint64_t key = key_of(addresses);
	struct identification_sender *set = order->senders[set_of(key)];
	struct identification_sender *sender;
	const uint32_t way = way_find(set, key);

	if (way == IDENTIFICATION_WAYS) {
		sender = sender_place(set, received_ns);
		*sender = (struct identification_sender){
			.addresses = key,
			.proof_needed = IDENTIFICATION_PROOF_FIRST,
		};
	} else {
		sender = &set[way];
		if (!sender_fits(sender, identification, received_ns))
			return false;
	}
	sender->last = identification;
	sender->received_ns = received_ns;
	return true;
}

uint16_t identification_order_next(const struct identification_order *order,
				   const struct rnic_addresses *addresses)
{
	const struct identification_sender *set;
	uint32_t way;
	uint64_t key;

	if (!rnic_addresses_are_ipv4(addresses))
		return 0;
	key = key_of(addresses);
	set = order->senders[set_of(key)];
	way = way_find(set, key);
	return way < IDENTIFICATION_WAYS ? (uint16_t)(set[way].last + 1) : 0;
}

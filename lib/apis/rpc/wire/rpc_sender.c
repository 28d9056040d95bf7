/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_sender.h"

#include <assert.h>

enum {
	FIRST_ALLOWANCE = 16,
	SMALLEST_ALLOWANCE = 2,
	REORDER_PACKETS = 3, /* a fragment is lost after so many later arrivals */
	/*
	 * Expirations for one fragment, the peer being heard, that show a limit of its size and no
	 * chance.
	 */
	PARTING_EXPIRATIONS = 3,
	TRIAL_DOUBLINGS = 6,
	ASK_PACKETS = 64, /* an acknowledgement is asked for after so many datagrams */
};

static struct rpc_flight *flight_of(struct rpc_sender *sender, uint32_t sequence)
{
	return &sender->flights[sequence % RPC_LARGE_WINDOW_PACKETS];
}

void rpc_sender_init(struct rpc_sender *sender, const struct rpc_sender_limits *limits,
		     uint32_t first_sequence)
{
	*sender = (struct rpc_sender){
		.limits = *limits,
		.base = first_sequence,
		.next = first_sequence,
		.credit = first_sequence,
		.recovery = first_sequence,
		.allowance = FIRST_ALLOWANCE,
		.threshold = RPC_LARGE_WINDOW_PACKETS,
		.rto_ns = limits->rto_initial_ns,
		.timer_ns = RPC_NEVER,
		.stuck_ns = RPC_NEVER,
		.trial_wait_ns = limits->trial_ns,
	};
}

void rpc_sender_push(struct rpc_sender *sender, struct rpc_outgoing *message)
{
	message->id = sender->next_message++;
	message->next = NULL;
	message->is_released = false;
	if (sender->oldest == NULL)
		sender->oldest = message;
	else
		sender->newest->next = message;
	sender->newest = message;
	if (sender->cutting == NULL) {
		sender->cutting = message;
		sender->cut_bytes = 0;
	}
}

struct rpc_outgoing *rpc_sender_take_released(struct rpc_sender *sender, bool is_over)
{
	struct rpc_outgoing *message = sender->oldest;

	if (message == NULL || (!message->is_released && !is_over))
		return NULL;
	sender->oldest = message->next;
	if (sender->cutting == message) {
		sender->cutting = message->next;
		sender->cut_bytes = 0;
	}
	return message;
}

static void rpc_sender_fill(const struct rpc_flight *flight, uint32_t sequence,
			    struct rpc_packet *packet)
{
	packet->kind = RPC_PACKET_DATA;
	packet->sequence = sequence;
	packet->message = flight->message->id;
	packet->offset = flight->offset;
	packet->total = flight->message->length;
	packet->payload_bytes = flight->bytes;
	packet->payload = flight->message->bytes + flight->offset;
}

/* Leaves in the packet what a part holds that begins at `at` in the fragment; the rest follows. */
static void rpc_sender_cut(struct rpc_sender *sender, uint32_t sequence, uint32_t at,
			   struct rpc_packet *packet)
{
	const uint32_t left = packet->payload_bytes - at;
	const uint32_t part = left < sender->limits.part_bytes ? left : sender->limits.part_bytes;

	packet->offset += at;
	packet->payload += at;
	packet->payload_bytes = (uint16_t)part;
	sender->part_sequence = sequence;
	sender->part_offset = part < left ? at + part : 0;
	flight_of(sender, sequence)->is_cut = part < left;
}

/* Sends the next part of a fragment that has begun; an end of the wait for it ends its parts. */
static bool transmit_part(struct rpc_sender *sender, struct rpc_packet *packet)
{
	const uint32_t at = sender->part_offset, sequence = sender->part_sequence;
	const struct rpc_flight *flight = flight_of(sender, sequence);

	sender->part_offset = 0;
	if (at == 0 || rpc_before(sequence, sender->base) || flight->is_acknowledged ||
	    flight->is_lost)
		return false;
	rpc_sender_fill(flight, sequence, packet);
	rpc_sender_cut(sender, sequence, at, packet);
	return true;
}

/* Whether a fragment goes whole to find out whether it arrives. */
static bool is_trial(struct rpc_sender *sender, const struct rpc_flight *flight, uint64_t now_ns)
{
	if (flight->is_again || now_ns < sender->trial_ns)
		return false;
	sender->trial_ns = now_ns + sender->trial_wait_ns;
	if (sender->trial_wait_ns < sender->limits.trial_ns << TRIAL_DOUBLINGS)
		sender->trial_wait_ns *= 2;
	return true;
}

/* Notes the fragment in the packet as sent, and cuts its first part where fragments go in parts. */
static void rpc_sender_note_sent(struct rpc_sender *sender, uint32_t sequence,
				 struct rpc_packet *packet, uint64_t now_ns)
{
	struct rpc_flight *flight = flight_of(sender, sequence);

	flight->is_cut = false;
	if (sender->is_parting && flight->bytes > sender->limits.part_bytes) {
		flight->is_trial = is_trial(sender, flight, now_ns);
		if (!flight->is_trial)
			rpc_sender_cut(sender, sequence, 0, packet);
	}
	flight->sent_ns = now_ns;
	sender->in_flight++;
	if (sender->stuck_ns == RPC_NEVER)
		sender->stuck_ns = now_ns;
	if (sender->timer_ns == RPC_NEVER)
		sender->timer_ns = now_ns + sender->rto_ns;
}

static bool transmit_lost(struct rpc_sender *sender, struct rpc_packet *packet, uint32_t room_bytes,
			  uint64_t now_ns)
{
	if (sender->lost == 0)
		return false;
	for (uint32_t sequence = sender->base; sequence != sender->next; sequence++) {
		struct rpc_flight *flight = flight_of(sender, sequence);

		if (!flight->is_lost)
			continue;
		if (flight->bytes > room_bytes)
			return false;
		flight->is_lost = false;
		sender->lost--;
		flight->is_again = true;
		sender->retransmissions++;
		rpc_sender_fill(flight, sequence, packet);
		rpc_sender_note_sent(sender, sequence, packet, now_ns);
		return true;
	}
	return false;
}

static bool may_send_new(const struct rpc_sender *sender)
{
	return sender->cutting != NULL && rpc_before(sender->next, sender->credit) &&
	       sender->next - sender->base < sender->limits.window_packets;
}

static bool transmit_new(struct rpc_sender *sender, struct rpc_packet *packet, uint32_t room_bytes,
			 uint64_t now_ns)
{
	struct rpc_outgoing *message = sender->cutting;
	struct rpc_flight *flight = flight_of(sender, sender->next);
	uint32_t left;

	if (!may_send_new(sender))
		return false;
	left = message->length - sender->cut_bytes;
	if (left > sender->limits.payload_bytes)
		left = sender->limits.payload_bytes;
	if (left > room_bytes)
		return false;
	*flight = (struct rpc_flight){
		.message = message,
		.offset = sender->cut_bytes,
		.bytes = (uint16_t)left,
	};
	rpc_sender_fill(flight, sender->next, packet);
	rpc_sender_note_sent(sender, sender->next, packet, now_ns);
	sender->next++;
	sender->cut_bytes += left;
	if (sender->cut_bytes == message->length) {
		sender->cutting = message->next;
		sender->cut_bytes = 0;
	}
	return true;
}

/* Asks for an acknowledgement now and then, and where nothing more can be sent without one. */
static void ask(struct rpc_sender *sender, struct rpc_packet *packet)
{
	const bool is_followed = sender->part_offset != 0 ||
				 (sender->in_flight < sender->allowance && may_send_new(sender));

	if (!sender->limits.asks)
		return;
	sender->unasked++;
	if (sender->unasked < ASK_PACKETS && is_followed)
		return;
	sender->unasked = 0;
	packet->code = RPC_DATA_ASKS;
}

bool rpc_sender_transmit(struct rpc_sender *sender, struct rpc_packet *packet, uint32_t room_bytes,
			 uint64_t now_ns)
{
	bool has_sent = false;

	if (sender->part_offset != 0 && room_bytes < sender->limits.part_bytes)
		return false;
	has_sent = transmit_part(sender, packet);
	if (!has_sent && sender->in_flight < sender->allowance)
		has_sent = transmit_lost(sender, packet, room_bytes, now_ns) ||
			   transmit_new(sender, packet, room_bytes, now_ns);
	if (has_sent)
		ask(sender, packet);
	return has_sent;
}

static void rpc_sender_measure(struct rpc_sender *sender, uint64_t round_trip_ns)
{
	uint64_t smoothed = sender->smoothed_ns, off;

	if (smoothed == 0) {
		sender->smoothed_ns = round_trip_ns;
		sender->variation_ns = round_trip_ns / 2;
	} else {
		off = smoothed > round_trip_ns ? smoothed - round_trip_ns
					       : round_trip_ns - smoothed;
		sender->variation_ns = (3 * sender->variation_ns + off) / 4;
		sender->smoothed_ns = (7 * smoothed + round_trip_ns) / 8;
	}
	sender->rto_ns = sender->smoothed_ns + 4 * sender->variation_ns;
	if (sender->rto_ns < sender->limits.rto_min_ns)
		sender->rto_ns = sender->limits.rto_min_ns;
	if (sender->rto_ns > sender->limits.rto_max_ns)
		sender->rto_ns = sender->limits.rto_max_ns;
}

/*
 * The lost fragments that were not sent again are under way after all, but not one whose parts were
 * not all sent: the others of its parts do not go any more.
 */
static void take_back_losses(struct rpc_sender *sender)
{
	for (uint32_t sequence = sender->base; sequence != sender->next; sequence++) {
		struct rpc_flight *flight = flight_of(sender, sequence);

		if (!flight->is_lost || flight->is_cut)
			continue;
		flight->is_lost = false;
		sender->lost--;
		sender->in_flight++;
	}
	sender->allowance = sender->allowance_before;
	sender->threshold = sender->threshold_before;
	sender->allowance_before = 0;
}

static void grow_allowance(struct rpc_sender *sender)
{
	if (sender->allowance >= sender->limits.window_packets)
		return;
	if (sender->allowance >= sender->threshold &&
	    ++sender->allowance_progress < sender->allowance)
		return;
	sender->allowance_progress = 0;
	sender->allowance++;
}

static void end_parting(struct rpc_sender *sender)
{
	sender->is_parting = false;
	sender->trial_wait_ns = sender->limits.trial_ns;
}

static void note_acknowledged(struct rpc_sender *sender, struct rpc_flight *flight, uint64_t now_ns)
{
	if (flight->is_acknowledged)
		return;
	if (flight->is_lost && !flight->is_again && sender->allowance_before != 0)
		take_back_losses(sender);
	flight->is_acknowledged = true;
	if (flight->is_lost)
		sender->lost--;
	else
		sender->in_flight--;
	flight->is_lost = false;
	if (!flight->is_again)
		rpc_sender_measure(sender, now_ns - flight->sent_ns);
	if (flight->is_trial && !flight->is_again)
		end_parting(sender);
	grow_allowance(sender);
}

static void note_lost(struct rpc_sender *sender, struct rpc_flight *flight)
{
	flight->is_lost = true;
	sender->lost++;
	sender->in_flight--;
}

static void shrink_allowance(struct rpc_sender *sender, uint32_t sequence)
{
	if (rpc_before(sequence, sender->recovery))
		return;
	sender->recovery = sender->next;
	sender->allowance /= 2;
	if (sender->allowance < SMALLEST_ALLOWANCE)
		sender->allowance = SMALLEST_ALLOWANCE;
	sender->threshold = sender->allowance;
	sender->allowance_before = 0;
}

static void rpc_sender_advance(struct rpc_sender *sender, uint32_t cumulative, uint64_t now_ns)
{
	while (sender->base != cumulative) {
		struct rpc_flight *flight = flight_of(sender, sender->base);

		note_acknowledged(sender, flight, now_ns);
		if (flight->offset + flight->bytes == flight->message->length)
			flight->message->is_released = true;
		flight->message = NULL;
		sender->base++;
	}
}

/* Counts what shows that the peer is there and the oldest fragment does not arrive. */
static void note_heard(struct rpc_sender *sender, bool has_advanced, uint64_t now_ns)
{
	if (has_advanced) {
		sender->stuck_ns = sender->base == sender->next ? RPC_NEVER : now_ns;
		sender->expirations = 0;
		sender->is_heard = false;
	} else if (sender->expirations > 0 && !sender->is_heard) {
		sender->expirations = 1; /* the others may have been those of an outage */
		sender->is_heard = true;
	}
}

/* A fragment that later arrivals show to be lost is sent again without waiting for the timer. */
static void find_lost(struct rpc_sender *sender, uint32_t highest)
{
	for (uint32_t sequence = sender->base; rpc_before(sequence + REORDER_PACKETS - 1, highest);
	     sequence++) {
		struct rpc_flight *flight = flight_of(sender, sequence);

		if (flight->is_acknowledged || flight->is_lost || flight->is_again)
			continue;
		note_lost(sender, flight);
		shrink_allowance(sender, sequence);
	}
}

bool rpc_sender_acknowledge(struct rpc_sender *sender, const struct rpc_packet *packet,
			    uint64_t now_ns)
{
	uint32_t base = sender->base, highest = packet->cumulative;

	if (rpc_before(sender->next, packet->cumulative))
		return false;
	if (rpc_before(packet->cumulative, base))
		return true; /* a later one has overtaken it */
	rpc_sender_advance(sender, packet->cumulative, now_ns);
	note_heard(sender, sender->base != base, now_ns);
	for (uint64_t left = packet->selective; left != 0; left &= left - 1) {
		uint32_t sequence = packet->cumulative + 1 + (uint32_t)__builtin_ctzll(left);

		if (!rpc_before(sequence, sender->next))
			break;
		note_acknowledged(sender, flight_of(sender, sequence), now_ns);
		highest = sequence;
	}
	find_lost(sender, highest);
	if (rpc_before(sender->credit, packet->credit) &&
	    packet->credit - packet->cumulative <= RPC_LARGE_WINDOW_PACKETS)
		sender->credit = packet->credit;
	if (sender->base == sender->next)
		sender->timer_ns = RPC_NEVER;
	else if (sender->base != base)
		sender->timer_ns = now_ns + sender->rto_ns;
	return true;
}

bool rpc_sender_is_blocked(const struct rpc_sender *sender)
{
	return sender->cutting != NULL && sender->base == sender->next &&
	       !rpc_before(sender->next, sender->credit);
}

static void note_expired(struct rpc_sender *sender, uint64_t now_ns)
{
	const struct rpc_flight *oldest = flight_of(sender, sender->base);

	sender->expirations++;
	if (!sender->is_heard || sender->expirations < PARTING_EXPIRATIONS || sender->is_parting ||
	    sender->limits.part_bytes == 0 || oldest->bytes <= sender->limits.part_bytes)
		return;
	sender->is_parting = true;
	sender->trial_ns = now_ns + sender->trial_wait_ns;
	sender->stuck_ns = now_ns; /* the parts have as long as the whole fragment had */
}

void rpc_sender_tick(struct rpc_sender *sender, uint64_t now_ns)
{
	if (now_ns < sender->timer_ns)
		return;
	note_expired(sender, now_ns);
	for (uint32_t sequence = sender->base; sequence != sender->next; sequence++) {
		struct rpc_flight *flight = flight_of(sender, sequence);

		if (!flight->is_acknowledged && !flight->is_lost)
			note_lost(sender, flight);
	}
	assert(sender->in_flight == 0);
	sender->recovery = sender->next;
	if (sender->allowance > SMALLEST_ALLOWANCE) {
		sender->allowance_before = sender->allowance;
		sender->threshold_before = sender->threshold;
		sender->threshold = sender->allowance / 2;
	}
	sender->allowance = SMALLEST_ALLOWANCE;
	sender->rto_ns = sender->rto_ns * 2 > sender->limits.rto_max_ns ? sender->limits.rto_max_ns
									: sender->rto_ns * 2;
	sender->timer_ns = now_ns + sender->rto_ns;
}

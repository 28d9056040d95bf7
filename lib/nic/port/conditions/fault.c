/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault.h"

#include "lib/nic/base/list.h"
#include "lib/nic/port/conditions/held_datagrams.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"
#include "proto/wire/headers.h"
#include "proto/wire/syndrome.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REORDER_WAIT_NS 1000000
#define REFUSED_WAIT_NS 100000

/* Datagrams that leave in one call of the next port. */
#define FAULT_BATCH 64

struct fault {
	struct port port; /* its functions: fault_choose_ops() */
	struct port *next;
	/* Where the call of receive puts datagrams. Judging is rare: that needs no register. */
	struct datagram *receive_into;
	struct capture *capture; /* NULL: none */
	struct fault_plan plan;
	struct prng prng;
	struct held_pool pool;
	struct held_lane receive;
	struct held_lane transmit;
	struct list lent; /* given to the caller by the last receive */
	uint64_t lost_datagrams;
	/* Due datagrams, taken out of the queue, which the next port has not taken yet. */
	struct datagram outbox[FAULT_BATCH];
	struct held *outbox_held[FAULT_BATCH];
	uint32_t outbox_first;
	uint32_t outbox_end;
	uint64_t refused_until_ns;
	/* The verdict on datagrams that the next port refused: the caller will offer them again. */
	uint32_t judged_passes;
	bool has_judged_verdict;
	struct fault_verdict judged_verdict;
};

static const struct port_ops fault_ops, calm_ops, receives_until_ops, sends_until_ops;

static struct fault *fault_of(const struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct fault, port);
}

/* Whether something to be sent is held, or was judged before. */
static bool fault_has_past(const struct fault *fault)
{
	return fault->transmit.held != 0 || fault->judged_passes != 0 || fault->has_judged_verdict;
}

/*
 * Chooses the port's functions: those that look at the sieves alone, as long as nothing is held.
 * Rules that match nothing are to cost next to nothing, and a test of what is held would be as much
 * as a table of the sieve, and one of the time too.
 */
static void fault_choose_ops(struct fault *fault)
{
	if (fault->receive.held != 0 || fault_has_past(fault))
		fault->port.ops = &fault_ops;
	else if (fault->plan.until_ns == UINT64_MAX)
		fault->port.ops = &calm_ops;
	else
		fault->port.ops =
			fault->plan.receive.count != 0 ? &receives_until_ops : &sends_until_ops;
}

static void fault_hold(struct fault *fault, struct held_lane *lane, const struct datagram *datagram,
		       uint64_t delay_ns, uint32_t behind, uint64_t now_ns)
{
	struct held *held =
		datagram->length <= RNIC_PACKET_BYTES_MAX ? held_pool_take(&fault->pool) : NULL;

	if (held == NULL) {
		fault->lost_datagrams++;
		return;
	}
	lane->held++;
	held->datagram = *datagram;
	held->datagram.bytes = held->bytes;
	memcpy(held->bytes, datagram->bytes, datagram->length);
	held->behind = behind;
	held->delay_ns = delay_ns;
	if (behind != 0) {
		held->due_ns = now_ns + REORDER_WAIT_NS;
		list_add_tail(&lane->overtaken, &held->node);
	} else {
		due_queue_push(&lane->due, now_ns + delay_ns, held);
	}
}

/* Returns whether the datagram goes on at once; else it is dropped, or held with its duplicate. */
static bool apply(struct fault *fault, struct held_lane *lane, const struct datagram *datagram,
		  const struct fault_verdict *verdict, uint64_t now_ns)
{
	if (verdict->drop)
		return false;
	if (verdict->duplicate)
		fault_hold(fault, lane, datagram, verdict->delay_ns, 0, now_ns);
	if (verdict->delay_ns == 0 && verdict->behind == 0)
		return true;
	fault_hold(fault, lane, datagram, verdict->delay_ns, verdict->behind, now_ns);
	return false;
}

static struct fault_verdict transmit_verdict(struct fault *fault, const struct datagram *datagram,
					     uint64_t now_ns)
{
	if (fault->judged_passes != 0) {
		fault->judged_passes--;
		return (struct fault_verdict){0};
	}
	if (fault->has_judged_verdict) {
		fault->has_judged_verdict = false;
		return fault->judged_verdict;
	}
	return fault_plan_judge(&fault->plan, &fault->plan.transmit, datagram, now_ns);
}

static bool is_untouched(const struct fault_verdict *verdict)
{
	return !verdict->drop && !verdict->duplicate && !verdict->corrupt && !verdict->mark &&
	       !verdict->rnr && verdict->behind == 0 && verdict->delay_ns == 0;
}

/* Fills the empty outbox with due datagrams; false when none is due. */
static bool outbox_fill(struct fault *fault, uint64_t now_ns)
{
	struct held *held;

	fault->outbox_first = fault->outbox_end = 0;
	while (fault->outbox_end < FAULT_BATCH &&
	       (held = held_lane_first_due(&fault->transmit, now_ns)) != NULL) {
		due_queue_pop(&fault->transmit.due);
		fault->outbox_held[fault->outbox_end] = held;
		fault->outbox[fault->outbox_end++] = held->datagram;
	}
	return fault->outbox_end != 0;
}

/* Sends what is in the outbox; false when the next port takes no more. */
static bool outbox_send(struct fault *fault, uint64_t now_ns)
{
	const uint32_t first = fault->outbox_first;
	const uint32_t sent = fault->next->ops->transmit(fault->next, &fault->outbox[first],
							 fault->outbox_end - first, now_ns);

	for (uint32_t i = 0; i < sent; i++)
		held_pool_give(&fault->pool, fault->outbox_held[first + i]);
	fault->transmit.held -= sent;
	fault->outbox_first += sent;
	return fault->outbox_first == fault->outbox_end;
}

/* Sends the due datagrams; false when the next port takes no more. */
static bool transmit_due(struct fault *fault, uint64_t now_ns)
{
	while (fault->outbox_first < fault->outbox_end || outbox_fill(fault, now_ns)) {
		if (!outbox_send(fault, now_ns)) {
			fault->refused_until_ns = now_ns + REFUSED_WAIT_NS;
			return false;
		}
	}
	fault->refused_until_ns = 0;
	return true;
}

/* Marks like a switch with a long queue: only packets that allow it (RFC 3168, 5). */
static void mark_congestion(struct datagram *datagram)
{
	if ((datagram->addresses.traffic_class & 3) != 0)
		datagram->addresses.traffic_class |= 3;
}

/* A requester waits for 640 us then, and sends again. */
#define RNR_TIMER_CODE 12

/* Only acknowledgements get this verdict. */
static void deny_readiness(struct datagram *datagram)
{
	if (datagram->length >= RNIC_BTH_BYTES + RNIC_AETH_BYTES)
		datagram->bytes[RNIC_BTH_BYTES] =
			rnic_syndrome_make(RNIC_SYNDROME_RNR_NAK, RNR_TIMER_CODE);
}

static void tell_capture_of_unsent(struct fault *fault, const struct datagram *datagram,
				   const struct fault_verdict *verdict, uint64_t now_ns)
{
	char text[CAPTURE_NOTE_BYTES];

	snprintf(text, sizeof(text), "dropped by rule %u, not sent", verdict->dropped_by);
	capture_write_dropped(fault->capture, datagram, text, now_ns);
}

/*
 * Transmits a datagram with a verdict of its own. All but a dropped one go through the pool, which
 * keeps the order.
 */
static void transmit_faulty(struct fault *fault, struct datagram *datagram,
			    const struct fault_verdict *verdict, uint64_t now_ns)
{
	struct datagram damaged = *datagram;

	/* A packet whose bytes could not be read has none. */
	if (verdict->drop && fault->capture != NULL && datagram->length != 0)
		tell_capture_of_unsent(fault, datagram, verdict, now_ns);
	if (verdict->corrupt) {
		uint64_t bits = 8 * ((uint64_t)datagram->length + RNIC_ICRC_BYTES);

		damaged.damage = 1 + (uint32_t)prng_below(&fault->prng, bits);
	}
	if (verdict->mark)
		mark_congestion(&damaged);
	if (verdict->rnr)
		deny_readiness(&damaged);
	if (apply(fault, &fault->transmit, &damaged, verdict, now_ns))
		fault_hold(fault, &fault->transmit, &damaged, 0, 0, now_ns);
}

static const struct rnic_gid *way_peer(const struct fault *fault, const struct fault_way *way,
				       const struct datagram *datagram)
{
	return way == &fault->plan.receive ? &datagram->addresses.source
					   : &datagram->addresses.dest;
}

static bool concerns_some(const struct fault *fault, const struct fault_way *way,
			  const struct datagram *datagrams, uint32_t count, uint64_t now_ns)
{
	for (uint32_t i = 0; i < count; i++)
		if (fault_sieve_keeps(&way->sieve, &datagrams[i],
				      way_peer(fault, way, &datagrams[i])) &&
		    fault_plan_concerns(&fault->plan, way, &datagrams[i], now_ns))
			return true;
	return false;
}

static uint32_t transmit_by_rules(struct fault *fault, struct datagram *datagrams, uint32_t count,
				  uint64_t now_ns)
{
	struct port *next = fault->next;
	uint32_t taken = 0;

	held_lane_advance(&fault->transmit, 0, now_ns);
	while (transmit_due(fault, now_ns) && taken < count) {
		struct fault_verdict verdict = {0};
		bool has_verdict = false;
		uint32_t run = 0;
		uint32_t sent = 0;

		while (taken + run < count && !has_verdict) {
			verdict = transmit_verdict(fault, &datagrams[taken + run], now_ns);
			has_verdict = !is_untouched(&verdict);
			run += !has_verdict;
		}
		if (run != 0)
			sent = next->ops->transmit(next, &datagrams[taken], run, now_ns);
		taken += sent;
		held_lane_advance(&fault->transmit, sent, now_ns);
		if (sent < run) {
			fault->judged_passes = run - sent;
			fault->has_judged_verdict = has_verdict;
			fault->judged_verdict = verdict;
			break;
		}
		if (has_verdict)
			transmit_faulty(fault, &datagrams[taken++], &verdict, now_ns);
	}
	if (count == 0)
		next->ops->transmit(next, datagrams, 0, now_ns);
	fault_choose_ops(fault);
	return taken;
}

__attribute__((noinline)) static uint32_t
transmit_judged(struct fault *fault, struct datagram *datagrams, uint32_t count, uint64_t now_ns)
{
	if (concerns_some(fault, &fault->plan.transmit, datagrams, count, now_ns))
		return transmit_by_rules(fault, datagrams, count, now_ns);
	return fault->next->ops->transmit(fault->next, datagrams, count, now_ns);
}

static uint32_t fault_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
			       uint64_t now_ns)
{
	struct fault *fault = fault_of(port);

	if (fault_has_past(fault))
		return transmit_by_rules(fault, datagrams, count, now_ns);
	if (now_ns >= fault->plan.until_ns)
		fault_plan_review(&fault->plan, now_ns);
	return transmit_judged(fault, datagrams, count, now_ns);
}

static uint32_t receive_due(struct fault *fault, struct datagram *into, uint32_t max,
			    uint64_t now_ns)
{
	struct held *held;
	uint32_t count = 0;

	while (count < max && (held = held_lane_first_due(&fault->receive, now_ns)) != NULL) {
		into[count++] = held->datagram;
		due_queue_pop(&fault->receive.due);
		list_add_tail(&fault->lent, &held->node);
	}
	return count;
}

/* A second flip could undo the first: what is damaged stays as it is. */
static void flip_bit(struct fault *fault, struct datagram *datagram)
{
	uint64_t bit = prng_below(&fault->prng, UINT64_C(8) * datagram->length);

	if (datagram->damage != 0)
		return;
	datagram->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	datagram->damage = 1 + (uint32_t)bit;
}

/* A capture has the packet as it came, so that it is written before it is damaged. */
static void tell_capture(struct fault *fault, const struct datagram *datagram,
			 const struct fault_verdict *verdict)
{
	char text[CAPTURE_NOTE_BYTES];

	if (verdict->drop) {
		snprintf(text, sizeof(text), "dropped by rule %u", verdict->dropped_by);
		capture_note(fault->capture, datagram->bytes, text);
	}
	if (verdict->corrupt) {
		capture_note(fault->capture, datagram->bytes, "damaged after this, on purpose");
		capture_write_received(fault->capture);
	}
}

/* Judges the datagrams that have arrived. Returns how many go on at once. */
static uint32_t judge_arrived(struct fault *fault, struct datagram *arrived, uint32_t count,
			      uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct datagram *datagram = &arrived[i];
		struct fault_verdict verdict;

		if (datagram->length == 0)
			continue;
		verdict = fault_plan_judge(&fault->plan, &fault->plan.receive, datagram, now_ns);
		if (fault->capture != NULL)
			tell_capture(fault, datagram, &verdict);
		if (verdict.corrupt)
			flip_bit(fault, datagram);
		if (verdict.mark)
			mark_congestion(datagram);
		if (apply(fault, &fault->receive, datagram, &verdict, now_ns))
			arrived[kept++] = *datagram;
	}
	return kept;
}

static void take_back_lent(struct fault *fault)
{
	while (!list_is_empty(&fault->lent)) {
		struct held *held = list_first_entry(&fault->lent, struct held, node);

		list_remove(&held->node);
		held_pool_give(&fault->pool, held);
		fault->receive.held--;
	}
}

static uint32_t fault_receive(struct port *port, struct datagram *into, uint32_t max,
			      uint64_t now_ns)
{
	struct fault *fault = fault_of(port);
	struct port *next = fault->next;
	struct held_lane *lane = &fault->receive;
	uint32_t count, arrived, kept;

	take_back_lent(fault);
	held_lane_advance(lane, 0, now_ns);
	count = receive_due(fault, into, max, now_ns);
	arrived = next->ops->receive(next, into + count, max - count, now_ns);
	kept = judge_arrived(fault, into + count, arrived, now_ns);
	held_lane_advance(lane, kept, now_ns);
	kept += count;
	kept += receive_due(fault, into + kept, max - kept, now_ns);
	fault_choose_ops(fault);
	return kept;
}

static uint64_t fault_next_deadline_ns(const struct port *port)
{
	const struct fault *fault = fault_of(port);
	const uint64_t next_ns = fault->next->ops->next_deadline_ns(fault->next);
	const uint64_t receive_ns = held_lane_deadline_ns(&fault->receive);
	uint64_t transmit_ns = fault->outbox_first < fault->outbox_end
				       ? 0
				       : held_lane_deadline_ns(&fault->transmit);

	if (transmit_ns < fault->refused_until_ns)
		transmit_ns = fault->refused_until_ns;
	return rnic_earliest_ns((const uint64_t[]){next_ns, receive_ns, transmit_ns}, 3);
}

/* --- while nothing is held -------------------------------------------------------------------- */

/* A window of time has opened, or closed. */
static void fault_review(struct fault *fault, uint64_t now_ns)
{
	fault_plan_review(&fault->plan, now_ns);
	fault_choose_ops(fault);
}

__attribute__((noinline)) static uint32_t
transmit_reviewed(struct fault *fault, struct datagram *datagrams, uint32_t count, uint64_t now_ns)
{
	fault_review(fault, now_ns);
	return fault->port.ops->transmit(&fault->port, datagrams, count, now_ns);
}

static bool may_concern_some(const struct fault *fault, const struct fault_way *way,
			     const struct datagram *datagrams, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (fault_sieve_may_keep(&way->sieve, &datagrams[i],
					 way_peer(fault, way, &datagrams[i])))
			return true;
	return false;
}

__attribute__((noinline)) static uint32_t
transmit_many(struct fault *fault, struct datagram *datagrams, uint32_t count, uint64_t now_ns)
{
	if (may_concern_some(fault, &fault->plan.transmit, datagrams, count))
		return transmit_judged(fault, datagrams, count, now_ns);
	return fault->next->ops->transmit(fault->next, datagrams, count, now_ns);
}

/*
 * Mostly no rule concerns a datagram, and the call goes to the next port by a jump. A message that
 * somebody waits for is one datagram or two: without a loop they cost less, and of many more the
 * loop is the smaller part.
 */
__attribute__((always_inline)) static inline uint32_t
transmit_calmly(struct fault *fault, struct datagram *datagrams, uint32_t count, uint64_t now_ns)
{
	const struct fault_sieve *sieve = &fault->plan.transmit.sieve;
	struct port *next = fault->next;

	if (count == 1) {
		if (fault_sieve_may_keep(sieve, datagrams, &datagrams->addresses.dest))
			return transmit_judged(fault, datagrams, 1, now_ns);
		return next->ops->transmit(next, datagrams, 1, now_ns);
	}
	if (count == 2) {
		if (fault_sieve_may_keep(sieve, datagrams, &datagrams->addresses.dest) ||
		    fault_sieve_may_keep(sieve, &datagrams[1], &datagrams[1].addresses.dest))
			return transmit_judged(fault, datagrams, 2, now_ns);
		return next->ops->transmit(next, datagrams, 2, now_ns);
	}
	return transmit_many(fault, datagrams, count, now_ns);
}

static uint32_t calm_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
			      uint64_t now_ns)
{
	return transmit_calmly(fault_of(port), datagrams, count, now_ns);
}

static uint32_t calm_until_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				    uint64_t now_ns)
{
	struct fault *fault = fault_of(port);

	if (now_ns >= fault->plan.until_ns)
		return transmit_reviewed(fault, datagrams, count, now_ns);
	return transmit_calmly(fault, datagrams, count, now_ns);
}

__attribute__((noinline)) static uint32_t
receive_reviewed(struct fault *fault, struct datagram *into, uint32_t max, uint64_t now_ns)
{
	fault_review(fault, now_ns);
	return fault->port.ops->receive(&fault->port, into, max, now_ns);
}

/*
 * The rest of a call of receive: some rule may concern one of what arrived. What is held and due at
 * once comes with the next call.
 */
__attribute__((noinline)) static uint32_t receive_judged(struct fault *fault, uint32_t arrived)
{
	struct datagram *into = fault->receive_into;
	const uint64_t now_ns = into->received_ns;

	if (!concerns_some(fault, &fault->plan.receive, into, arrived, now_ns))
		return arrived;
	arrived = judge_arrived(fault, into, arrived, now_ns);
	held_lane_advance(&fault->receive, arrived, now_ns);
	fault_choose_ops(fault);
	return arrived;
}

__attribute__((noinline)) static uint32_t receive_many(struct fault *fault, uint32_t arrived)
{
	if (may_concern_some(fault, &fault->plan.receive, fault->receive_into, arrived))
		return receive_judged(fault, arrived);
	return arrived;
}

__attribute__((always_inline)) static inline uint32_t
receive_calmly(struct fault *fault, struct datagram *into, uint32_t max, uint64_t now_ns)
{
	const struct fault_sieve *sieve = &fault->plan.receive.sieve;
	uint32_t arrived;

	fault->receive_into = into;
	arrived = fault->next->ops->receive(fault->next, into, max, now_ns);
	if (arrived == 0)
		return 0;
	into = fault->receive_into;
	if (arrived == 1)
		return fault_sieve_may_keep(sieve, into, &into->addresses.source)
			       ? receive_judged(fault, 1)
			       : 1;
	if (arrived == 2)
		return fault_sieve_may_keep(sieve, into, &into->addresses.source) ||
				       fault_sieve_may_keep(sieve, &into[1],
							    &into[1].addresses.source)
			       ? receive_judged(fault, 2)
			       : 2;
	return receive_many(fault, arrived);
}

static uint32_t calm_receive(struct port *port, struct datagram *into, uint32_t max,
			     uint64_t now_ns)
{
	return receive_calmly(fault_of(port), into, max, now_ns);
}

static uint32_t calm_until_receive(struct port *port, struct datagram *into, uint32_t max,
				   uint64_t now_ns)
{
	struct fault *fault = fault_of(port);

	if (now_ns >= fault->plan.until_ns)
		return receive_reviewed(fault, into, max, now_ns);
	return receive_calmly(fault, into, max, now_ns);
}

static uint64_t calm_next_deadline_ns(const struct port *port)
{
	const struct fault *fault = fault_of(port);

	return fault->next->ops->next_deadline_ns(fault->next);
}

/* ---------------------------------------------------------------------------------------------- */

static void fault_watch(struct port *port, void (*watch)(void *context, int fd, bool for_writing),
			void *context)
{
	struct port *next = fault_of(port)->next;

	next->ops->watch(next, watch, context);
}

static int fault_set_gid(struct port *port, uint32_t index, const struct rnic_gid *gid,
			 const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	struct port *next = fault_of(port)->next;

	return next->ops->set_gid(next, index, gid, sockets, text);
}

static void fault_free(struct fault *fault)
{
	held_lane_fini(&fault->receive);
	held_lane_fini(&fault->transmit);
	held_pool_fini(&fault->pool);
	free(fault);
}

static void fault_close(struct port *port)
{
	struct fault *fault = fault_of(port);

	fault->next->ops->close(fault->next);
	fault_free(fault);
}

#define FAULT_OPS(transmit_name, receive_name, deadline_name)                                      \
	{                                                                                          \
		.name = "fault", .receive = receive_name, .transmit = transmit_name,               \
		.next_deadline_ns = deadline_name, .watch = fault_watch, .set_gid = fault_set_gid, \
		.close = fault_close,                                                              \
	}

static const struct port_ops fault_ops =
	FAULT_OPS(fault_transmit, fault_receive, fault_next_deadline_ns);

/* Nothing is held, and no window of time opens or closes any more. */
static const struct port_ops calm_ops =
	FAULT_OPS(calm_transmit, calm_receive, calm_next_deadline_ns);

/* The same until plan.until_ns. A turn receives before it sends: one of both looks at the time. */
static const struct port_ops receives_until_ops =
	FAULT_OPS(calm_transmit, calm_until_receive, calm_next_deadline_ns);
static const struct port_ops sends_until_ops =
	FAULT_OPS(calm_until_transmit, calm_receive, calm_next_deadline_ns);

static bool is_fault(const struct port *port)
{
	return port->ops->close == fault_close;
}

struct port *fault_create(struct port *next, uint64_t seed)
{
	struct fault *fault = calloc(1, sizeof(*fault));

	if (fault == NULL)
		return NULL;
	held_pool_init(&fault->pool);
	if (held_lane_init(&fault->receive) != 0 || held_lane_init(&fault->transmit) != 0) {
		fault_free(fault);
		return NULL;
	}
	fault->next = next;
	fault_plan_review(&fault->plan, 0);
	fault_choose_ops(fault);
	prng_init(&fault->prng, seed);
	list_init(&fault->lent);
	return &fault->port;
}

void fault_tell_capture(struct port *port, struct capture *capture)
{
	fault_of(port)->capture = capture;
}

int fault_open(struct port *next, const char *spec, struct port **port, char *message,
	       size_t message_bytes)
{
	struct fault_rule rules[FAULT_RULES_MAX];
	struct port *made;
	uint32_t count;
	int error =
		fault_rules_parse(spec, 1, rules, FAULT_RULES_MAX, &count, message, message_bytes);

	if (error != 0)
		return error;
	made = fault_create(next, 1);
	if (made == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		fault_rule_begin(&rules[i], 0, 0);
		fault_set_rule(made, i, i + 1, &rules[i], 0);
	}
	*port = made;
	return 0;
}

/* Sends what is held back, in the order in which it would be due. */
static void fault_release(struct fault *fault, uint64_t now_ns)
{
	struct due_queue *due = &fault->transmit.due;

	outbox_send(fault, now_ns);
	held_lane_advance(&fault->transmit, UINT32_MAX, now_ns);
	while (due->count != 0) {
		struct held *held = due_queue_pop(due);

		fault->next->ops->transmit(fault->next, &held->datagram, 1, now_ns);
	}
}

struct port *fault_remove(struct port *port, uint64_t now_ns)
{
	struct fault *fault = fault_of(port);
	struct port *next = fault->next;

	assert(is_fault(port));
	fault_release(fault, now_ns);
	fault_free(fault);
	return next;
}

struct port *fault_receiver(struct port *port)
{
	const struct fault *fault = fault_of(port);

	assert(is_fault(port));
	return fault->plan.receive.count == 0 && fault->receive.held == 0 ? fault->next : port;
}

struct port *fault_sender(struct port *port)
{
	const struct fault *fault = fault_of(port);

	assert(is_fault(port));
	return fault->plan.transmit.count == 0 && !fault_has_past(fault) ? fault->next : port;
}

void fault_set_rule(struct port *port, uint32_t slot, uint32_t id, const struct fault_rule *rule,
		    uint64_t now_ns)
{
	struct fault *fault = fault_of(port);

	assert(is_fault(port));
	fault_plan_set(&fault->plan, slot, id, rule, now_ns);
	fault_choose_ops(fault);
}

const struct fault_plan *fault_plan_of(struct port *port)
{
	assert(is_fault(port));
	return &fault_of(port)->plan;
}

uint64_t fault_lost_datagrams(const struct port *port)
{
	assert(is_fault(port));
	return fault_of(port)->lost_datagrams;
}

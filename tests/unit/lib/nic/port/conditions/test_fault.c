/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault.h"
#include "lib/nic/port/conditions/held_datagrams.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define RECORDED_MAX   8192
#define DATAGRAM_BYTES 32
#define RC_ACKNOWLEDGE 0x11
#define RC_SEND_ONLY   0x04
#define MS	       UINT64_C(1000000)

/*
 * A network that remembers sent datagrams, refuses beyond `room`, and delivers `inbound` datagrams.
 */
struct recorder {
	struct port port;
	uint32_t room;
	uint32_t calls; /* that sent something, or would have */
	uint32_t sent;
	uint32_t all;
	uint32_t sent_numbers[RECORDED_MAX];
	uint32_t damaged;
	uint32_t last_damage;
	uint32_t inbound;
	uint8_t traffic_class; /* of inbound datagrams */
	uint32_t delivered;
	uint8_t bytes[64][DATAGRAM_BYTES];
	bool is_closed;
};

static uint32_t number_of(const struct datagram *datagram)
{
	uint32_t number;

	memcpy(&number, datagram->bytes + 4, sizeof(number));
	return number;
}

static struct datagram make_datagram(uint8_t *bytes, uint8_t opcode, uint32_t number)
{
	memset(bytes, 0, DATAGRAM_BYTES);
	bytes[0] = opcode;
	memcpy(bytes + 4, &number, sizeof(number));
	return (struct datagram){.bytes = bytes, .length = DATAGRAM_BYTES};
}

static uint32_t recorder_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				  uint64_t now_ns)
{
	struct recorder *recorder = RNIC_CONTAINER_OF(port, struct recorder, port);
	uint32_t taken = 0;

	(void)now_ns;
	recorder->calls += count != 0;
	while (taken < count && recorder->room != 0 && recorder->sent < RECORDED_MAX) {
		recorder->room--;
		if (datagrams[taken].damage != 0) {
			recorder->damaged++;
			recorder->last_damage = datagrams[taken].damage;
		}
		recorder->sent_numbers[recorder->sent++] = number_of(&datagrams[taken++]);
	}
	return taken;
}

static uint32_t recorder_receive(struct port *port, struct datagram *into, uint32_t max,
				 uint64_t now_ns)
{
	struct recorder *recorder = RNIC_CONTAINER_OF(port, struct recorder, port);
	uint32_t count = 0;

	while (count < max && count < 64 && recorder->delivered < recorder->inbound) {
		into[count] =
			make_datagram(recorder->bytes[count], RC_SEND_ONLY, recorder->delivered++);
		into[count].addresses.traffic_class = recorder->traffic_class;
		into[count].received_ns = now_ns;
		count++;
	}
	return count;
}

static uint64_t recorder_next_deadline_ns(const struct port *port)
{
	(void)port;
	return UINT64_MAX;
}

static void recorder_close(struct port *port)
{
	RNIC_CONTAINER_OF(port, struct recorder, port)->is_closed = true;
}

static const struct port_ops recorder_ops = {
	.name = "recorder",
	.receive = recorder_receive,
	.transmit = recorder_transmit,
	.next_deadline_ns = recorder_next_deadline_ns,
	.close = recorder_close,
};

static struct port *open_fault(struct recorder *recorder, const char *spec)
{
	char message[128] = "";
	struct port *port = NULL;

	memset(recorder, 0, sizeof(*recorder));
	recorder->port.ops = &recorder_ops;
	recorder->room = UINT32_MAX;
	if (fault_open(&recorder->port, spec, &port, message, sizeof(message)) != 0)
		fail_msg("%s: %s", spec, message);
	return port;
}

static void close_fault(struct port *port, struct recorder *recorder)
{
	port->ops->close(port);
	assert_true(recorder->is_closed);
}

/* Sends datagrams numbered from `from` on, and returns how many were taken. */
static uint32_t send_numbers(struct port *port, uint8_t opcode, uint32_t from, uint32_t count,
			     uint64_t now_ns)
{
	static uint8_t bytes[4096][DATAGRAM_BYTES];
	static struct datagram datagrams[4096];

	for (uint32_t i = 0; i < count; i++)
		datagrams[i] = make_datagram(bytes[i], opcode, from + i);
	return port->ops->transmit(port, datagrams, count, now_ns);
}

static void assert_sent(const struct recorder *recorder, const uint32_t *numbers, uint32_t count)
{
	assert_int_equal(recorder->sent, count);
	assert_memory_equal(recorder->sent_numbers, numbers, count * sizeof(*numbers));
}

static void drop_counts_what_its_options_say(void **state)
{
	static const struct {
		const char *spec;
		uint64_t seen;
		uint64_t hits;
		uint32_t left[8];
		uint32_t left_count;
	} cases[] = {
		{"drop", 6, 6, {0}, 0},
		{"drop/first=2", 6, 2, {2, 3, 4, 5}, 4},
		{"drop/every=3", 6, 2, {0, 1, 3, 4}, 4},
		{"drop/every=2/count=1", 6, 1, {0, 2, 3, 4, 5}, 5},
		{"drop/every=2/first=3", 6, 1, {0, 2, 3, 4, 5}, 5},
		{"drop@rc-acknowledge", 0, 0, {0, 1, 2, 3, 4, 5}, 6},
		{"drop@rc-send", 6, 6, {0}, 0},
		{"rx:drop", 0, 0, {0, 1, 2, 3, 4, 5}, 6},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		static struct recorder recorder;
		struct port *port = open_fault(&recorder, cases[i].spec);

		assert_int_equal(send_numbers(port, RC_SEND_ONLY, 0, 6, 0), 6);
		assert_sent(&recorder, cases[i].left, cases[i].left_count);
		assert_int_equal(fault_plan_of(port)->rules[0].seen, cases[i].seen);
		assert_int_equal(fault_plan_of(port)->rules[0].hits, cases[i].hits);
		close_fault(port, &recorder);
	}
}

static void chance_is_near_what_was_asked_and_repeats(void **state)
{
	static struct recorder first, second;
	struct port *one = open_fault(&first, "drop=10%,seed=5");
	struct port *two = open_fault(&second, "drop=10%,seed=5");

	(void)state;
	send_numbers(one, RC_SEND_ONLY, 0, 4000, 0);
	send_numbers(two, RC_SEND_ONLY, 0, 4000, 0);
	assert_in_range(first.sent, 3500, 3700);
	assert_sent(&second, first.sent_numbers, first.sent);
	close_fault(one, &first);
	close_fault(two, &second);
}

/* Device processes share a specification, and do not lose the same datagrams. */
static void seeds_have_offsets(void **state)
{
	static struct recorder recorders[3];
	static const uint64_t offsets[3] = {0, 0x80, 0x80};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct port *port = open_fault(&recorders[i], "drop=10%,seed=5");
		struct fault_rule rule = fault_plan_of(port)->rules[0];

		fault_rule_begin(&rule, offsets[i], 0);
		fault_set_rule(port, 0, 1, &rule, 0);
		send_numbers(port, RC_SEND_ONLY, 0, 4000, 0);
		close_fault(port, &recorders[i]);
	}
	assert_sent(&recorders[2], recorders[1].sent_numbers, recorders[1].sent);
	assert_memory_not_equal(recorders[0].sent_numbers, recorders[1].sent_numbers,
				3000 * sizeof(recorders[0].sent_numbers[0]));
}

static void delay_keeps_order_and_says_when(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "delay=10ms");
	static const uint32_t all[] = {0, 1, 2};

	(void)state;
	assert_int_equal(send_numbers(port, RC_SEND_ONLY, 0, 2, 5 * MS), 2);
	assert_int_equal(send_numbers(port, RC_SEND_ONLY, 2, 1, 6 * MS), 1);
	assert_int_equal(recorder.sent, 0);
	assert_int_equal(port->ops->next_deadline_ns(port), 15 * MS);
	send_numbers(port, RC_SEND_ONLY, 0, 0, 15 * MS);
	assert_int_equal(recorder.sent, 2);
	assert_int_equal(port->ops->next_deadline_ns(port), 16 * MS);
	send_numbers(port, RC_SEND_ONLY, 0, 0, 16 * MS);
	assert_sent(&recorder, all, 3);
	assert_int_equal(port->ops->next_deadline_ns(port), UINT64_MAX);
	close_fault(port, &recorder);
}

static void reordered_datagrams_go_behind_the_next(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "reorder/first=1/behind=2");
	static const uint32_t order[] = {1, 2, 0, 3};

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(send_numbers(port, RC_SEND_ONLY, i, 1, 0), 1);
	assert_sent(&recorder, order, 4);
	close_fault(port, &recorder);
}

static void reordered_last_datagram_is_not_kept(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "reorder");
	uint64_t deadline_ns;

	(void)state;
	send_numbers(port, RC_SEND_ONLY, 0, 1, 0);
	deadline_ns = port->ops->next_deadline_ns(port);
	assert_int_equal(deadline_ns, 1 * MS);
	send_numbers(port, RC_SEND_ONLY, 0, 0, deadline_ns);
	assert_int_equal(recorder.sent, 1);
	close_fault(port, &recorder);
}

static void duplicates_and_damage_reach_the_next_port(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "duplicate/every=2,corrupt/every=3/count=1");
	static const uint32_t order[] = {0, 1, 1, 2};

	(void)state;
	assert_int_equal(send_numbers(port, RC_SEND_ONLY, 0, 3, 0), 3);
	assert_sent(&recorder, order, 4);
	assert_int_equal(recorder.damaged, 1);
	assert_in_range(recorder.last_damage, 1, 8 * (DATAGRAM_BYTES + RNIC_ICRC_BYTES));
	close_fault(port, &recorder);
}

static void refusal_of_the_next_port_neither_loses_nor_judges_twice(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "drop/every=3");
	static const uint32_t kept[] = {0, 1, 3, 4, 6, 7};
	uint32_t taken = 0;

	(void)state;
	for (int turn = 0; turn < 64 && taken < 9; turn++) {
		recorder.room = turn % 2;
		taken += send_numbers(port, RC_SEND_ONLY, taken, 9 - taken, 0);
	}
	assert_int_equal(taken, 9);
	assert_sent(&recorder, kept, 6);
	assert_int_equal(fault_plan_of(port)->rules[0].seen, 9);
	close_fault(port, &recorder);
}

static void delayed_datagram_that_is_refused_waits_without_spinning(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "delay=1ms");

	(void)state;
	send_numbers(port, RC_SEND_ONLY, 0, 1, 0);
	recorder.room = 0;
	send_numbers(port, RC_SEND_ONLY, 0, 0, 1 * MS);
	assert_true(port->ops->next_deadline_ns(port) > 1 * MS);
	recorder.room = 1;
	send_numbers(port, RC_SEND_ONLY, 0, 0, port->ops->next_deadline_ns(port));
	assert_int_equal(recorder.sent, 1);
	close_fault(port, &recorder);
}

/* Due datagrams leave in batches, in their order, and none is lost where the next port takes few.
 */
static void due_datagrams_leave_in_batches(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "delay=1ms");

	(void)state;
	send_numbers(port, RC_SEND_ONLY, 0, 200, 0);
	recorder.calls = 0;
	recorder.room = 70;
	send_numbers(port, RC_SEND_ONLY, 0, 0, 1 * MS);
	assert_int_equal(recorder.sent, 70);
	assert_int_equal(recorder.calls, 2);
	assert_true(port->ops->next_deadline_ns(port) > 1 * MS);
	recorder.room = RECORDED_MAX;
	send_numbers(port, RC_SEND_ONLY, 0, 0, port->ops->next_deadline_ns(port));
	assert_int_equal(recorder.sent, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(recorder.sent_numbers[i], i);
	close_fault(port, &recorder);
}

static void full_pool_loses_and_counts(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "delay=1ms");

	(void)state;
	for (uint32_t i = 0; i < HELD_MAX; i += 4096)
		send_numbers(port, RC_SEND_ONLY, i, 4096, 0);
	send_numbers(port, RC_SEND_ONLY, HELD_MAX, 5, 0);
	assert_int_equal(fault_lost_datagrams(port), 5);
	while (recorder.sent != 0 || port->ops->next_deadline_ns(port) != UINT64_MAX) {
		recorder.sent = 0;
		send_numbers(port, RC_SEND_ONLY, 0, 0, 100 * MS);
		recorder.all += recorder.sent;
	}
	assert_int_equal(recorder.all, HELD_MAX);
	close_fault(port, &recorder);
}

static uint32_t receive_numbers(struct port *port, uint32_t *numbers, uint32_t max, uint64_t now_ns)
{
	struct datagram datagrams[64];
	uint32_t count = port->ops->receive(port, datagrams, max, now_ns);

	for (uint32_t i = 0; i < count; i++)
		numbers[i] = number_of(&datagrams[i]);
	return count;
}

static void received_datagrams_are_dropped_delayed_and_duplicated(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "rx:drop/first=1,rx:duplicate/every=2,"
						  "rx:delay=1ms/every=3");
	uint32_t numbers[64];

	(void)state;
	recorder.inbound = 4;
	assert_int_equal(receive_numbers(port, numbers, 64, 0), 2);
	assert_int_equal(numbers[0], 1);
	assert_int_equal(numbers[1], 3);
	assert_int_equal(port->ops->next_deadline_ns(port), 0);
	assert_int_equal(receive_numbers(port, numbers, 64, 0), 2);
	assert_int_equal(numbers[0], 1);
	assert_int_equal(numbers[1], 3);
	assert_int_equal(port->ops->next_deadline_ns(port), 1 * MS);
	assert_int_equal(receive_numbers(port, numbers, 64, 1 * MS), 1);
	assert_int_equal(numbers[0], 2);
	assert_int_equal(receive_numbers(port, numbers, 64, 1 * MS), 0);
	close_fault(port, &recorder);
}

/* Calls of one datagram, of two and of more take different ways. */
static void windows_open_and_close(void **state)
{
	static const struct {
		const char *spec;
		bool drops_received; /* in the middle */
		bool drops_sent;
	} cases[] = {
		{"drop/from=2ms/for=2ms", false, true},
		{"rx:drop/from=2ms/for=2ms", true, false},
		{"drop/from=2ms/for=2ms,rx:drop/from=2ms/for=2ms,drop/qpn=1", true, true},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		for (uint32_t count = 1; count <= 3; count++) {
			struct recorder recorder = {0};
			struct port *port = open_fault(&recorder, cases[i].spec);
			uint32_t numbers[64];

			for (uint64_t ms = 1; ms <= 5; ms += 2) {
				const bool is_open = ms == 3;
				const uint32_t sent = recorder.sent;

				recorder.inbound += count;
				assert_int_equal(receive_numbers(port, numbers, 64, ms * MS),
						 is_open && cases[i].drops_received ? 0 : count);
				send_numbers(port, RC_SEND_ONLY, 0, count, ms * MS);
				assert_int_equal(recorder.sent - sent,
						 is_open && cases[i].drops_sent ? 0 : count);
			}
			close_fault(port, &recorder);
		}
	}
}

static void received_damage_is_one_bit(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "rx:corrupt");
	struct datagram datagram;
	uint8_t good[DATAGRAM_BYTES];
	int flipped = 0;

	(void)state;
	recorder.inbound = 1;
	assert_int_equal(port->ops->receive(port, &datagram, 1, 0), 1);
	make_datagram(good, RC_SEND_ONLY, 0);
	for (int i = 0; i < DATAGRAM_BYTES; i++)
		flipped += __builtin_popcount(good[i] ^ datagram.bytes[i]);
	assert_int_equal(flipped, 1);
	close_fault(port, &recorder);
}

static void marks_go_on_packets_that_allow_them(void **state)
{
	static struct recorder recorder;
	struct port *port = open_fault(&recorder, "rx:mark");
	struct datagram datagram;

	(void)state;
	for (uint8_t ecn = 0; ecn < 4; ecn++) {
		recorder.inbound = ecn + 1U;
		recorder.traffic_class = (uint8_t)(0x20 | ecn);
		assert_int_equal(port->ops->receive(port, &datagram, 1, 0), 1);
		assert_int_equal(datagram.addresses.traffic_class, ecn == 0 ? 0x20 : 0x23);
	}
	close_fault(port, &recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drop_counts_what_its_options_say),
		cmocka_unit_test(chance_is_near_what_was_asked_and_repeats),
		cmocka_unit_test(seeds_have_offsets),
		cmocka_unit_test(delay_keeps_order_and_says_when),
		cmocka_unit_test(reordered_datagrams_go_behind_the_next),
		cmocka_unit_test(reordered_last_datagram_is_not_kept),
		cmocka_unit_test(duplicates_and_damage_reach_the_next_port),
		cmocka_unit_test(refusal_of_the_next_port_neither_loses_nor_judges_twice),
		cmocka_unit_test(delayed_datagram_that_is_refused_waits_without_spinning),
		cmocka_unit_test(due_datagrams_leave_in_batches),
		cmocka_unit_test(full_pool_loses_and_counts),
		cmocka_unit_test(received_datagrams_are_dropped_delayed_and_duplicated),
		cmocka_unit_test(windows_open_and_close),
		cmocka_unit_test(received_damage_is_one_bit),
		cmocka_unit_test(marks_go_on_packets_that_allow_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

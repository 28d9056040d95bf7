/* SPDX-License-Identifier: MIT */
/*
 * The lines of a trace, of lists whose clocks do not agree. A letter stands for a line: a post is
 * P, a packet of A or B is a or b, and completions of A and B are A and B.
 */
#include "tools/lab/trace/trace_order.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <string.h>

enum { WRITE_FIRST = 6, WRITE_LAST = 8, ACKNOWLEDGE = 17, PSN = 1000 };

struct told {
	char letters[32];
	uint64_t time_ns;
};

static void tell(void *context, const struct trace_line *line)
{
	static const char of_step[] = {[TRACE_STATE] = 'S',
				       [TRACE_RECEIVE] = 'R',
				       [TRACE_REQUEST] = 'P',
				       [TRACE_DONE] = 'A',
				       [TRACE_RECEIVED] = 'B'};
	struct told *told = context;

	assert_true(line->time_ns >= told->time_ns);
	told->time_ns = line->time_ns;
	told->letters[strlen(told->letters)] = line->step != NULL      ? of_step[line->step->kind]
					       : line->side == TRACE_A ? 'a'
								       : 'b';
}

static struct trace_step step(enum trace_step_kind kind, uint64_t time_ns)
{
	return (struct trace_step){
		.time_ns = time_ns,
		.kind = (uint8_t)kind,
		.side = kind == TRACE_RECEIVED ? TRACE_B : TRACE_A,
		.number = 1,
		.psn = PSN,
		.packets = kind == TRACE_STATE ? 0 : 2,
	};
}

static struct trace_packet packet(uint8_t opcode, uint32_t psn, bool is_sent, uint64_t time_ns,
				  uint32_t other_end)
{
	return (struct trace_packet){
		.time_ns = time_ns,
		.is_sent = is_sent,
		.opcode = opcode,
		.row = rnic_opcode_row(opcode),
		.psn = rnic_psn(psn),
		.other_end = other_end,
	};
}

/* A WRITE of two packets, and its acknowledgement. A's clock is `ahead_ns` of the program's. */
static void expect_order(int64_t a_ahead_ns, int64_t b_ahead_ns, bool has_arrivals,
			 const char *wanted)
{
	const uint64_t a_ns = (uint64_t)(1000 + a_ahead_ns), b_ns = (uint64_t)(1000 + b_ahead_ns);
	const uint32_t missing = TRACE_NO_PACKET;
	struct trace_step steps[] = {step(TRACE_STATE, 900), step(TRACE_REQUEST, 1000),
				     step(TRACE_RECEIVED, 1030), step(TRACE_DONE, 1040)};
	struct trace_packet of_a[] = {packet(WRITE_FIRST, PSN, true, a_ns, 0),
				      packet(WRITE_LAST, PSN + 1, true, a_ns, 1),
				      packet(ACKNOWLEDGE, PSN + 1, false, a_ns + 30, 2)};
	struct trace_packet of_b[] = {packet(WRITE_FIRST, PSN, false, b_ns + 20, 0),
				      packet(WRITE_LAST, PSN + 1, false, b_ns + 20, 1),
				      packet(ACKNOWLEDGE, PSN + 1, true, b_ns + 20, 2)};
	const struct trace_record record = {
		.steps = steps,
		.step_count = RNIC_COUNT_OF(steps),
		.packets = {{of_a, has_arrivals ? 3 : 2}, {of_b, has_arrivals ? 3 : 0}},
	};
	struct told told = {0};

	if (!has_arrivals)
		of_a[0].other_end = of_a[1].other_end = missing;
	trace_order_run(&record, tell, &told);
	assert_string_equal(told.letters, wanted);
}

static void test_clocks_agree(void **state)
{
	(void)state;
	expect_order(0, 0, true, "SPaabBA");
}

static void test_clocks_do_not_agree(void **state)
{
	(void)state;
	expect_order(-500, 0, true, "SPaabBA");
	expect_order(0, -500, true, "SPaabBA");
	expect_order(500, 500, true, "SPaabBA");
	expect_order(500, -500, true, "SPaabBA");
	expect_order(-950, 950, true, "SPaabBA");
}

/* A completion whose packet is in no capture has a line all the same. */
static void test_cause_is_missing(void **state)
{
	(void)state;
	expect_order(0, 0, false, "SPaaBA");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks_agree),
		cmocka_unit_test(test_clocks_do_not_agree),
		cmocka_unit_test(test_cause_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_plan.h"

#include "lib/nic/port/port.h"
#include "proto/base/be.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <stdio.h>

#define RC_SEND_ONLY  0x04
#define RC_WRITE_ONLY 0x0a
#define MS	      UINT64_C(1000000)

static struct fault_rule rules[FAULT_RULES_MAX];
static uint32_t rule_count;
static char message[160];

static int parse(const char *spec, uint32_t line)
{
	message[0] = '\0';
	return fault_rules_parse(spec, line, rules, FAULT_RULES_MAX, &rule_count, message,
				 sizeof(message));
}

struct wrong {
	const char *spec;
	const char *complaint;
};

static void names_the_place(const struct wrong *wrong)
{
	assert_int_equal(parse(wrong->spec, 1), -EINVAL);
	if (strstr(message, wrong->complaint) == NULL)
		fail_msg("'%s' gave \"%s\"", wrong->spec, message);
}

static void wrong_rules_for_verbs_name_the_place(void **state)
{
	static const struct wrong cases[] = {
		{"fail", "column 1, at 'fail': expected drop"},
		{"fail=ENOMEN", "column 6, at 'ENOMEN': expected an errno such as ENOMEM"},
		{"fail=0", "column 6, at '0': expected an errno"},
		{"fail=134", "at '134': expected an errno"},
		{"fail=ENOMEM@regmr", "column 13, at 'regmr': expected a call such as reg_mr"},
		{"fail=ENOMEM@", "column 13, at the end: expected a call"},
		{"fail=ENOMEM/qpn=1", "column 13, at 'qpn=1': expected program, pid"},
		{"fail=ENOMEM/pid=0", "column 17, at '0': expected the number of a process"},
		{"fail=12/program=", "column 17, at the end: expected the name of a program"},
		{"fail=12/program=a234567890123456", "expected the name of a program, at most 15"},
		{"rx:fail=ENOMEM", "column 4, at 'fail=ENOMEM': expected drop"},
		{"cq:drop", "column 4, at 'drop': expected status=, delay=, reorder or occupy="},
		{"cq:status=SUCCESS", "column 11, at 'SUCCESS': expected a status"},
		{"cq:status=22", "at '22': expected a status"},
		{"cq:delay", "column 9, at the end: expected =TIME"},
		{"cq:occupy=0", "column 11, at '0': expected a number of entries"},
		{"cq:reorder@rc-send", "column 12, at 'rc-send': expected what completes"},
		{"cq:reorder/peer=1.2.3.4", "column 12, at 'peer=1.2.3.4': expected qpn, program"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		names_the_place(&cases[i]);
}

static void wrong_specifications_name_the_place(void **state)
{
	static const struct wrong cases[] = {
		{"", "line 1, column 1, at the end: expected drop"},
		{"loss=1%", "line 1, column 1, at 'loss=1%': expected drop"},
		{"drop=1%,", "column 9, at the end"},
		{"drop=1%, loss", "column 10, at 'loss'"},
		{"drop 10%",
		 "column 5, at ' 10%': expected =PERCENTAGE, @OPCODE, /OPTION or a comma"},
		{"drop:10%", "column 5, at ':10%': expected =PERCENTAGE"},
		{"drop=101%", "column 6, at '101%'"},
		{"drop=1", "'1'"},
		{"drop=100.5%", "'100.5%'"},
		{"drop@rc-nonsense", "column 6, at 'rc-nonsense': expected an opcode"},
		{"drop@", "at the end"},
		{"drop@rc-acknowled", "'rc-acknowled'"},
		{"drop/first=0", "column 12, at '0': expected a number from 1 on"},
		{"drop/nth=x", "column 10, at 'x'"},
		{"drop/last=1", "column 6, at 'last=1': expected qpn, peer"},
		{"drop/behind=1", "'behind=1'"},
		{"reorder/behind=65536", "column 16"},
		{"drop/qpn=", "column 10, at the end: expected a queue pair number"},
		{"drop/qpn=0x1000000", "at '0x1000000'"},
		{"drop/qpn=0xfffffffffffffffff", "at '0xf"},
		{"drop/psn=5-", "column 10"},
		{"drop/psn=x-5", "at 'x-5': expected a packet sequence number"},
		{"drop/peer=10.0.0", "column 11, at '10.0.0': expected an IP address"},
		{"drop/peer=fd00::1::2", "expected an IP address"},
		{"drop/from=10", "expected a time such as 10ms"},
		{"drop/for=0s", "column 10, at '0s': expected a time"},
		{"drop/pattern=", "column 14, at the end: expected ok or fail"},
		{"drop/pattern=ok  fail", "column 17, at ' fail': expected ok or fail"},
		{"drop/pattern=okfail", "at 'fail': expected @OPCODE"},
		{"drop/seed=", "expected a number"},
		{"delay", "at the end"},
		{"delay=10", "'10'"},
		{"delay=10m", "'10m'"},
		{"delay=61s", "'61s'"},
		{"delay=1ms+-2ms", "jitter"},
		{"both:drop=1%", "'both:drop=1%'"},
		{"rx:rnr", "column 4, at 'rnr': expected rnr of what is sent"},
		{"rnr@rc-send", "column 5, at 'rc-send': expected no opcode"},
		{"drop/longer=x", "column 13, at 'x': expected a number of bytes"},
		{"drop/chance=101%", "column 13, at '101%'"},
		{"drop/pid=1", "column 6, at 'pid=1': expected qpn, peer"},
		{"seed=x", "'x'"},
		{"drop=1%x", "'x'"},
		{"end", "column 1, at 'end': expected drop"},
		{"end=silent", "column 5, at 'silent': expected memory-first or queue-pairs-first"},
		{"end=memory-first@post", "column 18, at 'post': expected no place"},
		{"end=memory-first/hold=5s", "column 23, at '5s': expected a time of at most 4s"},
		{"end=memory-first/qpn=1", "column 18, at 'qpn=1': expected program, pid, hold"},
		{"end=queue-pairs-first/hold=1s", "at 'hold=1s': expected program, pid, from"},
		{"drop/hold=1s", "column 6, at 'hold=1s': expected qpn, peer"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		names_the_place(&cases[i]);
	assert_int_equal(parse("drop,lose", 12), -EINVAL);
	assert_non_null(strstr(message, "line 12, column 6, at 'lose'"));
}

static void rules_for_calls_are_understood(void **state)
{
	struct rnic_verb_rule verb;

	(void)state;
	assert_int_equal(parse("fail=ENOMEM@reg_mr/nth=3/program=ib_write_bw/pid=77,fail=5@post,"
			       "fail=EIO,drop=1%,seed=5",
			       1),
			 0);
	assert_int_equal(rule_count, 4);
	fault_rule_verb(&rules[0], 9, &verb);
	assert_int_equal(verb.id, 9);
	assert_int_equal(verb.action, RNIC_VERB_FAIL);
	assert_int_equal(verb.value, ENOMEM);
	assert_true(verb.calls == UINT64_C(1) << RNIC_VERB_REG_MR);
	assert_int_equal(verb.pid, 77);
	assert_string_equal(verb.program, "ib_write_bw");
	assert_int_equal(verb.often.nth, 3);
	assert_int_equal(rnic_verb_rule_kinds(&verb), RNIC_VERB_KIND_CALLS);
	fault_rule_verb(&rules[1], 10, &verb);
	assert_true(verb.calls == RNIC_VERB_CALLS_THAT_POST);
	assert_int_equal(rnic_verb_rule_kinds(&verb), RNIC_VERB_KIND_POSTS);
	fault_rule_verb(&rules[2], 11, &verb);
	assert_int_equal(rnic_verb_rule_kinds(&verb), RNIC_VERB_KIND_CALLS | RNIC_VERB_KIND_POSTS);
	fault_rule_verb(&rules[3], 12, &verb);
	assert_int_equal(verb.action, RNIC_VERB_NONE);
	assert_int_equal(rnic_verb_rule_kinds(&verb), 0);
}

static void rules_for_completions_are_understood(void **state)
{
	struct rnic_verb_rule verb;

	(void)state;
	assert_int_equal(parse("cq:status=RETRY_EXC_ERR@rdma-write/qpn=0x800001/count=1,"
			       "cq:delay=10ms+-2ms@recv,cq:reorder=50%,cq:occupy=4/from=1s",
			       1),
			 0);
	fault_rule_verb(&rules[0], 1, &verb);
	assert_int_equal(verb.action, RNIC_VERB_STATUS);
	assert_int_equal(verb.value, RNIC_WC_RETRY_EXC_ERR);
	assert_true(verb.calls == UINT64_C(1) << RNIC_WC_RDMA_WRITE);
	assert_true(verb.has_qpn && verb.qpn == 0x800001);
	assert_int_equal(rnic_verb_rule_kinds(&verb), RNIC_VERB_KIND_COMPLETIONS);
	fault_rule_verb(&rules[1], 2, &verb);
	assert_int_equal(verb.action, RNIC_VERB_DELAY);
	assert_true(verb.calls == UINT64_C(3) << 32);
	assert_int_equal(verb.delay_ns, 10 * MS);
	assert_int_equal(verb.jitter_ns, 2 * MS);
	fault_rule_verb(&rules[2], 3, &verb);
	assert_int_equal(verb.action, RNIC_VERB_REORDER);
	assert_int_equal(verb.often.chance_ppm, 500000);
	fault_rule_verb(&rules[3], 4, &verb);
	assert_int_equal(verb.action, RNIC_VERB_OCCUPY);
	assert_int_equal(verb.value, 4);
	assert_int_equal(verb.often.from_ns, 1000 * MS);
}

static void rules_for_ends_are_understood(void **state)
{
	(void)state;
	assert_int_equal(parse("end=memory-first/program=server/hold=20ms/nth=2,"
			       "end=memory-first,end=queue-pairs-first/pid=7",
			       1),
			 0);
	assert_int_equal(rules[0].end, FAULT_END_MEMORY_FIRST);
	assert_string_equal(rules[0].program, "server");
	assert_int_equal(rules[0].hold_ns, 20 * MS);
	assert_int_equal(rules[0].often.nth, 2);
	assert_int_equal(rules[1].hold_ns, 1000 * MS);
	assert_int_equal(rules[2].end, FAULT_END_QUEUE_PAIRS_FIRST);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(fault_rule_is_for_packets(&rules[i]));
}

static void bounds_are_kept(void **state)
{
	char spec[2 * FAULT_RULE_TEXT_BYTES];
	struct fault_rule two[2];

	(void)state;
	snprintf(spec, sizeof(spec), "drop/count=%0*d", FAULT_RULE_TEXT_BYTES, 1);
	assert_int_equal(parse(spec, 1), -EINVAL);
	assert_non_null(strstr(message, "a shorter rule"));
	assert_int_equal(fault_rules_parse("drop,drop,drop", 1, two, 2, &rule_count, message,
					   sizeof(message)),
			 -EINVAL);
	assert_non_null(strstr(message, "column 11"));
}

static void right_specifications_are_understood(void **state)
{
	(void)state;
	assert_int_equal(parse("rx:drop=0.25%@rc-read-response/first=9/every=2/count=3,"
			       "delay=10ms+-2us, reorder/behind=7/seed=5,seed=42",
			       1),
			 0);
	assert_int_equal(rule_count, 3);
	assert_true(rules[0].is_receive);
	assert_int_equal(rules[0].often.chance_ppm, 2500);
	assert_int_equal(rules[0].often.first, 9);
	assert_int_equal(rules[0].often.every, 2);
	assert_int_equal(rules[0].often.count, 3);
	assert_int_equal(rules[0].opcodes[0], 0xf << 13 & ~(1 << 17));
	assert_int_equal(rules[0].seed, 42);
	assert_string_equal(rules[1].text, "delay=10ms+-2us");
	assert_int_equal(rules[1].delay_ns, 10000000);
	assert_int_equal(rules[1].jitter_ns, 2000);
	assert_int_equal(rules[2].behind, 7);
	assert_int_equal(rules[2].seed, 5);
	assert_int_equal(parse("drop/qpn=0x812345/psn=0x10-31/peer=fd00::1/from=1s/for=2ms/nth=4/"
			       "pattern=ok fail",
			       1),
			 0);
	assert_int_equal(rules[0].qpn, 0x812345);
	assert_int_equal(rules[0].first_psn, 16);
	assert_int_equal(rules[0].last_psn, 31);
	assert_int_equal(rules[0].peer.bytes[15], 1);
	assert_int_equal(rules[0].often.from_ns, 1000 * MS);
	assert_int_equal(rules[0].often.for_ns, 2 * MS);
	assert_int_equal(rules[0].often.nth, 4);
	assert_int_equal(rules[0].often.pattern_steps, 2);
	assert_int_equal(rules[0].often.pattern, 2);
}

/* --- which packets a rule hits ---------------------------------------------------------------- */

static struct fault_plan plan;
static uint8_t bytes[32];

static struct datagram packet(uint8_t opcode, uint32_t qpn, uint32_t psn)
{
	memset(bytes, 0, sizeof(bytes));
	bytes[0] = opcode;
	rnic_be24_write(bytes + 5, qpn);
	rnic_be24_write(bytes + 9, psn);
	return (struct datagram){.bytes = bytes, .length = sizeof(bytes)};
}

static void load(const char *spec, uint64_t now_ns)
{
	assert_int_equal(parse(spec, 1), 0);
	memset(&plan, 0, sizeof(plan));
	for (uint32_t i = 0; i < rule_count; i++) {
		fault_rule_begin(&rules[i], 0, now_ns);
		fault_plan_set(&plan, i, i + 1, &rules[i], now_ns);
	}
}

static bool drops(const struct datagram *datagram, uint64_t now_ns)
{
	const bool concerns = fault_plan_concerns(&plan, &plan.transmit, datagram, now_ns);
	const bool dropped = fault_plan_judge(&plan, &plan.transmit, datagram, now_ns).drop;
	bool is_kept;

	if (now_ns >= plan.until_ns)
		fault_plan_review(&plan, now_ns);
	is_kept = fault_sieve_keeps(&plan.transmit.sieve, datagram, &datagram->addresses.dest);
	assert_true(concerns || !dropped);
	assert_true(is_kept || !concerns);
	return dropped;
}

static void what_all_rules_do_is_put_together(void **state)
{
	struct datagram send = packet(RC_SEND_ONLY, 1, 1);
	struct fault_verdict verdict;

	(void)state;
	load("duplicate@rc-send,delay=2ms,delay=1ms,reorder@rc-write/behind=4,rx:drop", 0);
	verdict = fault_plan_judge(&plan, &plan.transmit, &send, 0);
	assert_true(verdict.duplicate);
	assert_false(verdict.drop);
	assert_int_equal(verdict.delay_ns, 3000000);
	assert_int_equal(verdict.behind, 0);
	assert_true(fault_plan_judge(&plan, &plan.receive, &send, 0).drop);
	send.bytes[0] = RC_WRITE_ONLY;
	verdict = fault_plan_judge(&plan, &plan.transmit, &send, 0);
	assert_false(verdict.duplicate);
	assert_int_equal(verdict.behind, 4);
}

static bool sieve_keeps(const struct datagram *datagram)
{
	const struct rnic_gid *peer = &datagram->addresses.dest;
	const bool keeps = fault_sieve_keeps(&plan.transmit.sieve, datagram, peer);

	assert_true(!keeps || fault_sieve_may_keep(&plan.transmit.sieve, datagram, peer));
	return keeps;
}

/* What concerns no rule does not get as far as the rules, and what concerns one does. */
static void a_sieve_keeps_what_may_concern_a_rule(void **state)
{
	static const struct {
		const char *rules;
		bool keeps;
		bool drops;
	} cases[] = {
		{"drop/qpn=0x812345", true, true},
		{"drop/qpn=0x912345", true, false}, /* the first byte is not looked at */
		{"drop/qpn=0x812346", false, false},
		{"drop/qpn=0x812445", false, false},
		{"drop/psn=0x7f0006-0x7f0004", true, false}, /* all but one number */
		{"drop/psn=0x7f0005", true, true},
		{"drop/psn=0x7e0000-0x80ffff", true, true},
		{"drop/psn=0x800000-0x7e0000", false, false},
		{"drop/psn=0x800000-0x7f0005", true, true},
		{"drop/peer=10.0.0.2", true, true},
		{"drop/peer=10.0.0.3", false, false},
		{"drop/peer=10.0.1.2", false, false},
		{"drop/longer=15", true, true}, /* 12 bytes and the ICRC */
		{"drop/longer=1", true, true},
		{"drop/longer=16", false, false},
		{"drop@rc-write/longer=1", false, false},
		{"drop/longer=600", false, false},
		{"drop/qpn=1,drop/peer=10.0.0.9,drop/longer=600,drop/psn=1", false, false},
		{"drop/qpn=1,drop/peer=10.0.0.2,drop/longer=600,drop/psn=1", true, true},
		{"drop@rc-write", false, false},
		{"drop", true, true},
	};
	struct datagram datagram = packet(RC_SEND_ONLY, 0x812345, 0x7f0005);

	(void)state;
	datagram.length = RNIC_BTH_BYTES;
	datagram.addresses.dest = rnic_gid_from_ipv4((const uint8_t[]){10, 0, 0, 2});
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		load(cases[i].rules, 0);
		assert_int_equal(sieve_keeps(&datagram), cases[i].keeps);
		assert_int_equal(drops(&datagram, 0), cases[i].drops);
	}
}

static void rules_say_where(void **state)
{
	struct datagram datagram = packet(RC_SEND_ONLY, 0x812345, 0xfffffe);

	(void)state;
	datagram.addresses.dest = rnic_gid_from_ipv4((const uint8_t[]){10, 0, 0, 2});
	load("drop/qpn=0x812345", 0);
	assert_true(drops(&datagram, 0));
	load("drop/qpn=0x812346", 0);
	assert_false(drops(&datagram, 0));
	assert_false(fault_plan_concerns(&plan, &plan.transmit, &datagram, 0));
	load("drop/psn=0xfffffe-1", 0); /* across the end of the numbers */
	assert_true(drops(&datagram, 0));
	load("drop/psn=0-5", 0);
	assert_false(drops(&datagram, 0));
	load("drop/peer=10.0.0.2", 0);
	assert_true(drops(&datagram, 0));
	load("drop/peer=10.0.0.3", 0);
	assert_false(drops(&datagram, 0));
	load("drop@rc-write", 0);
	assert_false(fault_plan_concerns(&plan, &plan.transmit, &datagram, 0));
	load("rx:drop/qpn=1", 0);
	assert_false(fault_plan_concerns(&plan, &plan.transmit, &datagram, 0));
	/* A datagram that is too short for a header has no number. */
	load("drop/qpn=0x812345", 0);
	datagram.length = 4;
	assert_false(drops(&datagram, 0));
}

static void rules_say_when(void **state)
{
	const struct datagram datagram = packet(RC_SEND_ONLY, 1, 1);

	(void)state;
	load("drop/from=10ms/for=5ms", 100 * MS);
	assert_false(drops(&datagram, 109 * MS));
	assert_true(drops(&datagram, 110 * MS));
	assert_true(drops(&datagram, 115 * MS - 1));
	assert_false(drops(&datagram, 115 * MS));
	load("drop/for=5ms", 100 * MS);
	assert_true(drops(&datagram, 100 * MS));
	assert_false(drops(&datagram, 200 * MS));
}

/* Rules whose time has not come, or is over, cost nothing: the sieve has those that may act. */
static void a_sieve_has_the_rules_of_open_windows(void **state)
{
	static const struct {
		uint64_t now_ns;
		uint64_t until_ns;
		bool keeps;
	} steps[] = {
		{0, 10 * MS, false},
		{10 * MS, 15 * MS, true},
		{15 * MS, 20 * MS, false},
		{20 * MS, UINT64_MAX, true},
	};
	const struct datagram datagram = packet(RC_SEND_ONLY, 1, 1);

	(void)state;
	load("drop/from=10ms/for=5ms,drop/from=20ms", 0);
	for (size_t i = 0; i < RNIC_COUNT_OF(steps); i++) {
		fault_plan_review(&plan, steps[i].now_ns);
		assert_int_equal(plan.until_ns, steps[i].until_ns);
		assert_int_equal(sieve_keeps(&datagram), steps[i].keeps);
	}
}

static void rules_say_how_often(void **state)
{
	static const struct {
		const char *spec;
		uint32_t dropped; /* of eight packets, the first in bit 0 */
	} cases[] = {
		{"drop/nth=3", 0x04},
		{"drop/pattern=ok ok fail ok fail", 0x14},
		{"drop/first=5/every=2", 0x0a},
		{"drop/count=2", 0x03},
		{"drop/every=3/count=1", 0x04},
		{"drop=0%", 0},
		{"drop/pattern=fail fail/nth=2", 2},
	};
	const struct datagram datagram = packet(RC_SEND_ONLY, 1, 1);

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint32_t dropped = 0;

		load(cases[i].spec, 0);
		for (uint32_t j = 0; j < 8; j++)
			dropped |= (uint32_t)drops(&datagram, 0) << j;
		assert_int_equal(dropped, cases[i].dropped);
	}
}

/* Rules come and go, and those that stay go on. */
static void a_rule_keeps_its_counts(void **state)
{
	const struct datagram datagram = packet(RC_SEND_ONLY, 1, 1);

	(void)state;
	load("drop/every=2,delay=1ms", 0);
	assert_false(drops(&datagram, 0));
	fault_plan_set(&plan, 1, 0, NULL, 0);
	assert_int_equal(plan.transmit.count, 1);
	assert_true(drops(&datagram, 0));
	assert_int_equal(plan.rules[0].seen, 2);
	fault_plan_set(&plan, 0, 0, NULL, 0);
	assert_int_equal(plan.transmit.count, 0);
	assert_false(fault_plan_concerns(&plan, &plan.transmit, &datagram, 0));
}

/* Two rules with one seed do not act on the same packets. */
static void rules_draw_by_themselves(void **state)
{
	const struct datagram datagram = packet(RC_SEND_ONLY, 1, 1);
	uint32_t both = 0;

	(void)state;
	load("drop=50%,duplicate=50%,seed=7", 0);
	for (int i = 0; i < 400; i++) {
		const struct fault_verdict verdict =
			fault_plan_judge(&plan, &plan.transmit, &datagram, 0);

		both += verdict.drop && verdict.duplicate;
	}
	assert_in_range(both, 60, 140);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_specifications_name_the_place),
		cmocka_unit_test(wrong_rules_for_verbs_name_the_place),
		cmocka_unit_test(rules_for_calls_are_understood),
		cmocka_unit_test(rules_for_completions_are_understood),
		cmocka_unit_test(rules_for_ends_are_understood),
		cmocka_unit_test(bounds_are_kept),
		cmocka_unit_test(right_specifications_are_understood),
		cmocka_unit_test(what_all_rules_do_is_put_together),
		cmocka_unit_test(rules_say_where),
		cmocka_unit_test(a_sieve_keeps_what_may_concern_a_rule),
		cmocka_unit_test(rules_say_when),
		cmocka_unit_test(a_sieve_has_the_rules_of_open_windows),
		cmocka_unit_test(rules_say_how_often),
		cmocka_unit_test(a_rule_keeps_its_counts),
		cmocka_unit_test(rules_draw_by_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

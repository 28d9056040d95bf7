/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_rule.h"

#include "lib/nic/port/conditions/fault_reader.h"
#include "lib/nic/port/conditions/verb_names.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "proto/wire/opcode.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_BEHIND	3
#define DEFAULT_HOLD_NS (1 * RNIC_NS_PER_SECOND)
/* A device process outlives its last program by 5 s. */
#define HOLD_MAX_NS (4 * RNIC_NS_PER_SECOND)
#define PSN_MAX	    0xffffff

static const char acknowledgement[] = "rc-acknowledge";

static const char *const action_names[FAULT_ACTION_COUNT] = {
	[FAULT_DROP] = "drop",	     [FAULT_DUPLICATE] = "duplicate", [FAULT_REORDER] = "reorder",
	[FAULT_CORRUPT] = "corrupt", [FAULT_DELAY] = "delay",	      [FAULT_MARK] = "mark",
	[FAULT_RNR] = "rnr",
};

/* Chooses the opcodes whose names begin with the words. Returns whether there are any. */
static bool rule_choose_opcodes(struct fault_rule *rule, const char *text, size_t length)
{
	bool found = false;

	memset(rule->opcodes, 0, sizeof(rule->opcodes));
	for (unsigned int opcode = 0; length != 0 && opcode < 256; opcode++) {
		const struct rnic_opcode *row = rnic_opcode_row((uint8_t)opcode);

		if (row->operation == RNIC_OPERATION_NONE ||
		    !fault_reader_names(row->name, text, length))
			continue;
		rule->opcodes[opcode / 64] |= UINT64_C(1) << opcode % 64;
		found = true;
	}
	return found;
}

static int fault_rule_read_opcode(struct fault_reader *reader, struct fault_rule *rule)
{
	const size_t length = fault_reader_word(reader);

	if (!rule_choose_opcodes(rule, reader->at, length))
		return fault_reader_refuse(reader, "an opcode such as rc-send or rc-acknowledge");
	reader->at += length;
	return 0;
}

/* A number in decimal, or in hexadecimal behind 0x. */
static bool read_either_number(struct fault_reader *reader, uint64_t *value)
{
	const char *begin;

	if (!fault_reader_skip(reader, "0x"))
		return fault_reader_number(reader, value);
	begin = reader->at;
	for (*value = 0; reader->at < reader->end && isxdigit((unsigned char)*reader->at) &&
			 reader->at - begin < 15;
	     reader->at++) {
		const char digit = (char)tolower((unsigned char)*reader->at);

		*value = *value << 4 | (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	return reader->at != begin;
}

static int read_qpn(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	uint64_t qpn;

	if (!read_either_number(reader, &qpn) || qpn > PSN_MAX)
		return fault_reader_refuse(&start, "a queue pair number such as 0x812345");
	rule->qpn = (uint32_t)qpn;
	rule->where |= FAULT_WHERE_QPN;
	return 0;
}

static int read_psn(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	uint64_t first, last;

	if (!read_either_number(reader, &first) || first > PSN_MAX)
		return fault_reader_refuse(&start, "a packet sequence number, or two as 100-199");
	last = first;
	if (fault_reader_skip(reader, "-") &&
	    (!read_either_number(reader, &last) || last > PSN_MAX))
		return fault_reader_refuse(&start, "a packet sequence number, or two as 100-199");
	rule->first_psn = (uint32_t)first;
	rule->last_psn = (uint32_t)last;
	rule->where |= FAULT_WHERE_PSN;
	return 0;
}

static int read_peer(struct fault_reader *reader, struct fault_rule *rule)
{
	char text[INET6_ADDRSTRLEN] = "";
	uint8_t address[16];
	const size_t length = fault_reader_word(reader);

	if (length < sizeof(text))
		memcpy(text, reader->at, length);
	if (inet_pton(AF_INET, text, address) == 1)
		rule->peer = rnic_gid_from_ipv4(address);
	else if (inet_pton(AF_INET6, text, address) == 1)
		rule->peer = rnic_gid_from_ipv6(address);
	else
		return fault_reader_refuse(reader, "an IP address");
	reader->at += length;
	rule->where |= FAULT_WHERE_PEER;
	return 0;
}

static int read_pattern(struct fault_reader *reader, struct fault_rule *rule)
{
	do {
		const bool fails = fault_reader_skip(reader, "fail");

		if (!fails && !fault_reader_skip(reader, "ok"))
			return fault_reader_refuse(reader, "ok or fail");
		if (rule->often.pattern_steps == FAULT_PATTERN_MAX)
			return fault_reader_refuse(reader, "no more than 64 steps");
		rule->often.pattern |= (uint64_t)fails << rule->often.pattern_steps++;
	} while (fault_reader_skip(reader, " "));
	return 0;
}

static int read_seed(struct fault_reader *reader, struct fault_rule *rule)
{
	rule->has_seed = true;
	return fault_reader_number(reader, &rule->seed) ? 0
							: fault_reader_refuse(reader, "a number");
}

static int read_behind(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	uint64_t behind;

	if (!fault_reader_number(reader, &behind) || behind == 0 || behind > UINT16_MAX)
		return fault_reader_refuse(&start, "a number from 1 on");
	rule->behind = (uint32_t)behind;
	return 0;
}

static int read_from(struct fault_reader *reader, struct fault_rule *rule)
{
	return fault_reader_time(reader, &rule->often.from_ns);
}

static int read_for(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	const int error = fault_reader_time(reader, &rule->often.for_ns);

	return error != 0 || rule->often.for_ns != 0
		       ? error
		       : fault_reader_refuse(&start, "a time such as 10ms");
}

static int read_hold(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	const int error = fault_reader_time(reader, &rule->hold_ns);

	return error != 0 || rule->hold_ns <= HOLD_MAX_NS
		       ? error
		       : fault_reader_refuse(&start, "a time of at most 4s");
}

static int read_longer(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	uint64_t bytes;

	if (!fault_reader_number(reader, &bytes) || bytes > UINT16_MAX)
		return fault_reader_refuse(&start, "a number of bytes");
	rule->longer_bytes = (uint32_t)bytes;
	rule->where |= FAULT_WHERE_LONGER;
	return 0;
}

static int read_option_chance(struct fault_reader *reader, struct fault_rule *rule)
{
	return fault_reader_chance(reader, &rule->often.chance_ppm);
}

static int read_pid(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	uint64_t pid;

	if (!fault_reader_number(reader, &pid) || pid == 0 || pid > INT32_MAX)
		return fault_reader_refuse(&start, "the number of a process");
	rule->pid = (uint32_t)pid;
	return 0;
}

static int fault_read_program(struct fault_reader *reader, struct fault_rule *rule)
{
	const size_t length = fault_reader_word(reader);

	if (length == 0 || length >= sizeof(rule->program))
		return fault_reader_refuse(reader, "the name of a program, at most 15 characters");
	memcpy(rule->program, reader->at, length);
	reader->at += length;
	return 0;
}

/* Of what an option says something. */
enum option_of {
	OF_PACKETS = 1 << 0,
	OF_CALLS = 1 << 1,
	OF_COMPLETIONS = 1 << 2,
	OF_ENDS = 1 << 3,
	OF_HELD_ENDS = 1 << 4, /* those of memory first */
	OF_PROGRAMS = OF_CALLS | OF_COMPLETIONS | OF_ENDS,
	OF_ALL = OF_PACKETS | OF_PROGRAMS,
};

/* The options whose values have a reader of their own. */
static const struct {
	const char *name;
	uint32_t of; /* enum option_of */
	int (*read)(struct fault_reader *reader, struct fault_rule *rule);
} options[] = {
	{"qpn=", OF_PACKETS | OF_COMPLETIONS, read_qpn},
	{"peer=", OF_PACKETS, read_peer},
	{"psn=", OF_PACKETS, read_psn},
	{"longer=", OF_PACKETS, read_longer},
	{"program=", OF_PROGRAMS, fault_read_program},
	{"pid=", OF_PROGRAMS, read_pid},
	{"hold=", OF_HELD_ENDS, read_hold},
	{"from=", OF_ALL, read_from},
	{"for=", OF_ALL, read_for},
	{"pattern=", OF_ALL, read_pattern},
	{"chance=", OF_ALL, read_option_chance},
	{"seed=", OF_ALL, read_seed},
};

/* The options that are numbers from 1 on. */
static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{"first=", offsetof(struct rnic_rule_often, first)},
	{"every=", offsetof(struct rnic_rule_often, every)},
	{"nth=", offsetof(struct rnic_rule_often, nth)},
	{"count=", offsetof(struct rnic_rule_often, count)},
};

static uint32_t rule_option_of(const struct fault_rule *rule)
{
	if (rule->end != FAULT_END_NONE)
		return rule->end == FAULT_END_MEMORY_FIRST ? OF_ENDS | OF_HELD_ENDS : OF_ENDS;
	if (rule->verb == RNIC_VERB_NONE)
		return OF_PACKETS;
	return rule->verb == RNIC_VERB_FAIL ? OF_CALLS : OF_COMPLETIONS;
}

/* The options that there are, for a message. */
static const char *rule_options(const struct fault_rule *rule)
{
	switch (rule_option_of(rule)) {
	case OF_ENDS | OF_HELD_ENDS:
		return "program, pid, hold, from, for, first, every, nth, pattern, count, chance "
		       "or seed, and =";
	case OF_ENDS:
	case OF_CALLS:
		return "program, pid, from, for, first, every, nth, pattern, count, chance or "
		       "seed, and =";
	case OF_COMPLETIONS:
		return "qpn, program, pid, from, for, first, every, nth, pattern, count, chance "
		       "or seed, and =";
	default:
		return "qpn, peer, psn, longer, from, for, first, every, nth, pattern, count, "
		       "chance, seed, or for reorder behind, and =";
	}
}

static int read_option(struct fault_reader *reader, struct fault_rule *rule)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(options); i++)
		if ((options[i].of & rule_option_of(rule)) != 0 &&
		    fault_reader_skip(reader, options[i].name))
			return options[i].read(reader, rule);
	for (size_t i = 0; i < RNIC_COUNT_OF(counts); i++) {
		uint64_t *number = (void *)((uint8_t *)&rule->often + counts[i].offset);
		struct fault_reader start = *reader;

		if (!fault_reader_skip(reader, counts[i].name))
			continue;
		start.at = reader->at;
		if (fault_reader_number(reader, number) && *number != 0)
			return 0;
		return fault_reader_refuse(&start, "a number from 1 on");
	}
	if (fault_rule_is_for_packets(rule) && rule->action == FAULT_REORDER &&
	    fault_reader_skip(reader, "behind="))
		return read_behind(reader, rule);
	return fault_reader_refuse(reader, rule_options(rule));
}

static int read_delay(struct fault_reader *reader, struct fault_rule *rule)
{
	int error;

	if (!fault_reader_skip(reader, "="))
		return fault_reader_refuse(reader, "=TIME");
	error = fault_reader_time(reader, &rule->delay_ns);
	if (error != 0 || !fault_reader_skip(reader, "+-"))
		return error;
	error = fault_reader_time(reader, &rule->jitter_ns);
	if (error == 0 && rule->jitter_ns > rule->delay_ns)
		return fault_reader_refuse(reader, "a jitter of at most the delay");
	return error;
}

static int read_percentage(struct fault_reader *reader, struct fault_rule *rule)
{
	if (fault_reader_skip(reader, "="))
		return read_option_chance(reader, rule);
	if (reader->at == reader->end || *reader->at == '@' || *reader->at == '/')
		return 0;
	return fault_reader_refuse(reader, "=PERCENTAGE, @OPCODE, /OPTION or a comma");
}

/* --- rules for calls and completions ---------------------------------------------------------- */

static int read_fail(struct fault_reader *reader, struct fault_rule *rule)
{
	const size_t length = strcspn(reader->at, "@/,");

	rule->verb = RNIC_VERB_FAIL;
	rule->calls = (UINT64_C(1) << RNIC_VERB_CALL_COUNT) - 1;
	rule->verb_value = verb_errno(reader->at, length);
	if (rule->verb_value == 0)
		return fault_reader_refuse(reader, "an errno such as ENOMEM or 12");
	reader->at += length;
	return 0;
}

static int read_status(struct fault_reader *reader, struct fault_rule *rule)
{
	const size_t length = strcspn(reader->at, "@/,");

	rule->verb = RNIC_VERB_STATUS;
	rule->verb_value = verb_status(reader->at, length);
	if (rule->verb_value == 0)
		return fault_reader_refuse(reader, "a status such as RETRY_EXC_ERR or 12");
	reader->at += length;
	return 0;
}

static int read_occupy(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	uint64_t entries;

	rule->verb = RNIC_VERB_OCCUPY;
	if (!fault_reader_number(reader, &entries) || entries == 0 || entries > UINT16_MAX)
		return fault_reader_refuse(&start, "a number of entries from 1 on");
	rule->verb_value = (uint32_t)entries;
	return 0;
}

static int read_completion(struct fault_reader *reader, struct fault_rule *rule)
{
	rule->calls = UINT64_MAX;
	if (fault_reader_skip(reader, "status="))
		return read_status(reader, rule);
	if (fault_reader_skip(reader, "occupy="))
		return read_occupy(reader, rule);
	if (fault_reader_skip(reader, "delay")) {
		rule->verb = RNIC_VERB_DELAY;
		return read_delay(reader, rule);
	}
	if (fault_reader_skip(reader, "reorder")) {
		rule->verb = RNIC_VERB_REORDER;
		return read_percentage(reader, rule);
	}
	return fault_reader_refuse(reader, "status=, delay=, reorder or occupy=");
}

/* The call, or what completes. */
static int read_verb_place(struct fault_reader *reader, struct fault_rule *rule)
{
	const size_t length = fault_reader_word(reader);
	const bool is_call = rule->verb == RNIC_VERB_FAIL;

	rule->calls = is_call ? verb_calls(reader->at, length) : verb_works(reader->at, length);
	if (rule->calls == 0)
		return fault_reader_refuse(reader,
					   is_call ? "a call such as reg_mr or create"
						   : "what completes, such as send or recv");
	reader->at += length;
	return 0;
}

/* --- rules ------------------------------------------------------------------------------------ */

static int read_end(struct fault_reader *reader, struct fault_rule *rule)
{
	if (fault_reader_skip(reader, "memory-first"))
		rule->end = FAULT_END_MEMORY_FIRST;
	else if (fault_reader_skip(reader, "queue-pairs-first"))
		rule->end = FAULT_END_QUEUE_PAIRS_FIRST;
	else
		return fault_reader_refuse(reader, "memory-first or queue-pairs-first");
	rule->hold_ns = DEFAULT_HOLD_NS;
	return 0;
}

static int read_place(struct fault_reader *reader, struct fault_rule *rule)
{
	if (rule->end != FAULT_END_NONE)
		return fault_reader_refuse(reader, "no place: a program ends as a whole");
	if (rule->verb != RNIC_VERB_NONE)
		return read_verb_place(reader, rule);
	if (rule->action == FAULT_RNR)
		return fault_reader_refuse(reader, "no opcode: rnr is of rc-acknowledge");
	return fault_rule_read_opcode(reader, rule);
}

static int read_action(struct fault_reader *reader, struct fault_rule *rule)
{
	const struct fault_reader start = *reader;
	size_t action = 0;

	while (action < FAULT_ACTION_COUNT && !fault_reader_skip(reader, action_names[action]))
		action++;
	if (action == FAULT_ACTION_COUNT)
		return fault_reader_refuse(reader, "drop, duplicate, reorder, corrupt, delay, "
						   "mark, rnr, fail=, cq:, end= or seed");
	if (action == FAULT_RNR && rule->is_receive)
		return fault_reader_refuse(&start, "rnr of what is sent, without rx:");
	rule->action = (enum fault_action)action;
	if (action == FAULT_RNR)
		rule_choose_opcodes(rule, acknowledgement, strlen(acknowledgement));
	return rule->action == FAULT_DELAY ? read_delay(reader, rule)
					   : read_percentage(reader, rule);
}

/* What happens, and to what. */
static int read_subject(struct fault_reader *reader, struct fault_rule *rule)
{
	if (fault_reader_skip(reader, "fail="))
		return read_fail(reader, rule);
	if (fault_reader_skip(reader, "cq:"))
		return read_completion(reader, rule);
	if (fault_reader_skip(reader, "end="))
		return read_end(reader, rule);
	rule->is_receive = fault_reader_skip(reader, "rx:");
	if (!rule->is_receive)
		fault_reader_skip(reader, "tx:");
	return read_action(reader, rule);
}

static int read_rule(struct fault_reader *reader, struct fault_rule *rule)
{
	size_t length = (size_t)(reader->end - reader->at);
	int error;

	*rule = (struct fault_rule){
		.behind = DEFAULT_BEHIND,
		.often = {.every = 1, .chance_ppm = RNIC_RULE_ALWAYS_PPM},
	};
	memset(rule->opcodes, 0xff, sizeof(rule->opcodes));
	if (length >= sizeof(rule->text))
		return fault_reader_refuse(reader, "a shorter rule");
	memcpy(rule->text, reader->at, length);
	error = read_subject(reader, rule);
	if (error == 0 && fault_reader_skip(reader, "@"))
		error = read_place(reader, rule);
	while (error == 0 && fault_reader_skip(reader, "/"))
		error = read_option(reader, rule);
	if (error == 0 && reader->at != reader->end)
		error = fault_reader_refuse(reader, "@OPCODE, /OPTION or a comma");
	return error;
}

int fault_rules_parse(const char *spec, uint32_t line, struct fault_rule *rules, uint32_t max,
		      uint32_t *count, char *message, size_t message_bytes)
{
	struct fault_reader reader = {spec, line, spec, spec, message, message_bytes};
	uint32_t parsed = 0;
	uint64_t seed = 1;
	int error = 0;

	for (;; reader.at = reader.end + 1) {
		reader.at += strspn(reader.at, " ");
		reader.end = strchrnul(reader.at, ',');
		if (fault_reader_skip(&reader, "seed=")) {
			if (!fault_reader_number(&reader, &seed) || reader.at != reader.end)
				error = fault_reader_refuse(&reader, "a number");
		} else if (parsed == max) {
			error = fault_reader_refuse(&reader,
						    "no further rule: there are as many as "
						    "may be");
		} else {
			error = read_rule(&reader, &rules[parsed++]);
		}
		if (error != 0)
			return error;
		if (*reader.end == '\0')
			break;
	}
	for (uint32_t i = 0; i < parsed; i++)
		if (!rules[i].has_seed)
			rules[i].seed = seed;
	*count = parsed;
	return 0;
}

/* Rules with one seed must not draw the same numbers: FNV-1a of the text tells them apart. */
static uint64_t text_number(const char *text)
{
	uint64_t number = UINT64_C(0xcbf29ce484222325);

	for (; *text != '\0'; text++)
		number = (number ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return number;
}

void fault_rule_begin(struct fault_rule *rule, uint64_t offset, uint64_t now_ns)
{
	prng_init(&rule->prng, rule->seed + offset + text_number(rule->text));
	rule->loaded_ns = now_ns;
}

int fault_rule_load(struct fault_rule *rule, const char *text, uint64_t seed, uint64_t offset,
		    uint64_t now_ns)
{
	char message[1]; /* the user who wrote the text has heard what is wrong with it */
	uint32_t count;
	int result = fault_rules_parse(text, 1, rule, 1, &count, message, sizeof(message));

	if (result != 0 || count != 1)
		return -EINVAL;
	if (!rule->has_seed)
		rule->seed = seed;
	fault_rule_begin(rule, offset, now_ns);
	return 0;
}

bool fault_rule_acts(struct fault_rule *rule, uint64_t now_ns)
{
	const struct rnic_rule_often *often = &rule->often;

	if (!rnic_rule_has_time(often, now_ns - rule->loaded_ns) ||
	    !rnic_rule_selects(often, &rule->seen) || !rnic_rule_has_hits_left(often, rule->hits))
		return false;
	if (often->chance_ppm < RNIC_RULE_ALWAYS_PPM &&
	    prng_below(&rule->prng, RNIC_RULE_ALWAYS_PPM) >= often->chance_ppm)
		return false;
	rule->hits++;
	return true;
}

void fault_rule_verb(const struct fault_rule *rule, uint32_t id, struct rnic_verb_rule *verb)
{
	*verb = (struct rnic_verb_rule){
		.id = id,
		.action = rule->verb,
		.calls = rule->calls,
		.value = rule->verb_value,
		.pid = rule->pid,
		.qpn = rule->qpn,
		.has_qpn = (rule->where & FAULT_WHERE_QPN) != 0,
		.delay_ns = rule->delay_ns,
		.jitter_ns = rule->jitter_ns,
		.seed = rule->seed + text_number(rule->text),
		.often = rule->often,
	};
	memcpy(verb->program, rule->program, sizeof(verb->program));
}

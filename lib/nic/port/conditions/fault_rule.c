/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_rule.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/opcode.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ALWAYS_PPM     1000000
#define DEFAULT_BEHIND 3
#define TEXT_SHOWN_MAX 40
#define PSN_MAX	       0xffffff

/* The rest of one item, and the place for an error message. */
struct reader {
	const char *begin; /* of the line */
	uint32_t line;
	const char *at;
	const char *end;
	char *message;
	size_t message_bytes;
};

static const char *const action_names[FAULT_ACTION_COUNT] = {
	[FAULT_DROP] = "drop",	     [FAULT_DUPLICATE] = "duplicate", [FAULT_REORDER] = "reorder",
	[FAULT_CORRUPT] = "corrupt", [FAULT_DELAY] = "delay",	      [FAULT_MARK] = "mark",
};

static int fault_rule_refuse(const struct reader *reader, const char *wanted)
{
	const int rest = (int)(reader->end - reader->at);
	const unsigned column = (unsigned)(reader->at - reader->begin) + 1;

	if (rest == 0)
		snprintf(reader->message, reader->message_bytes,
			 "line %u, column %u, at the end: expected %s", reader->line, column,
			 wanted);
	else
		snprintf(reader->message, reader->message_bytes,
			 "line %u, column %u, at '%.*s': expected %s", reader->line, column,
			 rest < TEXT_SHOWN_MAX ? rest : TEXT_SHOWN_MAX, reader->at, wanted);
	return -EINVAL;
}

static bool skip(struct reader *reader, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, text, length) != 0)
		return false;
	reader->at += length;
	return true;
}

/* A decimal number of at most 18 digits, which cannot overflow. */
static bool fault_rule_read_number(struct reader *reader, uint64_t *value)
{
	const char *at = reader->at;
	uint64_t number = 0;

	while (at < reader->end && isdigit((unsigned char)*at) && at - reader->at < 18)
		number = number * 10 + (uint64_t)(*at++ - '0');
	if (at == reader->at)
		return false;
	reader->at = at;
	*value = number;
	return true;
}

static int read_chance(struct reader *reader, struct fault_rule *rule)
{
	static const char wanted[] = "a percentage from 0% to 100%";
	struct reader start = *reader;
	uint64_t whole, unit = ALWAYS_PPM / 100;
	uint64_t ppm;

	if (!fault_rule_read_number(reader, &whole) || whole > 100)
		return fault_rule_refuse(&start, wanted);
	ppm = whole * unit;
	if (skip(reader, ".")) {
		while (reader->at < reader->end && isdigit((unsigned char)*reader->at) &&
		       unit > 1) {
			unit /= 10;
			ppm += unit * (uint64_t)(*reader->at++ - '0');
		}
	}
	if (!skip(reader, "%") || ppm > ALWAYS_PPM)
		return fault_rule_refuse(&start, wanted);
	rule->chance_ppm = (uint32_t)ppm;
	return 0;
}

static int read_time(struct reader *reader, uint64_t *time_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	static const uint64_t most_ns = UINT64_C(60) * 1000000000;
	struct reader start = *reader;
	uint64_t number;

	if (!fault_rule_read_number(reader, &number))
		return fault_rule_refuse(&start, "a time such as 10ms");
	for (size_t i = 0; i < RNIC_COUNT_OF(units); i++) {
		if (!skip(reader, units[i].name))
			continue;
		if (number > most_ns / units[i].ns)
			return fault_rule_refuse(&start, "a time of at most 60s");
		*time_ns = number * units[i].ns;
		return 0;
	}
	return fault_rule_refuse(&start, "a time such as 10ms");
}

/* Whether `name` begins with the words of `wanted`, in the spelling of rules. */
static bool name_matches(const char *name, const char *wanted, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char letter = name[i] == ' ' ? '-' : (char)tolower((unsigned char)name[i]);

		if (name[i] == '\0' || letter != wanted[i])
			return false;
	}
	return name[length] == '\0' || name[length] == ' ';
}

static int fault_rule_read_opcode(struct reader *reader, struct fault_rule *rule)
{
	struct reader start = *reader;
	size_t length = 0;
	bool found = false;

	while (reader->at + length < reader->end && reader->at[length] != '/')
		length++;
	memset(rule->opcodes, 0, sizeof(rule->opcodes));
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		const struct rnic_opcode *row = rnic_opcode_row((uint8_t)opcode);

		if (row->operation == RNIC_OPERATION_NONE ||
		    !name_matches(row->name, reader->at, length))
			continue;
		rule->opcodes[opcode / 64] |= UINT64_C(1) << opcode % 64;
		found = true;
	}
	if (length == 0 || !found)
		return fault_rule_refuse(&start, "an opcode such as rc-send or rc-acknowledge");
	reader->at += length;
	return 0;
}

/* A number in decimal, or in hexadecimal behind 0x. */
static bool read_either_number(struct reader *reader, uint64_t *value)
{
	const char *begin;

	if (!skip(reader, "0x"))
		return fault_rule_read_number(reader, value);
	begin = reader->at;
	for (*value = 0; reader->at < reader->end && isxdigit((unsigned char)*reader->at) &&
			 reader->at - begin < 15;
	     reader->at++) {
		const char digit = (char)tolower((unsigned char)*reader->at);

		*value = *value << 4 | (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	return reader->at != begin;
}

static int read_qpn(struct reader *reader, struct fault_rule *rule)
{
	const struct reader start = *reader;
	uint64_t qpn;

	if (!read_either_number(reader, &qpn) || qpn > PSN_MAX)
		return fault_rule_refuse(&start, "a queue pair number such as 0x812345");
	rule->qpn = (uint32_t)qpn;
	rule->where |= FAULT_WHERE_QPN;
	return 0;
}

static int read_psn(struct reader *reader, struct fault_rule *rule)
{
	const struct reader start = *reader;
	uint64_t first, last;

	if (!read_either_number(reader, &first) || first > PSN_MAX)
		return fault_rule_refuse(&start, "a packet sequence number, or two as 100-199");
	last = first;
	if (skip(reader, "-") && (!read_either_number(reader, &last) || last > PSN_MAX))
		return fault_rule_refuse(&start, "a packet sequence number, or two as 100-199");
	rule->first_psn = (uint32_t)first;
	rule->last_psn = (uint32_t)last;
	rule->where |= FAULT_WHERE_PSN;
	return 0;
}

static int read_peer(struct reader *reader, struct fault_rule *rule)
{
	char text[INET6_ADDRSTRLEN] = "";
	uint8_t address[16];
	size_t length = 0;

	while (reader->at + length < reader->end && reader->at[length] != '/')
		length++;
	if (length < sizeof(text))
		memcpy(text, reader->at, length);
	if (inet_pton(AF_INET, text, address) == 1)
		rule->peer = rnic_gid_from_ipv4(address);
	else if (inet_pton(AF_INET6, text, address) == 1)
		rule->peer = rnic_gid_from_ipv6(address);
	else
		return fault_rule_refuse(reader, "an IP address");
	reader->at += length;
	rule->where |= FAULT_WHERE_PEER;
	return 0;
}

static int read_pattern(struct reader *reader, struct fault_rule *rule)
{
	do {
		const bool fails = skip(reader, "fail");

		if (!fails && !skip(reader, "ok"))
			return fault_rule_refuse(reader, "ok or fail");
		if (rule->pattern_steps == FAULT_PATTERN_MAX)
			return fault_rule_refuse(reader, "no more than 64 steps");
		rule->pattern |= (uint64_t)fails << rule->pattern_steps++;
	} while (skip(reader, " "));
	return 0;
}

static int read_seed(struct reader *reader, struct fault_rule *rule)
{
	rule->has_seed = true;
	return fault_rule_read_number(reader, &rule->seed) ? 0
							   : fault_rule_refuse(reader, "a number");
}

static int read_behind(struct reader *reader, struct fault_rule *rule)
{
	const struct reader start = *reader;
	uint64_t behind;

	if (!fault_rule_read_number(reader, &behind) || behind == 0 || behind > UINT16_MAX)
		return fault_rule_refuse(&start, "a number from 1 on");
	rule->behind = (uint32_t)behind;
	return 0;
}

static int read_from(struct reader *reader, struct fault_rule *rule)
{
	return read_time(reader, &rule->from_ns);
}

static int read_for(struct reader *reader, struct fault_rule *rule)
{
	const struct reader start = *reader;
	const int error = read_time(reader, &rule->for_ns);

	return error != 0 || rule->for_ns != 0 ? error
					       : fault_rule_refuse(&start, "a time such as 10ms");
}

/* The options whose values have a reader of their own. */
static const struct {
	const char *name;
	int (*read)(struct reader *reader, struct fault_rule *rule);
} options[] = {
	{"qpn=", read_qpn}, {"peer=", read_peer},	{"psn=", read_psn},   {"from=", read_from},
	{"for=", read_for}, {"pattern=", read_pattern}, {"seed=", read_seed},
};

/* The options that are numbers from 1 on. */
static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{"first=", offsetof(struct fault_rule, first)},
	{"every=", offsetof(struct fault_rule, every)},
	{"nth=", offsetof(struct fault_rule, nth)},
	{"count=", offsetof(struct fault_rule, count)},
};

static int read_option(struct reader *reader, struct fault_rule *rule)
{
	static const char wanted[] =
		"qpn, peer, psn, from, for, first, every, nth, pattern, count, "
		"seed, or for reorder behind, and =";

	for (size_t i = 0; i < RNIC_COUNT_OF(options); i++)
		if (skip(reader, options[i].name))
			return options[i].read(reader, rule);
	for (size_t i = 0; i < RNIC_COUNT_OF(counts); i++) {
		uint64_t *number = (void *)((uint8_t *)rule + counts[i].offset);
		struct reader start = *reader;

		if (!skip(reader, counts[i].name))
			continue;
		start.at = reader->at;
		if (fault_rule_read_number(reader, number) && *number != 0)
			return 0;
		return fault_rule_refuse(&start, "a number from 1 on");
	}
	if (rule->action == FAULT_REORDER && skip(reader, "behind="))
		return read_behind(reader, rule);
	return fault_rule_refuse(reader, wanted);
}

static int read_action(struct reader *reader, struct fault_rule *rule)
{
	size_t action = 0;
	int error;

	while (action < FAULT_ACTION_COUNT && !skip(reader, action_names[action]))
		action++;
	if (action == FAULT_ACTION_COUNT)
		return fault_rule_refuse(reader,
					 "drop, duplicate, reorder, corrupt, delay, mark or seed");
	rule->action = (enum fault_action)action;
	if (rule->action != FAULT_DELAY)
		return skip(reader, "=") ? read_chance(reader, rule) : 0;
	if (!skip(reader, "="))
		return fault_rule_refuse(reader, "=TIME");
	error = read_time(reader, &rule->delay_ns);
	if (error != 0 || !skip(reader, "+-"))
		return error;
	error = read_time(reader, &rule->jitter_ns);
	if (error == 0 && rule->jitter_ns > rule->delay_ns)
		return fault_rule_refuse(reader, "a jitter of at most the delay");
	return error;
}

static int read_rule(struct reader *reader, struct fault_rule *rule)
{
	size_t length = (size_t)(reader->end - reader->at);
	int error;

	*rule = (struct fault_rule){.chance_ppm = ALWAYS_PPM, .behind = DEFAULT_BEHIND, .every = 1};
	memset(rule->opcodes, 0xff, sizeof(rule->opcodes));
	if (length >= sizeof(rule->text))
		return fault_rule_refuse(reader, "a shorter rule");
	memcpy(rule->text, reader->at, length);
	rule->is_receive = skip(reader, "rx:");
	if (!rule->is_receive)
		skip(reader, "tx:");
	error = read_action(reader, rule);
	if (error == 0 && skip(reader, "@"))
		error = fault_rule_read_opcode(reader, rule);
	while (error == 0 && skip(reader, "/"))
		error = read_option(reader, rule);
	if (error == 0 && reader->at != reader->end)
		error = fault_rule_refuse(reader, "@OPCODE, /OPTION or a comma");
	return error;
}

int fault_rules_parse(const char *spec, uint32_t line, struct fault_rule *rules, uint32_t max,
		      uint32_t *count, char *message, size_t message_bytes)
{
	struct reader reader = {spec, line, spec, spec, message, message_bytes};
	uint32_t parsed = 0;
	uint64_t seed = 1;
	int error = 0;

	for (;; reader.at = reader.end + 1) {
		reader.at += strspn(reader.at, " ");
		reader.end = strchrnul(reader.at, ',');
		if (skip(&reader, "seed=")) {
			if (!fault_rule_read_number(&reader, &seed) || reader.at != reader.end)
				error = fault_rule_refuse(&reader, "a number");
		} else if (parsed == max) {
			error = fault_rule_refuse(&reader, "no further rule: there are as many as "
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

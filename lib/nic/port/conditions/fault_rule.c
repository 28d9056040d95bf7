/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_rule.h"

#include "proto/base/bits.h"
#include "proto/wire/opcode.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ALWAYS_PPM     1000000
#define DEFAULT_BEHIND 3

/* The rest of one item, and the place for an error message. */
struct reader {
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
	int rest = (int)(reader->end - reader->at);

	if (rest == 0)
		snprintf(reader->message, reader->message_bytes, "at the end: expected %s", wanted);
	else
		snprintf(reader->message, reader->message_bytes, "at '%.*s': expected %s", rest,
			 reader->at, wanted);
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

static int read_option(struct reader *reader, struct fault_rule *rule)
{
	struct reader start = *reader;
	uint64_t *number = NULL;
	uint64_t behind = 0;

	if (skip(reader, "first="))
		number = &rule->first;
	else if (skip(reader, "every="))
		number = &rule->every;
	else if (skip(reader, "count="))
		number = &rule->count;
	else if (rule->action == FAULT_REORDER && skip(reader, "behind="))
		number = &behind;
	if (number == NULL)
		return fault_rule_refuse(&start,
					 "first=N, every=N, count=N, or for reorder behind=N");
	if (!fault_rule_read_number(reader, number) || *number == 0 || behind > UINT16_MAX)
		return fault_rule_refuse(&start, "a number from 1 on");
	if (behind != 0)
		rule->behind = (uint32_t)behind;
	return 0;
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

static int read_item(struct reader *reader, struct fault_plan *plan)
{
	int error;

	if (skip(reader, "seed=")) {
		if (!fault_rule_read_number(reader, &plan->seed) || reader->at != reader->end)
			return fault_rule_refuse(reader, "a number");
		return 0;
	}
	if (plan->rule_count == FAULT_RULES_MAX)
		return fault_rule_refuse(reader, "no more than 16 rules");
	error = read_rule(reader, &plan->rules[plan->rule_count]);
	if (error == 0)
		plan->rule_count++;
	return error;
}

int fault_plan_parse(struct fault_plan *plan, const char *spec, char *message, size_t message_bytes)
{
	struct fault_plan parsed = {.seed = 1};
	const char *at = spec;

	for (;;) {
		const char *end = strchrnul(at, ',');
		struct reader reader = {at, end, message, message_bytes};
		int error = read_item(&reader, &parsed);

		if (error != 0)
			return error;
		if (*end == '\0')
			break;
		at = end + 1;
	}
	*plan = parsed;
	return 0;
}

static bool rule_hits(struct fault_rule *rule, struct prng *prng, uint8_t opcode)
{
	if ((rule->opcodes[opcode / 64] >> opcode % 64 & 1) == 0)
		return false;
	rule->seen++;
	if (rule->first != 0 && rule->seen > rule->first)
		return false;
	if (rule->seen % rule->every != 0)
		return false;
	if (rule->count != 0 && rule->hits == rule->count)
		return false;
	if (rule->chance_ppm < ALWAYS_PPM && prng_below(prng, ALWAYS_PPM) >= rule->chance_ppm)
		return false;
	rule->hits++;
	return true;
}

struct fault_verdict fault_plan_judge(struct fault_plan *plan, struct prng *prng, bool is_receive,
				      uint8_t opcode)
{
	struct fault_verdict verdict = {0};

	for (uint32_t i = 0; i < plan->rule_count; i++) {
		struct fault_rule *rule = &plan->rules[i];

		if (rule->is_receive != is_receive || !rule_hits(rule, prng, opcode))
			continue;
		switch (rule->action) {
		case FAULT_DROP:
			verdict.drop = true;
			break;
		case FAULT_DUPLICATE:
			verdict.duplicate = true;
			break;
		case FAULT_REORDER:
			verdict.behind = rule->behind;
			break;
		case FAULT_CORRUPT:
			verdict.corrupt = true;
			break;
		case FAULT_MARK:
			verdict.mark = true;
			break;
		case FAULT_DELAY:
			verdict.delay_ns += rule->delay_ns - rule->jitter_ns;
			if (rule->jitter_ns != 0)
				verdict.delay_ns += prng_below(prng, 2 * rule->jitter_ns + 1);
			break;
		case FAULT_ACTION_COUNT:
			break;
		}
	}
	return verdict;
}

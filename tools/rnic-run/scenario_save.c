/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/scenario_save.h"

#include "lib/nic/port/conditions/fault_plan.h"
#include "lib/nic/port/port.h"
#include "proto/base/bits.h"
#include "tools/rnic-run/complaint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rule of 0.0001 % needs a million packets for a hit, and more is not a run of a test. */
#define PACKETS_MAX UINT64_C(4000000)

static int parse_rule(const char *text, struct fault_rule *rule)
{
	char message[256];
	uint32_t count;

	return fault_rules_parse(text, 1, rule, 1, &count, message, sizeof(message));
}

static bool rule_draws_packets(const struct fault_rule *rule)
{
	return fault_rule_is_for_packets(rule) && rule->often.chance_ppm < RNIC_RULE_ALWAYS_PPM;
}

int scenario_hits_find(const char *rule_text, uint32_t lane, uint64_t hits, uint64_t *nths)
{
	uint8_t bytes[RNIC_BTH_BYTES] = {0};
	const struct datagram datagram = {.bytes = bytes, .length = sizeof(bytes)};
	struct fault_plan *plan = calloc(1, sizeof(*plan));
	const struct fault_rule *counted;
	struct fault_rule rule;
	uint64_t found = 0;

	if (plan == NULL)
		return -ENOMEM;
	if (parse_rule(rule_text, &rule) != 0) {
		free(plan);
		return -EINVAL;
	}
	/* What the rule does not apply to draws no number: what it applied to is enough. */
	memset(rule.opcodes, 0xff, sizeof(rule.opcodes));
	rule.where = 0;
	rule.often.from_ns = rule.often.for_ns = 0;
	fault_rule_begin(&rule, lane, 0);
	fault_plan_set(plan, 0, 1, &rule, 0);
	counted = &plan->rules[0];
	while (found < hits && counted->seen < PACKETS_MAX) {
		fault_plan_judge(plan, rule.is_receive ? &plan->receive : &plan->transmit,
				 &datagram, 0);
		if (counted->hits > found)
			nths[found++] = counted->seen;
	}
	free(plan);
	return found == hits ? 0 : -ERANGE;
}

/* Whether the part of a rule, up to the next "/" or "@", is needed when the packets are known. */
static bool part_stays(const char *part)
{
	static const char *const drawn[] = {"/chance=", "/seed=", "/count="};

	for (size_t i = 0; i < RNIC_COUNT_OF(drawn); i++)
		if (strncmp(part, drawn[i], strlen(drawn[i])) == 0)
			return false;
	return true;
}

void scenario_rule_without_chance(const char *rule, char text[SCENARIO_TEXT_BYTES])
{
	const size_t end = strcspn(rule, ","); /* a seed of the list follows */
	size_t length = 0;

	for (size_t from = 0, to; from < end; from = to) {
		const size_t percentage = from + strcspn(rule + from, "=%");

		to = from + 1 + strcspn(rule + from + 1, "/@,");
		if (!part_stays(rule + from))
			continue;
		/* "drop=1%": the action is the first part. */
		if (from == 0 && memchr(rule, '%', to) != NULL)
			length = (size_t)snprintf(text, SCENARIO_TEXT_BYTES, "%.*s",
						  (int)percentage, rule);
		else
			length += (size_t)snprintf(text + length, SCENARIO_TEXT_BYTES - length,
						   "%.*s", (int)(to - from), rule + from);
	}
	text[length] = '\0';
}

/* Writes a rule for each packet that was hit. False: they are too many, or not known. */
static bool write_hits(FILE *file, const struct scenario_line *line, uint64_t hits, uint32_t actor,
		       uint64_t room)
{
	uint64_t nths[SCENARIO_LINES_MAX];
	char rule[SCENARIO_TEXT_BYTES];
	const char *words = scenario_line_words(line);
	const int before = (int)(strlen(words) - strlen(line->rule));
	const bool has_nth = strstr(line->rule, "/nth=") != NULL;

	if (hits > room || actor == RNIC_FAULT_ACTORS ||
	    (hits != 0 && scenario_hits_find(line->rule, actor - 1, hits, nths) != 0))
		return false;
	scenario_rule_without_chance(line->rule, rule);
	for (uint64_t i = 0; i < hits; i++) {
		fprintf(file, "%.*s%s", before, words, rule);
		if (!has_nth)
			fprintf(file, "/nth=%" PRIu64, nths[i]);
		fputs("\n", file);
	}
	return true;
}

int scenario_save(const struct scenario *scenario, const struct scenario_report *report,
		  const char *path)
{
	uint64_t room = SCENARIO_LINES_MAX - scenario->count;
	FILE *file = fopen(path, "we");

	if (file == NULL) {
		complain("%s: %s", path, strerror(errno));
		return -errno;
	}
	fprintf(file, "# A run of %s\n", scenario->name);
	for (uint32_t i = 0; i < scenario->count; i++) {
		const struct scenario_line *line = &scenario->lines[i];
		const char *words = scenario_line_words(line);
		const uint64_t hits = report->hits[i];
		struct fault_rule rule;

		if (line->rule[0] == '\0' || parse_rule(line->rule, &rule) != 0 ||
		    !rule_draws_packets(&rule)) {
			fprintf(file, "%s\n", words);
			continue;
		}
		fprintf(file, "# %s: %" PRIu64 " hits\n", words, hits);
		if (write_hits(file, line, hits, report->actors[i], room + 1))
			room = hits != 0 ? room - (hits - 1) : room + 1;
		else
			fprintf(file,
				"# too many, or of several processes: it stays as it is\n%s\n",
				words);
	}
	if (fclose(file) == 0)
		return 0;
	complain("%s: %s", path, strerror(errno));
	return -EIO;
}

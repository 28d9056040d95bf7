/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/scenario_file.h"

#include "lib/nic/port/conditions/fault_reader.h"
#include "lib/nic/port/conditions/fault_rule.h"
#include "proto/base/bits.h"
#include "tools/support/condition_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	const struct condition_word *words;
	const char *wanted;
} groups[] = {
	{"link", condition_link_words, "down, up, flap or renumber"},
	{"event", condition_event_words,
	 "port-err, port-active, gid-change, device-fatal, qp-fatal, cq-err or srq-err"},
	{"qp", condition_qp_words, "error"},
};

static size_t next_word(const struct fault_reader *reader)
{
	size_t length = 0;

	while (reader->at + length < reader->end && reader->at[length] != ' ')
		length++;
	return length;
}

static void scenario_skip_blanks(struct fault_reader *reader)
{
	while (reader->at < reader->end && *reader->at == ' ')
		reader->at++;
}

/* Goes on behind the word, if that comes next, and the blanks behind. */
static bool skip_word(struct fault_reader *reader, const char *word)
{
	if (next_word(reader) != strlen(word) || !fault_reader_skip(reader, word))
		return false;
	scenario_skip_blanks(reader);
	return true;
}

/* Copies the next word, which `wanted` describes. */
static int scenario_take_word(struct fault_reader *reader, char *word, size_t word_bytes,
			      const char *wanted)
{
	const size_t length = next_word(reader);

	if (length == 0 || length >= word_bytes)
		return fault_reader_refuse(reader, wanted);
	memcpy(word, reader->at, length);
	word[length] = '\0';
	reader->at += length;
	scenario_skip_blanks(reader);
	return 0;
}

static int take_time(struct fault_reader *reader, uint64_t *time_ns)
{
	struct fault_reader word = *reader;
	int error;

	word.end = reader->at + next_word(reader);
	error = fault_reader_time(&word, time_ns);
	if (error == 0 && word.at != word.end)
		error = fault_reader_refuse(&word, "a blank behind the time");
	reader->at = word.at;
	scenario_skip_blanks(reader);
	return error;
}

static int take_frame(struct fault_reader *reader, struct scenario_line *line)
{
	int error = 0;

	if (skip_word(reader, "at"))
		error = take_time(reader, &line->at_ns);
	if (error == 0 && skip_word(reader, "for"))
		error = take_time(reader, &line->for_ns);
	if (error == 0 && skip_word(reader, "on"))
		error = scenario_take_word(reader, line->device, sizeof(line->device),
					   "a device such as rnic0");
	if (error == 0 && reader->at == reader->end)
		return fault_reader_refuse(reader, "a rule, link, event or qp");
	return error;
}

static int take_condition(struct fault_reader *reader, const struct condition_word *word,
			  const char *wanted, struct scenario_line *line)
{
	int error = 0;

	while (word->name != NULL && !skip_word(reader, word->name))
		word++;
	if (word->name == NULL)
		return fault_reader_refuse(reader, wanted);
	line->condition = word->condition;
	if (word->object != NULL)
		error = scenario_take_word(reader, line->object, sizeof(line->object),
					   word->object);
	if (error == 0 && reader->at != reader->end)
		error = fault_reader_refuse(reader, "the end of the line");
	if (error == 0 && line->for_ns != 0 && !scenario_line_cuts(line))
		error = fault_reader_refuse(reader, "no \"for\": this happens once");
	return error;
}

/* The parser of rules counts columns from the beginning of its text, so that has the whole line. */
static int take_rule(struct fault_reader *reader, struct scenario_line *line)
{
	char text[SCENARIO_TEXT_BYTES];
	struct fault_rule rule;
	uint32_t count;
	const size_t before = (size_t)(reader->at - reader->begin);
	int error;

	snprintf(text, sizeof(text), "%s", line->text);
	memset(text, ' ', before);
	error = fault_rules_parse(text, reader->line, &rule, 1, &count, reader->message,
				  reader->message_bytes);
	if (error != 0)
		return error;
	line->condition = RNIC_CONDITION_FAULT_ADD;
	line->needs_process = fault_rule_needs_process(&rule);
	snprintf(line->rule, sizeof(line->rule), "%s", reader->at);
	return 0;
}

/* Copies the line without comment, and without blanks at its end. Tabs become blanks. */
static bool scenario_copy_text(struct scenario_line *line, const char *text)
{
	size_t length = 0, end = 0;

	for (; text[length] != '\0' && text[length] != '\n'; length++) {
		const bool is_first = length == 0 || line->text[length - 1] == ' ';
		const char next = text[length] == '#' ? text[length + 1] : 'x';

		if (is_first && strchr(" \t\n#", next) != NULL)
			break;
		if (length == 0 && text[length] == '#')
			break;
		if (length + 1 == sizeof(line->text))
			return false;
		line->text[length] =
			text[length] == '\t' || text[length] == '\r' ? ' ' : text[length];
		if (line->text[length] != ' ')
			end = length + 1;
	}
	line->text[end] = '\0';
	return true;
}

static int parse_line(struct scenario_line *line, struct fault_reader *reader)
{
	int error;

	scenario_skip_blanks(reader);
	error = take_frame(reader, line);
	for (size_t i = 0; error == 0 && i < RNIC_COUNT_OF(groups); i++)
		if (skip_word(reader, groups[i].name))
			return take_condition(reader, groups[i].words, groups[i].wanted, line);
	return error != 0 ? error : take_rule(reader, line);
}

bool scenario_line_cuts(const struct scenario_line *line)
{
	return line->condition == RNIC_CONDITION_LINK_DOWN ||
	       line->condition == RNIC_CONDITION_LINK_FLAP;
}

const char *scenario_line_words(const struct scenario_line *line)
{
	return line->text + strspn(line->text, " ");
}

int scenario_add_line(struct scenario *scenario, const char *text, uint32_t number,
		      char message[SCENARIO_FAULT_BYTES])
{
	struct scenario_line line = {.number = number};
	struct fault_reader reader = {.line = number};
	char fault[256];

	if (!scenario_copy_text(&line, text)) {
		snprintf(message, SCENARIO_FAULT_BYTES, "%s: line %u: expected a shorter line",
			 scenario->name, number);
		return -EINVAL;
	}
	if (line.text[0] == '\0')
		return 0;
	if (scenario->count == SCENARIO_LINES_MAX) {
		snprintf(message, SCENARIO_FAULT_BYTES,
			 "%s: line %u: expected no more than %d rules", scenario->name, number,
			 SCENARIO_LINES_MAX);
		return -EINVAL;
	}
	reader.begin = reader.at = line.text;
	reader.end = line.text + strlen(line.text);
	reader.message = fault;
	reader.message_bytes = sizeof(fault);
	if (parse_line(&line, &reader) != 0) {
		snprintf(message, SCENARIO_FAULT_BYTES, "%s: %s", scenario->name, fault);
		return -EINVAL;
	}
	scenario->lines[scenario->count++] = line;
	return 0;
}

int scenario_read(struct scenario *scenario, const char *path, char message[SCENARIO_FAULT_BYTES])
{
	FILE *file = fopen(path, "re");
	size_t room = 0;
	char *text = NULL;
	int error = 0;

	*scenario = (struct scenario){0};
	snprintf(scenario->name, sizeof(scenario->name), "%s", path);
	if (file == NULL) {
		error = -errno;
		snprintf(message, SCENARIO_FAULT_BYTES, "%s: %s", scenario->name, strerror(errno));
		return error;
	}
	for (uint32_t number = 1; error == 0 && getline(&text, &room, file) > 0; number++)
		error = scenario_add_line(scenario, text, number, message);
	if (error == 0 && ferror(file)) {
		error = -EIO;
		snprintf(message, SCENARIO_FAULT_BYTES, "%s: cannot be read", scenario->name);
	}
	free(text);
	fclose(file);
	return error;
}

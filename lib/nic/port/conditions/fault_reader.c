/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_reader.h"

#include "proto/base/bits.h"
#include "proto/base/rule_often.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_SHOWN_MAX 40

int fault_reader_refuse(const struct fault_reader *reader, const char *wanted)
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

bool fault_reader_skip(struct fault_reader *reader, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, text, length) != 0)
		return false;
	reader->at += length;
	return true;
}

bool fault_reader_number(struct fault_reader *reader, uint64_t *value)
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

int fault_reader_chance(struct fault_reader *reader, uint32_t *chance_ppm)
{
	static const char wanted[] = "a percentage from 0% to 100%";
	struct fault_reader start = *reader;
	uint64_t whole, unit = RNIC_RULE_ALWAYS_PPM / 100;
	uint64_t ppm;

	if (!fault_reader_number(reader, &whole) || whole > 100)
		return fault_reader_refuse(&start, wanted);
	ppm = whole * unit;
	if (fault_reader_skip(reader, ".")) {
		while (reader->at < reader->end && isdigit((unsigned char)*reader->at) &&
		       unit > 1) {
			unit /= 10;
			ppm += unit * (uint64_t)(*reader->at++ - '0');
		}
	}
	if (!fault_reader_skip(reader, "%") || ppm > RNIC_RULE_ALWAYS_PPM)
		return fault_reader_refuse(&start, wanted);
	*chance_ppm = (uint32_t)ppm;
	return 0;
}

int fault_reader_time(struct fault_reader *reader, uint64_t *time_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	static const uint64_t most_ns = UINT64_C(60) * 1000000000;
	struct fault_reader start = *reader;
	uint64_t number;

	if (!fault_reader_number(reader, &number))
		return fault_reader_refuse(&start, "a time such as 10ms");
	for (size_t i = 0; i < RNIC_COUNT_OF(units); i++) {
		if (!fault_reader_skip(reader, units[i].name))
			continue;
		if (number > most_ns / units[i].ns)
			return fault_reader_refuse(&start, "a time of at most 60s");
		*time_ns = number * units[i].ns;
		return 0;
	}
	return fault_reader_refuse(&start, "a time such as 10ms");
}

size_t fault_reader_word(const struct fault_reader *reader)
{
	const char *end = memchr(reader->at, '/', (size_t)(reader->end - reader->at));

	return (size_t)((end != NULL ? end : reader->end) - reader->at);
}

static char fault_reader_letter(char letter)
{
	return letter == ' ' || letter == '_' ? '-' : (char)tolower((unsigned char)letter);
}

bool fault_reader_names(const char *name, const char *wanted, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (name[i] == '\0' ||
		    fault_reader_letter(name[i]) != (wanted[i] == '_' ? '-' : wanted[i]))
			return false;
	return name[length] == '\0' || name[length] == ' ';
}

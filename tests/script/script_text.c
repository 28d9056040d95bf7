/* SPDX-License-Identifier: MIT */
#include "tests/script/script_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer times than any timer of the transport; their sums stay far from overflow. */
#define TIME_NS_MAX UINT64_C(1000000000000000)

/* The digits of a time, limited so that they fit 64 bits in nanoseconds of any unit. */
#define DIGITS_MAX   UINT64_C(10000000000)
#define FRACTION_MAX UINT64_C(1000000000)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool script_line_complain(struct script_line *line, const char *format, ...)
{
	va_list arguments;

	if (line->error[0] != '\0')
		return false;
	va_start(arguments, format);
	vsnprintf(line->error, SCRIPT_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

bool script_line_split(struct script_line *line, char *text)
{
	bool is_in_word = false;

	line->word_count = 0;
	line->next = 0;
	for (char *at = text; *at != '\0' && *at != '#'; at++) {
		bool is_blank = *at == ' ' || *at == '\t';

		if (!is_blank && (*at < ' ' || *at > '~'))
			return script_line_complain(line, "expected printable ASCII");
		if (!is_blank && !is_in_word) {
			if (line->word_count == SCRIPT_WORDS_MAX)
				return script_line_complain(line, "expected at most %d words",
							    SCRIPT_WORDS_MAX);
			line->words[line->word_count++] = at;
		}
		is_in_word = !is_blank;
	}
	text[strcspn(text, "#")] = '\0';
	for (uint32_t i = 0; i < line->word_count; i++)
		line->words[i][strcspn(line->words[i], " \t")] = '\0';
	return true;
}

const char *script_line_peek(const struct script_line *line)
{
	return line->next < line->word_count ? line->words[line->next] : "";
}

bool script_line_accept(struct script_line *line, const char *word)
{
	if (strcmp(script_line_peek(line), word) != 0)
		return false;
	line->next++;
	return true;
}

const char *script_line_take(struct script_line *line, const char *what)
{
	if (line->next == line->word_count) {
		script_line_complain(line, "expected %s at the end of the line", what);
		return NULL;
	}
	return line->words[line->next++];
}

bool script_word_is_number(const char *word, uint64_t *number)
{
	bool is_hex = word[0] == '0' && word[1] == 'x';
	const char *digits = is_hex ? word + 2 : word;
	uint64_t base = is_hex ? 16 : 10;
	uint64_t value = 0;

	if (*digits == '\0')
		return false;
	for (; *digits != '\0'; digits++) {
		uint64_t digit;

		if (is_digit(*digits))
			digit = (uint64_t)(*digits - '0');
		else if (is_hex && *digits >= 'a' && *digits <= 'f')
			digit = (uint64_t)(*digits - 'a' + 10);
		else
			return false;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*number = value;
	return true;
}

bool script_line_number(struct script_line *line, const char *what, uint64_t most, uint64_t *number)
{
	const char *word = script_line_take(line, what);
	uint64_t value;

	if (word == NULL)
		return false;
	if (!script_word_is_number(word, &value) || value > most)
		return script_line_complain(line, "expected %s (0 to %#llx), got '%s'", what,
					    (unsigned long long)most, word);
	*number = value;
	return true;
}

bool script_line_name(struct script_line *line, const char *what, const char *const *names,
		      uint32_t count, uint32_t *index)
{
	const char *word = script_line_take(line, what);
	char all[SCRIPT_ERROR_BYTES / 2] = "";
	size_t used = 0;

	if (word == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (names[i] == NULL)
			continue;
		if (strcmp(word, names[i]) == 0) {
			*index = i;
			return true;
		}
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used, " %s", names[i]);
	}
	return script_line_complain(line, "expected %s, got '%s'; one of:%s%s", what, word, all,
				    used < sizeof(all) ? "" : "...");
}

bool script_line_end(struct script_line *line)
{
	if (line->next == line->word_count)
		return true;
	return script_line_complain(line, "expected the end of the line, got '%s'",
				    script_line_peek(line));
}

/* Reads digits, with a fraction of at most nine, and a unit; moves `*at` behind them. */
static bool read_duration(const char **at, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	uint64_t scale = 1, value = 0;
	bool has_point = false;
	const char *digits = *at;

	for (; is_digit(*digits) || (*digits == '.' && !has_point); digits++) {
		if (*digits == '.') {
			has_point = true;
			continue;
		}
		value = value * 10 + (uint64_t)(*digits - '0');
		scale *= has_point ? 10 : 1;
		if (value > DIGITS_MAX || scale > FRACTION_MAX)
			return false;
	}
	if (digits == *at)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(digits, units[i].name, length) != 0)
			continue;
		*at = digits + length;
		if (value * units[i].ns % scale != 0)
			return false;
		*ns = value * units[i].ns / scale;
		return true;
	}
	*at = digits;
	*ns = 0;
	return value == 0;
}

bool script_word_time(struct script_line *line, const char *word, uint64_t *after_ns,
		      uint64_t *until_ns)
{
	const char *at = word + 1;
	uint64_t after, until;

	if (word[0] != '+' || !read_duration(&at, &after))
		goto refuse;
	until = after;
	if (*at == '~') {
		at++;
		if (!read_duration(&at, &until))
			goto refuse;
	}
	if (*at != '\0' || until < after || until > TIME_NS_MAX)
		goto refuse;
	*after_ns = after;
	*until_ns = until;
	return true;

refuse:
	return script_line_complain(
		line, "expected a time such as +0, +4.2ms or +4ms~5ms (units ns us ms s), got '%s'",
		word);
}

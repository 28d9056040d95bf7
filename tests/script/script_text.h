/* SPDX-License-Identifier: MIT */
/*
 * A line of a script as words, and the readers of single words. A reader takes its words and
 * returns true, or writes the expectation into the line's error and returns false; the first error
 * stays.
 */
#ifndef TESTS_SCRIPT_SCRIPT_TEXT_H
#define TESTS_SCRIPT_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPT_WORDS_MAX   64
#define SCRIPT_ERROR_BYTES 256

struct script_line {
	uint32_t number;
	char *words[SCRIPT_WORDS_MAX];
	uint32_t word_count;
	uint32_t next;
	char *error; /* SCRIPT_ERROR_BYTES; "" while there is none */
};

/*
 * Cuts `text` (changed, zero-terminated) into the words of `line`, up to a comment. False when
 * there are too many, or when a byte is no printable ASCII.
 */
bool script_line_split(struct script_line *line, char *text);

/* Writes the error unless there is one; returns false. */
bool script_line_complain(struct script_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The next word without taking it; "" at the end. */
const char *script_line_peek(const struct script_line *line);

/* Takes the next word if it is `word`. */
bool script_line_accept(struct script_line *line, const char *word);

/* Takes the next word, which must be there; NULL and "expected WHAT" otherwise. */
const char *script_line_take(struct script_line *line, const char *what);

/* A decimal or hexadecimal number up to `most`. */
bool script_line_number(struct script_line *line, const char *what, uint64_t most,
			uint64_t *number);

/* One of `names` (`count` of them, NULL for holes). */
bool script_line_name(struct script_line *line, const char *what, const char *const *names,
		      uint32_t count, uint32_t *index);

/* Nothing may be left. */
bool script_line_end(struct script_line *line);

/* Whether all of `word` is a number, and which. */
bool script_word_is_number(const char *word, uint64_t *number);

/* "+0", "+4.2ms", "+4ms~5ms": from and until, in nanoseconds since the step before. */
bool script_word_time(struct script_line *line, const char *word, uint64_t *after_ns,
		      uint64_t *until_ns);

#endif

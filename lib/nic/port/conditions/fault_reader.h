/* SPDX-License-Identifier: MIT */
/*
 * Reads one item of a text of rules, and says where the text is wrong. Of the parser of
 * fault_rule.h, which owns the text.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_READER_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of one item, and the place for an error message. */
struct fault_reader {
	const char *begin; /* of the line */
	uint32_t line;
	const char *at;
	const char *end;
	char *message;
	size_t message_bytes;
};

/* Says in the message what is expected here. Returns -EINVAL. */
int fault_reader_refuse(const struct fault_reader *reader, const char *wanted);

/* Goes on behind `text` if that comes next. */
bool fault_reader_skip(struct fault_reader *reader, const char *text);

/* A decimal number of at most 18 digits, which cannot overflow; false: there is none. */
bool fault_reader_number(struct fault_reader *reader, uint64_t *value);

/* A percentage, and a time of at most a minute. 0, or -EINVAL with the message. */
int fault_reader_chance(struct fault_reader *reader, uint32_t *chance_ppm);
int fault_reader_time(struct fault_reader *reader, uint64_t *time_ns);

/* The characters up to the next "/", or to the end. */
size_t fault_reader_word(const struct fault_reader *reader);

/* Whether `name`, or its first words, is `wanted` in small letters, "-" or "_" for its blanks. */
bool fault_reader_names(const char *name, const char *wanted, size_t length);

#endif

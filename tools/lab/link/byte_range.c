/* SPDX-License-Identifier: MIT */
#include "tools/lab/link/byte_range.h"

#include <errno.h>

static const char *skip_blanks(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

/* Returns the end of the number. *error keeps the first error. */
static const char *byte_range_read_number(const char *text, uint32_t *number, int *error)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9') {
		*error = *error ? *error : -EINVAL;
		return text;
	}
	for (; *text >= '0' && *text <= '9'; text++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > UINT32_MAX) {
			*error = *error ? *error : -ERANGE;
			value = UINT32_MAX;
		}
	}
	*number = (uint32_t)value;
	return text;
}

int byte_range_parse(const char *text, struct byte_range *range)
{
	struct byte_range found = {0};
	const char *between;
	int error = 0;

	between = byte_range_read_number(skip_blanks(text), &found.first, &error);
	text = skip_blanks(between);
	if (text == between)
		return -EINVAL;
	text = skip_blanks(byte_range_read_number(text, &found.last, &error));
	if (*text != '\0')
		return -EINVAL;
	if (error)
		return error;
	if (found.first > found.last)
		return -EINVAL;
	*range = found;
	return 0;
}

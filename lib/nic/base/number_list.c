/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/number_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The end of the number at `text`, or NULL: strtoul() alone would take signs and spaces. */
static const char *read_one(const char *text, uint16_t *number)
{
	const int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
	const char *digits = base == 16 ? text + 2 : text;
	const size_t length = strspn(digits, base == 16 ? "0123456789abcdefABCDEF" : "0123456789");
	unsigned long value;

	if (length == 0)
		return NULL;
	errno = 0;
	value = strtoul(digits, NULL, base);
	if (errno != 0 || value > UINT16_MAX)
		return NULL;
	*number = (uint16_t)value;
	return digits + length;
}

int number_list_read(const char *text, uint16_t *numbers, uint32_t max)
{
	uint32_t count = 0;

	while (count < max) {
		text = read_one(text, &numbers[count]);
		if (text == NULL)
			return -EINVAL;
		count++;
		if (*text == '\0')
			return (int)count;
		if (*text++ != ',')
			return -EINVAL;
	}
	return -EINVAL;
}

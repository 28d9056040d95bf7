/* SPDX-License-Identifier: MIT */
#include "tools/support/number_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

bool number_text_read(const char **text, int base, char end, uint32_t *number)
{
	char *rest;
	unsigned long value;

	/* strtoul() alone takes signs and spaces. */
	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	value = strtoul(*text, &rest, base);
	if (*rest != end || errno != 0 || value > UINT32_MAX)
		return false;
	*text = rest;
	*number = (uint32_t)value;
	return true;
}

bool number_text_is(const char *text, int base, uint32_t *number)
{
	return number_text_read(&text, base, '\0', number);
}

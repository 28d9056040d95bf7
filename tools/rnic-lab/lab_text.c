/* SPDX-License-Identifier: MIT */
#include "lab_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void lab_say(const char *format, ...)
{
	char line[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	fprintf(stderr, "rnic-lab: %s\n", line);
}

static bool is_plain(uint8_t character)
{
	return (character >= ' ' && character != 0x7f) || character == '\t';
}

void lab_print_text(const char *before, const void *text, size_t bytes)
{
	const uint8_t *characters = text;

	fputs(before, stdout);
	for (size_t i = 0; i < bytes; i++) {
		if (is_plain(characters[i]))
			putchar(characters[i]);
		else
			printf("\\x%02x", characters[i]);
	}
	putchar('\n');
	fflush(stdout);
}

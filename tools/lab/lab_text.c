/* SPDX-License-Identifier: MIT */
#include "tools/lab/lab_text.h"

#include <stdarg.h>
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

static size_t sequence_bytes(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xe0)
		return first < 0xc2 ? 0 : 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

/* The bytes of the character at the beginning of the text; 0: the character must not be printed. */
static size_t plain_bytes(const uint8_t *text, size_t bytes)
{
	size_t count = sequence_bytes(text[0]);

	if (count > bytes)
		return 0;
	for (size_t i = 1; i < count; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	if (count == 1)
		return (text[0] >= ' ' && text[0] != 0x7f) || text[0] == '\t';
	/* U+0080 to U+009F are control characters, too: terminals take U+009B for ESC [. */
	return text[0] == 0xc2 && text[1] < 0xa0 ? 0 : count;
}

void lab_print_text(const char *before, const void *text, size_t bytes)
{
	const uint8_t *characters = text;

	fputs(before, stdout);
	for (size_t at = 0, count; at < bytes; at += count) {
		count = plain_bytes(characters + at, bytes - at);
		if (count > 0) {
			fwrite(characters + at, 1, count, stdout);
			continue;
		}
		printf("\\x%02x", characters[at]);
		count = 1;
	}
	putchar('\n');
	fflush(stdout);
}

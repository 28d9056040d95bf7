/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/complaint.h"

#include <stdarg.h>
#include <stdio.h>

void complain(const char *format, ...)
{
	va_list arguments;

	fputs("rnic-run: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\n", stderr);
}

/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/port_text.h"

#include <stdarg.h>
#include <stdio.h>

int port_text_error(char text[PORT_TEXT_BYTES], int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, PORT_TEXT_BYTES, format, arguments);
	va_end(arguments);
	return error;
}

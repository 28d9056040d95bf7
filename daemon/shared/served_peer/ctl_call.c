/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/ctl_call.h"

#include <stdarg.h>
#include <stdio.h>

int ctl_refuse(struct ctl_call *call, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(call->reason, sizeof(call->reason), format, arguments);
	va_end(arguments);
	return error;
}

/* SPDX-License-Identifier: MIT */
/* Sentences for the log of the RPC library's user, made only when there is a log. */
#ifndef LIB_APIS_RPC_LOG_LINE_H
#define LIB_APIS_RPC_LOG_LINE_H

#include <rnic/rpc.h>

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static inline void
log_line(const struct rnic_rpc_options *options, const char *format, ...)
{
	char line[256];
	va_list arguments;

	if (options->log == NULL)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	options->log(options->log_user, line);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Prints a trace on standard output: a table for people, or an object of JSON a line. */
#ifndef TOOLS_LAB_TRACE_TRACE_PRINT_H
#define TOOLS_LAB_TRACE_TRACE_PRINT_H

#include "tools/lab/trace/trace_record.h"

/* Colours only where standard output is a terminal, and NO_COLOR is not set. */
void trace_print_text(const struct trace_record *record);

/* -ENOMEM or -EIO when a line could not be made or written. */
int trace_print_json(const struct trace_record *record);

#endif

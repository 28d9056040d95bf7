/* SPDX-License-Identifier: MIT */
/* What a line of a trace says in words. Pure. */
#ifndef TOOLS_LAB_TRACE_TRACE_WORDS_H
#define TOOLS_LAB_TRACE_TRACE_WORDS_H

#include "tools/lab/trace/trace_order.h"

enum { TRACE_WHAT_BYTES = 32, TRACE_MEANING_BYTES = 256 };

/* Whether the packet did not reach the other queue pair: the network, a rule or damage took it. */
bool trace_is_lost(const struct trace_line *line);

/* What happened: the opcode of a packet, or the step. */
void trace_what(const struct trace_record *record, const struct trace_line *line,
		char text[TRACE_WHAT_BYTES]);

/* What that means. */
void trace_meaning(const struct trace_record *record, const struct trace_line *line,
		   char text[TRACE_MEANING_BYTES]);

#endif

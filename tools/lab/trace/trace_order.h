/* SPDX-License-Identifier: MIT */
/*
 * Brings the steps and packets of a lesson into one order: the lines of a trace.
 *
 * Three lists, each in its own order, are merged by time. A device stamps packets with the time at
 * which its turn began, so that time alone would let a packet leave before the program asked for
 * it. No line comes before its cause: a packet not before its work request, nor before what its
 * sender received until then, and a completion not before the packet that allows it. Pure.
 */
#ifndef TOOLS_LAB_TRACE_TRACE_ORDER_H
#define TOOLS_LAB_TRACE_TRACE_ORDER_H

#include "tools/lab/trace/trace_record.h"

/* A line is a step, or a packet that was sent. */
struct trace_line {
	uint64_t time_ns; /* since 1970; never before that of an earlier line */
	enum trace_side side;
	const struct trace_step *step;	    /* NULL: a packet */
	const struct trace_packet *packet;  /* NULL: a step */
	const struct trace_packet *arrival; /* of the packet; NULL: it did not arrive */
	const struct trace_step *request;   /* that the packet belongs to; NULL: unknown */
};

typedef void trace_line_take(void *context, const struct trace_line *line);

/* Gives the lines to `take`, in order. */
void trace_order_run(const struct trace_record *record, trace_line_take *take, void *context);

#endif

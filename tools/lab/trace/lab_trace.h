/* SPDX-License-Identifier: MIT */
/* rnic-lab trace: an operation between two hosts, and each step and packet of it. */
#ifndef TOOLS_LAB_TRACE_LAB_TRACE_H
#define TOOLS_LAB_TRACE_LAB_TRACE_H

#include "tools/lab/exchange/lab_watch.h"
#include "tools/lab/lab_options.h"

/*
 * Starts the hosts, runs the lesson, and prints the trace. What ended early is printed as far as
 * it came. Prints errors; negative errno.
 */
int lab_trace_run(const struct lab_options *options, struct lab_watch *watch);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The lesson that is traced: one process that is both hosts, on the devices rnic0 (A) and rnic1
 * (B). One thread and one clock note each step.
 */
#ifndef TOOLS_LAB_TRACE_TRACE_LESSON_H
#define TOOLS_LAB_TRACE_TRACE_LESSON_H

#include "tools/lab/exchange/lab_watch.h"
#include "tools/lab/lab_options.h"

/*
 * Connects two queue pairs, does the operation of the options, and writes the steps to the file
 * `fd` (trace_record.h), also those before an error. A completion with an error is a step as any
 * other. Prints errors; negative errno.
 */
int trace_lesson_run(const struct lab_options *options, struct lab_watch *watch, int fd);

#endif

/* SPDX-License-Identifier: MIT */
/* What rnic-lab says: lines of its own to stderr, and what a stranger wrote to stdout. */
#ifndef TOOLS_RNIC_LAB_LAB_TEXT_H
#define TOOLS_RNIC_LAB_LAB_TEXT_H

#include <stddef.h>

/* One line to stderr, at once. */
__attribute__((format(printf, 1, 2))) void lab_say(const char *format, ...);

/*
 * Prints `before`, the text and a newline, at once. What would steer a terminal and what is
 * not UTF-8 becomes \xNN.
 */
void lab_print_text(const char *before, const void *text, size_t bytes);

#endif

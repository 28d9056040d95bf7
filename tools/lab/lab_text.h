/* SPDX-License-Identifier: MIT */
/* The output of rnic-lab: its own lines to stderr, and a stranger's text to stdout. */
#ifndef TOOLS_LAB_LAB_TEXT_H
#define TOOLS_LAB_LAB_TEXT_H

#include <stddef.h>

/* Prints one line to stderr, at once. */
__attribute__((format(printf, 1, 2))) void lab_say(const char *format, ...);

/*
 * Prints `before`, the text and a newline, at once. Control characters, which could steer a
 * terminal, and bytes that are not UTF-8 become \xNN.
 */
void lab_print_text(const char *before, const void *text, size_t bytes);

#endif

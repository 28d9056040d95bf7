/* SPDX-License-Identifier: MIT */
/* Reads numbers that a person types. */
#ifndef TOOLS_SUPPORT_NUMBER_TEXT_H
#define TOOLS_SUPPORT_NUMBER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the number at `*text`, which begins with a digit and ends before the character `end`, and
 * moves `*text` there. `base` as of strtoul(). False: there is no number of 32 bits, and nothing is
 * stored.
 */
bool number_text_read(const char **text, int base, char end, uint32_t *number);

/* The same of a text that is nothing else. */
bool number_text_is(const char *text, int base, uint32_t *number);

#endif

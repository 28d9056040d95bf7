/* SPDX-License-Identifier: MIT */
/* The one line with which rnic-run says what is wrong, or what it has done. */
#ifndef TOOLS_RNIC_RUN_COMPLAINT_H
#define TOOLS_RNIC_RUN_COMPLAINT_H

/* Prints a line to standard error, after the name of the program. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

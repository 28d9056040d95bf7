/* SPDX-License-Identifier: MIT */
/*
 * For every module of the samples: LOG prints a line, CHECK prints an error.
 *
 * Both write one line to standard error, with the program's name before it.
 */
#ifndef COMMON_H
#define COMMON_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LOG(...)                                                                                   \
	((void)(fprintf(stderr, "%s: ", program_invocation_short_name),                            \
		fprintf(stderr, __VA_ARGS__), fputc('\n', stderr)))

#define LOG_ERRNO(...)                                                                             \
	((void)(fprintf(stderr, "%s: ", program_invocation_short_name),                            \
		fprintf(stderr, __VA_ARGS__), fprintf(stderr, ": %m\n")))

/*
 * CHECK(condition, format, ...): true when the condition holds. Else it prints the attempt and
 * errno's text, and is false; the caller decides what follows.
 */
#define CHECK(condition, ...) ((condition) || (LOG_ERRNO(__VA_ARGS__), false))

/* The same for the verbs that return an error number instead of setting errno. */
#define CHECK_NUMBER(call, ...) CHECK((errno = (call)) == 0, __VA_ARGS__)

#endif

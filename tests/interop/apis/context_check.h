/* SPDX-License-Identifier: MIT */
/*
 * What the programs that judge <rnic/connection.h> have in common: checks that end the program with
 * 1 and say where and why.
 */
#ifndef TESTS_INTEROP_APIS_CONTEXT_CHECK_H
#define TESTS_INTEROP_APIS_CONTEXT_CHECK_H

#include <rnic/connection.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 60000

static inline void check_at(int line, const char *what, int result, int expected)
{
	if (result == expected)
		return;
	fprintf(stderr, "line %d: %s: %d (%s), not %d; last refusal: %s\n", line, what, result,
		strerror(abs(result)), expected, rnic_refusal_reason());
	exit(1);
}

/* The call returns that value. */
#define EXPECT(expected, call) check_at(__LINE__, #call, (call), (expected))

#define REQUIRE(call)	   EXPECT(0, call)
#define REQUIRE_TRUE(what) check_at(__LINE__, #what, !(what), 0)

#endif

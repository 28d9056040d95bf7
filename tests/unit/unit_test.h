/* SPDX-License-Identifier: MIT */
/*
 * The common header of all test programs: cmocka, the headers that cmocka needs before itself, and
 * the differences between cmocka 1 and cmocka 2.
 */
#ifndef TESTS_UNIT_UNIT_TEST_H
#define TESTS_UNIT_UNIT_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka 2 deprecates assert_in_range(), which takes unsigned numbers. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, minimum, maximum) assert_uint_in_range(value, minimum, maximum)
#endif

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif

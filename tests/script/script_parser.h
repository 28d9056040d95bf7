/* SPDX-License-Identifier: MIT */
/* From a script's text to struct script: all that can be wrong with a file is said here. */
#ifndef TESTS_SCRIPT_SCRIPT_PARSER_H
#define TESTS_SCRIPT_SCRIPT_PARSER_H

#include "tests/script/script.h"
#include "tests/script/script_text.h"

#include <stddef.h>

struct script_error {
	uint32_t line;
	char text[SCRIPT_ERROR_BYTES]; /* the expected word */
};

/*
 * Reads `length` bytes of `text`, which need no final zero. `name` is kept. On success the caller
 * owns `out` until script_fini(); otherwise there is nothing to free, and `error` says why.
 */
bool script_parse(const char *name, const char *text, size_t length, struct script *out,
		  struct script_error *error);

void script_fini(struct script *script);

#endif

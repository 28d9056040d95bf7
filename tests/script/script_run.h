/* SPDX-License-Identifier: MIT */
/* Runs a script against the engine. */
#ifndef TESTS_SCRIPT_SCRIPT_RUN_H
#define TESTS_SCRIPT_SCRIPT_RUN_H

#include "tests/script/script.h"

#include <stdio.h>

/*
 * True when the exchange is the script's and nothing else happened. Otherwise prints the expected
 * and the actual event and the whole exchange to `out`. With `is_verbose` always prints the
 * exchange.
 */
bool script_run(const struct script *script, bool is_verbose, FILE *out);

#endif

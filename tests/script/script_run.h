/* SPDX-License-Identifier: MIT */
/* Runs a script against the engine. */
#ifndef TESTS_SCRIPT_SCRIPT_RUN_H
#define TESTS_SCRIPT_SCRIPT_RUN_H

#include "script.h"

#include <stdio.h>

/*
 * True when everything happened as the script says and nothing else did. Otherwise prints what was
 * expected, what was got and the whole exchange to `out`. With `is_verbose` the exchange is printed
 * always.
 */
bool script_run(const struct script *script, bool is_verbose, FILE *out);

#endif

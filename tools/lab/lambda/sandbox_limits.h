/* SPDX-License-Identifier: MIT */
/* The limits of a function in the sandbox. */
#ifndef TOOLS_LAB_LAMBDA_SANDBOX_LIMITS_H
#define TOOLS_LAB_LAMBDA_SANDBOX_LIMITS_H

#include <stdint.h>

struct sandbox_limits {
	uint32_t cpu_seconds;
	uint32_t wall_ms;
	uint32_t stack_bytes; /* all memory of the function beside the output */
};

#endif

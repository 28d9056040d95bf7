/* SPDX-License-Identifier: MIT */
/* What a function in the sandbox may use. */
#ifndef TOOLS_RNIC_LAB_LAMBDA_SANDBOX_LIMITS_H
#define TOOLS_RNIC_LAB_LAMBDA_SANDBOX_LIMITS_H

#include <stdint.h>

struct sandbox_limits {
	uint32_t cpu_seconds;
	uint32_t wall_ms;
	uint32_t stack_bytes; /* all the memory there is beside the output */
};

#endif

/* SPDX-License-Identifier: MIT */
/* RNIC_DISABLE=1 makes everything that rnic-run puts into a program show no device. */
#ifndef LIB_CLIENT_NATIVE_DISABLE_H
#define LIB_CLIENT_NATIVE_DISABLE_H

#include <stdbool.h>
#include <stdlib.h>

/* Whether the variable is set to anything but nothing and 0. */
static inline bool rnic_is_disabled(void)
{
	const char *value = getenv("RNIC_DISABLE");

	return value != NULL && value[0] != 0 && (value[0] != '0' || value[1] != 0);
}

#endif

/* SPDX-License-Identifier: MIT */
/* A program may pass NULL for an object, or for the place of a result: that is refused. */
#ifndef LIB_CLIENT_NATIVE_REFUSE_NULL_H
#define LIB_CLIENT_NATIVE_REFUSE_NULL_H

#include <errno.h>
#include <stddef.h>

/* Ends a function with -EINVAL when one of these pointers is NULL. */
#define RNIC_REFUSE_NULL(...)                                                                      \
	do {                                                                                       \
		const void *const needed[] = {__VA_ARGS__};                                        \
                                                                                                   \
		for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)                    \
			if (needed[i] == NULL)                                                     \
				return -EINVAL;                                                    \
	} while (0)

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Bodies for functions of a foreign interface that this one does not serve. They give the answer
 * that programs know how to take, EOPNOTSUPP, in the convention of the function: as the result, as
 * -1 with errno, or as NULL with errno.
 */
#ifndef LIB_CLIENT_NATIVE_REFUSE_H
#define LIB_CLIENT_NATIVE_REFUSE_H

#include <errno.h>

/* The signatures name their parameters, as the interface's own headers do. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define RNIC_REFUSES_WITH(result, ...)                                                             \
	__VA_ARGS__                                                                                \
	{                                                                                          \
		errno = EOPNOTSUPP;                                                                \
		return result;                                                                     \
	}
#define REFUSES_WITH_ERRNO(...)	    RNIC_REFUSES_WITH(EOPNOTSUPP, __VA_ARGS__)
#define REFUSES_WITH_MINUS_ONE(...) RNIC_REFUSES_WITH(-1, __VA_ARGS__)
#define REFUSES_WITH_NULL(...)	    RNIC_REFUSES_WITH(NULL, __VA_ARGS__)

#endif

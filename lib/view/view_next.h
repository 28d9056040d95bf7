/* SPDX-License-Identifier: MIT */
/* What the files of librnic-view.so share that define functions of the C library. */
#ifndef RNIC_VIEW_NEXT_H
#define RNIC_VIEW_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#define VIEW_API __attribute__((visibility("default")))

/*
 * The function that this library stands before. Without it there is no answer: an old C library
 * lacks the function, and the loader would have refused a program that calls it.
 */
static inline void *view_find_next(_Atomic(void *) *cache, const char *name)
{
	void *function = atomic_load_explicit(cache, memory_order_relaxed);

	if (function == NULL) {
		function = dlsym(RTLD_NEXT, name);
		if (function == NULL)
			abort();
		atomic_store_explicit(cache, function, memory_order_relaxed);
	}
	return function;
}

#define NEXT(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) cache;                                                      \
		(__typeof__(&name))view_find_next(&cache, #name);                                  \
	})

#endif

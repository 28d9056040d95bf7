/* SPDX-License-Identifier: MIT */
/* What the files of librnic-view.so share that define functions of the C library. */
#ifndef LIB_DROPIN_VIEW_VIEW_NEXT_H
#define LIB_DROPIN_VIEW_VIEW_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#define VIEW_API __attribute__((visibility("default")))

struct view_next {
	_Atomic(void *) function; /* NULL: not looked up yet */
	const char *name;
};

/*
 * The function that this library stands before. view_next.c looks all of them up when the library
 * is loaded; only what runs before, such as a constructor of another library, comes to dlsym()
 * here. Without the function there is no answer: an old C library lacks it, and the loader would
 * have refused a program that calls it.
 */
static inline void *view_find_next(struct view_next *next)
{
	void *function = atomic_load_explicit(&next->function, memory_order_relaxed);

	if (function == NULL) {
		function = dlsym(RTLD_NEXT, next->name);
		if (function == NULL)
			abort();
		atomic_store_explicit(&next->function, function, memory_order_relaxed);
	}
	return function;
}

#define NEXT(name)                                                                                 \
	({                                                                                         \
		static struct view_next next_##name                                                \
			__attribute__((section("view_next"), used)) = {NULL, #name};               \
		(__typeof__(&name))view_find_next(&next_##name);                                   \
	})

#endif

/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/view_next.h"

/* The linker names the bounds of a section whose name is one of C. */
extern struct view_next __start_view_next[] __attribute__((visibility("hidden")));
extern struct view_next __stop_view_next[] __attribute__((visibility("hidden")));

/*
 * Looks all functions up before the program runs. A program's first read() may come from a handler
 * of signals, or from a thread for which a constructor waits that holds the loader's lock. What
 * this C library lacks stays unknown: nobody calls it.
 */
static __attribute__((constructor)) void view_find_all(void)
{
	for (struct view_next *next = __start_view_next; next < __stop_view_next; next++)
		atomic_store_explicit(&next->function, dlsym(RTLD_NEXT, next->name),
				      memory_order_relaxed);
}

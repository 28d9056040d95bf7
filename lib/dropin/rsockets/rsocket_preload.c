/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

enum { PRELOAD_UNKNOWN, PRELOAD_THERE, PRELOAD_NOT_THERE };

/* Whether the program's connect() is that of librspreload. */
static bool rsocket_preload_look(void)
{
	const void *function = dlsym(RTLD_DEFAULT, "connect");
	Dl_info library;

	return function != NULL && dladdr(function, &library) != 0 && library.dli_fname != NULL &&
	       strstr(library.dli_fname, "librspreload") != NULL;
}

bool rnic_rsocket_is_preloaded(void)
{
	static atomic_int known = PRELOAD_UNKNOWN;
	int state = atomic_load_explicit(&known, memory_order_relaxed);

	if (state == PRELOAD_UNKNOWN) {
		state = rsocket_preload_look() ? PRELOAD_THERE : PRELOAD_NOT_THERE;
		atomic_store_explicit(&known, state, memory_order_relaxed);
	}
	return state == PRELOAD_THERE;
}

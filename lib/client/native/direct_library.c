/* SPDX-License-Identifier: MIT */
#include "lib/client/native/direct_library.h"

#include "proto/base/bits.h"
#include "proto/ctl/direct_device.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rnic_direct_is_wanted(void)
{
#ifdef RNIC_WITH_DIRECT
	const char *wanted = secure_getenv("RNIC_DIRECT");

	return wanted != NULL && strcmp(wanted, "1") == 0;
#else
	return false;
#endif
}

/* Loads the library from the folder `where` of the caller's own; NULL: there is none. */
static void *direct_load_from(const char *own, const char *where)
{
	const char *name = strrchr(own, '/');
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s%s%s", name != NULL ? (int)(name - own + 1) : 0, own,
		     where, RNIC_DIRECT_LIBRARY) >= (int)sizeof(path))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

int rnic_direct_find(const struct rnic_direct_device **calls)
{
	static const char *const places[] = {"", "../", "rnic/"};
	void *library = NULL;
	Dl_info own;

	if (dladdr((void *)rnic_direct_find, &own) == 0 || own.dli_fname == NULL)
		return -ENOENT;
	/* The drop-ins lie in a folder below, librnic in one above where all is installed. */
	for (unsigned i = 0; i < RNIC_COUNT_OF(places) && library == NULL; i++)
		library = direct_load_from(own.dli_fname, places[i]);
	if (library == NULL)
		return -ENOENT;
	*calls = dlsym(library, RNIC_DIRECT_SYMBOL_STRING);
	return *calls != NULL ? 0 : -ENOEXEC;
}

void rnic_direct_complain(int error, const char *reason)
{
	if (reason[0] != '\0')
		fprintf(stderr, "RNIC_DIRECT: %s\n", reason);
	else if (error == -ENOENT)
		fprintf(stderr, "RNIC_DIRECT: no %s near librnic or libibverbs.so.1\n",
			RNIC_DIRECT_LIBRARY);
	else
		fprintf(stderr, "RNIC_DIRECT: the device does not run inside this program: %s\n",
			strerror(-error));
}

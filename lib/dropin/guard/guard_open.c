/* SPDX-License-Identifier: MIT */
#include "lib/dropin/guard/guard.h"

#include <dlfcn.h>
#include <errno.h>

int rnic_guard_open(const struct rnic_guard **guard)
{
	const struct rnic_guard *found = dlsym(RTLD_DEFAULT, RNIC_GUARD_SYMBOL_STRING);
	int error;

	if (found == NULL)
		return -ENOENT;
	error = found->install();
	if (error == 0)
		*guard = found;
	return error;
}

/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/call_rules.h"

#include <errno.h>
#include <stddef.h>

int call_rules_begin(scmp_filter_ctx *filter, uint32_t action)
{
	int result;

	*filter = seccomp_init(action);
	if (*filter == NULL)
		return -ENOMEM;
	/* Another architecture's calls (int 0x80, x32) have numbers of their own. */
	result = seccomp_attr_set(*filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (result == 0)
		result = seccomp_attr_set(*filter, SCMP_FLTATR_CTL_TSYNC, 1);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/capabilities.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's form of three sets, each of two words. */
struct capability_sets {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int capabilities_set(struct capability_sets *sets)
{
	return syscall(SYS_capset, &sets->header, sets->words) == 0 ? 0 : -errno;
}

/*
 * A program of uid 0 starts with the inherited set and the bounding set, so the bounding set is
 * emptied. A process that may not do so cannot gain anything from the bounding set either, because
 * the callers set NO_NEW_PRIVS.
 */
static void capabilities_drop_bounding(void)
{
	int is_there;

	for (unsigned long bit = 0; (is_there = prctl(PR_CAPBSET_READ, bit, 0, 0, 0)) >= 0; bit++)
		if (is_there > 0)
			prctl(PR_CAPBSET_DROP, bit, 0, 0, 0);
}

int capabilities_keep(uint64_t used, uint64_t inherited)
{
	struct capability_sets sets = {.header.version = _LINUX_CAPABILITY_VERSION_3};
	int result;

	if (syscall(SYS_capget, &sets.header, sets.words) != 0)
		return -errno;
	for (unsigned i = 0; i < RNIC_COUNT_OF(sets.words); i++)
		sets.words[i].inheritable =
			sets.words[i].permitted & (uint32_t)(inherited >> 32 * i);
	/* Nothing can be inherited that the bounding set has lost, and only CAP_SETPCAP empties
	 * that set: so the order is inherited, bounding, all others. */
	result = capabilities_set(&sets);
	if (result != 0)
		return result;
	/* A kernel without ambient capabilities refuses, and has none to clear. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	capabilities_drop_bounding();
	for (unsigned i = 0; i < RNIC_COUNT_OF(sets.words); i++) {
		struct __user_cap_data_struct *word = &sets.words[i];

		word->effective = word->permitted & (uint32_t)(used >> 32 * i);
		word->permitted = word->effective | word->inheritable;
	}
	return capabilities_set(&sets);
}

int capabilities_use(uint64_t set, bool is_in_force)
{
	struct capability_sets sets = {.header.version = _LINUX_CAPABILITY_VERSION_3};

	if (syscall(SYS_capget, &sets.header, sets.words) != 0)
		return -errno;
	for (unsigned i = 0; i < RNIC_COUNT_OF(sets.words); i++) {
		struct __user_cap_data_struct *word = &sets.words[i];
		const uint32_t bits = word->permitted & (uint32_t)(set >> 32 * i);

		word->effective = is_in_force ? word->effective | bits : word->effective & ~bits;
	}
	return capabilities_set(&sets);
}

int capabilities_of(pid_t pid, uint64_t *permitted)
{
	struct capability_sets sets = {
		.header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = pid},
	};

	if (syscall(SYS_capget, &sets.header, sets.words) != 0)
		return -errno;
	*permitted = (uint64_t)sets.words[1].permitted << 32 | sets.words[0].permitted;
	return 0;
}

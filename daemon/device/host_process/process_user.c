/* SPDX-License-Identifier: MIT */
#include "daemon/device/host_process/process_user.h"

#include "daemon/shared/base/capabilities.h"
#include "daemon/shared/base/identity.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int process_user_become(uid_t uid, char *reason, size_t reason_bytes)
{
	struct identity identity = {.uid = uid};
	int result;

	if (geteuid() != 0 || uid == 0)
		return 0;
	identity.gid = identity_group_of(uid);
	if (identity.gid == 0)
		identity.gid = (gid_t)uid; /* the group of root may have rights to files */
	result = identity_become(&identity);
	if (result == -EPERM)
		snprintf(reason, reason_bytes,
			 "the device process may not become user %u, or keeps rights of root",
			 (unsigned)uid);
	else if (result != 0)
		snprintf(reason, reason_bytes, "the device process cannot become user %u: %s",
			 (unsigned)uid, strerror(-result));
	return result;
}

/*
 * A process of an ordinary user has no capabilities any more. One of root keeps a single one, for
 * process_vm_readv on its clients: the kernel lets a process reach another one of its own user only
 * when it has all capabilities of that one, or CAP_SYS_PTRACE.
 */
#define PROCESS_USER_CAPABILITIES CAPABILITIES_BIT(CAP_SYS_PTRACE)

int process_user_close_off(char *reason, size_t reason_bytes)
{
	int result = capabilities_keep(PROCESS_USER_CAPABILITIES, 0);

	if (result != 0) {
		snprintf(reason, reason_bytes, "the device process cannot give up capabilities: %s",
			 strerror(-result));
		return result;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
#ifndef RNIC_SANITIZED /* whose check for leaks attaches to the process */
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
#endif
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		return 0;
	result = -errno;
	snprintf(reason, reason_bytes, "the device process cannot give up rights: %s",
		 strerror(-result));
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/call_fence.h"

#ifndef RNIC_SANITIZED

#include "daemon/shared/base/call_rules.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <seccomp.h>
#include <stdint.h>

/* A call that the machine does not have is skipped. The manual rnicd(8) has the same list. */
static const int call_fence_refused[] = {
	/* Other processes. */
	SCMP_SYS(ptrace),
	SCMP_SYS(kcmp),
	SCMP_SYS(pidfd_getfd),

	/* Other programs; execve is below. */
	SCMP_SYS(execveat),

	/* Mounts, roots and namespaces. */
	SCMP_SYS(mount),
	SCMP_SYS(umount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(open_tree),
	SCMP_SYS(move_mount),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),

	/* Files past their directories. */
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(fanotify_init),

	/* The kernel and the machine. */
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(clock_settime64),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
};

/* Calls of io_uring, which --port socket does without. */
static const int call_fence_uring[] = {
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
};

static int call_fence_refuse(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	return result;
}

int call_fence_install(const char *program, bool allows_uring)
{
	scmp_filter_ctx filter;
	int result = call_rules_begin(&filter, SCMP_ACT_ALLOW);

	if (result == 0)
		result = call_fence_refuse(filter, call_fence_refused,
					   RNIC_COUNT_OF(call_fence_refused));
	if (result == 0 && !allows_uring)
		result = call_fence_refuse(filter, call_fence_uring,
					   RNIC_COUNT_OF(call_fence_uring));
	if (result == 0)
		result =
			seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execve), 1,
					 SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)(uintptr_t)program, 0));
	if (result == 0)
		result = seccomp_load(filter);
	seccomp_release(filter);
	return result;
}

#else

int call_fence_install(const char *program, bool allows_uring)
{
	(void)program;
	(void)allows_uring;
	return 0;
}

#endif

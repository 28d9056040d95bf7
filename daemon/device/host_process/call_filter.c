/* SPDX-License-Identifier: MIT */
/*
 * When a change makes the device process use another call, the process dies of SIGSYS, and the
 * control plane logs so. To find the call:
 *
 *     strace -f -o trace -p $(pidof rnicd-device)    the last call before "killed by SIGSYS"
 *     dmesg | grep type=1326                         where the kernel audits: syscall=NUMBER
 *
 * Then the question is whether the call belongs after the start at all.
 */
#include "daemon/device/host_process/call_filter.h"

#include "daemon/shared/base/call_rules.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Older headers lack some of these. */
#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#if defined(__s390__)
#define CLONE_FLAGS_ARGUMENT 1
#else
#define CLONE_FLAGS_ARGUMENT 0
#endif

/* The kernel reads the lower half of such an argument alone. */
#define INT_ARGUMENT UINT32_C(0xffffffff)

#ifndef RNIC_SANITIZED

/* Calls that are allowed with any arguments. A call that the machine does not have is skipped. */
static const int call_filter_allowed[] = {
	/* Packets, requests and messages, on descriptors that are there. */
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(recvmmsg_time64),
	SCMP_SYS(recvfrom),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(shutdown),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),

	/* The memory of clients. */
	SCMP_SYS(preadv),
	SCMP_SYS(pwritev),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstatat64),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fstatfs64),
	SCMP_SYS(statx),

	/* Regions, doorbells and pipes. */
	SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	SCMP_SYS(ftruncate64),
	SCMP_SYS(eventfd2),
	SCMP_SYS(pipe2),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),

	/* Waiting. */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(timerfd_settime64),
	SCMP_SYS(timer_create),
	SCMP_SYS(timer_settime),
	SCMP_SYS(timer_settime64),
	SCMP_SYS(timer_delete),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_nanosleep_time64),
	SCMP_SYS(sched_yield),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(restart_syscall),

	/* Signals and threads of the process itself, and its end. */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getppid),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getrandom),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* The C library asks for these by itself, and goes on without an answer. */
static const struct {
	int call;
	int error;
} call_filter_refused[] = {
	{SCMP_SYS(clone3), ENOSYS}, /* its flags are out of the filter's sight; clone follows */
	{SCMP_SYS(open), EACCES},   /* of a number of processors, for the heap of a new thread */
	{SCMP_SYS(openat), EACCES},
};

/* The options of a socket that a port changes while it works (udp_sockets.h). */
static const struct {
	int level;
	int name;
} call_filter_options[] = {
	{SOL_UDP, UDP_GRO},
	{IPPROTO_IP, IP_RECVERR},
	{IPPROTO_IPV6, IPV6_RECVERR},
};

/*
 * The commands of fcntl. Others would send signals to processes (F_SETOWN), or hold the files of
 * clients (locks and leases).
 */
static const int call_filter_fcntl[] = {F_GETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS};

static const uint32_t call_filter_ioctl[] = {
	FIONREAD, /* how much of a capture the reader of a pipe has not read yet */
	UFFDIO_API, UFFDIO_REGISTER, UFFDIO_UNREGISTER, UFFDIO_WRITEPROTECT, /* memory_watch.c */
};

/*
 * What the io_uring port asks of its ring when an address goes, and at the end (linux/io_uring.h).
 * The port has restricted the ring itself to receiving and waiting.
 */
#define RING_OPERATION_MASK	  UINT32_C(0x7fffffff)
#define RING_REGISTER_SYNC_CANCEL 24

static int call_filter_allow(scmp_filter_ctx filter)
{
	int result = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(call_filter_allowed) && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call_filter_allowed[i], 0);
	for (size_t i = 0; i < RNIC_COUNT_OF(call_filter_refused) && result == 0; i++)
		result = seccomp_rule_add(filter,
					  SCMP_ACT_ERRNO((uint16_t)call_filter_refused[i].error),
					  call_filter_refused[i].call, 0);
	return result;
}

static int call_filter_allow_options(scmp_filter_ctx filter)
{
	int result = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(call_filter_options) && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2,
					  SCMP_A1(SCMP_CMP_MASKED_EQ, INT_ARGUMENT,
						  (scmp_datum_t)call_filter_options[i].level),
					  SCMP_A2(SCMP_CMP_MASKED_EQ, INT_ARGUMENT,
						  (scmp_datum_t)call_filter_options[i].name));
	return result;
}

/* F_SETFL sets O_NONBLOCK alone, as event_pipe.c does: O_ASYNC would send signals. */
static int call_filter_allow_fcntl(scmp_filter_ctx filter)
{
	static const int calls[] = {SCMP_SYS(fcntl), SCMP_SYS(fcntl64)};
	int result = 0;

	for (size_t call = 0; call < RNIC_COUNT_OF(calls); call++) {
		for (size_t i = 0; i < RNIC_COUNT_OF(call_filter_fcntl) && result == 0; i++)
			result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[call], 1,
						  SCMP_A1(SCMP_CMP_MASKED_EQ, INT_ARGUMENT,
							  (scmp_datum_t)call_filter_fcntl[i]));
		if (result == 0)
			result = seccomp_rule_add(
				filter, SCMP_ACT_ALLOW, calls[call], 2,
				SCMP_A1(SCMP_CMP_MASKED_EQ, INT_ARGUMENT, F_SETFL),
				SCMP_A2(SCMP_CMP_MASKED_EQ, INT_ARGUMENT, O_NONBLOCK));
	}
	return result;
}

/* Signals reach the process itself alone, and limits are read alone, of the process itself. */
static int call_filter_allow_own(scmp_filter_ctx filter)
{
	int result =
		seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				 SCMP_A0(SCMP_CMP_MASKED_EQ, INT_ARGUMENT, (scmp_datum_t)getpid()));

	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
					  SCMP_A0(SCMP_CMP_MASKED_EQ, INT_ARGUMENT, 0),
					  SCMP_A2(SCMP_CMP_EQ, 0, 0));
	/* Signal 0 asks whether a client's process lives. */
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(pidfd_send_signal), 1,
					  SCMP_A1(SCMP_CMP_MASKED_EQ, INT_ARGUMENT, 0));
	return result;
}

/*
 * Memory that is no code, threads but no processes, and descriptors that are asked, or do, no more
 * than the process needs.
 */
static int call_filter_allow_some(scmp_filter_ctx filter)
{
	static const int mapping_calls[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)};
	int result = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(mapping_calls) && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, mapping_calls[i], 1,
					  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
					  SCMP_CMP(CLONE_FLAGS_ARGUMENT, SCMP_CMP_MASKED_EQ,
						   CLONE_THREAD, CLONE_THREAD));
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(io_uring_register), 1,
					  SCMP_A1(SCMP_CMP_MASKED_EQ, RING_OPERATION_MASK,
						  RING_REGISTER_SYNC_CANCEL));
	for (size_t i = 0; i < RNIC_COUNT_OF(call_filter_ioctl) && result == 0; i++)
		result = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, INT_ARGUMENT, call_filter_ioctl[i]));
	return result;
}

int call_filter_install(void)
{
	scmp_filter_ctx filter;
	int result = call_rules_begin(&filter, SCMP_ACT_KILL_PROCESS);

	if (result == 0)
		result = call_filter_allow(filter);
	if (result == 0)
		result = call_filter_allow_options(filter);
	if (result == 0)
		result = call_filter_allow_fcntl(filter);
	if (result == 0)
		result = call_filter_allow_own(filter);
	if (result == 0)
		result = call_filter_allow_some(filter);
	if (result == 0)
		result = seccomp_load(filter);
	seccomp_release(filter);
	return result;
}

#else

int call_filter_install(void)
{
	return 0;
}

#endif

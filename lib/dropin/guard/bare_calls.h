/* SPDX-License-Identifier: MIT */
/*
 * System calls that a signal handler makes. The C library's functions of the same purpose are
 * replaced by sanitizers, and leave the C library's own signals out of a mask.
 */
#ifndef LIB_DROPIN_GUARD_BARE_CALLS_H
#define LIB_DROPIN_GUARD_BARE_CALLS_H

#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The kernel's signal set. */
typedef uint64_t rnic_signal_mask;

#define RNIC_SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))

static inline rnic_signal_mask rnic_bare_mask_change(int how, const rnic_signal_mask *change)
{
	rnic_signal_mask before = 0;

	syscall(SYS_rt_sigprocmask, how, change, &before, sizeof(before));
	return before;
}

static inline pid_t rnic_bare_getpid(void)
{
	return (pid_t)syscall(SYS_getpid);
}

static inline pid_t rnic_bare_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* To the calling thread. The process may give itself any siginfo. */
static inline void rnic_bare_queue_to_thread(int signal, const siginfo_t *info)
{
	syscall(SYS_rt_tgsigqueueinfo, rnic_bare_getpid(), rnic_bare_gettid(), signal, info);
}

/*
 * To the process. Only the first thread of a process may repeat what kill() says of the sender.
 * From another thread the signal comes as this process's own kill().
 */
static inline void rnic_bare_queue_to_process(int signal, const siginfo_t *info)
{
	const pid_t process = rnic_bare_getpid();

	if (syscall(SYS_rt_sigqueueinfo, process, signal, info) != 0)
		syscall(SYS_kill, process, signal);
}

static inline void rnic_bare_futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void rnic_bare_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif

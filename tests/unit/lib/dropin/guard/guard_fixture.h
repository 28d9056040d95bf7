/* SPDX-License-Identifier: MIT */
/*
 * A case runs in a child of its own, so that a death is a result, and so that the case decides when
 * the child's guard opens. The test program itself never opens the guard.
 */
#ifndef TESTS_UNIT_LIB_DROPIN_GUARD_GUARD_FIXTURE_H
#define TESTS_UNIT_LIB_DROPIN_GUARD_GUARD_FIXTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dropin/guard/guard.h"

typedef void guard_case(void);

/* The guard of this process, after open_guard(). */
extern const struct rnic_guard *guard;

/* In a child: says which condition does not hold, and ends the child as a failure. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			check_failed(__FILE__, __LINE__, #condition);                              \
	} while (0)

__attribute__((noreturn)) void check_failed(const char *file, int line, const char *condition);

/* The case returns, and no condition failed. */
void expect_success(guard_case *run);

/* Defines a test that expects the case's success. */
#define SUCCEEDS(name, run)                                                                        \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		expect_success(run);                                                               \
	}

/* The signal kills the case, after no condition failed. */
void expect_death(guard_case *run, int signal);

/* The same; `*info` is the signal's as a debugger sees it at the end. */
void expect_traced_death(guard_case *run, int signal, siginfo_t *info);

/* Opens the guard of this process. */
void open_guard(void);

/* Maps pages with the protection. */
uint8_t *map_pages(size_t count, int protection);
size_t page_bytes(void);

/* A page of a file that is not so long any more: SIGBUS. */
uint8_t *map_truncated(void);

/* Copies to and from a page without access: both end with -EFAULT, in a turn. */
void fault_guarded(void);

/* A thread's function: fault_guarded() until the atomic_bool that the argument points to is set. */
void *fault_until_over(void *is_over);

/* Stores a byte to the address; what follows is up to the process's handlers. */
void store_byte(volatile uint8_t *address);

/* Sets a handler with flags, and an empty mask, by sigaction(). */
void set_handler(int signal, void (*handler)(int, siginfo_t *, void *), int flags);

/* A handler for own faults: counts, remembers, and makes the page of the fault accessible. */
extern volatile sig_atomic_t repairs;
extern siginfo_t repaired_info;
void repair_page(int signal, siginfo_t *info, void *context);

/* The C library's own sigaction(), past every library that stands before it. */
int sigaction_of_libc(int signal, const struct sigaction *act, struct sigaction *old);

uint64_t monotonic_ns(void);

/* Waits for the child: its exit status, or 128 and the signal that killed it. */
int wait_for_child(pid_t child);

#endif

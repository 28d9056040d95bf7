/* SPDX-License-Identifier: MIT */
/*
 * A library for other people's programs, preloaded behind the guard's: a thread that copies to bad
 * memory all the time, as a device inside the program might. A copy that ends otherwise than with
 * -EFAULT aborts the program. At its end the program appends a line to the file that
 * GUARD_FAULTER_LOG names: its name, and how many copies ended with -EFAULT.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/dropin/guard/guard.h"

#define COPIES_A_TURN 4

static const struct rnic_guard *guard;
static atomic_ulong faults;
static atomic_bool is_over;

static void *fault(void *page)
{
	uint8_t bytes[64] = {0};

	while (!atomic_load(&is_over)) {
		struct rnic_guard_turn turn;

		if (guard->turn_begin(&turn) != 0)
			abort();
		for (int i = 0; i < COPIES_A_TURN; i++, atomic_fetch_add(&faults, 1))
			if (guard->write(page, bytes, sizeof(bytes)) != -EFAULT)
				abort();
		guard->turn_end(&turn);
		sched_yield();
	}
	return NULL;
}

static __attribute__((constructor)) void start_faulting(void)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t all;
	sigset_t before;
	pthread_t thread;

	if (page == MAP_FAILED || rnic_guard_open(&guard) != 0)
		abort();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&thread, NULL, fault, page) != 0)
		abort();
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static __attribute__((destructor)) void tell_faults(void)
{
	const char *path = getenv("GUARD_FAULTER_LOG");
	char line[200];
	int length;
	int file;

	atomic_store(&is_over, true);
	if (path == NULL)
		return;
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	length = snprintf(line, sizeof(line), "%s %lu\n", program_invocation_short_name,
			  atomic_load(&faults));
	if (file < 0 || write(file, line, (size_t)length) != length)
		abort();
	close(file);
}

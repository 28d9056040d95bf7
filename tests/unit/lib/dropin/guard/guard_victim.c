/* SPDX-License-Identifier: MIT */
/*
 * A program for debuggers: 100 guarded faults, and then, with an argument, a fault of its own.
 * Exit status 0 without the argument.
 */
#include <errno.h>
#include <sys/mman.h>

#include "lib/dropin/guard/guard.h"

__attribute__((noinline)) static void fault_of_its_own(volatile char *page)
{
	*page = 1;
}

int main(int argc, char **argv)
{
	const struct rnic_guard *guard;
	struct rnic_guard_turn turn;
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char bytes[100] = {0};

	(void)argv;
	if (page == MAP_FAILED || rnic_guard_open(&guard) != 0)
		return 1;
	for (int i = 0; i < 100; i++) {
		if (guard->turn_begin(&turn) != 0 ||
		    guard->write(page, bytes, sizeof(bytes)) != -EFAULT ||
		    guard->read(bytes, page, sizeof(bytes)) != -EFAULT)
			return 2;
		guard->turn_end(&turn);
	}
	if (argc > 1)
		fault_of_its_own(page + 7);
	return 0;
}

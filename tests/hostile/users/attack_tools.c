/* SPDX-License-Identifier: MIT */
#include "tests/hostile/users/attack_tools.h"

#include "tests/unit/all_descriptors.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define WATCHES_PER_SET 1000

noreturn void attack_die(const char *what)
{
	perror(what);
	exit(1);
}

unsigned attack_watch_descriptor(int fd, unsigned amount, int sets[ATTACK_WATCH_SETS_MAX])
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int copies[WATCHES_PER_SET];
	unsigned count = 0;

	if (!take_all_descriptors())
		attack_die("RLIMIT_NOFILE");
	for (unsigned i = 0; i < WATCHES_PER_SET; i++)
		copies[i] = dup(fd);
	for (; count < amount / WATCHES_PER_SET && count < ATTACK_WATCH_SETS_MAX; count++) {
		sets[count] = epoll_create1(0);
		if (sets[count] < 0)
			attack_die("watches: epoll");
		for (unsigned j = 0; j < WATCHES_PER_SET; j++)
			if (epoll_ctl(sets[count], EPOLL_CTL_ADD, copies[j], &event) != 0)
				attack_die("watches: watch");
	}
	for (unsigned i = 0; i < WATCHES_PER_SET; i++)
		close(copies[i]);
	return count;
}

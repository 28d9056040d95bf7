/* SPDX-License-Identifier: MIT */
#include "tests/hostile/users/view_watches.h"

#include "proto/base/path_view.h"
#include "tests/hostile/users/attack_tools.h"
#include "tests/unit/all_descriptors.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HOLDERS_MAX   64
#define CHANGES	      (DN_MODIFY | DN_CREATE | DN_DELETE | DN_RENAME | DN_ATTRIB | DN_MULTISHOT)
#define INSTANCES_MAX 1024

static glob_t directories;

static void view_watches_find(void)
{
	char pattern[512];

	snprintf(pattern, sizeof(pattern), "%s%s/sys/class/infiniband/*/ports/1/*counters",
		 getenv("RNIC_SOCKET"), RNIC_VIEW_SUFFIX);
	if (glob(pattern, 0, NULL, &directories) != 0)
		attack_die("view-watches: the counters");
}

/* Returns how many more of `left` are to be watched when this process has all that it may have. */
static unsigned view_watches_hold(unsigned left)
{
	for (; left > 0; left--) {
		const char *path = directories.gl_pathv[left % directories.gl_pathc];
		const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			break;
		if (fcntl(fd, F_NOTIFY, CHANGES) != 0)
			attack_die("view-watches: F_NOTIFY");
	}
	return left;
}

static void view_watches_take_instances(void)
{
	for (unsigned i = 0; i < INSTANCES_MAX; i++) {
		const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

		if (fd < 0)
			return;
		for (size_t j = 0; j < directories.gl_pathc; j++)
			if (inotify_add_watch(fd, directories.gl_pathv[j], IN_ALL_EVENTS) < 0)
				attack_die("view-watches: inotify");
	}
}

/* A process that watches until its parent ends. Returns how many are left for others. */
static unsigned view_watches_start_holder(unsigned left)
{
	int told[2];
	pid_t child;

	if (pipe2(told, O_CLOEXEC) != 0)
		attack_die("view-watches: pipe");
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		left = view_watches_hold(left);
		if (write(told[1], &left, sizeof(left)) != sizeof(left))
			_exit(1);
		for (;;)
			poll(NULL, 0, -1);
	}
	if (child < 0 || read(told[0], &left, sizeof(left)) != sizeof(left))
		attack_die("view-watches: a holder");
	close(told[0]);
	close(told[1]);
	return left;
}

void view_watches_take(unsigned amount)
{
	unsigned left = amount;

	signal(SIGIO, SIG_IGN);
	if (!take_all_descriptors())
		attack_die("RLIMIT_NOFILE");
	view_watches_find();
	for (unsigned i = 0; i < HOLDERS_MAX && left > 0; i++)
		left = view_watches_start_holder(left);
	view_watches_take_instances();
	printf("view-watches %u\n", amount - left);
}

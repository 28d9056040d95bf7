/* SPDX-License-Identifier: MIT */
#include "session/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

static void *closer_run(void *argument)
{
	int read_fd = (int)(intptr_t)argument;
	int fd;

	while (read(read_fd, &fd, sizeof(fd)) == sizeof(fd))
		close(fd);
	close(read_fd);
	return NULL;
}

/* Signals are for the device's thread, whose loop waits for them. */
static int closer_start(int read_fd)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, closer_run, (void *)(intptr_t)read_fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_detach(thread);
	return -error;
}

int closer_open(struct closer *closer)
{
	int fds[2], result;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	result = fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0 ? closer_start(fds[0]) : -errno;
	if (result != 0) {
		close(fds[0]);
		close(fds[1]);
		return result;
	}
	closer->write_fd = fds[1];
	return 0;
}

void closer_close(struct closer *closer)
{
	close(closer->write_fd);
	closer->write_fd = -1;
}

void closer_take(const struct closer *closer, int fd)
{
	if (write(closer->write_fd, &fd, sizeof(fd)) != sizeof(fd))
		close(fd);
}

/* SPDX-License-Identifier: MIT */
/* A plugin whose constructor, under the loader's lock, waits for a thread that sends. */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void *plugin_send(void *unused)
{
	int ends[2];
	char byte = 0;
	struct iovec piece = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

	(void)unused;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		return NULL;
	if (sendmsg(ends[0], &message, 0) == 1)
		(void)!recvmsg(ends[1], &message, 0);
	close(ends[0]);
	close(ends[1]);
	return NULL;
}

static __attribute__((constructor)) void plugin_wait(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, plugin_send, NULL) == 0)
		pthread_join(thread, NULL);
}

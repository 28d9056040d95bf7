/* SPDX-License-Identifier: MIT */
#include "client_fixture.h"

#include "base/list.h"
#include "unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

static void keep_or_close(int fd, int *kept)
{
	if (kept != NULL)
		*kept = fd;
	else
		close(fd);
}

struct session *client_fixture_connect(struct session_set *set, uid_t uid, int *peer_fd)
{
	struct session *session;
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sockets), 0);
	keep_or_close(sockets[1], peer_fd);
	session = session_create(set, sockets[0], 1, uid);
	assert_non_null(session);
	return session;
}

void client_fixture_open_regions(struct session *session, int *doorbell_fd, int *async_fd)
{
	int fds[4];

	assert_int_equal(session_open_regions(session, fds), 0);
	keep_or_close(fds[0], NULL);
	keep_or_close(fds[1], NULL);
	keep_or_close(fds[2], doorbell_fd);
	keep_or_close(fds[3], async_fd);
}

void client_fixture_greet(struct session *session)
{
	session->has_greeted = true;
	list_remove(&session->pre_hello_node);
}

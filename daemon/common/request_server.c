/* SPDX-License-Identifier: MIT */
#include "common/request_server.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int request_server_init(struct request_server *server, const struct request_role *role)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0)
		return -errno;
	*server = (struct request_server){
		.role = role,
		.epoll_fd = epoll_fd,
	};
	list_init(&server->resumes);
	list_init(&server->due);
	list_init(&server->waiting);
	return 0;
}

void request_server_fini(struct request_server *server)
{
	assert(list_is_empty(&server->resumes) && list_is_empty(&server->due));
	assert(list_is_empty(&server->waiting));
	deferred_close_close(&server->deferred_close);
	close(server->epoll_fd);
}

void request_server_wake(struct request_server *server)
{
	while (!list_is_empty(&server->waiting)) {
		struct list *node = server->waiting.next;

		list_remove(node);
		list_add_tail(&server->resumes, node);
	}
}

bool request_server_has_resumes(const struct request_server *server)
{
	return !list_is_empty(&server->resumes);
}

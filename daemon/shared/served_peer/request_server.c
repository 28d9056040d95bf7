/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/request_server.h"

#include "lib/wait/clock.h"

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
	fair_queue_init(&server->resumes);
	fair_queue_init(&server->due);
	fair_share_init(&server->resume_share);
	fair_share_init(&server->due_share);
	list_init(&server->waiting);
	list_init(&server->unsent);
	return 0;
}

void request_server_fini(struct request_server *server)
{
	assert(fair_queue_is_empty(&server->resumes) && fair_queue_is_empty(&server->due));
	assert(list_is_empty(&server->waiting) && list_is_empty(&server->unsent));
	deferred_close_close(&server->deferred_close);
	close(server->epoll_fd);
}

static void server_resume_all(struct request_server *server, struct list *nodes)
{
	while (!list_is_empty(nodes)) {
		struct fair_item *item = list_first_entry(nodes, struct fair_item, node);

		list_remove(&item->node);
		fair_queue_add(&server->resumes, item);
	}
}

void request_server_wake(struct request_server *server)
{
	server_resume_all(server, &server->waiting);
}

static bool server_may_retry(const struct request_server *server)
{
	return !list_is_empty(&server->unsent) && clock_now_ns() >= server->retry_ns;
}

bool request_server_has_resumes(const struct request_server *server)
{
	return !fair_queue_is_empty(&server->resumes) || server_may_retry(server);
}

void request_server_take_unsent(struct request_server *server)
{
	if (server_may_retry(server))
		server_resume_all(server, &server->unsent);
}

uint64_t request_server_next_deadline_ns(const struct request_server *server)
{
	return list_is_empty(&server->unsent) ? UINT64_MAX : server->retry_ns;
}

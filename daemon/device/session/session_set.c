/* SPDX-License-Identifier: MIT */
#include "daemon/device/session/session_set.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int session_set_init(struct session_set *set, struct engine *engine,
		     const struct device_facts *facts, const struct session_owner *owner)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0)
		return -errno;
	*set = (struct session_set){
		.engine = engine,
		.facts = facts,
		.owner = owner,
		.epoll_fd = epoll_fd,
	};
	list_init(&set->sessions);
	scheduler_init(&set->scheduler);
	list_init(&set->domains);
	return 0;
}

void session_set_fini(struct session_set *set)
{
	assert(list_is_empty(&set->sessions) && scheduler_is_empty(&set->scheduler));
	close(set->epoll_fd);
}

/* SPDX-License-Identifier: MIT */
#include "client/client_set.h"

#include "common/user_quota.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int client_set_init(struct client_set *set, const struct client_set_config *config)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0)
		return -errno;
	*set = (struct client_set){
		.device = config->device,
		.cm = config->cm,
		.facts = config->facts,
		.next_client_id = 1,
		.epoll_fd = epoll_fd,
	};
	quota_pool_init(&set->quotas);
	list_init(&set->clients);
	list_init(&set->pre_hello);
	list_init(&set->resumes);
	list_init(&set->broken);
	list_init(&set->leaving);
	list_init(&set->ending);
	return 0;
}

void client_set_fini(struct client_set *set)
{
	assert(list_is_empty(&set->clients));
	user_quota_sweep(&set->quotas, true);
	quota_pool_fini(&set->quotas);
	deferred_close_close(&set->deferred_close);
	close(set->epoll_fd);
}

bool client_set_has_work(const struct client_set *set)
{
	return !list_is_empty(&set->broken) || !list_is_empty(&set->leaving) ||
	       !list_is_empty(&set->ending) || !list_is_empty(&set->resumes);
}

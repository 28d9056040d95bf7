/* SPDX-License-Identifier: MIT */
/* The regions in which a client places the queues of its queue pairs. */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/objects/ctl_region.h"
#include "daemon/device/objects/session_objects.h"
#include "daemon/device/session/session.h"

#include <errno.h>
#include <stdlib.h>

static int queue_region_open(struct ctl_call *call, uint64_t bytes,
			     struct session_queue_region *queue_region)
{
	struct session *session = call->session;
	int result = handle_table_add(&session->queue_regions, queue_region, &queue_region->handle);

	if (result == -ENOSPC)
		return ctl_refuse(call, result, "no more regions for queues are to be had");
	if (result != 0)
		return result;
	result = ctl_region_open(call, &queue_region->region, RNIC_REGION_QUEUES, bytes);
	if (result != 0)
		handle_table_remove(&session->queue_regions, queue_region->handle);
	return result;
}

int ctl_create_queue_region(struct ctl_call *call)
{
	const struct rnic_ctl_create_queue_region *request = (const void *)call->request.payload;
	struct rnic_ctl_queue_region_reply *reply = (void *)call->reply.payload;
	struct session_queue_region *queue_region;
	int result;

	if (request->bytes == 0 || request->bytes > RNIC_QUEUE_REGION_BYTES_MAX ||
	    request->bytes % RNIC_QUEUE_PAGE_BYTES != 0)
		return ctl_refuse(call, -EINVAL, "no region of queues has %llu bytes",
				  (unsigned long long)request->bytes);
	queue_region = calloc(1, sizeof(*queue_region));
	if (queue_region == NULL)
		return -ENOMEM;
	result = queue_region_open(call, request->bytes, queue_region);
	if (result != 0) {
		free(queue_region);
		return result;
	}
	call->reply_fd_count = 1;
	reply->queue_region = queue_region->handle;
	return 0;
}

int ctl_destroy_queue_region(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session *session = call->session;
	struct session_queue_region *queue_region =
		handle_table_get(&session->queue_regions, request->handle);

	if (queue_region == NULL)
		return ctl_refuse(call, -EINVAL, "no such region of queues");
	if (queue_region->references > 0)
		return ctl_refuse(call, -EBUSY, "queues of %u queue pairs lie in the region",
				  queue_region->references);
	session_free_queue_region(session, queue_region);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/server/server_work.h"

#include "lib/apis/dial/dial.h"

#include <stdlib.h>

#define MS UINT64_C(1000000)

struct server_work *server_work_create(struct server_calls *calls,
				       struct server_conversation *conversation,
				       const struct rpc_frame *request)
{
	struct server_work *work = calloc(1, sizeof(*work));

	if (work == NULL)
		return NULL;
	work->fallback = shared_message_refuse(request->call, RNIC_RPC_INTERNAL);
	if (work->fallback == NULL) {
		free(work);
		return NULL;
	}
	work->calls = calls;
	work->client = conversation->client;
	work->connection = conversation->conversation.self.connection;
	work->call = request->call;
	work->deadline_ns = request->timeout_ms == 0
				    ? RPC_NEVER
				    : rnic_dial_now_ns() + request->timeout_ms * MS;
	work->stream.is_accepted = (request->flags & RPC_FRAME_STREAM) != 0;
	return work;
}

void server_work_free(struct server_work *work)
{
	if (work->fallback != NULL)
		shared_message_release(work->fallback);
	if (work->answer != NULL)
		shared_message_release(work->answer);
	if (work->input != NULL)
		protobuf_c_message_free_unpacked(work->input, &work->allocator);
	free(work);
}

void server_work_link(struct server_work *work)
{
	struct server_calls *calls = work->calls;

	work->next = calls->works;
	work->link = &calls->works;
	if (work->next != NULL)
		work->next->link = &work->next;
	calls->works = work;
	work->client->working_count++;
}

void server_work_unlink(struct server_work *work)
{
	*work->link = work->next;
	if (work->next != NULL)
		work->next->link = work->link;
	work->client->working_count--;
}

struct server_work *server_work_find(const struct server_calls *calls,
				     const struct server_client *client, uint64_t call)
{
	for (struct server_work *work = calls->works; work != NULL; work = work->next)
		if (work->client == client && work->call == call)
			return work;
	return NULL;
}

/* SPDX-License-Identifier: MIT */
#include "cm/early_request.h"

#include "cm/cm_connection.h"
#include "cm/cm_state.h"
#include "engine/limits.h"
#include "wire/gid.h"

#include <errno.h>
#include <stdlib.h>

struct early_request {
	struct list node;
	struct request_origin origin;
	struct rnic_cm_message message;
	uint64_t refuse_ns;
	uint32_t peer_comm_id;
	uint16_t port_space;
	uint16_t port;
};

int early_requests_init(struct early_requests *requests)
{
	list_init(&requests->waiting);
	list_init(&requests->unused);
	requests->all = calloc(LIMIT_CM_EARLY_REQUESTS, sizeof(*requests->all));
	if (requests->all == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < LIMIT_CM_EARLY_REQUESTS; i++)
		list_add_tail(&requests->unused, &requests->all[i].node);
	return 0;
}

void early_requests_fini(struct early_requests *requests)
{
	free(requests->all);
	requests->all = NULL;
}

static uint32_t comm_id_of(const struct rnic_cm_message *message)
{
	return message->kind == RNIC_CM_REQ ? message->req.local_comm_id
					    : message->sidr_req.request_id;
}

static struct early_request *find(const struct request_origin *origin, uint32_t peer_comm_id,
				  enum rnic_cm_kind kind)
{
	struct list *node;

	list_for_each (node, &origin->cm->early.waiting) {
		struct early_request *request = list_entry(node, struct early_request, node);

		if (request->peer_comm_id == peer_comm_id && request->message.kind == kind &&
		    rnic_gid_equal(&request->origin.peer, &origin->peer))
			return request;
	}
	return NULL;
}

static void drop(struct early_request *request)
{
	struct early_requests *requests = &request->origin.cm->early;

	list_remove(&request->node);
	list_add(&requests->unused, &request->node);
}

/* Whether the peer gives us time for that, and to answer after it. A SIDR_REQ does not say. */
static bool is_patient(const struct cm *cm, const struct rnic_cm_message *message)
{
	return cm->config.listener_wait_ns > 0 &&
	       (message->kind != RNIC_CM_REQ ||
		connection_timeout_ns(message->req.remote_response_timeout) >=
			2 * cm->config.listener_wait_ns);
}

bool early_request_keep(const struct request_origin *origin, const struct rnic_cm_message *message,
			uint16_t port_space, uint16_t port)
{
	struct cm *cm = origin->cm;
	struct early_request *request;

	if (!is_patient(cm, message))
		return false;
	if (find(origin, comm_id_of(message), message->kind) != NULL) {
		cm->counters[CM_COUNTER_DUPLICATES]++;
		return true;
	}
	if (list_is_empty(&cm->early.unused))
		return false;
	request = list_first_entry(&cm->early.unused, struct early_request, node);
	list_remove(&request->node);
	*request = (struct early_request){
		.origin = *origin,
		.message = *message,
		.refuse_ns = cm->now_ns + cm->config.listener_wait_ns,
		.peer_comm_id = comm_id_of(message),
		.port_space = port_space,
		.port = port,
	};
	list_add_tail(&cm->early.waiting, &request->node);
	cm->counters[CM_COUNTER_EARLY]++;
	return true;
}

void early_request_forget(const struct request_origin *origin, uint32_t peer_comm_id)
{
	struct early_request *request = find(origin, peer_comm_id, RNIC_CM_REQ);

	if (request != NULL)
		drop(request);
}

uint64_t early_requests_deadline_ns(const struct cm *cm)
{
	if (list_is_empty(&cm->early.waiting))
		return UINT64_MAX;
	if (cm->bindings.has_new_listener)
		return 0;
	return list_first_entry(&cm->early.waiting, struct early_request, node)->refuse_ns;
}

static void hand_over(struct early_request *request)
{
	const struct request_origin origin = request->origin;
	const struct rnic_cm_message message = request->message;

	drop(request);
	if (message.kind == RNIC_CM_REQ)
		request_receive(&origin, &message);
	else
		request_receive_datagram(&origin, &message);
}

void early_requests_tick(struct cm *cm)
{
	struct list *node, *following;

	if (early_requests_deadline_ns(cm) > cm->now_ns)
		return;
	list_for_each_safe (node, following, &cm->early.waiting) {
		struct early_request *request = list_entry(node, struct early_request, node);

		if (binding_find_listener(&cm->bindings, request->port_space, request->port,
					  &request->origin.local) != NULL) {
			hand_over(request);
		} else if (request->refuse_ns <= cm->now_ns) {
			request_refuse(&request->origin, &request->message,
				       RNIC_CM_REJECT_INVALID_SERVICE_ID);
			drop(request);
		}
	}
	cm->bindings.has_new_listener = false;
}

/* SPDX-License-Identifier: MIT */
#include "cm/pending_listen.h"

#include "cm/cm_connection.h"
#include "cm/cm_state.h"
#include "cm/cm_limits.h"
#include "wire/gid.h"

#include <errno.h>
#include <stdlib.h>

struct pending_listen {
	struct list node;
	struct request_origin origin;
	struct rnic_cm_message message;
	uint64_t refuse_ns;
	uint32_t peer_comm_id;
	uint16_t port_space;
	uint16_t port;
};

int pending_listens_init(struct pending_listens *requests)
{
	list_init(&requests->waiting);
	list_init(&requests->unused);
	requests->all = calloc(LIMIT_CM_PENDING_LISTENS, sizeof(*requests->all));
	if (requests->all == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < LIMIT_CM_PENDING_LISTENS; i++)
		list_add_tail(&requests->unused, &requests->all[i].node);
	return 0;
}

void pending_listens_fini(struct pending_listens *requests)
{
	free(requests->all);
	requests->all = NULL;
}

static uint32_t comm_id_of(const struct rnic_cm_message *message)
{
	return message->kind == RNIC_CM_REQ ? message->req.local_comm_id
					    : message->sidr_req.request_id;
}

static struct pending_listen *pending_listen_find(const struct request_origin *origin,
						  uint32_t peer_comm_id, enum rnic_cm_kind kind)
{
	struct list *node;

	list_for_each (node, &origin->cm->early.waiting) {
		struct pending_listen *request = list_entry(node, struct pending_listen, node);

		if (request->peer_comm_id == peer_comm_id && request->message.kind == kind &&
		    rnic_gid_equal(&request->origin.peer, &origin->peer))
			return request;
	}
	return NULL;
}

static void pending_listen_drop(struct pending_listen *request)
{
	struct pending_listens *requests = &request->origin.cm->early;

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

bool pending_listen_keep(const struct request_origin *origin, const struct rnic_cm_message *message,
			 uint16_t port_space, uint16_t port)
{
	struct cm *cm = origin->cm;
	struct pending_listen *request;

	if (!is_patient(cm, message))
		return false;
	if (pending_listen_find(origin, comm_id_of(message), message->kind) != NULL) {
		cm->counters[CM_COUNTER_DUPLICATES]++;
		return true;
	}
	if (list_is_empty(&cm->early.unused))
		return false;
	request = list_first_entry(&cm->early.unused, struct pending_listen, node);
	list_remove(&request->node);
	*request = (struct pending_listen){
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

void pending_listen_forget(const struct request_origin *origin, uint32_t peer_comm_id)
{
	struct pending_listen *request = pending_listen_find(origin, peer_comm_id, RNIC_CM_REQ);

	if (request != NULL)
		pending_listen_drop(request);
}

uint64_t pending_listens_deadline_ns(const struct cm *cm)
{
	if (list_is_empty(&cm->early.waiting))
		return UINT64_MAX;
	if (cm->bindings.has_new_listener)
		return 0;
	return list_first_entry(&cm->early.waiting, struct pending_listen, node)->refuse_ns;
}

static void hand_over(struct pending_listen *request)
{
	const struct request_origin origin = request->origin;
	const struct rnic_cm_message message = request->message;

	pending_listen_drop(request);
	if (message.kind == RNIC_CM_REQ)
		request_receive(&origin, &message);
	else
		request_receive_datagram(&origin, &message);
}

void pending_listens_tick(struct cm *cm)
{
	struct list *node, *following;

	if (pending_listens_deadline_ns(cm) > cm->now_ns)
		return;
	list_for_each_safe (node, following, &cm->early.waiting) {
		struct pending_listen *request = list_entry(node, struct pending_listen, node);

		if (binding_find_listener(&cm->bindings, request->port_space, request->port,
					  &request->origin.local) != NULL) {
			hand_over(request);
		} else if (request->refuse_ns <= cm->now_ns) {
			request_refuse(&request->origin, &request->message,
				       RNIC_CM_REJECT_INVALID_SERVICE_ID);
			pending_listen_drop(request);
		}
	}
	cm->bindings.has_new_listener = false;
}

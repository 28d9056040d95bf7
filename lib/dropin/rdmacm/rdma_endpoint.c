/* SPDX-License-Identifier: MIT */
/* Endpoints: an identifier, its addresses and its queue pair in one call, and their requests. */
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RESOLVE_TIMEOUT_MS 2000

/* Finds the addresses of the one who will connect. Calls of a synchronous identifier. */
static int rdmacm_endpoint_resolve(struct rdma_cm_id *id, const struct rdma_addrinfo *info)
{
	if (rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr, RESOLVE_TIMEOUT_MS) != 0 ||
	    rdma_resolve_route(id, RESOLVE_TIMEOUT_MS) != 0)
		return -errno;
	return 0;
}

static int keep_connect_data(struct rnic_cma_id *id, const struct rdma_addrinfo *info)
{
	if (info->ai_connect_len == 0)
		return 0;
	id->connect_data = malloc(info->ai_connect_len);
	if (id->connect_data == NULL)
		return -ENOMEM;
	memcpy(id->connect_data, info->ai_connect, info->ai_connect_len);
	id->connect_bytes = info->ai_connect_len;
	return 0;
}

static int set_up_listener(struct rnic_cma_id *id, const struct rdma_addrinfo *info,
			   struct ibv_pd *pd, const struct ibv_qp_init_attr *attributes)
{
	if (rdma_bind_addr(&id->public, info->ai_src_addr) != 0)
		return -errno;
	id->public.pd = pd;
	if (attributes != NULL) {
		id->has_template = true;
		id->template = *attributes;
		id->template.qp_type = id->public.qp_type;
	}
	return 0;
}

static int set_up_connector(struct rnic_cma_id *id, const struct rdma_addrinfo *info,
			    struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	int error = rdmacm_endpoint_resolve(&id->public, info);

	if (error == 0)
		error = keep_connect_data(id, info);
	if (error != 0 || attributes == NULL)
		return error;
	attributes->qp_type = id->public.qp_type;
	return rdma_create_qp(&id->public, pd, attributes) == 0 ? 0 : -errno;
}

int rdma_create_ep(struct rdma_cm_id **created, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *qp_init_attr)
{
	struct rdma_cm_id *id;
	int error = rnic_cma_create_id(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space,
				       (enum ibv_qp_type)res->ai_qp_type);

	if (error != 0)
		return rnic_cma_result(error);
	if (res->ai_flags & RAI_PASSIVE)
		error = set_up_listener(rnic_cma_id(id), res, pd, qp_init_attr);
	else
		error = set_up_connector(rnic_cma_id(id), res, pd, qp_init_attr);
	if (error != 0) {
		rdma_destroy_ep(id);
		return rnic_cma_result(error);
	}
	*created = id;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* Gives the request's identifier the queue pair that the listener's endpoint describes. */
static int equip(struct rnic_cma_id *listener, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attributes = listener->template;

	if (rdma_migrate_id(id, NULL) != 0)
		return -errno;
	if (!listener->has_template)
		return 0;
	return rdma_create_qp(id, listener->public.pd, &attributes) == 0 ? 0 : -errno;
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct rnic_cma_id *listener = rnic_cma_id(listen);
	struct rdma_cm_event *event;
	int error;

	if (!listener->is_synchronous)
		return rnic_cma_result(-EINVAL);
	if (listen->event != NULL) {
		rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event) != 0)
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		error = event->status < 0 ? event->status : -EINVAL;
		rdma_ack_cm_event(event);
		return rnic_cma_result(error);
	}
	error = equip(listener, event->id);
	if (error != 0) {
		struct rdma_cm_id *refused = event->id;

		rdma_reject(refused, NULL, 0);
		rdma_ack_cm_event(event);
		rdma_destroy_ep(refused);
		return rnic_cma_result(error);
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}

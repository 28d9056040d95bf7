/* SPDX-License-Identifier: MIT */
/* Identifiers: making, moving and ending them, and their options. */
#include "lib/dropin/rdmacm/rdma_sources.h"
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <stdlib.h>

static struct rnic_cma_id *new_id(struct rnic_cma_channel *channel, void *context,
				  enum rdma_port_space port_space, enum ibv_qp_type qp_type)
{
	struct rnic_cma_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->public.channel = &channel->public;
	id->public.context = context;
	id->public.ps = port_space;
	id->public.qp_type = qp_type;
	pthread_mutex_init(&id->groups_lock, NULL);
	return id;
}

static void free_id(struct rnic_cma_id *id)
{
	rnic_cma_free_natives(id);
	rnic_cma_multicast_forget(id);
	pthread_mutex_destroy(&id->groups_lock);
	free(id->connect_data);
	free(id);
}

int rnic_cma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **created,
		       void *context, enum rdma_port_space port_space, enum ibv_qp_type qp_type)
{
	struct rdma_event_channel *used = channel != NULL ? channel : rdma_create_event_channel();
	struct rnic_cma_id *id;
	int error;

	if (used == NULL)
		return -errno;
	id = new_id(rnic_cma_channel(used), context, port_space, qp_type);
	if (id == NULL) {
		error = -ENOMEM;
		goto destroy_channel;
	}
	id->is_synchronous = channel == NULL;
	error = rnic_cma_begin(id);
	if (error != 0)
		goto free_id;
	rnic_cma_channel_enter(id);
	*created = &id->public;
	return 0;

free_id:
	free_id(id);
destroy_channel:
	if (channel == NULL)
		rdma_destroy_event_channel(used);
	return error;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	const bool is_datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;

	return rnic_cma_result(rnic_cma_create_id(channel, id, context, ps,
						  is_datagram ? IBV_QPT_UD : IBV_QPT_RC));
}

void rnic_cma_close_at_once(struct rdma_cm_id *id)
{
	rnic_cma_id(id)->closes_at_once = true;
}

int rnic_cma_adopt_request(struct rnic_cma_id *listener, struct rnic_cma_channel *channel,
			   struct rnic_cma_device *device, const struct rnic_cm_event *event,
			   struct rnic_cma_id **adopted)
{
	struct rdma_cm_id *public = &listener->public;
	struct rnic_cma_id *id = new_id(channel, public->context, public->ps, public->qp_type);
	int error;

	if (id == NULL)
		return -ENOMEM;
	id->native = event->id;
	id->device = device;
	id->closes_at_once = listener->closes_at_once;
	id->is_bound = id->is_placed = true;
	id->initiator_depth = event->parameters.initiator_depth;
	id->responder_resources = event->parameters.responder_resources;
	id->remote_ece = (struct ibv_ece){
		.vendor_id = event->parameters.ece_vendor_id,
		.options = event->parameters.ece_options,
	};
	error = rnic_cma_take_event_place(id, event);
	if (error != 0) {
		id->native = NULL; /* the caller's */
		free_id(id);
		return error;
	}
	rnic_cma_channel_enter(id);
	*adopted = id;
	return 0;
}

int rnic_cma_take_place(struct rnic_cma_id *id, const struct rnic_cm_endpoints *where)
{
	rnic_cma_sockaddr(&where->local, &id->public.route.addr.src_addr);
	if (where->peer.family != 0)
		rnic_cma_sockaddr(&where->peer, &id->public.route.addr.dst_addr);
	if (!where->path.is_global)
		return 0;
	rnic_cma_route(where, id);
	id->public.verbs = id->device->verbs;
	id->public.port_num = 1;
	if (id->public.pd == NULL)
		id->public.pd = rnic_cma_device_pd(id->device);
	return id->public.pd != NULL ? 0 : -errno;
}

int rnic_cma_take_event_place(struct rnic_cma_id *id, const struct rnic_cm_event *event)
{
	const struct rnic_cm_endpoints where = {
		.local = event->local,
		.peer = event->peer,
		.path = event->path,
		.path_mtu = event->path_mtu,
	};

	return rnic_cma_take_place(id, &where);
}

int rdma_destroy_id(struct rdma_cm_id *public)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	struct rdma_event_channel *channel = public->channel;
	int error;

	if (public->event != NULL) {
		rdma_ack_cm_event(public->event);
		public->event = NULL;
	}
	rnic_cma_let_take(id);
	error = rnic_cma_end(id);
	if (error != 0)
		return rnic_cma_result(error);
	rnic_cma_channel_leave(id);
	if (id->is_synchronous)
		rdma_destroy_event_channel(channel);
	free_id(id);
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *public, struct rdma_event_channel *channel)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	struct rdma_event_channel *old = public->channel;
	struct rdma_event_channel *used = channel != NULL ? channel : rdma_create_event_channel();
	const bool was_synchronous = id->is_synchronous;
	int error;

	if (used == NULL)
		return -1;
	error = rnic_cma_report_to(id, rnic_cma_channel(used));
	if (error != 0) {
		if (channel == NULL)
			rdma_destroy_event_channel(used);
		return rnic_cma_result(error);
	}
	if (was_synchronous && public->event != NULL) {
		rdma_ack_cm_event(public->event);
		public->event = NULL;
	}
	rnic_cma_channel_leave(id);
	public->channel = used;
	id->is_synchronous = channel == NULL;
	rnic_cma_channel_enter(id);
	if (was_synchronous)
		rdma_destroy_event_channel(old);
	return 0;
}

/* --- options --------------------------------------------------------------------------------- */

static const struct {
	int name;
	enum rnic_cm_option option;
	size_t bytes;
} options[] = {
	{RDMA_OPTION_ID_TOS, RNIC_CM_OPTION_TOS, sizeof(uint8_t)},
	{RDMA_OPTION_ID_REUSEADDR, RNIC_CM_OPTION_REUSE_ADDRESS, sizeof(int)},
	{RDMA_OPTION_ID_AFONLY, RNIC_CM_OPTION_ADDRESS_FAMILY_ONLY, sizeof(int)},
	{RDMA_OPTION_ID_ACK_TIMEOUT, RNIC_CM_OPTION_ACK_TIMEOUT, sizeof(uint8_t)},
};

static int set_id_option(struct rnic_cma_id *id, int name, const void *value, size_t bytes)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		uint32_t number;

		if (options[i].name != name)
			continue;
		if (bytes != options[i].bytes)
			return -EINVAL;
		number = bytes == 1 ? *(const uint8_t *)value : *(const int *)value != 0;
		return rnic_cma_set_option(id, options[i].option, number);
	}
	return -ENOSYS;
}

/* The device has one path, so a path of the application (RDMA_OPTION_IB_PATH) is that one. */
int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	if (level == RDMA_OPTION_ID && optval != NULL)
		return rnic_cma_result(set_id_option(rnic_cma_id(id), optname, optval, optlen));
	return rnic_cma_result(level == RDMA_OPTION_ID ? -EINVAL : -ENOSYS);
}

/*
 * ECE without a vendor is the answer of ibv_query_ece() for our queue pairs: nothing to agree on.
 */
int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (id == NULL || id->qp != NULL || ece == NULL || ece->comp_mask != 0 ||
	    (ece->vendor_id == 0 && ece->options != 0))
		return rnic_cma_result(-EINVAL);
	rnic_cma_id(id)->local_ece = *ece;
	return 0;
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (id == NULL || ece == NULL)
		return rnic_cma_result(-EINVAL);
	*ece = rnic_cma_id(id)->remote_ece;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Connections: asking, answering, ending. */
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_RETRIES 7

int rdma_listen(struct rdma_cm_id *public, int backlog)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	struct rnic_cm_endpoints where;
	int error = rnic_cma_listen(id, backlog > 0 ? (uint32_t)backlog : 0, &where);

	if (error == 0)
		error = rnic_cma_take_place(id, &where);
	return rnic_cma_result(error);
}

/* A depth of RDMA_MAX_INIT_DEPTH (or RESP_RES) asks for as much as the device has. */
static int take_depth(uint8_t wanted, uint32_t most, uint8_t *depth)
{
	if (most > UINT8_MAX)
		most = UINT8_MAX;
	if (wanted == RDMA_MAX_INIT_DEPTH)
		*depth = (uint8_t)most;
	else if (wanted > most)
		return -EINVAL;
	else
		*depth = wanted;
	return 0;
}

/* Depths of `from`, or of the device when the caller says nothing, within the device's limits. */
static int take_depths(struct rnic_cma_id *id, const struct rdma_conn_param *from)
{
	const struct ibv_device_attr *device;
	uint8_t responder_resources, initiator_depth;
	int error;

	if (id->device == NULL)
		return -EINVAL;
	device = &id->device->attributes;
	error = take_depth(from != NULL ? from->responder_resources : RDMA_MAX_RESP_RES,
			   (uint32_t)device->max_qp_rd_atom, &responder_resources);
	if (error == 0)
		error = take_depth(from != NULL ? from->initiator_depth : RDMA_MAX_INIT_DEPTH,
				   (uint32_t)device->max_qp_init_rd_atom, &initiator_depth);
	if (error != 0)
		return error;
	id->responder_resources = responder_resources;
	id->initiator_depth = initiator_depth;
	return 0;
}

/* The facts for the wire: of the identifier's queue pair if it has one, else the caller's. */
static void make_parameters(const struct rnic_cma_id *id, const struct rdma_conn_param *from,
			    struct rnic_cm_parameters *to)
{
	const struct ibv_qp *qp = id->public.qp;

	*to = (struct rnic_cm_parameters){
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.retry_count = DEFAULT_RETRIES,
		.rnr_retry_count = DEFAULT_RETRIES,
		.ece_vendor_id = id->local_ece.vendor_id,
		.ece_options = id->local_ece.options,
	};
	if (from != NULL) {
		to->flow_control = from->flow_control;
		to->retry_count = from->retry_count;
		to->rnr_retry_count = from->rnr_retry_count;
		to->has_srq = from->srq;
		to->qpn = from->qp_num;
		to->private_data_bytes = from->private_data_len;
		if (from->private_data_len > 0)
			memcpy(to->private_data, from->private_data, from->private_data_len);
	}
	if (qp != NULL) {
		to->qpn = qp->qp_num;
		to->has_srq = qp->srq != NULL;
	}
}

/* Private data of the address information comes before the caller's (rdma_getaddrinfo(3)). */
static int prepend_connect_data(const struct rnic_cma_id *id, struct rnic_cm_parameters *parameters)
{
	size_t total = id->connect_bytes + parameters->private_data_bytes;

	if (id->connect_bytes == 0)
		return 0;
	if (total > UINT8_MAX)
		return -EINVAL;
	memmove(parameters->private_data + id->connect_bytes, parameters->private_data,
		parameters->private_data_bytes);
	memcpy(parameters->private_data, id->connect_data, id->connect_bytes);
	parameters->private_data_bytes = (uint8_t)total;
	return 0;
}

/* As the kernel does for a program: the program answers the peer that ends the connection. */
static void choose_end(const struct rnic_cma_id *id)
{
	if (!id->closes_at_once)
		rnic_native.cm_end_by_call(id->native);
}

int rdma_connect(struct rdma_cm_id *public, struct rdma_conn_param *conn_param)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	struct rnic_cm_parameters parameters;
	int error = take_depths(id, conn_param);

	if (error != 0)
		return rnic_cma_result(error);
	make_parameters(id, conn_param, &parameters);
	error = prepend_connect_data(id, &parameters);
	choose_end(id);
	if (error == 0)
		error = rnic_native.cm_connect(id->native, &parameters);
	if (error == 0)
		error = rnic_cma_complete(id);
	return rnic_cma_result(error);
}

int rdma_establish(struct rdma_cm_id *public)
{
	struct rnic_cma_id *id = rnic_cma_id(public);

	if (public->qp != NULL)
		return rnic_cma_result(-EINVAL);
	return rnic_cma_result(rnic_native.cm_establish(id->native));
}

/* When the caller leaves the depths open, answers no more than the peer asked for. */
static int take_answer_depths(struct rnic_cma_id *id, const struct rdma_conn_param *from)
{
	const uint8_t asked_resources = id->responder_resources;
	const uint8_t asked_depth = id->initiator_depth;
	int error = take_depths(id, from);

	if (error != 0)
		return error;
	if ((from == NULL || from->responder_resources == RDMA_MAX_RESP_RES) &&
	    id->responder_resources > asked_resources)
		id->responder_resources = asked_resources;
	if ((from == NULL || from->initiator_depth == RDMA_MAX_INIT_DEPTH) &&
	    id->initiator_depth > asked_depth)
		id->initiator_depth = asked_depth;
	return 0;
}

int rdma_accept(struct rdma_cm_id *public, struct rdma_conn_param *conn_param)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	const bool is_datagram = public->qp_type == IBV_QPT_UD;
	struct rnic_cm_parameters parameters;
	int error = take_answer_depths(id, conn_param);

	if (error != 0)
		return rnic_cma_result(error);
	if (!is_datagram)
		error = rnic_cma_qp_to_rts(id);
	if (error == 0) {
		make_parameters(id, conn_param, &parameters);
		choose_end(id);
		error = rnic_native.cm_accept(id->native, &parameters);
	}
	if (error != 0) {
		rnic_cma_qp_to_error(id);
		return rnic_cma_result(error);
	}
	return rnic_cma_result(is_datagram ? 0 : rnic_cma_complete(id));
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return rnic_cma_result(
		rnic_native.cm_reject(rnic_cma_id(id)->native, 0, private_data, private_data_len));
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	const uint32_t vendor_option_not_supported = 35; /* IBTA 1.4, table 108 */

	return rnic_cma_result(rnic_native.cm_reject(rnic_cma_id(id)->native,
						     vendor_option_not_supported, private_data,
						     private_data_len));
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	return rnic_cma_result(
		rnic_native.cm_notify(rnic_cma_id(id)->native, (enum rnic_async_event_type)event));
}

int rdma_disconnect(struct rdma_cm_id *public)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	int error;

	rnic_cma_qp_to_error(id);
	error = rnic_native.cm_disconnect(id->native);
	if (error == 0)
		error = rnic_cma_complete(id);
	return rnic_cma_result(error);
}

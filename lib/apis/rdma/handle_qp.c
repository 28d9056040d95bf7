/* SPDX-License-Identifier: MIT */
/* Queue pairs: making and ending them. */
#include "lib/apis/dial/dial.h"
#include "lib/apis/rdma/handle_objects.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

static int init_lock(struct rnic_handle_qp *qp)
{
	pthread_condattr_t attributes;
	int error = pthread_mutex_init(&qp->lock, NULL);

	if (error != 0)
		return -error;
	error = pthread_condattr_init(&attributes);
	if (error != 0)
		goto destroy_lock;
	error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (error == 0)
		error = pthread_cond_init(&qp->woken, &attributes);
	pthread_condattr_destroy(&attributes);
	if (error != 0)
		goto destroy_lock;
	return 0;

destroy_lock:
	pthread_mutex_destroy(&qp->lock);
	return -error;
}

/*
 * Objects end in the reverse order of their making: the queue pairs before the objects that they
 * use.
 */
static void handle_qp_end_qp(struct rnic_handle *handle)
{
	struct rnic_handle_qp *qp = (struct rnic_handle_qp *)handle;

	if (qp->sender != NULL && qp->sender != qp->native)
		rnic_destroy_qp(qp->sender);
	if (qp->native != NULL)
		rnic_destroy_qp(qp->native);
	if (qp->cm_id != NULL)
		rnic_cm_destroy_id(qp->cm_id);
	if (qp->cm_channel != NULL)
		rnic_cm_destroy_channel(qp->cm_channel);
	if (qp->recv_cq != NULL)
		rnic_destroy_cq(qp->recv_cq);
	if (qp->send_cq != NULL)
		rnic_destroy_cq(qp->send_cq);
	if (qp->channel != NULL)
		rnic_destroy_channel(qp->channel);
	rnic_posted_ring_fini(&qp->receives);
	rnic_posted_ring_fini(&qp->sends);
	rnic_handle_domain_release(qp->domain);
	pthread_cond_destroy(&qp->woken);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
}

static int handle_qp_make_queues(struct rnic_handle_qp *qp)
{
	struct rnic_context *context = qp->domain->context;
	int error = rnic_create_channel(context, &qp->channel);

	if (error != 0)
		return error;
	if (fcntl(rnic_channel_fd(qp->channel), F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	error = rnic_create_cq(context, qp->sends.depth + 1, qp->channel, 0, 0, NULL, &qp->send_cq);
	if (error == 0)
		error = rnic_create_cq(context, qp->receives.depth, qp->channel, 0, 0, NULL,
				       &qp->recv_cq);
	return error;
}

static int make_native(struct rnic_handle_qp *qp)
{
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.capacities = {.max_send_wr = qp->sends.depth + 1,
			       .max_recv_wr = qp->receives.depth,
			       .max_send_sge = 1,
			       .max_recv_sge = 1},
	};
	int error = rnic_create_qp(qp->domain->pd, &options, &qp->native);

	return error != 0 ? error : rnic_dial_prepare(qp->native);
}

static int make_parts(struct rnic_handle_qp *qp, uint32_t send_depth, uint32_t recv_depth)
{
	const struct rnic_device_attributes *device;
	int error = rnic_handle_domain_hold(&qp->domain);

	if (error != 0)
		return error;
	device = rnic_get_device_attributes(qp->domain->context);
	if (send_depth >= device->max_qp_wr || recv_depth > device->max_qp_wr)
		return -EINVAL;
	error = rnic_posted_ring_init(&qp->sends, send_depth);
	if (error == 0)
		error = rnic_posted_ring_init(&qp->receives, recv_depth);
	if (error == 0)
		error = handle_qp_make_queues(qp);
	if (error == 0)
		error = make_native(qp);
	return error;
}

static int handle_qp_create(uint32_t send_depth, uint32_t recv_depth)
{
	struct rnic_handle_qp *qp = calloc(1, sizeof(*qp));
	int result;

	if (qp == NULL)
		return -ENOMEM;
	result = init_lock(qp);
	if (result != 0) {
		free(qp);
		return result;
	}
	qp->peer_number = -1;
	result = make_parts(qp, send_depth, recv_depth);
	if (result == 0)
		result = rnic_handle_add(&qp->handle, RNIC_HANDLE_QP,
					 (int)rnic_qp_number(qp->native), handle_qp_end_qp);
	if (result < 0)
		handle_qp_end_qp(&qp->handle);
	return result;
}

int rnic_rdma_create_qp(int send_cq_size, int recv_cq_size)
{
	int cancellation, result;

	if (send_cq_size <= 0 || recv_cq_size <= 0)
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	/* A daemon that replaced the one of an older handle may draw a number once more. */
	do
		result = handle_qp_create((uint32_t)send_cq_size, (uint32_t)recv_cq_size);
	while (result == -EEXIST);
	return rnic_handle_leave(cancellation, result);
}

int rnic_rdma_destroy_qp(int qp_num)
{
	const int cancellation = rnic_handle_enter();
	struct rnic_handle_qp *qp =
		(struct rnic_handle_qp *)rnic_handle_remove(RNIC_HANDLE_QP, qp_num);

	if (qp == NULL)
		return rnic_handle_leave(cancellation, -EBADF);
	pthread_mutex_lock(&qp->lock);
	qp->is_destroyed = true;
	rnic_handle_fail(qp);
	pthread_cond_broadcast(&qp->woken);
	pthread_mutex_unlock(&qp->lock);
	rnic_handle_release(&qp->handle);
	return rnic_handle_leave(cancellation, 0);
}

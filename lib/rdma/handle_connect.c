/* SPDX-License-Identifier: MIT */
/* Connections across hosts, by host name and port. */
#include "dial/dial.h"
#include "rdma/handle_objects.h"

#include <stdlib.h>

#define PORT_MAX 65535

/* How soon a wait notices that its handle is gone. */
#define NOTICE_NS UINT64_C(500000000)

/* --- what connecting does to a queue pair ---------------------------------------------------- */

/* From now on it is this thread's to connect. */
static int begin(struct rnic_handle_qp *qp)
{
	int error = 0;

	pthread_mutex_lock(&qp->lock);
	if (qp->link == RNIC_HANDLE_UNCONNECTED)
		qp->link = RNIC_HANDLE_CONNECTING;
	else
		error = -EISCONN;
	pthread_mutex_unlock(&qp->lock);
	return error;
}

static bool can_be_tried_again(const struct rnic_handle_qp *qp)
{
	struct rnic_qp_attributes attributes;

	return rnic_query_qp(qp->native, &attributes, NULL) == 0 &&
	       attributes.state == RNIC_QP_STATE_INIT;
}

/* What both sides need before they turn to each other. An error leaves *channel for finish(). */
static int prepare(const struct rnic_handle_qp *qp, struct rnic_cm_channel **channel,
		   struct rnic_cm_parameters *parameters)
{
	int error = rnic_dial_create_channel(qp->session->context, channel);

	return error != 0 ? error : rnic_dial_parameters(qp->native, NULL, 0, parameters);
}

/* Takes over `channel` and, unless there is an error, `id`. */
static int finish(struct rnic_handle_qp *qp, struct rnic_cm_channel *channel, struct rnic_cm_id *id,
		  int error)
{
	pthread_mutex_lock(&qp->lock);
	if (error == 0 && qp->link != RNIC_HANDLE_CONNECTING)
		error = -EBADF; /* destroyed meanwhile: end_qp() goes on from here */
	if (id != NULL) {
		qp->cm_channel = channel;
		qp->cm_id = id;
	} else if (channel != NULL) {
		rnic_cm_destroy_channel(channel);
	}
	if (error == 0) {
		qp->sender = qp->native;
		qp->is_peer_heard = true;
		qp->link = RNIC_HANDLE_PEER;
	} else if (qp->link == RNIC_HANDLE_CONNECTING && id == NULL && can_be_tried_again(qp)) {
		qp->link = RNIC_HANDLE_UNCONNECTED;
	} else {
		rnic_handle_fail(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	return error;
}

/* --- initiator ------------------------------------------------------------------------------- */

static int connect_to(struct rnic_handle_qp *qp, const char *host, uint16_t port, int timeout_ms)
{
	struct rnic_cm_parameters parameters, answer;
	struct rnic_cm_channel *channel = NULL;
	struct rnic_cm_id *id = NULL;
	int error = begin(qp);

	if (error != 0)
		return error;
	error = prepare(qp, &channel, &parameters);
	if (error == 0)
		error = rnic_dial_connect(channel, qp->native, host, port, &parameters,
					  rnic_dial_deadline_ns(timeout_ms), &id, &answer);
	return finish(qp, channel, id, error);
}

int rnic_rdma_connect_host(int qp_num, const char *host, int port, int timeout_ms)
{
	struct rnic_handle_qp *qp;
	int error;

	if (host == NULL || port <= 0 || port > PORT_MAX)
		return rnic_handle_result(-EINVAL);
	qp = rnic_handle_hold_qp(qp_num);
	if (qp == NULL)
		return rnic_handle_result(-EBADF);
	error = connect_to(qp, host, (uint16_t)port, timeout_ms);
	rnic_handle_release(&qp->handle);
	return rnic_handle_result(error);
}

/* --- listeners ------------------------------------------------------------------------------- */

static void end_listener(struct rnic_handle *handle)
{
	struct rnic_handle_listener *listener = (struct rnic_handle_listener *)handle;

	if (listener->id != NULL)
		rnic_cm_destroy_id(listener->id);
	if (listener->channel != NULL)
		rnic_cm_destroy_channel(listener->channel);
	rnic_handle_session_release(listener->session);
	free(listener);
}

static int listen_at(const char *host, uint16_t port)
{
	struct rnic_handle_listener *listener = calloc(1, sizeof(*listener));
	int error;

	if (listener == NULL)
		return -ENOMEM;
	error = rnic_handle_session_hold(&listener->session);
	if (error == 0)
		error = rnic_dial_create_channel(listener->session->context, &listener->channel);
	if (error == 0)
		error = rnic_dial_listen(listener->channel, host, port, 0, &listener->id,
					 &listener->port);
	if (error != 0) {
		end_listener(&listener->handle);
		return error;
	}
	return rnic_handle_add(&listener->handle, RNIC_HANDLE_LISTENER, -1, end_listener);
}

int rnic_rdma_listen_host(const char *host, int port)
{
	if (port < 0 || port > PORT_MAX)
		return rnic_handle_result(-EINVAL);
	return rnic_handle_result(listen_at(host, (uint16_t)port));
}

static struct rnic_handle_listener *hold_listener(int number)
{
	return (struct rnic_handle_listener *)rnic_handle_hold(RNIC_HANDLE_LISTENER, number);
}

int rnic_rdma_listener_port(int number)
{
	struct rnic_handle_listener *listener = hold_listener(number);
	int port;

	if (listener == NULL)
		return rnic_handle_result(-EBADF);
	port = listener->port;
	rnic_handle_release(&listener->handle);
	return port;
}

int rnic_rdma_close_listener(int number)
{
	struct rnic_handle *handle = rnic_handle_remove(RNIC_HANDLE_LISTENER, number);

	if (handle == NULL)
		return rnic_handle_result(-EBADF);
	atomic_store(&((struct rnic_handle_listener *)handle)->is_closed, true);
	rnic_handle_release(handle);
	return 0;
}

/* --- responder ------------------------------------------------------------------------------- */

static int await_request(struct rnic_handle_listener *listener, uint64_t deadline_ns,
			 struct rnic_cm_id **id, struct rnic_cm_parameters *request)
{
	int error;

	do {
		const uint64_t notice_ns = rnic_dial_now_ns() + NOTICE_NS;

		error = rnic_dial_next_request(listener->channel,
					       notice_ns < deadline_ns ? notice_ns : deadline_ns,
					       id, request);
		if (error == -ETIMEDOUT && atomic_load(&listener->is_closed))
			return -EBADF;
	} while (error == -ETIMEDOUT && rnic_dial_now_ns() < deadline_ns);
	return error;
}

static int accept_with(struct rnic_handle_listener *listener, struct rnic_handle_qp *qp,
		       int timeout_ms)
{
	const uint64_t deadline_ns = rnic_dial_deadline_ns(timeout_ms);
	struct rnic_cm_parameters parameters, request;
	struct rnic_cm_channel *channel = NULL;
	struct rnic_cm_id *id = NULL;
	int error = begin(qp);

	if (error != 0)
		return error;
	error = prepare(qp, &channel, &parameters);
	if (error == 0)
		error = await_request(listener, deadline_ns, &id, &request);
	if (error == 0)
		error = rnic_cm_migrate(id, channel);
	if (error == 0)
		error = rnic_dial_accept(id, channel, qp->native, &parameters, &request,
					 deadline_ns);
	return finish(qp, channel, id, error);
}

int rnic_rdma_accept_qp(int number, int qp_num, int timeout_ms)
{
	struct rnic_handle_listener *listener = hold_listener(number);
	struct rnic_handle_qp *qp = rnic_handle_hold_qp(qp_num);
	int error = -EBADF;

	if (listener != NULL && qp != NULL)
		error = listener->session == qp->session ? accept_with(listener, qp, timeout_ms)
							 : -ENODEV;
	if (qp != NULL)
		rnic_handle_release(&qp->handle);
	if (listener != NULL)
		rnic_handle_release(&listener->handle);
	return rnic_handle_result(error);
}

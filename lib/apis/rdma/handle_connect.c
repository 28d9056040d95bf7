/* SPDX-License-Identifier: MIT */
/* Connections across hosts, by host name and port. */
#include "lib/apis/dial/dial.h"
#include "lib/apis/rdma/handle_objects.h"

#include <stdlib.h>

#define PORT_MAX 65535

/* The time within which a wait notices that its handle is gone. */
#define NOTICE_NS UINT64_C(500000000)

/* --- what connecting does to a queue pair ---------------------------------------------------- */

struct attempt {
	struct rnic_handle_qp *qp;
	struct rnic_handle_listener *listener; /* NULL: not an accept */
	struct rnic_cm_channel *channel;       /* NULL: not made yet; so the next member */
	struct rnic_cm_id *id;
};

/* Reserves the queue pair for this thread, which connects it. */
static int handle_connect_begin(struct rnic_handle_qp *qp)
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

/*
 * Makes the objects that both sides need first. An error leaves *channel for
 * handle_connect_finish().
 */
static int handle_connect_prepare(const struct rnic_handle_qp *qp, struct rnic_cm_channel **channel,
				  struct rnic_cm_parameters *parameters)
{
	int error = rnic_dial_create_channel(qp->domain->context, channel);

	return error != 0 ? error : rnic_dial_parameters(qp->native, NULL, 0, parameters);
}

/* Gives channel and identifier to the queue pair, unless they have become useless. */
static int handle_connect_finish(const struct attempt *attempt, int error)
{
	struct rnic_handle_qp *qp = attempt->qp;

	pthread_mutex_lock(&qp->lock);
	if (error == 0 && qp->link != RNIC_HANDLE_CONNECTING)
		error = -EBADF; /* destroyed meanwhile: end_qp() goes on from here */
	if (attempt->id != NULL) {
		qp->cm_channel = attempt->channel;
		qp->cm_id = attempt->id;
	} else if (attempt->channel != NULL) {
		rnic_cm_destroy_channel(attempt->channel);
	}
	if (error == 0) {
		qp->sender = qp->native;
		qp->is_peer_heard = true;
		qp->link = RNIC_HANDLE_PEER;
	} else if (qp->link == RNIC_HANDLE_CONNECTING && attempt->id == NULL &&
		   can_be_tried_again(qp)) {
		qp->link = RNIC_HANDLE_UNCONNECTED;
	} else {
		rnic_handle_fail(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	return error;
}

static void handle_connect_release(const struct attempt *attempt)
{
	if (attempt->qp != NULL)
		rnic_handle_release(&attempt->qp->handle);
	if (attempt->listener != NULL)
		rnic_handle_release(&attempt->listener->handle);
}

/* Ends the attempt of a cancelled thread. */
static void abandon(void *attempt)
{
	handle_connect_finish(attempt, -ECANCELED);
	handle_connect_release(attempt);
}

static struct rnic_dial_attempt handle_connect_terms(const struct attempt *attempt,
						     const struct rnic_cm_parameters *parameters,
						     uint64_t deadline_ns)
{
	return (struct rnic_dial_attempt){
		.channel = attempt->channel,
		.qp = attempt->qp->native,
		.parameters = parameters,
		.deadline_ns = deadline_ns,
	};
}

/* --- initiator ------------------------------------------------------------------------------- */

static int handle_connect_dial(struct attempt *attempt, const char *host, uint16_t port,
			       int timeout_ms, int cancellation)
{
	struct rnic_cm_parameters parameters, answer;
	struct rnic_dial_attempt dial;
	int error = handle_connect_prepare(attempt->qp, &attempt->channel, &parameters);

	if (error != 0)
		return error;
	dial = handle_connect_terms(attempt, &parameters, rnic_dial_deadline_ns(timeout_ms));
	pthread_cleanup_push(abandon, attempt);
	pthread_setcancelstate(cancellation, NULL);
	error = rnic_dial_connect(&dial, host, port, &attempt->id, &answer);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(false);
	return error;
}

static int handle_connect_to(struct attempt *attempt, const char *host, uint16_t port,
			     int timeout_ms, int cancellation)
{
	int error = attempt->qp != NULL ? handle_connect_begin(attempt->qp) : -EBADF;

	if (error == 0)
		error = handle_connect_finish(
			attempt,
			handle_connect_dial(attempt, host, port, timeout_ms, cancellation));
	handle_connect_release(attempt);
	return error;
}

int rnic_rdma_connect_host(int qp_num, const char *host, int port, int timeout_ms)
{
	struct attempt attempt = {.qp = NULL};
	int cancellation;

	if (host == NULL || port <= 0 || port > PORT_MAX)
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	attempt.qp = rnic_handle_hold_qp(qp_num);
	return rnic_handle_leave(cancellation, handle_connect_to(&attempt, host, (uint16_t)port,
								 timeout_ms, cancellation));
}

/* --- listeners ------------------------------------------------------------------------------- */

static void end_listener(struct rnic_handle *handle)
{
	struct rnic_handle_listener *listener = (struct rnic_handle_listener *)handle;

	if (listener->id != NULL)
		rnic_cm_destroy_id(listener->id);
	if (listener->channel != NULL)
		rnic_cm_destroy_channel(listener->channel);
	rnic_handle_domain_release(listener->domain);
	free(listener);
}

static int handle_connect_listen_at(const char *host, uint16_t port)
{
	struct rnic_handle_listener *listener = calloc(1, sizeof(*listener));
	int error;

	if (listener == NULL)
		return -ENOMEM;
	error = rnic_handle_domain_hold(&listener->domain);
	if (error == 0)
		error = rnic_dial_create_channel(listener->domain->context, &listener->channel);
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
	int cancellation;

	if (port < 0 || port > PORT_MAX)
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	return rnic_handle_leave(cancellation, handle_connect_listen_at(host, (uint16_t)port));
}

static struct rnic_handle_listener *hold_listener(int number)
{
	return (struct rnic_handle_listener *)rnic_handle_hold(RNIC_HANDLE_LISTENER, number);
}

int rnic_rdma_listener_port(int number)
{
	const int cancellation = rnic_handle_enter();
	struct rnic_handle_listener *listener = hold_listener(number);
	int port;

	if (listener == NULL)
		return rnic_handle_leave(cancellation, -EBADF);
	port = listener->port;
	rnic_handle_release(&listener->handle);
	return rnic_handle_leave(cancellation, port);
}

int rnic_rdma_close_listener(int number)
{
	const int cancellation = rnic_handle_enter();
	struct rnic_handle *handle = rnic_handle_remove(RNIC_HANDLE_LISTENER, number);

	if (handle == NULL)
		return rnic_handle_leave(cancellation, -EBADF);
	atomic_store(&((struct rnic_handle_listener *)handle)->is_closed, true);
	rnic_handle_release(handle);
	return rnic_handle_leave(cancellation, 0);
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

static int handle_connect_answer(struct attempt *attempt, int timeout_ms, int cancellation)
{
	const uint64_t deadline_ns = rnic_dial_deadline_ns(timeout_ms);
	struct rnic_cm_parameters parameters, request;
	struct rnic_dial_attempt dial;
	int error = handle_connect_prepare(attempt->qp, &attempt->channel, &parameters);

	if (error != 0)
		return error;
	dial = handle_connect_terms(attempt, &parameters, deadline_ns);
	pthread_cleanup_push(abandon, attempt);
	pthread_setcancelstate(cancellation, NULL);
	error = await_request(attempt->listener, deadline_ns, &attempt->id, &request);
	if (error == 0)
		error = rnic_cm_migrate(attempt->id, attempt->channel);
	if (error == 0)
		error = rnic_dial_accept(&dial, attempt->id, &request);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(false);
	return error;
}

static int accept_with(struct attempt *attempt, int timeout_ms, int cancellation)
{
	int error = -EBADF;

	if (attempt->listener != NULL && attempt->qp != NULL)
		error = attempt->listener->domain == attempt->qp->domain
				? handle_connect_begin(attempt->qp)
				: -ENODEV;
	if (error == 0)
		error = handle_connect_finish(
			attempt, handle_connect_answer(attempt, timeout_ms, cancellation));
	handle_connect_release(attempt);
	return error;
}

int rnic_rdma_accept_qp(int number, int qp_num, int timeout_ms)
{
	const int cancellation = rnic_handle_enter();
	struct attempt attempt = {
		.qp = rnic_handle_hold_qp(qp_num),
		.listener = hold_listener(number),
	};

	return rnic_handle_leave(cancellation, accept_with(&attempt, timeout_ms, cancellation));
}

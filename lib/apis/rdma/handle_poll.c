/* SPDX-License-Identifier: MIT */
/*
 * Polling and waiting. One thread at a time sleeps for a queue pair, on the descriptors of its
 * completion queues and of its connection; other waiting threads sleep until that one wakes. A
 * thread that finds no completion checks now and then that the peer is still there.
 */
#include "lib/apis/dial/dial.h"
#include "lib/apis/rdma/handle_objects.h"

#include <poll.h>
#include <time.h>

#define COMPLETIONS_AT_ONCE 16
#define LOOK_INTERVAL_NS    UINT64_C(10000000)
#define PROBE_INTERVAL_NS   UINT64_C(1000000000)

/* The longest sleep: after it probes are due, and a waiting thread sees that its handle is gone. */
#define SLEEP_NS UINT64_C(500000000)

/* --- completions ----------------------------------------------------------------------------- */

static int status_of(uint8_t status)
{
	switch (status) {
	case RNIC_WC_SUCCESS:
		return RDMA_WC_SUCCESS;
	case RNIC_WC_LOC_PROT_ERR:
	case RNIC_WC_LOC_ACCESS_ERR:
		return RDMA_WC_LOC_PROT_ERR;
	case RNIC_WC_REM_ACCESS_ERR:
		return RDMA_WC_REM_ACCESS_ERR;
	default:
		return RDMA_WC_GENERAL_ERR;
	}
}

/*
 * A failed message between a queue pair and itself fails both its receive and its send. The send
 * reports the cause, so the receive must not flush the send first.
 */
static bool is_told_by_a_send(const struct rnic_handle_qp *qp, const struct rnic_posted *failed)
{
	return failed->opcode == RDMA_WC_RECV && qp->link == RNIC_HANDLE_OWN_PEER;
}

/*
 * Writes a completion to `wc` and returns 1; returns 0 for a probe, which the caller did not post.
 */
static int handle_poll_take(struct rnic_handle_qp *qp, struct rnic_posted_ring *ring,
			    const struct rnic_completion *completion, struct rdma_wc *wc)
{
	const bool is_well = completion->status == RNIC_WC_SUCCESS;
	struct rnic_posted posted;

	if (!rnic_posted_ring_try_pop(ring, completion->wr_id, &posted))
		return -EIO;
	if (is_well)
		qp->is_peer_heard = true;
	else if (!is_told_by_a_send(qp, &posted))
		rnic_handle_fail(qp);
	if (posted.wr_id == RNIC_PROBE_WR_ID)
		return 0;
	*wc = (struct rdma_wc){
		.wr_id = posted.wr_id,
		.status = status_of(completion->status),
		.opcode = posted.opcode,
	};
	if (is_well)
		wc->byte_len =
			posted.opcode == RDMA_WC_RECV ? completion->byte_count : posted.length;
	return 1;
}

/* Takes at most `room` completions of one queue; returns their number. */
static int collect_from(struct rnic_handle_qp *qp, bool is_receiving, struct rdma_wc *wc, int room)
{
	struct rnic_posted_ring *ring = is_receiving ? &qp->receives : &qp->sends;
	struct rnic_cq *cq = is_receiving ? qp->recv_cq : qp->send_cq;
	struct rnic_completion completions[COMPLETIONS_AT_ONCE];
	int taken = 0;
	int count, wanted;

	do {
		wanted = room - taken < COMPLETIONS_AT_ONCE ? room - taken : COMPLETIONS_AT_ONCE;
		count = wanted > 0 ? rnic_poll_cq(cq, (uint32_t)wanted, completions) : 0;
		for (int i = 0; i < count; i++) {
			const int result = handle_poll_take(qp, ring, &completions[i], &wc[taken]);

			if (result < 0)
				return result;
			taken += result;
		}
	} while (count > 0);
	return count < 0 && taken == 0 ? count : taken;
}

/* The queues take turns at being first, so that a caller with little room starves neither. */
static int handle_poll_collect(struct rnic_handle_qp *qp, struct rdma_wc *wc, int room)
{
	const bool is_receives_turn = qp->is_receives_turn;
	int first, second;

	qp->is_receives_turn = !is_receives_turn;
	first = collect_from(qp, is_receives_turn, wc, room);
	if (first < 0)
		return first;
	second = collect_from(qp, !is_receives_turn, wc + first, room - first);
	if (second < 0)
		return first > 0 ? first : second;
	return first + second;
}

/* --- the peer -------------------------------------------------------------------------------- */

static bool ends_connection(const struct rnic_cm_event *event)
{
	switch (event->type) {
	case RNIC_CM_UNREACHABLE:
	case RNIC_CM_REJECTED:
	case RNIC_CM_CONNECT_ERROR:
	case RNIC_CM_DEVICE_REMOVAL:
		return true;
	default:
		return false;
	}
}

/* The answers to what was sent may still come. */
static void peer_has_left(struct rnic_handle_qp *qp, uint64_t now_ns)
{
	if (rnic_posted_ring_is_empty(&qp->sends))
		rnic_handle_fail(qp);
	else
		qp->left_ns = now_ns;
}

static int handle_poll_take_connection_events(struct rnic_handle_qp *qp, uint64_t now_ns)
{
	struct rnic_cm_event event;
	int error;

	do {
		error = rnic_cm_get_event(qp->cm_channel, &event);
		if (error == 0) {
			if (event.type == RNIC_CM_DISCONNECTED)
				peer_has_left(qp, now_ns);
			else if (ends_connection(&event))
				rnic_handle_fail(qp);
			rnic_cm_ack_event(&event);
		}
	} while (error == 0);
	return error == -EAGAIN ? 0 : error;
}

/* Handles events and probes the peer when no completion has come. */
static int look_after(struct rnic_handle_qp *qp)
{
	const uint64_t now_ns = rnic_dial_now_ns();
	int error = 0;

	if (qp->link == RNIC_HANDLE_FAILED && rnic_posted_ring_is_empty(&qp->sends) &&
	    rnic_posted_ring_is_empty(&qp->receives))
		return -ENOTCONN;
	if (qp->link == RNIC_HANDLE_PEER && qp->left_ns != 0 &&
	    (rnic_posted_ring_is_empty(&qp->sends) || now_ns - qp->left_ns >= RNIC_DIAL_LINGER_NS))
		rnic_handle_fail(qp);
	if (qp->link != RNIC_HANDLE_PEER || now_ns - qp->looked_ns < LOOK_INTERVAL_NS)
		return 0;
	qp->looked_ns = now_ns;
	if (qp->cm_channel != NULL)
		error = handle_poll_take_connection_events(qp, now_ns);
	if (error == 0 && qp->is_peer_heard && rnic_posted_ring_is_empty(&qp->sends) &&
	    now_ns - qp->probed_ns >= PROBE_INTERVAL_NS) {
		qp->probed_ns = now_ns;
		error = rnic_handle_probe(qp);
	}
	return error;
}

/* --- sleeping -------------------------------------------------------------------------------- */

static int handle_poll_take_completion_events(struct rnic_handle_qp *qp)
{
	struct rnic_cq *cq;
	int error;

	do {
		error = rnic_get_cq_event(qp->channel, &cq);
		if (error == 0)
			rnic_ack_cq_events(cq, 1);
	} while (error == 0);
	return error == -EAGAIN ? 0 : error;
}

/* A thread that is cancelled here has the lock again. */
static void sleep_behind_another(struct rnic_handle_qp *qp, uint64_t until_ns, int cancellation)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000),
	};

	pthread_setcancelstate(cancellation, NULL);
	pthread_cond_timedwait(&qp->woken, &qp->lock, &until);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static void handle_poll_end_sleep(void *argument)
{
	struct rnic_handle_qp *qp = argument;

	pthread_mutex_lock(&qp->lock);
	qp->is_someone_asleep = false;
	pthread_cond_broadcast(&qp->woken);
}

static int handle_poll_sleep_for_events(struct rnic_handle_qp *qp, uint64_t until_ns,
					int cancellation)
{
	struct pollfd descriptors[] = {
		{.fd = rnic_channel_fd(qp->channel), .events = POLLIN},
		{.fd = qp->cm_channel != NULL ? rnic_cm_channel_fd(qp->cm_channel) : -1,
		 .events = POLLIN},
	};
	int count, error;

	qp->is_someone_asleep = true;
	pthread_mutex_unlock(&qp->lock);
	pthread_cleanup_push(handle_poll_end_sleep, qp);
	pthread_setcancelstate(cancellation, NULL);
	count = rnic_wait(qp->domain->context, descriptors, 2, rnic_dial_poll_timeout_ms(until_ns));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(true);
	error = count < 0 ? count : 0;
	if (count > 0 && descriptors[0].revents != 0)
		error = handle_poll_take_completion_events(qp);
	if (count > 0 && descriptors[1].revents != 0)
		qp->looked_ns = 0;
	return error;
}

/* Sleeps until something may have changed. -EINTR, -EBADF. */
static int sleep_once(struct rnic_handle_qp *qp, uint64_t deadline_ns, int cancellation)
{
	const uint64_t longest_ns =
		rnic_dial_now_ns() + (qp->left_ns != 0 ? RNIC_DIAL_LINGER_NS : SLEEP_NS);
	const uint64_t until_ns = deadline_ns < longest_ns ? deadline_ns : longest_ns;
	int error = 0;

	if (qp->is_someone_asleep)
		sleep_behind_another(qp, until_ns, cancellation);
	else
		error = handle_poll_sleep_for_events(qp, until_ns, cancellation);
	return qp->is_destroyed ? -EBADF : error;
}

/* --- the interface --------------------------------------------------------------------------- */

/* A program that looks at `wc` and not at the result must not take old bytes for a success. */
static void deny_success(struct rdma_wc *wc)
{
	*wc = (struct rdma_wc){.wr_id = -1, .status = RDMA_WC_GENERAL_ERR};
}

static int poll_once(struct rnic_handle_qp *qp, struct rdma_wc *wc, int max_entries)
{
	int result = qp->is_destroyed ? -EBADF : handle_poll_collect(qp, wc, max_entries);

	return result == 0 ? look_after(qp) : result;
}

static int wait_for(struct rnic_handle_qp *qp, struct rdma_wc *wc, int max_entries,
		    uint64_t deadline_ns, int cancellation)
{
	int result = poll_once(qp, wc, max_entries);

	while (result == 0) {
		result = rnic_req_notify_cq(qp->send_cq, false);
		if (result == 0)
			result = rnic_req_notify_cq(qp->recv_cq, false);
		/*
		 * Completions before the request for an event raise no event (IBTA 1.4, 11.4.2.2).
		 */
		if (result == 0)
			result = handle_poll_collect(qp, wc, max_entries);
		if (result == 0 && rnic_dial_now_ns() >= deadline_ns)
			return 0;
		if (result == 0)
			result = sleep_once(qp, deadline_ns, cancellation);
		if (result == 0)
			result = poll_once(qp, wc, max_entries);
	}
	return result;
}

static bool is_room(const struct rdma_wc *wc, int max_entries)
{
	return wc != NULL && max_entries > 0;
}

/*
 * Enters the queue pair, which the caller leaves by handle_poll_leave(); NULL: none of that number.
 */
static struct rnic_handle_qp *handle_poll_enter(int qp_num)
{
	struct rnic_handle_qp *qp = rnic_handle_hold_qp(qp_num);

	if (qp != NULL)
		pthread_mutex_lock(&qp->lock);
	return qp;
}

static void handle_poll_leave(void *argument)
{
	struct rnic_handle_qp *qp = argument;

	pthread_mutex_unlock(&qp->lock);
	rnic_handle_release(&qp->handle);
}

int rnic_rdma_poll_cq(int qp_num, struct rdma_wc *wc, int max_entries)
{
	struct rnic_handle_qp *qp;
	int cancellation;
	int result = -EBADF;

	if (!is_room(wc, max_entries))
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	qp = handle_poll_enter(qp_num);
	if (qp != NULL) {
		result = poll_once(qp, wc, max_entries);
		handle_poll_leave(qp);
	}
	if (result < 0)
		deny_success(wc);
	return rnic_handle_leave(cancellation, result);
}

int rnic_rdma_wait_cq(int qp_num, struct rdma_wc *wc, int max_entries, int timeout_ms)
{
	const uint64_t deadline_ns = rnic_dial_deadline_ns(timeout_ms);
	struct rnic_handle_qp *qp;
	int cancellation;
	int result = -EBADF;

	if (!is_room(wc, max_entries))
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	qp = handle_poll_enter(qp_num);
	if (qp != NULL) {
		pthread_cleanup_push(handle_poll_leave, qp);
		result = wait_for(qp, wc, max_entries, deadline_ns, cancellation);
		pthread_cleanup_pop(true);
	}
	if (result <= 0)
		deny_success(wc);
	return rnic_handle_leave(cancellation, result);
}

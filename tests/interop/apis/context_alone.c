/* SPDX-License-Identifier: MIT */
/*
 * The context API where both ends are in one process, so that each step of one can be set against
 * each of the other: refusals, contexts used again, timeouts, signals, buffers, ends.
 *
 *	context_alone ADDRESS
 *
 * Prints what failed and exits with 1, or exits with 0.
 */
#include "tests/interop/apis/context_check.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define BYTES	4096
#define SOON_MS 50

static const char *address;

/* --- two ends -------------------------------------------------------------------------------- */

/* `caller` connects in a thread of its own while the process goes on as the responder. */
struct ends {
	struct iw_ctx_conn *listener;
	struct iw_ctx_conn *caller;
	struct iw_ctx_conn *responder;
	pthread_t thread;
	const char *words; /* the caller's private data */
	int connect_error;
};

static void *connect_caller(void *argument)
{
	struct ends *ends = argument;
	const size_t length = ends->words != NULL ? strlen(ends->words) + 1 : 0;

	ends->connect_error = iw_connect(ends->words, length, ends->caller);
	return NULL;
}

static void open_ends(struct ends *ends)
{
	*ends = (struct ends){0};
	REQUIRE(iw_open(address, 0, 4, &ends->listener));
	iw_ctx_set_timeout(ends->listener, WAIT_MS);
	REQUIRE(iw_ctx_alloc(address, iw_ctx_port(ends->listener), NULL, NULL, &ends->caller));
	iw_ctx_set_timeout(ends->caller, WAIT_MS);
}

static void close_ends(struct ends *ends)
{
	iw_ctx_free(ends->caller);
	iw_ctx_free(ends->responder);
	iw_ctx_free(ends->listener);
}

static void begin_call(struct ends *ends)
{
	REQUIRE_TRUE(pthread_create(&ends->thread, NULL, connect_caller, ends) == 0);
	REQUIRE(iw_listen(ends->listener, &ends->responder));
}

static int end_call(struct ends *ends)
{
	pthread_join(ends->thread, NULL);
	return ends->connect_error;
}

static void connect_ends(struct ends *ends)
{
	begin_call(ends);
	REQUIRE(iw_accept(NULL, 0, ends->responder));
	REQUIRE(end_call(ends));
}

static struct iw_lmr *region_of(struct iw_ctx_conn *ctx)
{
	struct iw_lmr *lmr;

	REQUIRE(iw_lmr_create(BYTES, IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE, &lmr, ctx));
	return lmr;
}

/* --- connections ----------------------------------------------------------------------------- */

static void test_refuses_and_accepts(void)
{
	static const char most[IW_ACCEPT_PRIVATE_DATA_MAX + 1] = "all there is room for";
	struct ends ends;
	size_t length;

	open_ends(&ends);
	ends.words = "let me in";
	EXPECT(-EINVAL, iw_connect(most, IW_CONNECT_PRIVATE_DATA_MAX + 1, ends.caller));
	begin_call(&ends);
	REQUIRE_TRUE(strcmp(iw_peer_data(ends.responder, &length), ends.words) == 0);
	REQUIRE(iw_reject(ends.responder));
	EXPECT(-ECONNREFUSED, end_call(&ends));
	EXPECT(-ENOTCONN, iw_reject(ends.responder));
	EXPECT(-ENOTCONN, iw_accept(NULL, 0, ends.responder));

	/* Both are as new: the same two contexts, and then the same once more. */
	for (int i = 0; i < 2; i++) {
		begin_call(&ends);
		EXPECT(-EISCONN, iw_listen(ends.listener, &ends.responder));
		EXPECT(-EINVAL, iw_accept(most, sizeof(most), ends.responder));
		REQUIRE(iw_accept(most, sizeof(most) - 1, ends.responder));
		REQUIRE(end_call(&ends));
		REQUIRE_TRUE(strcmp(iw_peer_data(ends.caller, &length), most) == 0);
		REQUIRE_TRUE(length >= sizeof(most) - 1);
		REQUIRE(iw_disconnect(ends.caller));
		REQUIRE(iw_await_disconnect(ends.responder));
		EXPECT(-ENOTCONN, iw_await_disconnect(ends.responder));
	}
	close_ends(&ends);
}

/* A context that listened can connect, and one that connected can listen. */
static void test_contexts_change_their_roles(void)
{
	struct ends ends;

	open_ends(&ends);
	connect_ends(&ends);
	EXPECT(-EISCONN, iw_open(address, 0, 1, &ends.caller));
	EXPECT(-ENOTCONN, iw_listen(ends.caller, &ends.responder));
	REQUIRE(iw_disconnect(ends.responder));
	REQUIRE(iw_await_disconnect(ends.caller));
	REQUIRE(iw_disconnect(ends.listener));
	REQUIRE_TRUE(iw_ctx_port(ends.listener) == 0);
	EXPECT(-ECONNREFUSED, iw_connect(NULL, 0, ends.caller));
	EXPECT(-EDESTADDRREQ, iw_connect(NULL, 0, ends.responder));
	REQUIRE(iw_open(NULL, 0, 1, &ends.caller));
	REQUIRE_TRUE(iw_ctx_port(ends.caller) != 0);
	close_ends(&ends);
}

/* The initiator has given up while the responder thought it over. */
static void test_accepts_too_late(void)
{
	struct ends ends;
	int error;

	open_ends(&ends);
	iw_ctx_set_timeout(ends.caller, SOON_MS);
	begin_call(&ends);
	EXPECT(-ETIMEDOUT, end_call(&ends));
	iw_ctx_set_timeout(ends.responder, SOON_MS);
	error = iw_accept(NULL, 0, ends.responder);
	REQUIRE_TRUE(error == -ECONNABORTED || error == -ENOTCONN || error == -ETIMEDOUT);
	iw_ctx_set_timeout(ends.caller, WAIT_MS);
	iw_ctx_set_timeout(ends.responder, WAIT_MS);
	connect_ends(&ends);
	REQUIRE(iw_disconnect(ends.caller));
	REQUIRE(iw_await_disconnect(ends.responder));
	close_ends(&ends);
}

/* --- waits ----------------------------------------------------------------------------------- */

static void test_waits_end_in_time_and_lose_nothing(void)
{
	struct iw_lmr *here, *there;
	struct ends ends;
	struct iw_rmr rmr;
	struct iw_wc wc;

	open_ends(&ends);
	iw_ctx_set_timeout(ends.listener, SOON_MS);
	EXPECT(-ETIMEDOUT, iw_listen(ends.listener, &ends.responder));
	iw_ctx_set_timeout(ends.listener, WAIT_MS);
	connect_ends(&ends);
	here = region_of(ends.caller);
	there = region_of(ends.responder);

	iw_ctx_set_timeout(ends.caller, SOON_MS);
	EXPECT(-ETIMEDOUT, iw_await_disconnect(ends.caller));
	REQUIRE(post_recv_lmr(here, 0, BYTES, ends.caller));
	REQUIRE(iw_post_recv_adv(ends.caller));
	EXPECT(-ETIMEDOUT, await_completions(IW_RCQ, 1, &wc, ends.caller));
	EXPECT(-ETIMEDOUT, iw_wait_recv_adv(&rmr, ends.caller));
	iw_ctx_set_timeout(ends.caller, WAIT_MS);
	REQUIRE(post_send_lmr(there, 0, 5, 0, ends.responder));
	REQUIRE(iw_post_send_adv(there, ends.responder));
	REQUIRE(iw_wait_recv_adv(&rmr, ends.caller));
	REQUIRE_TRUE(rmr.length == BYTES && rmr.address == (uintptr_t)there->address);
	REQUIRE(await_completions(IW_RCQ, 1, &wc, ends.caller));
	REQUIRE_TRUE(wc.wr_id == 0 && wc.byte_len == 5);

	REQUIRE(iw_disconnect(ends.responder));
	REQUIRE(iw_await_disconnect(ends.caller));
	REQUIRE(iw_lmr_destroy(here, true));
	REQUIRE(iw_lmr_destroy(there, true));
	close_ends(&ends);
}

static void take_notice(int number)
{
	(void)number;
}

static void test_signals_interrupt_waits(void)
{
	const struct sigaction action = {.sa_handler = take_notice};
	const struct itimerval again = {{0, SOON_MS * 1000}, {0, SOON_MS * 1000}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct iw_lmr *here;
	struct ends ends;
	struct iw_wc wc;

	open_ends(&ends);
	connect_ends(&ends);
	here = region_of(ends.caller);
	REQUIRE(post_recv_lmr(here, 0, BYTES, ends.caller));
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &again, NULL);
	EXPECT(-EINTR, await_completions(IW_RCQ, 1, &wc, ends.caller));
	EXPECT(-EINTR, iw_await_disconnect(ends.caller));
	EXPECT(-EINTR, iw_listen(ends.listener, &(struct iw_ctx_conn *){NULL}));
	setitimer(ITIMER_REAL, &never, NULL);
	REQUIRE(iw_disconnect(ends.caller));
	REQUIRE(iw_await_disconnect(ends.responder));
	REQUIRE(iw_lmr_destroy(here, true));
	close_ends(&ends);
}

/* --- messages and buffers -------------------------------------------------------------------- */

/* Advertisements and messages share the receives, so that each meets what was posted for it. */
static void test_an_advertisement_is_no_message(void)
{
	struct iw_lmr *here, *there;
	struct iw_rmr first, second;
	struct ends ends;

	open_ends(&ends);
	connect_ends(&ends);
	here = region_of(ends.caller);
	there = region_of(ends.responder);
	for (int i = 0; i < 3; i++)
		REQUIRE(iw_post_recv_adv(ends.caller));
	REQUIRE(iw_post_send_adv(there, ends.responder));
	EXPECT(-EINVAL, iw_post_send_adv(here, ends.responder));
	REQUIRE(post_send_lmr(there, 0, 24, 0, ends.responder));
	REQUIRE(iw_post_send_adv(there, ends.responder));
	REQUIRE(iw_wait_recv_adv(&first, ends.caller));
	EXPECT(-EPROTO, iw_wait_recv_adv(&second, ends.caller));
	REQUIRE(iw_wait_recv_adv(&second, ends.caller));
	REQUIRE_TRUE(memcmp(&first, &second, sizeof(first)) == 0);
	REQUIRE(iw_disconnect(ends.caller));
	REQUIRE(iw_await_disconnect(ends.responder));
	REQUIRE(iw_lmr_destroy(here, true));
	REQUIRE(iw_lmr_destroy(there, true));
	close_ends(&ends);
}

static void test_a_kept_buffer_can_be_registered_again(void)
{
	static char own[BYTES];
	struct iw_lmr *lmr;
	struct ends ends;
	char *kept;

	open_ends(&ends);
	lmr = region_of(ends.caller);
	kept = lmr->address;
	REQUIRE(iw_lmr_destroy(lmr, false));
	memset(kept, 'k', BYTES);
	REQUIRE(iw_lmr_register(kept, BYTES, IW_ACCESS_LOCAL_WRITE, &lmr, ends.caller));
	REQUIRE_TRUE(lmr->address == kept && kept[BYTES - 1] == 'k');
	REQUIRE(iw_lmr_destroy(lmr, true));
	REQUIRE(iw_lmr_register(own, BYTES, 0, &lmr, ends.caller));
	REQUIRE(iw_lmr_destroy(lmr, false));
	EXPECT(-EINVAL, iw_lmr_create(0, 0, &lmr, ends.caller));
	EXPECT(-EINVAL, iw_lmr_create(BYTES, 1 << 10, &lmr, ends.caller));
	EXPECT(-EINVAL, iw_lmr_create(BYTES, IW_ACCESS_REMOTE_WRITE, &lmr, ends.caller));
	EXPECT(-EFAULT, iw_lmr_register(NULL, BYTES, 0, &lmr, ends.caller));
	EXPECT(-EINVAL, iw_lmr_destroy(NULL, true));
	close_ends(&ends);
}

/* --- ends ------------------------------------------------------------------------------------ */

/* One disconnects while the other still sends: what nobody took is lost, and both know. */
static void test_disconnects_under_a_sender(void)
{
	struct iw_lmr *here;
	struct ends ends;
	struct iw_wc wc;

	open_ends(&ends);
	connect_ends(&ends);
	here = region_of(ends.caller);
	REQUIRE(post_send_lmr(here, 0, 8, IW_SEND_SIGNALED, ends.caller));
	REQUIRE(iw_disconnect(ends.responder));
	EXPECT(-EREMOTEIO, await_completions(IW_SCQ, 1, &wc, ends.caller));
	EXPECT(-ENOTCONN, post_send_lmr(here, 0, 8, 0, ends.caller));
	REQUIRE(iw_disconnect(ends.caller));

	/* Who is told by nothing else is told by iw_disconnect(). */
	connect_ends(&ends);
	REQUIRE(post_send_lmr(here, 0, 8, 0, ends.caller));
	REQUIRE(iw_disconnect(ends.responder));
	EXPECT(-EREMOTEIO, iw_disconnect(ends.caller));
	REQUIRE(iw_lmr_destroy(here, true));
	close_ends(&ends);
}

/* What the interface does not have can be had from the objects below it. */
static void test_shows_what_it_stands_on(void)
{
	struct rnic_qp_attributes attributes;
	struct iw_natives natives;
	struct ends ends;
	struct rnic_mw *window;

	open_ends(&ends);
	REQUIRE(iw_ctx_natives(ends.caller, &natives));
	REQUIRE_TRUE(natives.context != NULL && natives.pd != NULL && natives.qp == NULL);
	connect_ends(&ends);
	REQUIRE(iw_ctx_natives(ends.caller, &natives));
	REQUIRE(rnic_query_qp(natives.qp, &attributes, NULL));
	REQUIRE_TRUE(attributes.state == RNIC_QP_STATE_RTS);
	REQUIRE(rnic_alloc_mw(natives.pd, RNIC_MW_TYPE_1, &window));
	REQUIRE(rnic_dealloc_mw(window));
	REQUIRE(iw_disconnect(ends.caller));
	REQUIRE(iw_await_disconnect(ends.responder));
	close_ends(&ends);
}

/* --- the descriptor -------------------------------------------------------------------------- */

static int is_readable(struct iw_ctx_conn *ctx, int timeout_ms)
{
	struct pollfd descriptor = {.fd = iw_poll_fd(ctx), .events = POLLIN};

	REQUIRE_TRUE(descriptor.fd >= 0);
	return poll(&descriptor, 1, timeout_ms) == 1;
}

/* Readable for what comes, and for what the library has collected before somebody asked. */
static void test_one_descriptor_tells_of_everything(void)
{
	struct iw_lmr *here, *there;
	struct iw_wc done[2];
	struct ends ends;

	open_ends(&ends);
	REQUIRE_TRUE(!is_readable(ends.caller, 0));
	connect_ends(&ends);
	here = region_of(ends.caller);
	there = region_of(ends.responder);
	for (int i = 0; i < 2; i++)
		REQUIRE(post_recv_lmr(there, 0, 8, ends.responder));
	REQUIRE_TRUE(!is_readable(ends.responder, SOON_MS));
	for (int i = 0; i < 2; i++)
		REQUIRE(post_send_lmr(here, 0, 8, IW_SEND_SIGNALED, ends.caller));
	REQUIRE(await_completions(IW_SCQ, 2, done, ends.caller));
	REQUIRE_TRUE(is_readable(ends.responder, WAIT_MS));
	iw_ctx_set_timeout(ends.responder, 0);
	REQUIRE(await_completions(IW_RCQ, 1, done, ends.responder));
	REQUIRE_TRUE(is_readable(ends.responder, 0)); /* the second one is there, too */
	REQUIRE(await_completions(IW_RCQ, 1, done, ends.responder));
	REQUIRE_TRUE(!is_readable(ends.responder, 0));
	REQUIRE(iw_lmr_destroy(here, true));
	REQUIRE(iw_lmr_destroy(there, true));
	REQUIRE(iw_disconnect(ends.caller));
	REQUIRE_TRUE(is_readable(ends.responder, WAIT_MS));
	iw_ctx_set_timeout(ends.responder, WAIT_MS);
	REQUIRE(iw_await_disconnect(ends.responder));
	REQUIRE_TRUE(!is_readable(ends.responder, 0));
	close_ends(&ends);
}

int main(int argument_count, char **arguments)
{
	if (argument_count != 2)
		return 2;
	address = arguments[1];
	test_refuses_and_accepts();
	test_contexts_change_their_roles();
	test_accepts_too_late();
	test_waits_end_in_time_and_lose_nothing();
	test_signals_interrupt_waits();
	test_an_advertisement_is_no_message();
	test_a_kept_buffer_can_be_registered_again();
	test_disconnects_under_a_sender();
	test_shows_what_it_stands_on();
	test_one_descriptor_tells_of_everything();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * One thread sends for all streams with keepalive. A peer that is gone does not acknowledge. That
 * ends the connection and wakes the threads that wait for it. The thread runs as long as there is
 * such a stream, and holds a reference to each.
 */
#include "lib/dropin/rsockets/rsocket_stream.h"
#include "lib/dropin/verbs/ibv_native.h"
#include "lib/wait/quiet_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct kept {
	struct kept *next;
	struct rnic_rsocket *rs;
	int64_t interval_ns;
	int64_t due_ns;
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t kept_changed;
static struct kept *all_kept;
static bool is_running;

static void send_keepalive(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	rnic_rsocket_lock(rs);
	rs->kind->progress(rs);
	if (stream->state == RNIC_RSOCKET_CONNECTED &&
	    rnic_rsocket_flow_take_control(&stream->flow))
		rnic_rsocket_post_control(stream, RNIC_RSOCKET_KEEPALIVE);
	rnic_rsocket_unlock(rs);
}

/*
 * Under the lock. A stream that is due, put off by its interval; or NULL, and the time when the
 * next one will be due.
 */
static struct rnic_rsocket *next_due(int64_t *wake_ns)
{
	const int64_t now = rnic_rsocket_now_ns();

	*wake_ns = INT64_MAX;
	for (struct kept *kept = all_kept; kept != NULL; kept = kept->next) {
		if (kept->due_ns <= now) {
			kept->due_ns = now + kept->interval_ns;
			return kept->rs;
		}
		if (kept->due_ns < *wake_ns)
			*wake_ns = kept->due_ns;
	}
	return NULL;
}

static void *keep_all_alive(void *unused)
{
	pthread_mutex_lock(&kept_lock);
	while (all_kept != NULL) {
		int64_t wake_ns;
		struct rnic_rsocket *rs = next_due(&wake_ns);
		const struct timespec wake = {.tv_sec = wake_ns / 1000000000,
					      .tv_nsec = wake_ns % 1000000000};

		if (rs == NULL) {
			pthread_cond_timedwait(&kept_changed, &kept_lock, &wake);
			continue;
		}
		rnic_rsocket_hold(rs);
		pthread_mutex_unlock(&kept_lock);
		send_keepalive(rs);
		rnic_rsocket_put(rs);
		pthread_mutex_lock(&kept_lock);
	}
	is_running = false;
	pthread_mutex_unlock(&kept_lock);
	return unused;
}

static void init_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&kept_changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

/*
 * A child of fork() has none of the parent's streams and not its thread. A signal of the old
 * condition would wait for that thread to leave.
 */
static void rsocket_keepalive_forget(void)
{
	pthread_mutex_init(&kept_lock, NULL);
	init_condition();
	all_kept = NULL;
	is_running = false;
}

static struct rnic_fork_entry keepalive_fork_entry = {.in_child = rsocket_keepalive_forget};

static void rsocket_keepalive_prepare(void)
{
	init_condition();
	rnic_native.fork_list_add(&keepalive_fork_entry);
}

/* Under the lock. */
static int rsocket_keepalive_start(void)
{
	int error;

	if (is_running) {
		pthread_cond_signal(&kept_changed);
		return 0;
	}
	error = quiet_thread_start(NULL, 0, keep_all_alive, NULL);
	is_running = error == 0;
	return error;
}

/* Under the lock. */
static struct kept **rsocket_keepalive_find(const struct rnic_rsocket *rs)
{
	struct kept **link = &all_kept;

	while (*link != NULL && (*link)->rs != rs)
		link = &(*link)->next;
	return link;
}

static int keep(struct rnic_rsocket *rs, int64_t interval_ns)
{
	struct kept *kept = *rsocket_keepalive_find(rs);

	if (kept == NULL) {
		kept = calloc(1, sizeof(*kept));
		if (kept == NULL)
			return -ENOMEM;
		rnic_rsocket_hold(rs);
		kept->rs = rs;
		kept->next = all_kept;
		all_kept = kept;
	}
	kept->interval_ns = interval_ns;
	kept->due_ns = rnic_rsocket_now_ns() + interval_ns;
	return rsocket_keepalive_start();
}

/* Without the lock, the caller gives back the list's reference to the stream. */
static struct rnic_rsocket *rsocket_keepalive_drop(const struct rnic_rsocket *rs)
{
	struct kept **link = rsocket_keepalive_find(rs);
	struct kept *kept = *link;
	struct rnic_rsocket *held;

	if (kept == NULL)
		return NULL;
	held = kept->rs;
	*link = kept->next;
	free(kept);
	pthread_cond_signal(&kept_changed);
	return held;
}

int rnic_rsocket_keep_alive(struct rnic_rsocket *rs, uint32_t seconds)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rnic_rsocket *dropped = NULL;
	int error = 0;

	pthread_once(&once, rsocket_keepalive_prepare);
	pthread_mutex_lock(&kept_lock);
	if (seconds > 0)
		error = keep(rs, (int64_t)seconds * 1000000000);
	if (seconds == 0 || error != 0)
		dropped = rsocket_keepalive_drop(rs);
	pthread_mutex_unlock(&kept_lock);
	if (dropped != NULL)
		rnic_rsocket_put(dropped);
	return error;
}

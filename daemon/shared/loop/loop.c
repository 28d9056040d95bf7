/* SPDX-License-Identifier: MIT */
#include "daemon/shared/loop/loop.h"

#include "lib/nic/base/probe.h"
#include "lib/wait/clock.h"
#include "lib/wait/wake_timer.h"

#include <ev.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOP_WATCHES_MAX 80 /* 64 of ports, and what else a program watches */
#define LOOP_SIGNALS_MAX 4

struct loop_watcher {
	ev_io io;
	struct loop *loop;
	void (*call)(void *context);
};

struct loop_signal {
	ev_signal signal;
	struct loop *loop;
	void (*call)(void *context, int number);
};

struct loop {
	const struct loop_calls *calls;
	void *context;
	struct awake_rule rule;
	struct awake awake;
	struct ev_loop *events;
	struct wake_timer timer;
	ev_io timer_io;
	struct loop_watcher watchers[LOOP_WATCHES_MAX];
	uint32_t watcher_count;
	struct loop_signal signals[LOOP_SIGNALS_MAX];
	uint32_t signal_count;
	uint64_t looked_ns; /* time of the latest poll of the descriptors */
	bool is_stopping;
};

/* --- what is watched -------------------------------------------------------------------------- */

static void loop_on_timer(struct ev_loop *events, ev_io *io, int revents)
{
	struct loop *loop = io->data;

	(void)events;
	(void)revents;
	wake_timer_take(&loop->timer);
}

static void loop_on_ready(struct ev_loop *events, ev_io *io, int revents)
{
	const struct loop_watcher *watcher = io->data;

	(void)events;
	(void)revents;
	if (watcher->call != NULL)
		watcher->call(watcher->loop->context);
}

static void loop_on_signal(struct ev_loop *events, ev_signal *signal, int revents)
{
	const struct loop_signal *watched = signal->data;

	(void)events;
	(void)revents;
	watched->call(watched->loop->context, signal->signum);
}

void loop_watch(struct loop *loop, int fd, bool for_writing, void (*call)(void *context))
{
	struct loop_watcher *watcher = &loop->watchers[loop->watcher_count];

	if (loop->watcher_count == LOOP_WATCHES_MAX)
		return;
	loop->watcher_count++;
	watcher->loop = loop;
	watcher->call = call;
	ev_io_init(&watcher->io, loop_on_ready, fd, for_writing ? EV_READ | EV_WRITE : EV_READ);
	watcher->io.data = watcher;
	ev_io_start(loop->events, &watcher->io);
}

void loop_watch_signal(struct loop *loop, int number, void (*call)(void *context, int number))
{
	struct loop_signal *watched = &loop->signals[loop->signal_count];

	if (loop->signal_count == LOOP_SIGNALS_MAX)
		return;
	loop->signal_count++;
	watched->loop = loop;
	watched->call = call;
	ev_signal_init(&watched->signal, loop_on_signal, number);
	watched->signal.data = watched;
	ev_signal_start(loop->events, &watched->signal);
}

/* --- its life --------------------------------------------------------------------------------- */

struct loop *loop_create(const struct loop_calls *calls, struct awake_rule rule, void *context)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->calls = calls;
	loop->rule = rule;
	loop->context = context;
	if (wake_timer_open(&loop->timer) != 0)
		goto free_loop;
	loop->events = ev_loop_new(EVFLAG_AUTO);
	if (loop->events == NULL)
		goto close_timer;
	ev_io_init(&loop->timer_io, loop_on_timer, loop->timer.fd, EV_READ);
	loop->timer_io.data = loop;
	ev_io_start(loop->events, &loop->timer_io);
	return loop;

close_timer:
	close(loop->timer.fd);
free_loop:
	free(loop);
	return NULL;
}

void loop_destroy(struct loop *loop)
{
	ev_io_stop(loop->events, &loop->timer_io);
	for (uint32_t i = 0; i < loop->watcher_count; i++)
		ev_io_stop(loop->events, &loop->watchers[i].io);
	for (uint32_t i = 0; i < loop->signal_count; i++)
		ev_signal_stop(loop->events, &loop->signals[i].signal);
	ev_loop_destroy(loop->events);
	close(loop->timer.fd);
	free(loop);
}

void loop_stop(struct loop *loop)
{
	loop->is_stopping = true;
}

/* --- its turns -------------------------------------------------------------------------------- */

static void loop_tell(struct loop *loop, uint64_t now_ns)
{
	if (loop->calls->tell != NULL)
		loop->calls->tell(loop->context, now_ns);
}

static bool loop_should_look(struct loop *loop, bool was_busy, uint64_t now_ns)
{
	return loop->calls->should_look(loop->context, was_busy, now_ns - loop->looked_ns, now_ns);
}

/* Polls the descriptors without waiting. */
static void loop_poll(struct loop *loop, uint64_t now_ns)
{
	loop->looked_ns = now_ns;
	ev_run(loop->events, EVRUN_NOWAIT);
}

static void loop_look_if_due(struct loop *loop, bool was_busy, uint64_t now_ns)
{
	if (loop_should_look(loop, was_busy, now_ns)) {
		loop_tell(loop, now_ns);
		loop_poll(loop, now_ns);
	}
}

static void loop_sleep_until(struct loop *loop, uint64_t deadline_ns, uint64_t now_ns)
{
	wake_timer_arm(&loop->timer, deadline_ns, now_ns);
	ev_run(loop->events, EVRUN_ONCE);
	loop->looked_ns = now_ns;
	RNIC_PROBE1(loop_slept, now_ns);
}

/* Sleeps where the owner allows it. */
static void loop_try_sleep(struct loop *loop, uint64_t now_ns)
{
	const struct loop_calls *calls = loop->calls;

	/* The attempt sends what coalesced, which may have a deadline. */
	if (calls->try_sleep(loop->context, now_ns))
		loop_sleep_until(loop, calls->deadline_ns(loop->context, now_ns), now_ns);
	calls->wake(loop->context);
}

/* Sleeps until a descriptor is ready or something is due. */
static void loop_sleep(struct loop *loop, uint64_t now_ns)
{
	uint64_t deadline_ns;

	loop_tell(loop, now_ns);
	deadline_ns = loop->calls->deadline_ns(loop->context, now_ns);
	if (loop->is_stopping)
		return;
	if (awake_before_sleep(&loop->rule, now_ns, deadline_ns) == AWAKE_SLEEP) {
		if (loop->calls->try_sleep == NULL)
			loop_sleep_until(loop, deadline_ns, now_ns);
		else
			loop_try_sleep(loop, now_ns);
	} else if (loop_should_look(loop, false, now_ns)) {
		loop_poll(loop, now_ns);
	}
}

/* What the loop does after a turn that found nothing. */
static enum awake_step loop_next(const struct loop *loop, uint64_t now_ns)
{
	if (loop->calls->is_awaited != NULL && !loop->calls->is_awaited(loop->context))
		return AWAKE_SLEEP;
	return awake_next(&loop->awake, &loop->rule, now_ns);
}

void loop_run(struct loop *loop)
{
	while (!loop->is_stopping) {
		const uint64_t now_ns = clock_now_ns();

		if (loop->calls->turn(loop->context, now_ns)) {
			awake_begin(&loop->awake, now_ns);
			loop_look_if_due(loop, true, now_ns);
			continue;
		}
		switch (loop_next(loop, now_ns)) {
		case AWAKE_TURN:
			loop_look_if_due(loop, false, now_ns);
			break;
		case AWAKE_YIELD:
			loop_look_if_due(loop, false, yield_and_note(&loop->awake, clock_now_ns()));
			break;
		case AWAKE_SLEEP:
			loop_sleep(loop, now_ns);
			break;
		}
	}
}

/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/event_loop.h"

#include "daemon/control/main/control_plane.h"
#include "daemon/control/main/holders.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/served_peer/request_turn.h"
#include "lib/wait/clock.h"
#include "lib/wait/wake_timer.h"
#include "lib/wait/yield.h"
#include "proto/base/time_units.h"

#include <ev.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOP_WATCHES_MAX 64
#define LOOP_AWAKE_NS	 (100 * RNIC_NS_PER_US) /* of polling after work, before the loop sleeps */

struct event_loop {
	struct control_plane *control;
	enum poll_mode poll;
	uint64_t exit_when_idle_ns;
	struct ev_loop *events;
	ev_io clients; /* epoll instance of the control connections */
	ev_io timer;
	ev_io network;
	ev_io devices;			 /* epoll instance of the device processes */
	ev_io plugged[LOOP_WATCHES_MAX]; /* lane 0's ports */
	uint32_t plugged_count;
	ev_signal terminate;
	ev_signal interrupt;
	struct wake_timer wake_timer;
	struct rnic_yield_backoff backoff;
	uint64_t active_ns;	/* time of the last turn with work */
	uint64_t idle_since_ns; /* time when a client last existed */
	bool has_requests;	/* control connections may have requests, or be new */
	bool is_stopping;
};

/* loop_serve() serves control connections after the next turn. */
static void loop_on_clients(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct event_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	loop->has_requests = true;
}

/* The next turn serves the device processes. */
static void loop_on_devices(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct event_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	device_set_note_events(&loop->control->backplane.devices);
}

/* The next turn receives. The watcher exists so that an arrival ends the sleep. */
static void loop_on_plugged(struct ev_loop *events, ev_io *watcher, int revents)
{
	(void)events;
	(void)watcher;
	(void)revents;
}

/* Handles a change of the interface: the answers to later requests follow the new state. */
static void loop_on_network(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct event_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	device_network_follow(&loop->control->network);
}

static void loop_on_timer(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct event_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	wake_timer_take(&loop->wake_timer);
}

static void loop_on_signal(struct ev_loop *events, ev_signal *watcher, int revents)
{
	struct event_loop *loop = watcher->data;
	const struct device_set *devices = &loop->control->backplane.devices;

	(void)events;
	(void)revents;
	if (!loop->is_stopping)
		log_info("ending on %s; programs that lose their device: %u",
			 watcher->signum == SIGTERM ? "SIGTERM" : "SIGINT",
			 (unsigned)device_set_objects(devices).sessions);
	loop->is_stopping = true;
}

static void loop_watch_plugged(void *context, int fd, bool for_writing)
{
	struct event_loop *loop = context;
	ev_io *watcher = &loop->plugged[loop->plugged_count];

	if (loop->plugged_count == LOOP_WATCHES_MAX)
		return;
	loop->plugged_count++;
	ev_io_init(watcher, loop_on_plugged, fd, for_writing ? EV_READ | EV_WRITE : EV_READ);
	ev_io_start(loop->events, watcher);
}

static void loop_watch_all(struct event_loop *loop)
{
	ev_io_init(&loop->clients, loop_on_clients, loop->control->clients.server.epoll_fd,
		   EV_READ);
	ev_io_init(&loop->devices, loop_on_devices,
		   loop->control->backplane.devices.common.epoll_fd, EV_READ);
	ev_io_init(&loop->timer, loop_on_timer, loop->wake_timer.fd, EV_READ);
	ev_io_init(&loop->network, loop_on_network, loop->control->network.watch.fd, EV_READ);
	ev_signal_init(&loop->terminate, loop_on_signal, SIGTERM);
	ev_signal_init(&loop->interrupt, loop_on_signal, SIGINT);
	loop->clients.data = loop;
	loop->devices.data = loop;
	loop->timer.data = loop;
	loop->network.data = loop;
	loop->terminate.data = loop;
	loop->interrupt.data = loop;
	ev_io_start(loop->events, &loop->clients);
	ev_io_start(loop->events, &loop->devices);
	ev_io_start(loop->events, &loop->timer);
	ev_io_start(loop->events, &loop->network);
	ev_signal_start(loop->events, &loop->terminate);
	ev_signal_start(loop->events, &loop->interrupt);
	backplane_watch(&loop->control->backplane, loop_watch_plugged, loop);
}

struct event_loop *event_loop_create(struct control_plane *control, enum poll_mode poll,
				     uint64_t exit_when_idle_ns)
{
	struct event_loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->control = control;
	loop->poll = poll;
	loop->exit_when_idle_ns = exit_when_idle_ns;
	if (wake_timer_open(&loop->wake_timer) != 0)
		goto free_loop;
	loop->events = ev_loop_new(EVFLAG_AUTO);
	if (loop->events == NULL)
		goto close_timer;
	loop_watch_all(loop);
	return loop;

close_timer:
	close(loop->wake_timer.fd);
free_loop:
	free(loop);
	return NULL;
}

void event_loop_destroy(struct event_loop *loop)
{
	ev_io_stop(loop->events, &loop->clients);
	ev_io_stop(loop->events, &loop->devices);
	ev_io_stop(loop->events, &loop->timer);
	ev_io_stop(loop->events, &loop->network);
	for (uint32_t i = 0; i < loop->plugged_count; i++)
		ev_io_stop(loop->events, &loop->plugged[i]);
	ev_signal_stop(loop->events, &loop->terminate);
	ev_signal_stop(loop->events, &loop->interrupt);
	ev_loop_destroy(loop->events);
	close(loop->wake_timer.fd);
	free(loop);
}

/*
 * When the loop is to end because there is no client. After the configured time this ends the
 * device processes, and then stops the loop: a client that comes meanwhile is served. A command
 * that rnic-run started counts as a client before and after its devices are open. A connection that
 * only asks for a listing counts as a client: rnic-run asks so to see that the daemon is there,
 * before it starts the real client.
 */
static uint64_t loop_idle_deadline_ns(struct event_loop *loop, uint64_t now_ns)
{
	if (loop->exit_when_idle_ns == UINT64_MAX)
		return UINT64_MAX;
	if (control_plane_has_clients(loop->control))
		return UINT64_MAX;
	if (now_ns - loop->idle_since_ns < loop->exit_when_idle_ns)
		return loop->idle_since_ns + loop->exit_when_idle_ns;
	if (holders_exist(loop->control->server.place.path)) {
		loop->idle_since_ns = now_ns;
		return now_ns + loop->exit_when_idle_ns;
	}
	/* The end of the last device process wakes the loop. */
	if (control_plane_retire(loop->control)) {
		log_info("no client is left, ending");
		loop->is_stopping = true;
	}
	return UINT64_MAX;
}

/*
 * A program that asks a sleeping loop waits longer for the loop to wake than for the answer. A loop
 * without clients sleeps, because only loop_sleep() ends an idle daemon.
 */
static bool loop_may_poll(const struct event_loop *loop, uint64_t now_ns)
{
	return loop->poll == POLL_ADAPTIVE && now_ns - loop->active_ns < LOOP_AWAKE_NS &&
	       rnic_yield_backoff_is_returned(&loop->backoff, now_ns) &&
	       control_plane_has_clients(loop->control);
}

/* Sleeps until something arrives or is due. */
static void loop_sleep(struct event_loop *loop, uint64_t now_ns)
{
	const uint64_t idle_ns = loop_idle_deadline_ns(loop, now_ns);
	uint64_t deadline_ns = control_plane_next_deadline_ns(loop->control);

	if (idle_ns < deadline_ns)
		deadline_ns = idle_ns;
	if (loop->is_stopping)
		return;
	if (deadline_ns <= now_ns) {
		ev_run(loop->events, EVRUN_NOWAIT);
		return;
	}
	wake_timer_arm(&loop->wake_timer, deadline_ns, now_ns);
	ev_run(loop->events, EVRUN_ONCE);
}

/* Serves requests. Returns whether there was anything to do. */
static bool loop_serve(struct event_loop *loop)
{
	struct request_server *server = &loop->control->clients.server;
	const bool has_requests = loop->has_requests || request_server_has_resumes(server);

	if (has_requests)
		request_turn_run(server);
	loop->has_requests = false;
	return has_requests;
}

/*
 * After a turn with work comes one turn without a look at the descriptors: most often there is
 * nothing left, and the loop sleeps, which is the look.
 */
void event_loop_run(struct event_loop *loop)
{
	bool has_looked = true;

	loop->idle_since_ns = clock_now_ns();
	while (!loop->is_stopping) {
		const uint64_t now_ns = clock_now_ns();
		bool was_busy = control_plane_turn(loop->control, now_ns);

		was_busy = loop_serve(loop) || was_busy;
		control_plane_report(loop->control, now_ns);
		if (was_busy)
			loop->active_ns = now_ns;
		if (control_plane_has_clients(loop->control))
			loop->idle_since_ns = now_ns;
		if (was_busy && has_looked) {
			has_looked = false;
			continue;
		}
		has_looked = true;
		if (was_busy) {
			ev_run(loop->events, EVRUN_NOWAIT);
		} else if (loop_may_poll(loop, now_ns)) {
			yield_and_note(&loop->backoff);
			ev_run(loop->events, EVRUN_NOWAIT);
		} else {
			loop_sleep(loop, now_ns);
		}
	}
}

/* SPDX-License-Identifier: MIT */
#include "event_loop.h"

#include "base/clock.h"
#include "base/yield_backoff.h"
#include "base/log.h"
#include "base/time_units.h"
#include "control/control_plane.h"
#include "device/device_half.h"

#include <ev.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOP_WATCHES_MAX  64
#define LOOP_SPIN_NS	  UINT64_C(200000) /* polling time after the last activity */
#define LOOP_NEAR_NS	  UINT64_C(20000)  /* a nearer deadline is not worth a sleep */
#define LOOP_LOOK_NS	  UINT64_C(50000)  /* between polls of the descriptors while awake */
#define LOOP_SOON_LOOK_NS UINT64_C(1000)   /* the same after a request: requests come in a row */

struct event_loop {
	struct control_plane *control;
	struct event_loop_config config;
	struct ev_loop *events;
	ev_io clients;	 /* epoll instance of the control plane */
	ev_io doorbells; /* epoll instance of the device half: doorbells, room in pipes */
	ev_io timer;
	ev_io network;
	ev_io ports[LOOP_WATCHES_MAX];
	uint32_t port_count;
	ev_signal terminate;
	ev_signal interrupt;
	struct rnic_yield_backoff backoff;
	int timer_fd;
	uint64_t timer_armed_ns; /* time when timer_fd fires; UINT64_MAX: not armed */
	uint64_t active_ns;	 /* time of the last activity */
	uint64_t looked_ns;	 /* time of the last poll of the descriptors */
	uint64_t asked_ns;	 /* time of the last request of a client */
	uint64_t idle_since_ns;	 /* time when a client last existed */
	bool has_requests;	 /* clients may have requests */
	bool has_doorbells;	 /* clients may have rung, or made room in pipes */
	bool is_stopping;
};

/* loop_serve() serves the requests after the next turn. */
static void loop_on_clients(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct event_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	loop->has_requests = true;
}

/* loop_serve() serves the doorbells after the next turn, too. */
static void loop_on_doorbells(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct event_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	loop->has_doorbells = true;
}

/* The next turn receives. The watcher exists so that an arrival ends the sleep. */
static void loop_on_port(struct ev_loop *events, ev_io *watcher, int revents)
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
	uint64_t expirations;

	(void)events;
	(void)revents;
	if (read(loop->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		loop->timer_armed_ns = UINT64_MAX;
}

static void loop_on_signal(struct ev_loop *events, ev_signal *watcher, int revents)
{
	struct event_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	if (!loop->is_stopping)
		log_info("ending on %s; programs that lose their device: %u",
			 watcher->signum == SIGTERM ? "SIGTERM" : "SIGINT",
			 device_half_session_count(loop->control->device));
	loop->is_stopping = true;
}

static void loop_watch_port(void *context, int fd, bool for_writing)
{
	struct event_loop *loop = context;
	ev_io *watcher = &loop->ports[loop->port_count];

	if (loop->port_count == LOOP_WATCHES_MAX)
		return;
	loop->port_count++;
	ev_io_init(watcher, loop_on_port, fd, for_writing ? EV_READ | EV_WRITE : EV_READ);
	ev_io_start(loop->events, watcher);
}

static void loop_watch_all(struct event_loop *loop)
{
	ev_io_init(&loop->clients, loop_on_clients, loop->control->clients.epoll_fd, EV_READ);
	ev_io_init(&loop->doorbells, loop_on_doorbells,
		   device_half_clients_fd(loop->control->device), EV_READ);
	ev_io_init(&loop->timer, loop_on_timer, loop->timer_fd, EV_READ);
	ev_io_init(&loop->network, loop_on_network, loop->control->network.watch.fd, EV_READ);
	ev_signal_init(&loop->terminate, loop_on_signal, SIGTERM);
	ev_signal_init(&loop->interrupt, loop_on_signal, SIGINT);
	loop->clients.data = loop;
	loop->doorbells.data = loop;
	loop->timer.data = loop;
	loop->network.data = loop;
	loop->terminate.data = loop;
	loop->interrupt.data = loop;
	ev_io_start(loop->events, &loop->clients);
	ev_io_start(loop->events, &loop->doorbells);
	ev_io_start(loop->events, &loop->timer);
	ev_io_start(loop->events, &loop->network);
	ev_signal_start(loop->events, &loop->terminate);
	ev_signal_start(loop->events, &loop->interrupt);
	device_half_watch(loop->control->device, loop_watch_port, loop);
}

struct event_loop *event_loop_create(struct control_plane *control,
				     const struct event_loop_config *config)
{
	struct event_loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->control = control;
	loop->config = *config;
	loop->timer_armed_ns = UINT64_MAX;
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer_fd < 0)
		goto free_loop;
	loop->events = ev_loop_new(EVFLAG_AUTO);
	if (loop->events == NULL)
		goto close_timer;
	loop_watch_all(loop);
	return loop;

close_timer:
	close(loop->timer_fd);
free_loop:
	free(loop);
	return NULL;
}

void event_loop_destroy(struct event_loop *loop)
{
	ev_io_stop(loop->events, &loop->clients);
	ev_io_stop(loop->events, &loop->doorbells);
	ev_io_stop(loop->events, &loop->timer);
	ev_io_stop(loop->events, &loop->network);
	for (uint32_t i = 0; i < loop->port_count; i++)
		ev_io_stop(loop->events, &loop->ports[i]);
	ev_signal_stop(loop->events, &loop->terminate);
	ev_signal_stop(loop->events, &loop->interrupt);
	ev_loop_destroy(loop->events);
	close(loop->timer_fd);
	free(loop);
}

/*
 * Arms the timer for `deadline_ns` or earlier. A timer that fires early costs an empty turn; arming
 * it anew for each packet that moves a deadline would cost a system call each.
 */
static void loop_arm_timer(struct event_loop *loop, uint64_t deadline_ns, uint64_t now_ns)
{
	struct itimerspec when = {0};

	if (deadline_ns == UINT64_MAX ||
	    (loop->timer_armed_ns <= deadline_ns && loop->timer_armed_ns > now_ns))
		return;
	when.it_value.tv_sec = (time_t)(deadline_ns / RNIC_NS_PER_SECOND);
	when.it_value.tv_nsec = (long)(deadline_ns % RNIC_NS_PER_SECOND);
	if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) == 0)
		loop->timer_armed_ns = deadline_ns;
}

/*
 * Notes how long there was no client, and stops the loop after the configured time. A connection
 * that only asks for a listing counts as a client: rnic-run asks so to see that the daemon is
 * there, before it starts the real client.
 */
static uint64_t loop_idle_deadline_ns(struct event_loop *loop, uint64_t now_ns)
{
	if (loop->config.exit_when_idle_ns == UINT64_MAX)
		return UINT64_MAX;
	if (loop->control->clients.client_count > 0) {
		loop->idle_since_ns = now_ns;
		return UINT64_MAX;
	}
	if (now_ns - loop->idle_since_ns >= loop->config.exit_when_idle_ns) {
		log_info("no client is left, ending");
		loop->is_stopping = true;
	}
	return loop->idle_since_ns + loop->config.exit_when_idle_ns;
}

static bool loop_may_poll(struct event_loop *loop, uint64_t now_ns)
{
	switch (loop->config.poll) {
	case POLL_BUSY:
		return true;
	case POLL_SLEEP:
		return false;
	case POLL_ADAPTIVE:
		break;
	}
	return now_ns - loop->active_ns < LOOP_SPIN_NS &&
	       rnic_yield_backoff_is_returned(&loop->backoff, now_ns);
}

/*
 * Yields between two turns while there is nothing to do: other threads may be ready to run on this
 * core.
 */
static void loop_yield(struct event_loop *loop)
{
	uint64_t began_ns;

	if (loop->config.poll == POLL_BUSY)
		return;
	began_ns = clock_now_ns();
	sched_yield();
	rnic_yield_backoff_note(&loop->backoff, began_ns, clock_now_ns());
}

/* Polls the descriptors without waiting, now and then. */
static void loop_look(struct event_loop *loop, uint64_t now_ns)
{
	const bool is_asked = now_ns - loop->asked_ns < LOOP_SPIN_NS;

	if (now_ns - loop->looked_ns < (is_asked ? LOOP_SOON_LOOK_NS : LOOP_LOOK_NS))
		return;
	loop->looked_ns = now_ns;
	loop_idle_deadline_ns(loop, now_ns);
	control_plane_report(loop->control, now_ns);
	ev_run(loop->events, EVRUN_NOWAIT);
}

/* Sleeps until something arrives or is due, unless a client has rung meanwhile. */
static void loop_sleep(struct event_loop *loop, uint64_t now_ns)
{
	uint64_t idle_ns = loop_idle_deadline_ns(loop, now_ns);
	uint64_t deadline_ns;

	control_plane_report(loop->control, now_ns);
	deadline_ns = control_plane_next_deadline_ns(loop->control);
	if (idle_ns < deadline_ns)
		deadline_ns = idle_ns;
	if (loop->is_stopping)
		return;
	if (deadline_ns <= now_ns || deadline_ns - now_ns < LOOP_NEAR_NS) {
		loop_look(loop, now_ns);
		return;
	}
	if (control_plane_prepare_sleep(loop->control)) {
		loop_arm_timer(loop, deadline_ns, now_ns);
		device_half_note_sleep(loop->control->device);
		ev_run(loop->events, EVRUN_ONCE);
		loop->looked_ns = now_ns;
	}
	device_half_withdraw_sleep(loop->control->device);
}

/*
 * Serves requests. One turn runs between the arrival of a request and this function, so that what a
 * client posted before the request is on its way before the answer. Returns whether there was
 * anything to do.
 */
static bool loop_serve(struct event_loop *loop)
{
	const bool has_requests =
		loop->has_requests || ctl_server_has_resumes(&loop->control->server);
	const bool has_doorbells = loop->has_doorbells;

	/* When a request, and not a doorbell, wakes a client's session, the answer comes after the
	 * next turn. */
	if (has_requests)
		ctl_server_poll(&loop->control->server);
	if (has_doorbells)
		device_half_poll(loop->control->device);
	loop->has_requests = false;
	loop->has_doorbells = false;
	return has_requests || has_doorbells;
}

void event_loop_run(struct event_loop *loop)
{
	loop->idle_since_ns = clock_now_ns();
	while (!loop->is_stopping) {
		uint64_t now_ns = clock_now_ns();

		if (control_plane_turn(loop->control, now_ns))
			loop->active_ns = now_ns;
		if (loop_serve(loop))
			loop->active_ns = loop->asked_ns = now_ns;
		if (now_ns == loop->active_ns) {
			control_plane_note_activity(loop->control, now_ns);
			loop_look(loop, now_ns);
		} else if (loop_may_poll(loop, now_ns)) {
			loop_look(loop, now_ns);
			loop_yield(loop);
		} else {
			loop_sleep(loop, now_ns);
		}
	}
}

/* SPDX-License-Identifier: MIT */
#include "daemon/device/host_process/device_loop.h"

#include "daemon/device/device.h"
#include "daemon/device/link/device_process.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/base/poll_mode.h"
#include "lib/wait/clock.h"
#include "lib/wait/wake_timer.h"
#include "lib/wait/yield.h"

#include <ev.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOP_PORTS_MAX	  64
#define LOOP_SPIN_NS	  UINT64_C(200000) /* polling time after the last activity */
#define LOOP_NEAR_NS	  UINT64_C(20000)  /* a nearer deadline is not worth a sleep */
#define LOOP_LOOK_NS	  UINT64_C(50000)  /* between polls of the descriptors while awake */
#define LOOP_SOON_LOOK_NS UINT64_C(1000)   /* the same after a request: requests come in a row */

struct device_loop {
	struct device_process *process;
	struct device *device;
	enum poll_mode poll;
	struct ev_loop *events;
	ev_io link;
	ev_io requests;	 /* epoll instance of the device connections */
	ev_io doorbells; /* epoll instance of doorbells and room in pipes */
	ev_io timer;
	ev_io ports[LOOP_PORTS_MAX];
	uint32_t port_count;
	ev_signal terminate;
	struct rnic_yield_backoff backoff;
	struct wake_timer wake_timer;
	uint64_t active_ns;    /* time of the last activity */
	uint64_t looked_ns;    /* time of the last poll of the descriptors */
	uint64_t asked_ns;     /* time of the last request of a client */
	uint32_t client_count; /* as last seen */
	bool has_requests;     /* clients may have requests */
	bool has_doorbells;    /* clients may have rung, or made room in pipes */
	bool is_stopping;
};

/* Carries out what the control plane says. The process ends with the control plane. */
static void device_loop_on_link(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct device_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	link_client_poll(&loop->process->link);
	loop->is_stopping |= loop->process->link.is_down;
}

/* device_loop_serve() serves the requests after the next turn. */
static void device_loop_on_requests(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct device_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	device_note_requests(loop->device);
	loop->has_requests = true;
}

/* device_loop_serve() serves the doorbells after the next turn, too. */
static void device_loop_on_doorbells(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct device_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	loop->has_doorbells = true;
}

/* The next turn receives. The watcher exists so that an arrival ends the sleep. */
static void device_loop_on_port(struct ev_loop *events, ev_io *watcher, int revents)
{
	(void)events;
	(void)watcher;
	(void)revents;
}

static void device_loop_on_timer(struct ev_loop *events, ev_io *watcher, int revents)
{
	struct device_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	wake_timer_take(&loop->wake_timer);
}

static void device_loop_on_signal(struct ev_loop *events, ev_signal *watcher, int revents)
{
	struct device_loop *loop = watcher->data;

	(void)events;
	(void)revents;
	loop->is_stopping = true;
}

static void device_loop_watch(struct device_loop *loop, ev_io *watcher,
			      void (*call)(struct ev_loop *events, ev_io *watcher, int revents),
			      int fd, int events)
{
	ev_io_init(watcher, call, fd, events);
	watcher->data = loop;
	ev_io_start(loop->events, watcher);
}

static void device_loop_watch_port(void *context, int fd, bool for_writing)
{
	struct device_loop *loop = context;

	if (loop->port_count < LOOP_PORTS_MAX)
		device_loop_watch(loop, &loop->ports[loop->port_count++], device_loop_on_port, fd,
				  for_writing ? EV_READ | EV_WRITE : EV_READ);
}

static void device_loop_watch_all(struct device_loop *loop)
{
	device_loop_watch(loop, &loop->link, device_loop_on_link, loop->process->link.fd, EV_READ);
	device_loop_watch(loop, &loop->requests, device_loop_on_requests,
			  device_requests_fd(loop->device), EV_READ);
	device_loop_watch(loop, &loop->doorbells, device_loop_on_doorbells,
			  device_clients_fd(loop->device), EV_READ);
	device_loop_watch(loop, &loop->timer, device_loop_on_timer, loop->wake_timer.fd, EV_READ);
	device_watch(loop->device, device_loop_watch_port, loop);
	ev_signal_init(&loop->terminate, device_loop_on_signal, SIGTERM);
	loop->terminate.data = loop;
	ev_signal_start(loop->events, &loop->terminate);
}

struct device_loop *device_loop_create(struct device_process *process)
{
	struct device_loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->process = process;
	loop->device = process->device;
	loop->poll = (enum poll_mode)process->start.poll;
	if (wake_timer_open(&loop->wake_timer) != 0)
		goto free_loop;
	loop->events = ev_loop_new(EVFLAG_AUTO);
	if (loop->events == NULL)
		goto close_timer;
	device_loop_watch_all(loop);
	return loop;

close_timer:
	close(loop->wake_timer.fd);
free_loop:
	free(loop);
	return NULL;
}

void device_loop_destroy(struct device_loop *loop)
{
	ev_io_stop(loop->events, &loop->link);
	ev_io_stop(loop->events, &loop->requests);
	ev_io_stop(loop->events, &loop->doorbells);
	ev_io_stop(loop->events, &loop->timer);
	for (uint32_t i = 0; i < loop->port_count; i++)
		ev_io_stop(loop->events, &loop->ports[i]);
	ev_signal_stop(loop->events, &loop->terminate);
	ev_loop_destroy(loop->events);
	close(loop->wake_timer.fd);
	free(loop);
}

/* The statistics page shows when a client came or went. */
static void device_loop_note_clients(struct device_loop *loop)
{
	const uint32_t client_count = device_client_count(loop->device);

	if (client_count != loop->client_count)
		stats_writer_note_change(&loop->process->stats);
	loop->client_count = client_count;
}

static bool device_loop_may_poll(struct device_loop *loop, uint64_t now_ns)
{
	switch (loop->poll) {
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
static void device_loop_yield(struct device_loop *loop)
{
	if (loop->poll != POLL_BUSY)
		yield_and_note(&loop->backoff);
}

/* Polls the descriptors without waiting, now and then. */
static void device_loop_look(struct device_loop *loop, uint64_t now_ns)
{
	const bool is_asked = now_ns - loop->asked_ns < LOOP_SPIN_NS;

	if (now_ns - loop->looked_ns < (is_asked ? LOOP_SOON_LOOK_NS : LOOP_LOOK_NS))
		return;
	loop->looked_ns = now_ns;
	device_loop_note_clients(loop);
	device_report(loop->device);
	link_client_tick(&loop->process->link, now_ns);
	stats_writer_refresh_if_due(&loop->process->stats, loop->device, now_ns);
	ev_run(loop->events, EVRUN_NOWAIT);
}

static uint64_t device_loop_deadline_ns(struct device_loop *loop, uint64_t now_ns)
{
	const uint64_t half_ns = device_next_deadline_ns(loop->device);
	const uint64_t link_ns = link_client_next_deadline_ns(&loop->process->link, now_ns);

	return half_ns < link_ns ? half_ns : link_ns;
}

/* Sleeps until something arrives or is due, unless a client has rung meanwhile. */
static void device_loop_sleep(struct device_loop *loop, uint64_t now_ns)
{
	struct device_process *process = loop->process;
	uint64_t deadline_ns;

	device_loop_note_clients(loop);
	device_report(loop->device);
	link_client_tick(&process->link, now_ns);
	deadline_ns = device_loop_deadline_ns(loop, now_ns);
	if (deadline_ns <= now_ns || deadline_ns - now_ns < LOOP_NEAR_NS) {
		device_loop_look(loop, now_ns);
		return;
	}
	if (device_prepare_sleep(loop->device)) {
		/* A preparation sends what waited for company. */
		deadline_ns = device_loop_deadline_ns(loop, now_ns);
		wake_timer_arm(&loop->wake_timer, deadline_ns, now_ns);
		device_note_sleep(loop->device);
		stats_writer_refresh(&process->stats, loop->device, now_ns);
		ev_run(loop->events, EVRUN_ONCE);
		loop->looked_ns = now_ns;
	}
	device_withdraw_sleep(loop->device);
}

/*
 * Serves requests. One turn runs between the arrival of a request and this function, so that what a
 * client posted before the request is on its way before the answer. Returns whether there was
 * anything to do.
 */
static bool device_loop_serve(struct device_loop *loop)
{
	const bool has_requests = loop->has_requests || device_has_resumes(loop->device);
	const bool has_doorbells = loop->has_doorbells;

	if (has_requests && device_serve(loop->device))
		stats_writer_note_change(&loop->process->stats);
	if (has_doorbells)
		device_poll(loop->device);
	loop->has_requests = false;
	loop->has_doorbells = false;
	return has_requests || has_doorbells;
}

void device_loop_run(struct device_loop *loop)
{
	while (!loop->is_stopping && !loop->process->link.is_down) {
		uint64_t now_ns = clock_now_ns();

		if (device_turn(loop->device, now_ns) || device_has_work(loop->device))
			loop->active_ns = now_ns;
		if (device_loop_serve(loop))
			loop->active_ns = loop->asked_ns = now_ns;
		if (now_ns == loop->active_ns) {
			device_loop_look(loop, now_ns);
		} else if (device_loop_may_poll(loop, now_ns)) {
			device_loop_look(loop, now_ns);
			device_loop_yield(loop);
		} else {
			device_loop_sleep(loop, now_ns);
		}
	}
}

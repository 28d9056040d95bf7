/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/event_loop.h"

#include "daemon/control/main/control_plane.h"
#include "daemon/control/main/holders.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/loop/loop.h"
#include "daemon/shared/served_peer/request_turn.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"

#include <signal.h>
#include <stdlib.h>

/* A program whose processes come one after the other keeps its daemon. */
#define EVENT_LOOP_REPLACED_NS RNIC_NS_PER_SECOND

struct event_loop {
	struct control_plane *control;
	struct loop *loop;
	uint64_t exit_when_idle_ns;
	uint64_t idle_since_ns; /* time when a client last existed */
	bool has_requests;	/* control connections may have requests, or be new */
	bool has_looked;	/* the descriptors were polled behind the latest turn */
	bool is_ending;		/* a signal has come */
	bool begins_anew;	/* SIGUSR1 has come */
};

/* --- what ends a sleep ------------------------------------------------------------------------ */

/* event_loop_serve() serves control connections after the next turn. */
static void event_loop_on_clients(void *context)
{
	struct event_loop *loop = context;

	loop->has_requests = true;
}

/* The next turn serves the device processes. */
static void event_loop_on_devices(void *context)
{
	struct event_loop *loop = context;

	device_set_note_events(&loop->control->backplane.devices);
}

/* Handles a change of the interface: the answers to later requests follow the new state. */
static void event_loop_on_network(void *context)
{
	struct event_loop *loop = context;

	device_network_follow(&loop->control->network);
}

static void event_loop_on_signal(void *context, int number)
{
	struct event_loop *loop = context;
	const struct device_set *devices = &loop->control->backplane.devices;

	if (!loop->is_ending)
		log_info("ending on %s; programs that lose their device: %u",
			 number == SIGTERM ? "SIGTERM" : "SIGINT",
			 (unsigned)device_set_objects(devices).sessions);
	loop->is_ending = true;
	loop_stop(loop->loop);
}

/* A daemon of an earlier build goes on for its programs, and leaves the place to the next one. */
static void event_loop_on_replacement(void *context, int number)
{
	struct event_loop *loop = context;

	(void)number;
	if (!loop->begins_anew)
		log_info("ending as soon as no program uses the device (SIGUSR1)");
	loop->begins_anew = true;
	loop->exit_when_idle_ns = EVENT_LOOP_REPLACED_NS;
}

/* The next turn receives: an arrival at a port of lane 0 only ends the sleep. */
static void event_loop_watch_port(void *context, int fd, bool for_writing)
{
	struct event_loop *loop = context;

	loop_watch(loop->loop, fd, for_writing, NULL);
}

static void event_loop_watch_all(struct event_loop *loop)
{
	const struct control_plane *control = loop->control;

	loop_watch(loop->loop, control->clients.peers.server.epoll_fd, false,
		   event_loop_on_clients);
	loop_watch(loop->loop, control->backplane.devices.common.epoll_fd, false,
		   event_loop_on_devices);
	loop_watch(loop->loop, control->network.watch.fd, false, event_loop_on_network);
	loop_watch_signal(loop->loop, SIGTERM, event_loop_on_signal);
	loop_watch_signal(loop->loop, SIGINT, event_loop_on_signal);
	loop_watch_signal(loop->loop, SIGUSR1, event_loop_on_replacement);
	backplane_watch(&loop->control->backplane, event_loop_watch_port, loop);
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Serves requests. Returns whether there was anything to do. */
static bool event_loop_serve(struct event_loop *loop)
{
	struct request_server *server = &loop->control->clients.peers.server;
	const bool has_requests = loop->has_requests || request_server_has_resumes(server);

	if (has_requests)
		request_turn_run(server);
	loop->has_requests = false;
	return has_requests;
}

static bool event_loop_turn(void *context, uint64_t now_ns)
{
	struct event_loop *loop = context;
	const bool was_busy = control_plane_turn(loop->control, now_ns);
	const bool was_asked = event_loop_serve(loop);

	control_plane_report(loop->control, now_ns);
	if (control_plane_has_clients(loop->control))
		loop->idle_since_ns = now_ns;
	return was_busy || was_asked;
}

/*
 * After a turn with work comes one turn without a look at the descriptors: most often there is
 * nothing left, and the loop sleeps, which is the look.
 */
static bool event_loop_should_look(void *context, bool was_busy, uint64_t since_look_ns,
				   uint64_t now_ns)
{
	struct event_loop *loop = context;
	const bool is_next = was_busy && loop->has_looked;

	(void)since_look_ns;
	(void)now_ns;
	loop->has_looked = !is_next;
	return !is_next;
}

/* --- sleep ------------------------------------------------------------------------------------ */

/* A loop without clients sleeps, because only a loop that is about to sleep ends an idle daemon. */
static bool event_loop_is_awaited(void *context)
{
	const struct event_loop *loop = context;

	return control_plane_has_clients(loop->control);
}

/*
 * When the loop is to end because there is no client. After the configured time this ends the
 * device processes, and then stops the loop: a client that comes meanwhile is served. A command
 * that rnic-run started counts as a client before and after its devices are open. A connection that
 * only asks for a listing counts as a client: rnic-run asks so to see that the daemon is there,
 * before it starts the real client.
 */
static uint64_t event_loop_idle_deadline_ns(struct event_loop *loop, uint64_t now_ns)
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
		loop_stop(loop->loop);
	}
	return UINT64_MAX;
}

static uint64_t event_loop_deadline_ns(void *context, uint64_t now_ns)
{
	struct event_loop *loop = context;
	const uint64_t idle_ns = event_loop_idle_deadline_ns(loop, now_ns);
	const uint64_t own_ns = control_plane_next_deadline_ns(loop->control);

	return idle_ns < own_ns ? idle_ns : own_ns;
}

/* --- life ------------------------------------------------------------------------------------- */

static const struct loop_calls event_loop_calls = {
	.turn = event_loop_turn,
	.should_look = event_loop_should_look,
	.deadline_ns = event_loop_deadline_ns,
	.is_awaited = event_loop_is_awaited,
};

struct event_loop *event_loop_create(struct control_plane *control, enum poll_mode poll,
				     uint64_t exit_when_idle_ns)
{
	/* Device processes need the processors: only they poll without end. */
	const enum poll_mode mode = poll == POLL_BUSY ? POLL_SLEEP : poll;
	struct event_loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->control = control;
	loop->exit_when_idle_ns = exit_when_idle_ns;
	loop->has_looked = true;
	loop->loop = loop_create(&event_loop_calls, awake_rule_of(AWAKE_CONTROL_PLANE, mode), loop);
	if (loop->loop == NULL) {
		free(loop);
		return NULL;
	}
	event_loop_watch_all(loop);
	return loop;
}

void event_loop_destroy(struct event_loop *loop)
{
	loop_destroy(loop->loop);
	free(loop);
}

bool event_loop_run(struct event_loop *loop)
{
	loop->idle_since_ns = clock_now_ns();
	loop_run(loop->loop);
	return loop->begins_anew && !loop->is_ending;
}

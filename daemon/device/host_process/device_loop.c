/* SPDX-License-Identifier: MIT */
#include "daemon/device/host_process/device_loop.h"

#include "daemon/device/device.h"
#include "daemon/device/link/device_process.h"
#include "daemon/shared/base/heap.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/loop/loop.h"
#include "proto/base/time_units.h"

#include <signal.h>
#include <stdlib.h>

#define LOOK_NS	     (50 * RNIC_NS_PER_US)  /* between polls of the descriptors while awake */
#define SOON_LOOK_NS (1 * RNIC_NS_PER_US)   /* the same after a request: requests come in a row */
#define SOON_NS	     (200 * RNIC_NS_PER_US) /* for so long after a request */

struct device_loop {
	struct device_process *process;
	struct device *device;
	struct loop *loop;
	uint64_t asked_ns;     /* time of the last request of a client */
	uint32_t client_count; /* as last seen */
	bool has_requests;     /* clients may have requests */
	bool has_doorbells;    /* clients may have rung, or made room in pipes */
};

/* --- what ends a sleep ------------------------------------------------------------------------ */

/* Carries out what the control plane says. The process ends with the control plane. */
static void device_loop_on_link(void *context)
{
	struct device_loop *loop = context;

	link_client_poll(&loop->process->link);
}

/* device_loop_serve() serves the requests after the next turn. */
static void device_loop_on_requests(void *context)
{
	struct device_loop *loop = context;

	device_note_requests(loop->device);
	loop->has_requests = true;
}

/* device_loop_serve() serves the doorbells after the next turn, too. */
static void device_loop_on_doorbells(void *context)
{
	struct device_loop *loop = context;

	loop->has_doorbells = true;
}

static void device_loop_on_signal(void *context, int number)
{
	struct device_loop *loop = context;

	(void)number;
	loop_stop(loop->loop);
}

/* The next turn receives: an arrival only ends the sleep. */
static void device_loop_watch_port(void *context, int fd, bool for_writing)
{
	struct device_loop *loop = context;

	loop_watch(loop->loop, fd, for_writing, NULL);
}

static void device_loop_watch_all(struct device_loop *loop)
{
	loop_watch(loop->loop, loop->process->link.fd, false, device_loop_on_link);
	loop_watch(loop->loop, device_requests_fd(loop->device), false, device_loop_on_requests);
	loop_watch(loop->loop, device_clients_fd(loop->device), false, device_loop_on_doorbells);
	device_watch(loop->device, device_loop_watch_port, loop);
	loop_watch_signal(loop->loop, SIGTERM, device_loop_on_signal);
}

/* --- turns ------------------------------------------------------------------------------------ */

/*
 * Serves requests. One turn runs between the arrival of a request and this function, so that what a
 * client posted before the request is on its way before the answer. Returns whether there was
 * anything to do.
 */
static bool device_loop_serve(struct device_loop *loop, uint64_t now_ns)
{
	const bool has_requests = loop->has_requests || device_has_resumes(loop->device);
	const bool has_doorbells = loop->has_doorbells;

	if (has_requests && device_serve(loop->device))
		stats_writer_note_change(&loop->process->stats);
	if (has_doorbells)
		device_poll(loop->device);
	loop->has_requests = false;
	loop->has_doorbells = false;
	if (has_requests || has_doorbells)
		loop->asked_ns = now_ns;
	return has_requests || has_doorbells;
}

static bool device_loop_turn(void *context, uint64_t now_ns)
{
	struct device_loop *loop = context;
	const bool was_busy = device_turn(loop->device, now_ns) || device_has_work(loop->device);
	const bool was_asked = device_loop_serve(loop, now_ns);

	if (loop->process->link.is_down)
		loop_stop(loop->loop);
	return was_busy || was_asked;
}

static bool device_loop_should_look(void *context, bool was_busy, uint64_t since_look_ns,
				    uint64_t now_ns)
{
	const struct device_loop *loop = context;
	const bool is_soon = now_ns - loop->asked_ns < SOON_NS;

	(void)was_busy;
	return since_look_ns >= (is_soon ? SOON_LOOK_NS : LOOK_NS);
}

/* The statistics page shows when a client came or went. */
static void device_loop_note_clients(struct device_loop *loop)
{
	const uint32_t client_count = device_client_count(loop->device);

	if (client_count != loop->client_count)
		stats_writer_note_change(&loop->process->stats);
	if (client_count == 0 && loop->client_count != 0)
		heap_give_back();
	loop->client_count = client_count;
}

static void device_loop_tell(void *context, uint64_t now_ns)
{
	struct device_loop *loop = context;

	device_loop_note_clients(loop);
	device_report(loop->device);
	log_follow(now_ns);
	link_client_tick(&loop->process->link, now_ns);
	stats_writer_refresh_if_due(&loop->process->stats, loop->device, now_ns);
}

/* --- sleep ------------------------------------------------------------------------------------ */

static uint64_t device_loop_deadline_ns(void *context, uint64_t now_ns)
{
	struct device_loop *loop = context;
	const uint64_t own_ns = device_next_deadline_ns(loop->device);
	const uint64_t link_ns = link_client_next_deadline_ns(&loop->process->link, now_ns);
	const uint64_t log_ns = log_next_deadline_ns();
	const uint64_t earlier_ns = own_ns < link_ns ? own_ns : link_ns;

	return earlier_ns < log_ns ? earlier_ns : log_ns;
}

/* Not where a client has rung meanwhile. */
static bool device_loop_try_sleep(void *context, uint64_t now_ns)
{
	struct device_loop *loop = context;

	if (loop->process->link.is_down || !device_prepare_sleep(loop->device))
		return false;
	device_note_sleep(loop->device);
	stats_writer_refresh(&loop->process->stats, loop->device, now_ns);
	return true;
}

static void device_loop_wake(void *context)
{
	struct device_loop *loop = context;

	device_withdraw_sleep(loop->device);
}

/* --- life ------------------------------------------------------------------------------------- */

static const struct loop_calls device_loop_calls = {
	.turn = device_loop_turn,
	.should_look = device_loop_should_look,
	.deadline_ns = device_loop_deadline_ns,
	.tell = device_loop_tell,
	.try_sleep = device_loop_try_sleep,
	.wake = device_loop_wake,
};

struct device_loop *device_loop_create(struct device_process *process)
{
	const enum poll_mode mode = (enum poll_mode)process->start.poll;
	struct device_loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->process = process;
	loop->device = process->device;
	loop->loop =
		loop_create(&device_loop_calls, awake_rule_of(AWAKE_DEVICE_PROCESS, mode), loop);
	if (loop->loop == NULL) {
		free(loop);
		return NULL;
	}
	device_loop_watch_all(loop);
	return loop;
}

void device_loop_destroy(struct device_loop *loop)
{
	loop_destroy(loop->loop);
	free(loop);
}

void device_loop_run(struct device_loop *loop)
{
	loop_run(loop->loop);
}

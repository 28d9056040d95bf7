/* SPDX-License-Identifier: MIT */
#include "device/device_half.h"
#include "common/client_limits.h"
#include "device/device_limits.h"
#include "engine/engine_limits.h"

#include "base/bits.h"
#include "base/log.h"
#include "device/device_ports.h"
#include "device/device_state.h"
#include "device/objects/object_requests.h"
#include "device/queues/cqe_delivery.h"
#include "device/queues/qp_trouble.h"
#include "device/queues/wqe_fetch.h"
#include "device/session/session.h"
#include "device/session_turn.h"
#include "device/sigbus_guard.h"
#include "device/teardown.h"
#include "port/local/multicast.h"
#include "wire/gid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define DEVICE_EVENTS 64

static int device_half_multicast(void *context, const struct rnic_gid *group, bool is_wanted)
{
	struct device_half *half = list_entry(context, struct device_half, sessions);

	return is_wanted ? multicast_join(half->multicast, group)
			 : multicast_leave(half->multicast, group);
}

const struct engine_sink device_half_sink = {
	.cqe = cqe_delivery_cqe,
	.async_event = cqe_delivery_async_event,
	.refill = wqe_fetch_refill,
	.posted = wqe_fetch_posted,
	.watch = wqe_fetch_watch,
	.multicast = device_half_multicast,
	.trouble = qp_trouble_note,
};

static int device_half_open_engine(struct device_half *half,
				   const struct device_half_config *config, char *reason)
{
	const struct engine_config engine_config = {
		.sink = &device_half_sink,
		.sink_context = &half->sessions,
		.random = config->random,
		.max_qps = LIMIT_QPS,
		.max_mrs = LIMIT_MRS + LIMIT_MWS,
		.port_mtu_bytes = config->path_mtu_bytes,
		.line_rate = (uint64_t)config->speed_mbps * 1000000 / 8,
		.has_ecn = config->has_ecn,
	};
	int result = engine_init(&half->engine, &engine_config);

	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "cannot set up the engine: %s",
			 strerror(-result));
		return result;
	}
	for (uint32_t i = 0; i < DEVICE_GIDS; i++)
		if (!rnic_gid_is_zero(&config->gids[i]))
			engine_set_gid(&half->engine, i, &config->gids[i]);
	for (uint32_t i = 0; i < config->pkey_count; i++)
		engine_set_pkey(&half->engine, i, config->pkeys[i]);
	result = data_path_init(&half->path, &half->engine, half->port, config->services);
	if (result != 0) {
		engine_fini(&half->engine);
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for datagrams");
	}
	return result;
}

static int device_half_open_sessions(struct device_half *half,
				     const struct device_half_config *config, char *reason)
{
	int result = session_set_init(&half->sessions, &half->engine, config->facts, config->host);

	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "cannot make an epoll instance: %s",
			 strerror(-result));
		return result;
	}
	result = sigbus_guard_watch(&half->sessions);
	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "no memory: %s", strerror(-result));
		session_set_fini(&half->sessions);
	}
	return result;
}

static int device_half_open_all(struct device_half *half, const struct device_half_config *config,
				uint64_t now_ns, char *reason)
{
	int result = device_ports_open(half, config, now_ns, reason);

	if (result != 0)
		return result;
	result = device_half_open_engine(half, config, reason);
	if (result != 0)
		goto close_ports;
	result = device_half_open_sessions(half, config, reason);
	if (result != 0)
		goto close_engine;
	return 0;

close_engine:
	data_path_fini(&half->path);
	engine_fini(&half->engine);
close_ports:
	device_ports_close(half);
	return result;
}

struct device_half *device_half_open(const struct device_half_config *config, uint64_t now_ns,
				     int *error, char reason[DEVICE_REASON_BYTES])
{
	struct device_half *half = calloc(1, sizeof(*half));

	if (half == NULL) {
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for the device");
		*error = -ENOMEM;
		return NULL;
	}
	*error = device_half_open_all(half, config, now_ns, reason);
	if (*error == 0)
		return half;
	free(half);
	return NULL;
}

void device_half_close(struct device_half *half)
{
	session_set_fini(&half->sessions);
	sigbus_guard_unwatch();
	/* Send the packets that tell peers of the end of their connections. */
	while (half->path.services.has_ready(half->path.services.context) &&
	       data_path_transmit(&half->path, half->sessions.now_ns) > 0)
		;
	data_path_fini(&half->path);
	engine_fini(&half->engine);
	device_ports_close(half);
	free(half);
}

/* --- clients --------------------------------------------------------------------------------- */

int device_half_open_session(struct device_half *half, const struct session_config *config,
			     int fds[4], struct session **session)
{
	return session_create(&half->sessions, config, fds, session);
}

void device_half_stop_session(struct session *session)
{
	session->is_broken = true;
}

void device_half_cut_session(struct session *session)
{
	teardown_begin(session);
}

bool device_half_free_session(struct session *session, uint32_t *budget)
{
	return teardown_run(session, budget);
}

bool device_half_wake_session(struct session *session)
{
	return session_wake(session);
}

int device_half_request(struct ctl_call *call)
{
	return object_request(call);
}

/* --- facts in -------------------------------------------------------------------------------- */

int device_half_set_gid(struct device_half *half, uint32_t index, const struct rnic_gid *gid,
			char text[PORT_TEXT_BYTES])
{
	static const struct rnic_gid none;
	int result = half->port->ops->set_gid(half->port, index, gid, text);

	if (gid == NULL)
		engine_set_gid(&half->engine, index, &none);
	else if (result == 0)
		engine_set_gid(&half->engine, index, gid);
	return result;
}

void device_half_set_path_mtu(struct device_half *half, uint32_t bytes)
{
	engine_set_port_mtu(&half->engine, bytes);
}

void device_half_port_event(struct device_half *half, enum rnic_async_event_type type)
{
	cqe_delivery_port_event(&half->sessions, type);
}

bool device_half_uses_gid(const struct device_half *half, uint32_t index)
{
	return session_turn_uses_gid(&half->sessions, index);
}

bool device_half_uses_dest(const struct device_half *half, const struct rnic_gid *dest)
{
	return session_turn_uses_dest(&half->sessions, dest);
}

/* --- listings -------------------------------------------------------------------------------- */

void device_half_pkeys(const struct device_half *half, uint16_t pkeys[RNIC_PKEYS_MAX])
{
	memcpy(pkeys, half->engine.pkeys, sizeof(half->engine.pkeys));
}

const char *device_half_port_name(const struct device_half *half)
{
	return half->udp->ops->name;
}

uint32_t device_half_session_count(const struct device_half *half)
{
	return half->sessions.session_count;
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Counts the payload of all kinds in both directions, and a fixed cost for each packet. */
static uint64_t device_half_moved_bytes(const struct device_half *half)
{
	const uint64_t *counters = half->engine.counters;

	return counters[COUNTER_SENT_BYTES] + counters[COUNTER_RECEIVED_BYTES] +
	       LIMIT_BULK_PACKET_BYTES *
		       (counters[COUNTER_SENT_PACKETS] + counters[COUNTER_RECEIVED_PACKETS]);
}

static uint32_t device_half_take_work(void *context)
{
	struct device_half *half = context;

	return session_turn_take_work(&half->sessions);
}

bool device_half_turn(struct device_half *half, uint64_t now_ns)
{
	uint32_t done;

	half->sessions.now_ns = now_ns;
	half->loop_counters.turns++;
	done = data_path_turn(&half->path, device_half_take_work, half, now_ns);
	half->sessions.is_bulk =
		traffic_note(&half->traffic, device_half_moved_bytes(half), now_ns);
	session_turn_deliver(&half->sessions, done > 0);
	sigbus_guard_break(&half->sessions);
	return done > 0;
}

bool device_half_has_work(const struct device_half *half)
{
	/* WQEs that end in error send nothing, but may leave responses to send. */
	return session_turn_has_work(&half->sessions) || data_path_has_work(&half->path);
}

bool device_half_prepare_sleep(struct device_half *half)
{
	session_turn_announce_sleep(&half->sessions);
	return session_turn_take_work(&half->sessions) == 0 &&
	       !session_turn_has_work(&half->sessions);
}

void device_half_note_sleep(struct device_half *half)
{
	half->loop_counters.sleeps++;
}

void device_half_withdraw_sleep(struct device_half *half)
{
	session_turn_withdraw_sleep(&half->sessions);
}

bool device_half_poll(struct device_half *half)
{
	struct epoll_event events[DEVICE_EVENTS];
	int count = epoll_wait(half->sessions.epoll_fd, events, DEVICE_EVENTS, 0);

	for (int i = 0; i < count; i++) {
		const struct watch *watch = events[i].data.ptr;

		switch (watch->kind) {
		case WATCH_PIPE:
			if (!watch->session->is_broken)
				cqe_delivery_retry(watch->session);
			break;
		case WATCH_DOORBELL:
			session_wake(watch->session); /* each turn takes the doorbells */
			break;
		}
	}
	return count > 0;
}

int device_half_clients_fd(const struct device_half *half)
{
	return half->sessions.epoll_fd;
}

void device_half_watch(struct device_half *half,
		       void (*watch)(void *context, int fd, bool for_writing), void *context)
{
	half->port->ops->watch(half->port, watch, context);
}

static void device_half_report_refusal(struct device_half *half)
{
	const struct device_host *host = half->sessions.host;
	struct port_refusal *refusal = &half->udp->refusal;

	if (refusal->error == 0)
		return;
	host->send_refused(host->context, &refusal->dest, refusal->bytes, refusal->error);
	refusal->error = 0;
}

static void device_half_report_deliveries(struct device_half *half)
{
	const struct device_host *host = half->sessions.host;
	struct port *udp = half->udp;

	for (uint32_t i = 0; i < udp->report_count; i++) {
		const struct port_report *report = &udp->reports[i];

		host->undelivered(host->context, &report->dest, &report->from, report->error,
				  report->mtu_bytes);
	}
	udp->report_count = 0;
}

void device_half_report(struct device_half *half)
{
	char text[PORT_TEXT_BYTES];

	device_half_report_refusal(half);
	device_half_report_deliveries(half);
	if (half->capture != NULL && capture_take_failure(half->capture, text))
		log_warning("%s", text);
}

uint64_t device_half_next_deadline_ns(const struct device_half *half)
{
	return data_path_next_deadline_ns(&half->path);
}

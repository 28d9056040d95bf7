/* SPDX-License-Identifier: MIT */
#include "daemon/device/device.h"
#include "daemon/device/device_limits.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/reports/trouble_text.h"
#include "daemon/shared/served_peer/request_turn.h"
#include "lib/nic/engine/engine_limits.h"

#include "daemon/device/device_state.h"
#include "daemon/device/queues/cqe_delivery.h"
#include "daemon/device/queues/qp_trouble.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/requests/connection_teardown.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/requests/device_requests.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session_turn.h"
#include "daemon/device/sigbus_guard.h"
#include "daemon/shared/base/log.h"
#include "lib/nic/engine/datagrams/mcast.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define DEVICE_EVENTS 64

_Static_assert(DEVICE_REASON_BYTES >= PORT_TEXT_BYTES, "every sentence fits");

static int device_half_join(struct device_half *half, const struct rnic_gid *group)
{
	const struct device_host *host = half->host;
	int fd = -1;
	int result;

	result = host->join_group(host->context, group, &fd);
	if (result != 0)
		return result;
	result = multicast_give(half->ports.multicast, group, fd);
	if (result != 0)
		host->leave_group(host->context, group);
	return result;
}

static int device_half_leave(struct device_half *half, const struct rnic_gid *group)
{
	const struct device_host *host = half->host;
	int result = multicast_leave(half->ports.multicast, group);

	host->leave_group(host->context, group);
	return result;
}

/* -EINPROGRESS from the host goes up to the client's request, which is carried out anew. */
static int device_half_multicast(void *context, const struct rnic_gid *group, bool is_wanted)
{
	struct device_half *half = list_entry(context, struct device_half, sessions);

	return is_wanted ? device_half_join(half, group) : device_half_leave(half, group);
}

const struct engine_sink device_half_sink = {
	.cqe = cqe_delivery_cqe,
	.send_space = wqe_fetch_send_space,
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
		.table_seed = random_source_next(&config->random),
		.max_qps = LIMIT_QPS,
		.max_mrs = LIMIT_MRS + LIMIT_MWS,
		.port_mtu_bytes = config->path_mtu_bytes,
		.line_rate = (uint64_t)config->speed_mbps * 1000000 / 8,
		.has_ecn = config->has_ecn,
		.peer_ports = config->peer_ports,
		.lane = config->lane,
	};
	int result = engine_init(&half->engine, &engine_config);

	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "cannot set up the engine: %s",
			 strerror(-result));
		return result;
	}
	for (uint32_t i = 0; i < RNIC_PKEYS_MAX; i++)
		engine_set_pkey(&half->engine, i, config->pkeys->pkeys[i]);
	result = data_path_init(&half->path, &half->engine, half->ports.top);
	if (result != 0) {
		engine_fini(&half->engine);
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for datagrams");
		return result;
	}
	data_path_set_lane(&half->path, config->lane, config->host->stray, config->host->context);
	return 0;
}

static int device_half_open_sessions(struct device_half *half,
				     const struct device_half_config *config, char *reason)
{
	int result = session_set_init(&half->sessions, &half->engine, &half->facts,
				      &device_connection_owner);

	if (result != 0)
		goto fail;
	result = connection_set_init(&half->connections, &half->sessions, half->host,
				     &device_requests_role, config->memory_bytes);
	if (result != 0)
		goto close_sessions;
	half->sessions.guard = config->guard;
	half->sessions.is_program = config->is_program;
	half->connections.quotas.deferred_close.is_immediate = config->is_program;
	half->has_sigbus_guard = !config->is_program;
	result = half->has_sigbus_guard ? sigbus_guard_watch(&half->sessions) : 0;
	if (result != 0)
		goto close_connections;
	return 0;

close_connections:
	connection_set_fini(&half->connections);
close_sessions:
	session_set_fini(&half->sessions);
fail:
	snprintf(reason, DEVICE_REASON_BYTES, "cannot set up the clients' part: %s",
		 strerror(-result));
	return result;
}

static uint32_t device_half_count_copies(void *context, const struct rnic_gid *group)
{
	const struct device_half *half = context;
	const struct mcast_group *joined = mcast_find(&half->engine, group);

	return joined != NULL ? joined->member_count : 0;
}

static int device_half_open_ports(struct device_half *half, const struct device_half_config *config,
				  uint64_t now_ns, char *reason)
{
	const struct port_stack_config ports = {
		.netdev = config->netdev,
		.netdev_index = config->netdev_index,
		.lane = config->lane,
		.port = config->port,
		.segmentation = config->segmentation,
		.ask_neighbours = config->ask_neighbours,
		.fault = config->fault,
		.has_capture_fd = config->has_capture_fd,
		.capture_fd = config->capture_fd,
		.copies = {device_half_count_copies, half},
	};
	int result = port_stack_open(&half->ports, &ports, now_ns, reason);

	if (result == 0 && reason[0] != '\0')
		log_info("%s", reason);
	return result;
}

static int device_half_open_all(struct device_half *half, const struct device_half_config *config,
				uint64_t now_ns, char *reason)
{
	int result = device_half_open_ports(half, config, now_ns, reason);

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
	port_stack_close(&half->ports);
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
	half->facts.device = *config->attributes;
	half->facts.pkeys = *config->pkeys;
	half->host = config->host;
	*error = device_half_open_all(half, config, now_ns, reason);
	if (*error == 0)
		return half;
	free(half);
	return NULL;
}

void device_half_end_waits(struct device_half *half)
{
	data_path_end_waits(&half->path, false, half->sessions.now_ns);
}

void device_half_close(struct device_half *half)
{
	device_half_end_waits(half);
	connection_teardown_all(&half->connections);
	connection_set_fini(&half->connections);
	session_set_fini(&half->sessions);
	if (half->has_sigbus_guard)
		sigbus_guard_unwatch();
	data_path_fini(&half->path);
	engine_fini(&half->engine);
	port_stack_close(&half->ports);
	free(half);
}

/* --- clients --------------------------------------------------------------------------------- */

int device_half_add_client(struct device_half *half, const struct device_client *client)
{
	struct device_connection *connection;

	return device_connection_create(&half->connections, client, &connection);
}

void device_half_end_client(struct device_half *half, uint32_t client_id)
{
	device_half_end_waits(half);
	device_connection_end_client(&half->connections, client_id);
}

uint32_t device_half_client_count(const struct device_half *half)
{
	return half->connections.connection_count;
}

uint32_t device_half_session_count(const struct device_half *half)
{
	return half->sessions.session_count;
}

/* --- facts in -------------------------------------------------------------------------------- */

int device_half_set_gid(struct device_half *half, uint32_t index, const struct rnic_gid *gid,
			const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	static const struct rnic_gid none;
	int result = half->ports.top->ops->set_gid(half->ports.top, index, gid, sockets, text);

	if (gid == NULL)
		engine_set_gid(&half->engine, index, &none);
	else if (result == 0)
		engine_set_gid(&half->engine, index, gid);
	return result;
}

void device_half_set_facts(struct device_half *half, const struct rnic_process_facts *facts)
{
	struct device_facts *own = &half->facts;
	const bool has_new_state = own->port.state != facts->port.state;
	const bool has_new_gids = memcmp(&own->gids, &facts->gids, sizeof(own->gids)) != 0;

	engine_set_port_mtu(&half->engine, facts->path_mtu_bytes);
	own->port = facts->port;
	own->gids = facts->gids;
	half->facts_sequence = facts->sequence;
	if (has_new_state)
		cqe_delivery_port_event(&half->sessions, own->port.state == RNIC_PORT_ACTIVE
								 ? RNIC_EVENT_PORT_ACTIVE
								 : RNIC_EVENT_PORT_ERR);
	if (has_new_gids)
		cqe_delivery_port_event(&half->sessions, RNIC_EVENT_GID_CHANGE);
}

void device_half_deliver(struct device_half *half, const struct rnic_addresses *addresses,
			 uint8_t *bytes, uint32_t length, uint64_t now_ns)
{
	data_path_deliver(&half->path, addresses, bytes, length, now_ns);
}

const char *device_half_port_name(const struct device_half *half)
{
	return half->ports.udp->ops->name;
}

/* --- turns ----------------------------------------------------------------------------------- */

static uint32_t device_half_take_work(void *context)
{
	struct device_half *half = context;

	return session_turn_take_work(&half->sessions);
}

static void device_half_begin_turn(struct device_half *half, uint64_t now_ns)
{
	session_turn_begin(&half->sessions, now_ns);
	half->loop_counters.turns++;
}

/* `done` counts the packets and work requests of the turn. Returns whether there were any. */
static bool device_half_end_turn(struct device_half *half, uint32_t done)
{
	session_turn_deliver(&half->sessions, done > 0);
	sigbus_guard_break(&half->sessions);
	connection_teardown_run(&half->connections);
	return done > 0;
}

bool device_half_turn(struct device_half *half, uint64_t now_ns)
{
	uint32_t done;

	device_half_begin_turn(half, now_ns);
	done = data_path_turn(&half->path, device_half_take_work, half, now_ns);
	return device_half_end_turn(half, done);
}

bool device_half_turn_to_send(struct device_half *half, uint64_t now_ns)
{
	uint32_t done;

	device_half_begin_turn(half, now_ns);
	done = data_path_turn_to_send(&half->path, device_half_take_work, half, now_ns);
	return device_half_end_turn(half, done);
}

uint64_t device_half_received_datagrams(const struct device_half *half)
{
	return half->ports.udp->counters.received_datagrams;
}

bool device_half_has_work(const struct device_half *half)
{
	/* WQEs that end in error send nothing, but may leave responses to send. */
	return session_turn_has_work(&half->sessions) || data_path_has_work(&half->path) ||
	       connection_set_has_work(&half->connections);
}

bool device_half_prepare_sleep(struct device_half *half)
{
	data_path_end_waits(&half->path, true, half->sessions.now_ns);
	session_turn_announce_sleep(&half->sessions);
	return session_turn_take_work(&half->sessions) == 0 &&
	       !session_turn_has_work(&half->sessions) &&
	       !connection_set_has_work(&half->connections);
}

void device_half_note_sleep(struct device_half *half)
{
	half->loop_counters.sleeps++;
}

void device_half_wake_clients(struct device_half *half)
{
	session_turn_wake(&half->sessions);
}

void device_half_withdraw_sleep(struct device_half *half)
{
	session_turn_withdraw_sleep(&half->sessions);
}

void device_half_note_requests(struct device_half *half)
{
	request_turn_note(&half->connections.server);
}

bool device_half_serve(struct device_half *half)
{
	device_half_end_waits(half);
	return request_turn_run(&half->connections.server);
}

bool device_half_has_resumes(const struct device_half *half)
{
	return request_server_has_resumes(&half->connections.server);
}

int device_half_requests_fd(const struct device_half *half)
{
	return half->connections.server.epoll_fd;
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
	half->ports.top->ops->watch(half->ports.top, watch, context);
}

static void device_half_report_refusal(struct device_half *half)
{
	struct port_refusal *refusal = &half->ports.udp->refusal;
	struct rnic_process_trouble trouble;

	if (refusal->error == 0)
		return;
	trouble_text_of_refusal(&trouble, &refusal->dest, refusal->bytes, refusal->error);
	half->host->trouble(half->host->context, &trouble);
	refusal->error = 0;
}

/*
 * Anybody can send ICMP: a report counts only when an object of a client has its peer there.
 * Packets of the connection manager have their own socket, in the control plane.
 */
static void device_half_report_delivery(struct device_half *half, const struct port_report *report)
{
	const struct device_host *host = half->host;
	struct rnic_process_trouble trouble;

	if (!session_turn_uses_dest(&half->sessions, &report->dest))
		return;
	trouble_text_of_delivery(&trouble, &half->facts.gids, &report->dest, &report->from,
				 report->error, report->mtu_bytes);
	host->trouble(host->context, &trouble);
}

void device_half_report(struct device_half *half)
{
	char text[PORT_TEXT_BYTES];

	device_half_report_refusal(half);
	for (uint32_t i = 0; i < half->ports.udp->report_count; i++)
		device_half_report_delivery(half, &half->ports.udp->reports[i]);
	half->ports.udp->report_count = 0;
	if (half->ports.capture != NULL && capture_take_failure(half->ports.capture, text))
		log_warning("%s", text);
}

uint64_t device_half_next_deadline_ns(const struct device_half *half)
{
	const uint64_t deadlines_ns[] = {
		data_path_next_deadline_ns(&half->path),
		connection_teardown_next_ns(&half->connections),
		request_server_next_deadline_ns(&half->connections.server),
	};

	return rnic_earliest_ns(deadlines_ns, RNIC_COUNT_OF(deadlines_ns));
}

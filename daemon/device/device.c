/* SPDX-License-Identifier: MIT */
#include "daemon/device/device.h"
#include "daemon/device/device_limits.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/reports/trouble_text.h"
#include "daemon/shared/served_peer/peer_teardown.h"
#include "daemon/shared/served_peer/request_turn.h"
#include "lib/nic/engine/engine_limits.h"

#include "daemon/device/device_state.h"
#include "daemon/device/queues/cqe_delivery.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/requests/device_requests.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session_turn.h"
#include "daemon/device/sigbus_guard.h"
#include "daemon/shared/base/log.h"
#include "lib/nic/engine/datagrams/mcast.h"
#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/requester/peer_probe.h"
#include "lib/nic/engine/verbs/qp.h"
#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Packets behind gaps take one part in so many of the memory that clients share. */
#define KEPT_MEMORY_PARTS 16

#define DEVICE_EVENTS 64

/* A port that takes nothing for so long takes nothing more. */
#define ACKNOWLEDGE_ALL_NS (100 * RNIC_NS_PER_MS)

_Static_assert(DEVICE_REASON_BYTES >= PORT_TEXT_BYTES, "every sentence fits");

static int device_join(struct device *device, const struct rnic_gid *group)
{
	const struct device_host *host = device->host;
	int fd = -1;
	int result;

	result = host->join_group(host->context, group, &fd);
	if (result != 0)
		return result;
	result = multicast_give(device->ports.multicast, group, fd);
	if (result != 0)
		host->leave_group(host->context, group);
	return result;
}

int device_renew_group(struct device *device, const struct rnic_gid *group, int fd)
{
	int result = multicast_leave(device->ports.multicast, group);

	if (result == 0)
		return multicast_give(device->ports.multicast, group, fd);
	close(fd);
	return result;
}

static int device_leave(struct device *device, const struct rnic_gid *group)
{
	const struct device_host *host = device->host;
	int result = multicast_leave(device->ports.multicast, group);

	host->leave_group(host->context, group);
	return result;
}

/* -EINPROGRESS from the host goes up to the client's request, which is carried out anew. */
static int device_multicast(void *context, const struct rnic_gid *group, bool is_wanted)
{
	struct device *device = list_entry(context, struct device, sessions);

	return is_wanted ? device_join(device, group) : device_leave(device, group);
}

const struct engine_sink device_sink = {
	.cqe = cqe_delivery_cqe,
	.send_space = wqe_fetch_send_space,
	.async_event = cqe_delivery_async_event,
	.refill = wqe_fetch_refill,
	.posted = wqe_fetch_posted,
	.watch = wqe_fetch_watch,
	.entered_error = wqe_fetch_entered_error,
	.multicast = device_multicast,
	.refuses_when_gone = qp_trouble_refuses_when_gone,
	.trouble = qp_trouble_note,
};

/* Where there is little memory for clients, there is little for packets behind gaps. */
static uint32_t kept_packets_for(uint64_t memory_bytes)
{
	const uint64_t packets = memory_bytes / KEPT_MEMORY_PARTS / sizeof(struct kept_packet);

	if (packets < LIMIT_KEPT_PACKETS_LEAST)
		return LIMIT_KEPT_PACKETS_LEAST;
	return packets < LIMIT_KEPT_PACKETS ? (uint32_t)packets : LIMIT_KEPT_PACKETS;
}

static int device_open_engine(struct device *device, const struct device_config *config,
			      char *reason)
{
	const struct engine_config engine_config = {
		.sink = &device_sink,
		.sink_context = &device->sessions,
		.random = config->random,
		.table_seed = random_source_next(&config->random),
		.max_qps = LIMIT_QPS,
		.max_mrs = LIMIT_MRS + LIMIT_MWS,
		.port_mtu_bytes = config->path_mtu_bytes,
		.kept_packets = kept_packets_for(config->memory_bytes),
		.line_rate = (uint64_t)config->speed_mbps * 1000000 / 8,
		.has_ecn = config->has_ecn,
		.peer_ports = config->peer_ports,
		.lane = config->lane,
		.record = config->record,
	};
	int result = engine_init(&device->engine, &engine_config);

	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "cannot set up the engine: %s",
			 strerror(-result));
		return result;
	}
	for (uint32_t i = 0; i < RNIC_PKEYS_MAX; i++)
		engine_set_pkey(&device->engine, i, config->pkeys->pkeys[i]);
	result = data_path_init(&device->path, &device->engine, device->ports.top);
	if (result != 0) {
		engine_fini(&device->engine);
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for datagrams");
		return result;
	}
	data_path_set_lane(&device->path, config->lane, config->host->take_misrouted,
			   config->host->context);
	return 0;
}

static int device_open_sessions(struct device *device, const struct device_config *config,
				char *reason)
{
	int result = session_set_init(&device->sessions, &device->engine, &device->facts,
				      &device_connection_owner);

	if (result != 0)
		goto fail;
	result = connection_set_init(&device->connections, &device->sessions, device->host,
				     &device_requests_role, config->memory_bytes);
	if (result != 0)
		goto close_sessions;
	device->connections.ends = &device->ends;
	device->sessions.guard = config->guard;
	device->sessions.is_program = config->is_program;
	device->sessions.qp_owners = config->qp_owners;
	device->connections.peers.quotas.deferred_close.is_immediate = config->is_program;
	if (device->ports.capture != NULL &&
	    data_path_set_capture(&device->path, device->ports.capture, qp_trouble_program,
				  &device->sessions) != 0)
		log_warning("no memory for comments: the capture has packets alone");
	device->has_sigbus_guard = !config->is_program;
	result = device->has_sigbus_guard ? sigbus_guard_watch(&device->sessions) : 0;
	if (result != 0)
		goto close_connections;
	return 0;

close_connections:
	served_set_fini(&device->connections.peers);
close_sessions:
	session_set_fini(&device->sessions);
fail:
	snprintf(reason, DEVICE_REASON_BYTES, "cannot set up the clients' part: %s",
		 strerror(-result));
	return result;
}

static uint32_t device_count_copies(void *context, const struct rnic_gid *group)
{
	const struct device *device = context;
	const struct mcast_group *joined = mcast_find(&device->engine, group);

	return joined != NULL ? joined->member_count : 0;
}

static int device_open_ports(struct device *device, const struct device_config *config,
			     uint64_t now_ns, char *reason)
{
	const struct port_stack_config ports = {
		.netdev = config->netdev,
		.netdev_index = config->netdev_index,
		.lane = config->lane,
		.port = config->port,
		.segmentation = config->segmentation,
		.ask_neighbours = config->ask_neighbours,
		.has_capture_fd = config->has_capture_fd,
		.capture_fd = config->capture_fd,
		.copies = {device_count_copies, device},
	};
	int result = port_stack_open(&device->ports, &ports, now_ns, reason);

	if (result == 0 && reason[0] != '\0')
		log_info("%s", reason);
	return result;
}

static int device_open_all(struct device *device, const struct device_config *config,
			   uint64_t now_ns, char *reason)
{
	int result = device_open_ports(device, config, now_ns, reason);

	if (result != 0)
		return result;
	result = device_open_engine(device, config, reason);
	if (result != 0)
		goto close_ports;
	result = device_open_sessions(device, config, reason);
	if (result != 0)
		goto close_engine;
	return 0;

close_engine:
	data_path_fini(&device->path);
	engine_fini(&device->engine);
close_ports:
	port_stack_close(&device->ports);
	return result;
}

struct device *device_open(const struct device_config *config, uint64_t now_ns, int *error,
			   char reason[DEVICE_REASON_BYTES])
{
	struct device *device = calloc(1, sizeof(*device));

	if (device == NULL) {
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for the device");
		*error = -ENOMEM;
		return NULL;
	}
	device->facts.device = *config->attributes;
	device->facts.pkeys = *config->pkeys;
	device->host = config->host;
	*error = device_open_all(device, config, now_ns, reason);
	if (*error == 0)
		return device;
	free(device);
	return NULL;
}

void device_end_waits(struct device *device)
{
	data_path_end_waits(&device->path, false, device->sessions.now_ns);
}

void device_acknowledge_all(struct device *device)
{
	uint64_t now_ns = clock_now_ns();
	const uint64_t end_ns = now_ns + ACKNOWLEDGE_ALL_NS;

	while (!data_path_acknowledge_all(&device->path, now_ns) && now_ns < end_ns) {
		sched_yield();
		now_ns = clock_now_ns();
		engine_tick(&device->engine, now_ns);
	}
}

/* Queue pairs that end with their programs may leave acknowledgements behind. */
void device_close(struct device *device)
{
	device_acknowledge_all(device);
	peer_teardown_all(&device->connections.peers);
	device_acknowledge_all(device);
	served_set_fini(&device->connections.peers);
	session_set_fini(&device->sessions);
	if (device->has_sigbus_guard)
		sigbus_guard_unwatch();
	data_path_fini(&device->path);
	engine_fini(&device->engine);
	port_stack_close(&device->ports);
	free(device);
}

/* --- clients --------------------------------------------------------------------------------- */

int device_add_client(struct device *device, const struct device_client *client)
{
	struct device_connection *connection;

	return device_connection_create(&device->connections, client, &connection);
}

void device_end_client(struct device *device, uint32_t client_id)
{
	engine_tell_time(&device->engine, clock_now_ns());
	device_end_waits(device);
	device_connection_end_client(&device->connections, client_id);
}

uint32_t device_client_count(const struct device *device)
{
	return device->connections.peers.count;
}

uint32_t device_session_count(const struct device *device)
{
	return device->sessions.session_count;
}

/* --- facts in -------------------------------------------------------------------------------- */

int device_set_gid(struct device *device, uint32_t index, const struct rnic_gid *gid,
		   const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	static const struct rnic_gid none;
	int result = device->ports.top->ops->set_gid(device->ports.top, index, gid, sockets, text);

	engine_tell_time(&device->engine, clock_now_ns());
	if (gid == NULL)
		engine_set_gid(&device->engine, index, &none);
	else if (result == 0)
		engine_set_gid(&device->engine, index, gid);
	return result;
}

/* Before the change, so that what waits to be sent leaves by an intact link. */
static void device_cut_link(struct device *device, bool is_cut)
{
	if (is_cut == device->ports.is_cut)
		return;
	device_end_waits(device);
	port_stack_set_cut(&device->ports, is_cut);
	engine_tell_time(&device->engine, clock_now_ns());
	engine_note_link(&device->engine, !is_cut);
	data_path_set_stack(&device->path, &device->ports);
}

void device_set_facts(struct device *device, const struct rnic_process_facts *facts)
{
	struct device_facts *own = &device->facts;
	const bool has_new_state = own->port.state != facts->port.state;
	const bool has_new_gids = memcmp(&own->gids, &facts->gids, sizeof(own->gids)) != 0;

	if (facts->netdev_index != 0 && facts->netdev_index != own->device.netdev_index) {
		device->ports.udp->ops->set_netdev(device->ports.udp, facts->netdev_index);
		own->device.netdev_index = facts->netdev_index;
	}
	engine_set_port_mtu(&device->engine, facts->path_mtu_bytes);
	engine_set_hop_limits(&device->engine, facts->hop_limit_ipv4, facts->hop_limit_ipv6);
	device_cut_link(device, facts->is_cut != 0);
	own->port = facts->port;
	own->gids = facts->gids;
	device->facts_sequence = facts->sequence;
	if (has_new_state)
		cqe_delivery_port_event(&device->sessions, own->port.state == RNIC_PORT_ACTIVE
								   ? RNIC_EVENT_PORT_ACTIVE
								   : RNIC_EVENT_PORT_ERR);
	if (has_new_gids)
		cqe_delivery_port_event(&device->sessions, RNIC_EVENT_GID_CHANGE);
}

void device_deliver(struct device *device, const struct rnic_addresses *addresses, uint8_t *bytes,
		    uint32_t length, uint64_t now_ns)
{
	data_path_deliver(&device->path, addresses, bytes, length, now_ns);
}

int device_probe_peer(struct device *device, uint32_t qpn, uint64_t *received_packets)
{
	struct qp *qp = key_table_find(&device->engine.qps, qpn);

	if (qp == NULL)
		return -ENOENT;
	*received_packets = qp->counters.received_packets;
	return peer_probe_ask(qp);
}

const char *device_port_name(const struct device *device)
{
	return device->ports.udp->ops->name;
}

/* --- turns ----------------------------------------------------------------------------------- */

static uint32_t device_take_work(void *context)
{
	struct device *device = context;

	return session_turn_take_work(&device->sessions);
}

static void device_begin_turn(struct device *device, uint64_t now_ns)
{
	session_turn_begin(&device->sessions, now_ns);
	device->loop_counters.turns++;
}

/* `done` counts the packets and work requests of the turn. Returns whether there were any. */
static bool device_end_turn(struct device *device, uint32_t done)
{
	session_turn_deliver(&device->sessions, done > 0);
	sigbus_guard_break(&device->sessions);
	peer_teardown_run(&device->connections.peers, device->sessions.now_ns);
	return done > 0;
}

bool device_turn(struct device *device, uint64_t now_ns)
{
	uint32_t done;

	device_begin_turn(device, now_ns);
	done = data_path_turn(&device->path, device_take_work, device, now_ns);
	return device_end_turn(device, done);
}

bool device_turn_to_send(struct device *device, uint64_t now_ns)
{
	uint32_t done;

	device_begin_turn(device, now_ns);
	done = data_path_turn_to_send(&device->path, device_take_work, device, now_ns);
	return device_end_turn(device, done);
}

uint64_t device_received_datagrams(const struct device *device)
{
	return device->ports.udp->counters.received_datagrams;
}

bool device_has_work(const struct device *device)
{
	/* WQEs that end in error send nothing, but may leave responses to send. */
	return session_turn_has_work(&device->sessions) || data_path_has_work(&device->path) ||
	       served_set_has_work(&device->connections.peers);
}

bool device_prepare_sleep(struct device *device)
{
	data_path_end_waits(&device->path, true, device->sessions.now_ns);
	session_turn_announce_sleep(&device->sessions);
	return session_turn_take_work(&device->sessions) == 0 &&
	       !session_turn_has_work(&device->sessions) &&
	       !served_set_has_work(&device->connections.peers);
}

void device_note_sleep(struct device *device)
{
	device->loop_counters.sleeps++;
}

void device_wake_clients(struct device *device)
{
	session_turn_wake(&device->sessions);
}

void device_withdraw_sleep(struct device *device)
{
	session_turn_withdraw_sleep(&device->sessions);
}

void device_note_requests(struct device *device)
{
	request_turn_note(&device->connections.peers.server);
}

bool device_serve(struct device *device)
{
	engine_tell_time(&device->engine, clock_now_ns());
	device_end_waits(device);
	return request_turn_run(&device->connections.peers.server);
}

bool device_has_resumes(const struct device *device)
{
	return request_server_has_resumes(&device->connections.peers.server);
}

int device_requests_fd(const struct device *device)
{
	return device->connections.peers.server.epoll_fd;
}

bool device_poll(struct device *device)
{
	struct epoll_event events[DEVICE_EVENTS];
	int count = epoll_wait(device->sessions.epoll_fd, events, DEVICE_EVENTS, 0);

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

int device_clients_fd(const struct device *device)
{
	return device->sessions.epoll_fd;
}

void device_watch(struct device *device, void (*watch)(void *context, int fd, bool for_writing),
		  void *context)
{
	device->ports.top->ops->watch(device->ports.top, watch, context);
}

static void device_report_refusal(struct device *device)
{
	struct port_refusal *refusal = &device->ports.udp->refusal;
	struct rnic_process_trouble trouble;

	if (refusal->error == 0)
		return;
	trouble_text_of_refusal(&trouble, &refusal->dest, refusal->bytes, refusal->error);
	device->host->trouble(device->host->context, &trouble);
	refusal->error = 0;
}

/*
 * Anybody can send ICMP: a report counts only when an object of a client has its peer there.
 * Packets of the connection manager have their own socket, in the control plane.
 */
static void device_report_delivery(struct device *device, const struct port_report *report)
{
	const struct device_host *host = device->host;
	struct rnic_process_trouble trouble;

	if (!session_turn_uses_dest(&device->sessions, &report->dest))
		return;
	trouble_text_of_delivery(&trouble, &device->facts.gids, &report->dest, &report->from,
				 report->error, report->mtu_bytes);
	host->trouble(host->context, &trouble);
}

static void device_report_icrc(struct device *device)
{
	struct rnic_process_trouble trouble;
	struct icrc_suspect accused;

	if (!icrc_check_take_accused(&device->path.receive.icrc, &accused))
		return;
	trouble_text_of_icrc(&trouble, &accused.source, accused.bad);
	device->host->trouble(device->host->context, &trouble);
}

static void device_report_unknown_qp(struct device *device)
{
	struct rnic_process_trouble trouble;
	struct unknown_qp unknown;

	if (!engine_take_unknown_qp(&device->engine, &unknown))
		return;
	trouble_text_of_unknown_qp(&trouble, &unknown);
	device->host->trouble(device->host->context, &trouble);
}

void device_report(struct device *device)
{
	char text[PORT_TEXT_BYTES];

	device_report_refusal(device);
	device_report_icrc(device);
	device_report_unknown_qp(device);
	for (uint32_t i = 0; i < device->ports.udp->report_count; i++)
		device_report_delivery(device, &device->ports.udp->reports[i]);
	device->ports.udp->report_count = 0;
	if (device->ports.capture != NULL && capture_take_failure(device->ports.capture, text))
		log_warning("%s", text);
}

uint64_t device_next_deadline_ns(const struct device *device)
{
	const uint64_t deadlines_ns[] = {
		data_path_next_deadline_ns(&device->path),
		served_peer_deadline_ns(&device->connections.peers.silent),
		served_set_release_ns(&device->connections.peers),
		request_server_next_deadline_ns(&device->connections.peers.server),
	};

	return rnic_earliest_ns(deadlines_ns, RNIC_COUNT_OF(deadlines_ns));
}

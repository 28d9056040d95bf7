/* SPDX-License-Identifier: MIT */
#include "device/device.h"

#include "base/log.h"
#include "cm/cm_limits.h"
#include "common/client_limits.h"
#include "device/device_counters.h"
#include "device/device_limits.h"
#include "engine/datagrams/mcast.h"
#include "network/silent_neighbours.h"
#include "port/conditions/fault.h"
#include "port/local/loopback.h"
#include "port/local/multicast.h"
#include "cm_ids/cm_identifier.h"
#include "device/session/sigbus_guard.h"
#include "shm/wqe.h"
#include "wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEVICE_VENDOR_ID      0x726e69 /* "rni", nobody's OUI */
#define DEVICE_VENDOR_PART_ID 1
#define DEVICE_PAGE_SIZES     UINT64_C(0xfffffffffffff000)
#define DEVICE_MR_BYTES_MAX   (UINT64_C(1) << 46)
#define DEVICE_RNIC_MTU_MAX   5

_Static_assert(DEVICE_REASON_BYTES >= PORT_TEXT_BYTES &&
		       DEVICE_REASON_BYTES >= SOCKET_PATH_REASON_BYTES &&
		       DEVICE_REASON_BYTES >= VIEW_TREE_REASON_BYTES,
	       "every sentence fits");

static int device_join(void *context, const struct rnic_gid *group, bool is_member)
{
	struct device *device = context;

	return is_member ? multicast_join(device->multicast, group)
			 : multicast_leave(device->multicast, group);
}

static uint32_t device_count_copies(void *context, const struct rnic_gid *group)
{
	const struct device *device = context;
	const struct mcast_group *joined = mcast_find(&device->engine, group);

	return joined != NULL ? joined->member_count : 0;
}

static void device_copy_name(char name[RNIC_CTL_NAME_BYTES], const char *text)
{
	snprintf(name, RNIC_CTL_NAME_BYTES, "%s", text);
}

static void device_fill_attributes(struct rnic_device_attributes *attributes,
				   const struct addressing *addressing, const char *name)
{
	*attributes = (struct rnic_device_attributes){
		.node_guid = addressing->node_guid,
		.max_mr_bytes = DEVICE_MR_BYTES_MAX,
		.page_sizes = DEVICE_PAGE_SIZES,
		.vendor_id = DEVICE_VENDOR_ID,
		.vendor_part_id = DEVICE_VENDOR_PART_ID,
		.hardware_version = 1,
		.netdev_index = addressing->netdev_index,
		.max_qp = RNIC_SESSION_QPS_MAX,
		.max_qp_wr = LIMIT_WR_DEPTH,
		.max_sge = LIMIT_SGES,
		.max_inline_bytes = LIMIT_INLINE_BYTES,
		.max_cq = RNIC_SESSION_CQS_MAX,
		.max_cqe = LIMIT_CQ_ENTRIES,
		.max_mr = LIMIT_SESSION_MRS,
		.max_mw = LIMIT_SESSION_MWS,
		.max_pd = LIMIT_SESSION_PDS,
		.max_ah = LIMIT_SESSION_AHS,
		.max_srq = RNIC_SESSION_SRQS_MAX,
		.max_srq_wr = LIMIT_WR_DEPTH,
		.max_srq_sge = LIMIT_SGES,
		.max_mcast_groups = LIMIT_SESSION_MCAST_GROUPS,
		.max_qp_rd_atomic = LIMIT_RD_ATOMIC,
		.max_message_bytes = RNIC_MESSAGE_BYTES_MAX,
		.gid_count = RNIC_GIDS_MAX, /* slots, of which some are empty */
		.completion_vectors = 1,
		.local_ack_delay = LIMIT_LOCAL_ACK_DELAY,
	};
	device_copy_name(attributes->name, name);
	device_copy_name(attributes->netdev, addressing->netdev);
	device_copy_name(attributes->firmware, RNIC_VERSION);
}

static void device_fill_facts(struct device *device, const struct device_config *config)
{
	const struct addressing *addressing = &device->addressing;
	struct device_facts *facts = &device->facts;

	memset(facts, 0, sizeof(*facts));
	device_fill_attributes(&facts->device, addressing, config->name);
	facts->port = (struct rnic_ctl_port_reply){
		.max_mtu = DEVICE_RNIC_MTU_MAX,
		.max_message_bytes = RNIC_MESSAGE_BYTES_MAX,
		.gid_count = RNIC_GIDS_MAX,
		.speed_mbps = addressing->speed_mbps,
	};
	for (uint32_t i = 0; i < LIMIT_PKEYS; i++) {
		facts->pkeys.pkeys[i] = device->engine.pkeys[i];
		facts->device.pkey_count += device->engine.pkeys[i] != 0;
	}
	device_network_fill_facts(device);
	device_copy_name(facts->udp_port, device->udp->ops->name);
	device_copy_name(facts->poll, config->poll_name);
	device_copy_name(facts->segmentation, config->segmentation_name);
	device_copy_name(facts->ecn, config->has_ecn ? "on" : "off");
	facts->counter = device_counters_show;
	facts->join = device_join;
	facts->context = device;
}

static int device_open_udp(struct device *device, const struct device_config *config,
			   const struct rnic_gid *gids, uint64_t now_ns, char *reason)
{
	const struct udp_options options = {
		.gids = gids,
		.gid_count = GID_TABLE_SLOTS,
		.netdev_index = device->addressing.netdev_index,
		.segmentation = config->segmentation,
		.sink = device->capture != NULL ? capture_sink(device->capture) : NULL,
		.ask_neighbours = silent_neighbours_ask,
	};
	int result = port_open_udp(&device->udp, config->port, &options, now_ns, reason);

	if (result == 0 && reason[0] != '\0')
		log_info("%s", reason);
	return result;
}

/* Builds the stack of ports from the bottom up. */
static int device_open_ports(struct device *device, const struct device_config *config,
			     uint64_t now_ns, char *reason)
{
	const struct addressing *addressing = &device->addressing;
	const struct multicast_copies copies = {device_count_copies, device};
	struct rnic_gid gids[GID_TABLE_SLOTS];
	struct port *faulty;
	int result;

	device_network_gids(device, gids);
	device->capture = NULL;
	device->faults = NULL;
	if (config->capture != NULL) {
		result = capture_open(&device->capture, config->capture, addressing->netdev, now_ns,
				      reason);
		if (result != 0)
			return result;
	}
	result = device_open_udp(device, config, gids, now_ns, reason);
	if (result != 0)
		goto close_capture;
	result = multicast_open(&device->multicast, device->udp, addressing->netdev_index, &copies,
				reason);
	if (result != 0) {
		device->udp->ops->close(device->udp);
		goto close_capture;
	}
	device->loopback = loopback_create(device->multicast, gids, GID_TABLE_SLOTS);
	if (device->loopback == NULL) {
		device->multicast->ops->close(device->multicast);
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for the loopback port");
		result = -ENOMEM;
		goto close_capture;
	}
	device->port = device->loopback;
	if (device->capture != NULL)
		device->port = capture_stack(device->capture, device->port);
	if (config->fault == NULL)
		return 0;
	result = fault_open(device->port, config->fault, &faulty, reason, DEVICE_REASON_BYTES);
	if (result != 0) {
		device->port->ops->close(device->port);
		return result;
	}
	device->port = faulty;
	device->faults = fault_plan_of(faulty);
	return 0;

close_capture:
	if (device->capture != NULL)
		capture_close(device->capture);
	return result;
}

static void device_cm_receive(void *context, const struct rnic_packet *packet, uint64_t now_ns)
{
	cm_receive(context, packet, now_ns);
}

static bool device_cm_transmit(void *context, struct rnic_packet *out)
{
	return cm_transmit(context, out);
}

static bool device_cm_has_ready(const void *context)
{
	return cm_has_ready(context);
}

static uint64_t device_cm_next_deadline_ns(const void *context)
{
	return cm_next_deadline_ns(context);
}

static void device_cm_tick(void *context, uint64_t now_ns)
{
	cm_tick(context, now_ns);
}

static int device_open_engine(struct device *device, const struct device_config *config,
			      char *reason)
{
	struct rnic_gid gids[GID_TABLE_SLOTS];
	uint32_t gid_count = device_network_gids(device, gids);
	const struct engine_config engine_config = {
		.sink = &session_set_sink,
		.sink_context = &device->sessions,
		.random = config->random,
		.max_qps = LIMIT_QPS,
		.max_mrs = LIMIT_MRS + LIMIT_MWS,
		.port_mtu_bytes = device->addressing.path_mtu_bytes,
		.line_rate = (uint64_t)device->addressing.speed_mbps * 1000000 / 8,
		.has_ecn = config->has_ecn,
	};
	const struct general_services services = {
		.receive = device_cm_receive,
		.transmit = device_cm_transmit,
		.has_ready = device_cm_has_ready,
		.next_deadline_ns = device_cm_next_deadline_ns,
		.tick = device_cm_tick,
		.context = device->cm,
	};
	int result = engine_init(&device->engine, &engine_config);

	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "cannot set up the engine: %s",
			 strerror(-result));
		return result;
	}
	for (uint32_t i = 0; i < gid_count; i++)
		engine_set_gid(&device->engine, i, &gids[i]);
	for (uint32_t i = 0; i < config->pkey_count; i++)
		engine_set_pkey(&device->engine, i, config->pkeys[i]);
	result = data_path_init(&device->path, &device->engine, device->port, &services);
	if (result != 0) {
		engine_fini(&device->engine);
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for datagrams");
	}
	return result;
}

static int device_open_cm(struct device *device, const struct random_source *random, char *reason)
{
	const struct cm_config config = {
		.sink = &cm_identifier_sink,
		.sink_context = &device->sessions,
		.random = *random,
		.ca_guid = device->addressing.node_guid,
		.max_connections = LIMIT_CM_CONNECTIONS,
		.max_bindings = LIMIT_CM_BINDINGS,
		.listener_wait_ns = CM_DEFAULT_LISTENER_WAIT_NS,
		.path_mtu = (uint8_t)device->facts.port.active_mtu,
	};

	device->cm = cm_create(&config);
	if (device->cm != NULL)
		return 0;
	snprintf(reason, DEVICE_REASON_BYTES, "no memory for connections");
	return -ENOMEM;
}

static int device_open_sessions(struct device *device, const struct device_config *config,
				char *reason)
{
	char path[SOCKET_PATH_PATH_BYTES];
	const char *chosen = config->socket_path;
	int result =
		session_set_init(&device->sessions, &device->engine, device->cm, &device->facts);

	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "cannot make an epoll instance: %s",
			 strerror(-result));
		return result;
	}
	if (chosen == NULL) {
		result = socket_path_default(path, reason);
		chosen = path;
	}
	if (result != 0)
		goto fini_set;
	result = sigbus_guard_watch(&device->sessions);
	if (result != 0) {
		snprintf(reason, DEVICE_REASON_BYTES, "no memory: %s", strerror(-result));
		goto fini_set;
	}
	result = ctl_server_open(&device->server, &device->sessions, chosen, reason);
	if (result != 0)
		goto unwatch;
	return 0;

unwatch:
	sigbus_guard_unwatch();
fini_set:
	session_set_fini(&device->sessions);
	return result;
}

static int device_open_view(struct device *device, char *reason)
{
	const struct view_config config = {
		.socket_path = device->server.place.path,
		.facts = {&device->facts.device, &device->facts.port, &device->facts.gids,
			  &device->facts.pkeys},
		.counter = device_counters_view,
		.context = device,
	};

	return device_view_open(&device->view, &config, reason);
}

int device_open(struct device *device, const struct device_config *config, uint64_t now_ns,
		char reason[DEVICE_REASON_BYTES])
{
	int result;

	reason[0] = '\0';
	result = addressing_resolve(&device->addressing, config->netdev, config->address, reason);
	if (result != 0)
		return result;
	result = device_network_open(device, reason);
	if (result != 0)
		return result;
	result = device_open_ports(device, config, now_ns, reason);
	if (result != 0)
		goto close_network;
	result = device_open_cm(device, &config->random, reason);
	if (result != 0)
		goto close_ports;
	result = device_open_engine(device, config, reason);
	if (result != 0)
		goto close_cm;
	device_fill_facts(device, config);
	result = device_open_sessions(device, config, reason);
	if (result != 0)
		goto close_engine;
	device->loop_counters = (struct device_loop_counters){0};
	device->traffic = (struct traffic){0};
	result = device_open_view(device, reason);
	if (result != 0)
		goto close_sessions;
	return 0;

close_sessions:
	ctl_server_close(&device->server);
	session_set_fini(&device->sessions);
	sigbus_guard_unwatch();
close_engine:
	data_path_fini(&device->path);
	engine_fini(&device->engine);
close_cm:
	cm_free(device->cm);
close_ports:
	device->port->ops->close(device->port);
close_network:
	device_network_close(device);
	return result;
}

void device_close(struct device *device)
{
	device_view_close(&device->view);
	ctl_server_close(&device->server);
	session_set_fini(&device->sessions);
	sigbus_guard_unwatch();
	/* The peers of connections that end with us hear of it. */
	while (cm_has_ready(device->cm) &&
	       data_path_transmit(&device->path, device->sessions.now_ns) > 0)
		;
	data_path_fini(&device->path);
	engine_fini(&device->engine);
	cm_free(device->cm);
	device->port->ops->close(device->port);
	device_network_close(device);
}

/* Payload, of any kind and both ways, and what packets cost beside it. */
static uint64_t device_moved_bytes(const struct device *device)
{
	const uint64_t *counters = device->engine.counters;

	return counters[COUNTER_SENT_BYTES] + counters[COUNTER_RECEIVED_BYTES] +
	       LIMIT_BULK_PACKET_BYTES *
		       (counters[COUNTER_SENT_PACKETS] + counters[COUNTER_RECEIVED_PACKETS]);
}

static uint32_t device_take_work(void *context)
{
	struct device *device = context;

	return session_set_take_work(&device->sessions);
}

bool device_turn(struct device *device, uint64_t now_ns)
{
	uint32_t session_count = device->sessions.session_count;
	uint32_t done;

	device->sessions.now_ns = now_ns;
	device->loop_counters.turns++;
	done = data_path_turn(&device->path, device_take_work, device, now_ns);
	device->sessions.is_bulk =
		traffic_note(&device->traffic, device_moved_bytes(device), now_ns);
	session_set_deliver(&device->sessions, done > 0);
	session_set_reap(&device->sessions);
	if (device->sessions.session_count < session_count)
		device_view_hasten(&device->view, now_ns);
	/* What ended in an error was not sent, but may have left answers to give. */
	return done > 0 || session_set_has_work(&device->sessions) ||
	       data_path_has_work(&device->path);
}

void device_note_activity(struct device *device, uint64_t now_ns)
{
	device_view_note(&device->view, now_ns);
}

static void device_report_refusal(struct device *device)
{
	struct port_refusal *refusal = &device->udp->refusal;

	if (refusal->error == 0)
		return;
	trouble_of_network(&device->sessions, &refusal->dest, refusal->bytes, refusal->error);
	refusal->error = 0;
}

static void device_report_deliveries(struct device *device)
{
	struct port *udp = device->udp;

	for (uint32_t i = 0; i < udp->report_count; i++) {
		const struct port_report *report = &udp->reports[i];

		trouble_of_delivery(&device->sessions, &report->dest, &report->from, report->error,
				    report->mtu_bytes);
	}
	udp->report_count = 0;
}

void device_report(struct device *device, uint64_t now_ns)
{
	char text[PORT_TEXT_BYTES];

	device_report_refusal(device);
	device_report_deliveries(device);
	if (device->capture != NULL && capture_take_failure(device->capture, text))
		log_warning("%s", text);
	device_view_refresh(&device->view, now_ns);
}

uint64_t device_next_deadline_ns(const struct device *device)
{
	const uint64_t deadlines_ns[] = {
		data_path_next_deadline_ns(&device->path),
		session_set_next_deadline_ns(&device->sessions),
		device->view.due_ns,
	};
	uint64_t earliest_ns = UINT64_MAX;

	for (size_t i = 0; i < RNIC_COUNT_OF(deadlines_ns); i++)
		if (deadlines_ns[i] < earliest_ns)
			earliest_ns = deadlines_ns[i];
	return earliest_ns;
}

/* SPDX-License-Identifier: MIT */
#include "control/control_plane.h"
#include "common/client_limits.h"

#include "base/bits.h"
#include "client/client.h"
#include "cm/cm.h"
#include "cm/cm_limits.h"
#include "cm_ids/cm_identifier.h"
#include "control/client_teardown.h"
#include "control/control_counters.h"
#include "control/troubles.h"
#include "network/silent_neighbours.h"
#include "shm/wqe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEVICE_VENDOR_ID      0x726e69 /* "rni", nobody's OUI */
#define DEVICE_VENDOR_PART_ID 1
#define DEVICE_PAGE_SIZES     UINT64_C(0xfffffffffffff000)
#define DEVICE_MR_BYTES_MAX   (UINT64_C(1) << 46)
#define DEVICE_RNIC_MTU_MAX   5

_Static_assert(CONTROL_REASON_BYTES >= PORT_TEXT_BYTES &&
		       CONTROL_REASON_BYTES >= DEVICE_REASON_BYTES &&
		       CONTROL_REASON_BYTES >= SOCKET_PATH_REASON_BYTES &&
		       CONTROL_REASON_BYTES >= VIEW_TREE_REASON_BYTES,
	       "every sentence fits");

/* --- callbacks of the device half ------------------------------------------------------------ */

static void control_break_client(struct client *client, const char *reason)
{
	client_break(client, "%s", reason);
}

static void control_send_refused(void *context, const struct rnic_gid *dest, uint32_t bytes,
				 int error)
{
	struct control_plane *control = context;

	trouble_of_network(&control->clients, dest, bytes, error);
}

static void control_undelivered(void *context, const struct rnic_gid *dest,
				const struct rnic_gid *from, int error, uint32_t mtu_bytes)
{
	struct control_plane *control = context;

	trouble_of_delivery(&control->clients, dest, from, error, mtu_bytes);
}

/* --- queue pair 1 ----------------------------------------------------------------------------- */

static void control_cm_receive(void *context, const struct rnic_packet *packet, uint64_t now_ns)
{
	cm_receive(context, packet, now_ns);
}

static bool control_cm_transmit(void *context, struct rnic_packet *out)
{
	return cm_transmit(context, out);
}

static bool control_cm_has_ready(const void *context)
{
	return cm_has_ready(context);
}

static uint64_t control_cm_next_deadline_ns(const void *context)
{
	return cm_next_deadline_ns(context);
}

static void control_cm_tick(void *context, uint64_t now_ns)
{
	cm_tick(context, now_ns);
}

/* --- opening and closing --------------------------------------------------------------------- */

static void control_copy_name(char name[RNIC_CTL_NAME_BYTES], const char *text)
{
	snprintf(name, RNIC_CTL_NAME_BYTES, "%s", text);
}

static void control_fill_attributes(struct rnic_device_attributes *attributes,
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
		.gid_count = RNIC_GIDS_MAX, /* slots; some are empty */
		.completion_vectors = 1,
		.local_ack_delay = LIMIT_LOCAL_ACK_DELAY,
	};
	control_copy_name(attributes->name, name);
	control_copy_name(attributes->netdev, addressing->netdev);
	control_copy_name(attributes->firmware, RNIC_VERSION);
}

static void control_fill_facts(struct control_plane *control, const struct control_config *config)
{
	const struct addressing *addressing = &control->addressing;
	struct device_facts *facts = &control->facts;

	control_fill_attributes(&facts->device, addressing, config->name);
	facts->port.max_mtu = DEVICE_RNIC_MTU_MAX;
	facts->port.max_message_bytes = RNIC_MESSAGE_BYTES_MAX;
	facts->port.gid_count = RNIC_GIDS_MAX;
	facts->port.speed_mbps = addressing->speed_mbps;
	device_half_pkeys(control->device, facts->pkeys.pkeys);
	for (uint32_t i = 0; i < RNIC_PKEYS_MAX; i++)
		facts->device.pkey_count += facts->pkeys.pkeys[i] != 0;
	device_network_fill_facts(&control->network);
	control_copy_name(facts->udp_port, device_half_port_name(control->device));
	control_copy_name(facts->poll, config->poll_name);
	control_copy_name(facts->segmentation, config->segmentation_name);
	control_copy_name(facts->ecn, config->has_ecn ? "on" : "off");
}

static int control_open_network(struct control_plane *control, const struct control_config *config,
				char *reason)
{
	int result =
		addressing_resolve(&control->addressing, config->netdev, config->address, reason);

	if (result != 0)
		return result;
	control->network.addressing = &control->addressing;
	control->network.facts = &control->facts;
	control->network.view = &control->view;
	return device_network_open(&control->network, reason);
}

static int control_open_cm(struct control_plane *control, const struct control_config *settings,
			   char *reason)
{
	const struct cm_config config = {
		.sink = &cm_identifier_sink,
		.sink_context = &control->clients,
		.random = settings->random,
		.ca_guid = control->addressing.node_guid,
		.max_connections = LIMIT_CM_CONNECTIONS,
		.max_bindings = LIMIT_CM_BINDINGS,
		.listener_wait_ns = CM_DEFAULT_LISTENER_WAIT_NS,
		.path_mtu = (uint8_t)control->facts.port.active_mtu,
	};

	control->cm = cm_create(&config);
	if (control->cm == NULL) {
		snprintf(reason, CONTROL_REASON_BYTES, "no memory for connections");
		return -ENOMEM;
	}
	control->network.cm = control->cm;
	return 0;
}

static int control_open_device(struct control_plane *control, const struct control_config *config,
			       uint64_t now_ns, char *reason)
{
	const struct general_services services = {
		.receive = control_cm_receive,
		.transmit = control_cm_transmit,
		.has_ready = control_cm_has_ready,
		.next_deadline_ns = control_cm_next_deadline_ns,
		.tick = control_cm_tick,
		.context = control->cm,
	};
	const struct device_half_config half_config = {
		.services = &services,
		.ask_neighbours = silent_neighbours_ask,
		.facts = &control->facts,
		.host = &control->host,
		.netdev = control->addressing.netdev,
		.netdev_index = control->addressing.netdev_index,
		.path_mtu_bytes = control->addressing.path_mtu_bytes,
		.speed_mbps = control->addressing.speed_mbps,
		.fault = config->fault,
		.capture = config->capture,
		.port = config->port,
		.segmentation = config->segmentation,
		.has_ecn = config->has_ecn,
		.gids = control->network.known,
		.pkeys = config->pkeys,
		.pkey_count = config->pkey_count,
		.random = config->random,
	};
	int result;

	device_network_gids(&control->network, control->network.known);
	control->host = (struct device_host){
		.break_client = control_break_client,
		.note_trouble = client_note_trouble,
		.send_refused = control_send_refused,
		.undelivered = control_undelivered,
		.context = control,
	};
	control->device = device_half_open(&half_config, now_ns, &result, reason);
	control->network.device = control->device;
	return result;
}

static int control_open_clients(struct control_plane *control, const struct control_config *config,
				char *reason)
{
	const struct client_set_config set_config = {
		.device = control->device,
		.cm = control->cm,
		.facts = &control->facts,
	};
	char path[SOCKET_PATH_PATH_BYTES];
	const char *chosen = config->socket_path;
	int result = client_set_init(&control->clients, &set_config);

	if (result != 0) {
		snprintf(reason, CONTROL_REASON_BYTES, "cannot make an epoll instance: %s",
			 strerror(-result));
		return result;
	}
	if (chosen == NULL) {
		result = socket_path_default(path, reason);
		chosen = path;
	}
	if (result == 0)
		result = ctl_server_open(&control->server, &control->clients, chosen, reason);
	if (result != 0)
		client_set_fini(&control->clients);
	return result;
}

static int control_open_view(struct control_plane *control, char *reason)
{
	const struct view_config config = {
		.socket_path = control->server.place.path,
		.facts = {&control->facts.device, &control->facts.port, &control->facts.gids,
			  &control->facts.pkeys},
		.counter = control_counters_view,
		.context = &control->clients,
	};

	return device_view_open(&control->view, &config, reason);
}

int control_plane_open(struct control_plane *control, const struct control_config *config,
		       uint64_t now_ns, char reason[CONTROL_REASON_BYTES])
{
	int result;

	memset(control, 0, sizeof(*control));
	reason[0] = '\0';
	result = control_open_network(control, config, reason);
	if (result != 0)
		return result;
	result = control_open_cm(control, config, reason);
	if (result != 0)
		goto close_network;
	result = control_open_device(control, config, now_ns, reason);
	if (result != 0)
		goto close_cm;
	control_fill_facts(control, config);
	result = control_open_clients(control, config, reason);
	if (result != 0)
		goto close_device;
	result = control_open_view(control, reason);
	if (result != 0)
		goto close_clients;
	return 0;

close_clients:
	ctl_server_close(&control->server);
	client_set_fini(&control->clients);
close_device:
	device_half_close(control->device);
close_cm:
	cm_free(control->cm);
close_network:
	device_network_close(&control->network);
	return result;
}

void control_plane_close(struct control_plane *control)
{
	device_view_close(&control->view);
	ctl_server_close(&control->server);
	client_teardown_all(&control->clients);
	client_set_fini(&control->clients);
	device_half_close(control->device);
	cm_free(control->cm);
	device_network_close(&control->network);
}

/* --- turns ----------------------------------------------------------------------------------- */

bool control_plane_turn(struct control_plane *control, uint64_t now_ns)
{
	struct client_set *clients = &control->clients;
	const uint32_t client_count = clients->client_count;
	bool was_busy;

	clients->now_ns = now_ns;
	was_busy = device_half_turn(control->device, now_ns);
	client_teardown_run(clients);
	if (clients->client_count < client_count)
		device_view_hasten(&control->view, now_ns);
	return was_busy || client_set_has_work(clients) || device_half_has_work(control->device);
}

bool control_plane_prepare_sleep(struct control_plane *control)
{
	return device_half_prepare_sleep(control->device) &&
	       !client_set_has_work(&control->clients);
}

void control_plane_note_activity(struct control_plane *control, uint64_t now_ns)
{
	device_view_note(&control->view, now_ns);
}

void control_plane_report(struct control_plane *control, uint64_t now_ns)
{
	device_half_report(control->device);
	device_view_refresh(&control->view, now_ns);
}

uint64_t control_plane_next_deadline_ns(const struct control_plane *control)
{
	const uint64_t deadlines_ns[] = {
		device_half_next_deadline_ns(control->device),
		client_next_hello_ns(&control->clients),
		control->view.due_ns,
	};
	uint64_t earliest_ns = UINT64_MAX;

	for (size_t i = 0; i < RNIC_COUNT_OF(deadlines_ns); i++)
		if (deadlines_ns[i] < earliest_ns)
			earliest_ns = deadlines_ns[i];
	return earliest_ns;
}

/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/control_plane.h"
#include "daemon/shared/quota/client_limits.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/cm/cm.h"
#include "daemon/control/cm_ids/cm_sink.h"
#include "daemon/control/server/client_teardown.h"
#include "daemon/control/server/control_counters.h"
#include "daemon/control/server/ctl_dispatch.h"
#include "daemon/control/server/socket_directory.h"
#include "daemon/control/server/troubles.h"
#include "daemon/shared/base/capabilities.h"
#include "daemon/shared/base/log.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE_VENDOR_ID      0x726e69 /* "rni", nobody's OUI */
#define DEVICE_VENDOR_PART_ID 1
#define DEVICE_PAGE_SIZES     UINT64_C(0xfffffffffffff000)
#define DEVICE_MR_BYTES_MAX   (UINT64_C(1) << 46)
#define DEVICE_RNIC_MTU_MAX   5
#define DEVICE_DEFAULT_PKEY   0xffff

_Static_assert(RNIC_CTL_PORTS_TEXT_BYTES == PORT_GUARDS_TEXT_BYTES, "rnicctl shows the text");

_Static_assert(CONTROL_REASON_BYTES >= PORT_TEXT_BYTES &&
		       CONTROL_REASON_BYTES >= DEVICE_TEXT_BYTES &&
		       CONTROL_REASON_BYTES >= SOCKET_PATH_REASON_BYTES &&
		       CONTROL_REASON_BYTES >= VIEW_TREE_REASON_BYTES,
	       "every sentence fits");

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
		.completion_vectors = LIMIT_COMPLETION_VECTORS,
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
	if (config->pkey_count == 0)
		facts->pkeys.pkeys[0] = DEVICE_DEFAULT_PKEY;
	for (uint32_t i = 0; i < config->pkey_count; i++)
		facts->pkeys.pkeys[i] = config->pkeys[i];
	for (uint32_t i = 0; i < RNIC_PKEYS_MAX; i++)
		facts->device.pkey_count += facts->pkeys.pkeys[i] != 0;
	device_network_fill_facts(&control->network);
}

/* Guards of ports come with the lanes of an ordinary user's daemon; addresses come and go. */
static void control_follow_ports(struct control_plane *control)
{
	struct port_guards *guards = &control->backplane.lanes.guards;
	char text[PORT_GUARDS_WARNING_BYTES];

	control->settings.unused_addresses = (uint32_t)__builtin_popcount(control->network.refused);
	if (!port_guards_take_news(guards))
		return;
	port_guards_text(guards, control->settings.source_ports);
	if (port_guards_warning(guards, text))
		log_warning("%s", text);
}

static void control_fill_settings(struct control_plane *control,
				  const struct control_config *config)
{
	struct device_settings *settings = &control->settings;

	control_copy_name(settings->udp_port, control->backplane.ports.udp->ops->name);
	control_copy_name(settings->poll, config->poll_name);
	control_copy_name(settings->segmentation, config->segmentation_name);
	control_copy_name(settings->ecn, config->has_ecn ? "on" : "off");
	settings->cm_tos = config->cm_tos;
	lane_groups_text(&control->backplane.lanes, settings->lanes);
	settings->lane_count = lane_groups_count(&control->backplane.lanes);
	control_follow_ports(control);
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
		.peer_ports = settings->peer_ports,
	};

	control->cm = cm_create(&config);
	if (control->cm == NULL) {
		snprintf(reason, CONTROL_REASON_BYTES, "no memory for connections");
		return -ENOMEM;
	}
	return 0;
}

static int control_open_backplane(struct control_plane *control,
				  const struct control_config *config, uint64_t now_ns,
				  char *reason)
{
	const struct general_services services = {
		.receive = control_cm_receive,
		.transmit = control_cm_transmit,
		.has_ready = control_cm_has_ready,
		.next_deadline_ns = control_cm_next_deadline_ns,
		.tick = control_cm_tick,
		.context = control->cm,
	};
	const struct backplane_config backplane_config = {
		.addressing = &control->addressing,
		.facts = &control->facts,
		.clients = &control->clients,
		.services = &services,
		.fault = config->fault,
		.capture = config->capture,
		.port = config->port,
		.segmentation = config->segmentation,
		.has_ecn = config->has_ecn,
		.peer_ports = config->peer_ports,
		.poll = config->poll,
		.log_level = config->log_level,
		.allowed = config->allowed,
		.allowed_count = config->allowed_count,
		.owner = config->user.uid,
	};
	int result = backplane_open(&control->backplane, &backplane_config, now_ns, reason);

	if (result != 0)
		return result;
	control->network.user = backplane_network_user(&control->backplane);
	result = device_network_begin(&control->network, reason);
	if (result != 0)
		backplane_close(&control->backplane);
	return result;
}

enum {
	LIMIT_GID_DESCRIPTORS = 2, /* of lane 0 at an address */

	LIMIT_LANE_DESCRIPTORS = 2, /* verb_pages.h of its device process */

	/* For the network's messages, the loop, logs, and what a turn opens and closes. */
	LIMIT_CONTROL_DESCRIPTORS = 64,
};

/* The descriptors that are not for clients, however many addresses and users there will be. */
static uint32_t control_own_descriptors(const struct lane_groups *lanes)
{
	return lane_groups_descriptors_max(lanes) +
	       lane_groups_count(lanes) * LIMIT_LANE_DESCRIPTORS +
	       RNIC_GIDS_MAX * LIMIT_GID_DESCRIPTORS + VIEW_COUNTERS_MAX +
	       LIMIT_CONTROL_DESCRIPTORS;
}

/*
 * Gives up root for the user of the configuration. All that needs root is open by now: a daemon
 * that was taken over has the rights of that user alone, from its first client on.
 */
static int control_become_user(const struct identity *user, char *reason)
{
	const struct identity own = identity_own();
	int result;

	if (user->uid == own.uid && user->gid == own.gid)
		return 0;
	if (own.uid == 0 && user->uid != 0)
		capabilities_keep(CAPABILITIES_BIT(CAP_SETUID) | CAPABILITIES_BIT(CAP_SETGID), 0);
	result = identity_become(user);
	if (result != 0) {
		snprintf(reason, CONTROL_REASON_BYTES, "cannot become user %u, group %u: %s",
			 (unsigned)user->uid, (unsigned)user->gid, strerror(-result));
	}
	return result;
}

static void control_change_link(struct control_plane *control, bool is_cut)
{
	backplane_cut(&control->backplane, is_cut);
	device_network_cut(&control->network, is_cut);
}

/* Changes a link that flaps, when it is time. */
static void control_turn_flap(struct control_plane *control, uint64_t now_ns)
{
	if (link_flap_turn(&control->flap, now_ns))
		control_change_link(control, control->flap.is_down);
}

static void control_cut_link(void *context, bool is_cut)
{
	struct control_plane *control = context;

	link_flap_end(&control->flap);
	if (control->facts.is_cut != is_cut)
		control_change_link(control, is_cut);
}

static void control_flap_link(void *context, uint64_t down_ns, uint64_t up_ns)
{
	struct control_plane *control = context;

	link_flap_begin(&control->flap, down_ns, up_ns, control->clients.now_ns);
	control_turn_flap(control, control->clients.now_ns);
}

static void control_renumber_gids(void *context)
{
	struct control_plane *control = context;

	device_network_renumber(&control->network);
}

static void control_set_rules(void *context, const struct rule_owner *owner)
{
	struct control_plane *control = context;

	if (owner->is_of_all)
		backplane_set_rules(&control->backplane);
	device_set_set_rules(&control->backplane.devices, owner);
}

static int control_open_clients(struct control_plane *control, const struct control_config *config,
				const char *path, char *reason)
{
	const struct client_set_config set_config = {
		.role = &ctl_dispatch_role,
		.devices = &control->backplane.devices,
		.cm = control->cm,
		.facts = &control->facts,
		.settings = &control->settings,
		.neighbours = &control->network.neighbours,
		.conditions = {control_cut_link, control_set_rules, control_flap_link,
			       control_renumber_gids, control},
		.own_descriptors = control_own_descriptors(&control->backplane.lanes),
	};
	const struct ctl_server_config server_config = {
		.path = path,
		.mode = config->socket_mode,
		.taken_fd = config->taken_fd,
	};
	int result = client_set_init(&control->clients, &set_config);

	if (result != 0) {
		snprintf(reason, CONTROL_REASON_BYTES, "cannot make an epoll instance: %s",
			 strerror(-result));
		return result;
	}
	result = control_become_user(&config->user, reason);
	if (result == 0)
		result = ctl_server_open(&control->server, &control->clients, &server_config,
					 reason);
	if (result != 0)
		client_set_fini(&control->clients);
	return result;
}

/* Users whom the device serves and the socket lets in may read the view. */
static mode_t control_view_mode(const struct control_config *settings)
{
	const bool is_for_others = settings->allowed_count > 0 || settings->user.uid == 0;
	mode_t mode = 0700;

	if (is_for_others && (settings->socket_mode & S_IWGRP) != 0)
		mode |= 0050;
	if (is_for_others && (settings->socket_mode & S_IWOTH) != 0)
		mode |= 0005;
	return mode;
}

static int control_open_view(struct control_plane *control, const struct control_config *settings,
			     char *reason)
{
	struct view_config config = {
		.socket_path = control->server.place.path,
		.mode = control_view_mode(settings),
		.facts = {&control->facts.device, &control->facts.port, &control->facts.gids,
			  &control->facts.pkeys, NULL},
		.counter = control_counters_view,
		.context = &control->clients,
	};

	if (settings->pci != NULL) {
		pci_shape_fill(&control->pci, settings->pci, settings->numa_node);
		config.facts.pci = &control->pci;
	}
	return device_view_open(&control->view, &config, reason);
}

/*
 * Chooses the path of the socket, with `room` for a default one. What is wrong with that is said
 * before anything else is opened: of two daemons on one socket the second one would complain about
 * the port.
 */
static int control_choose_socket(const struct control_config *config,
				 char room[SOCKET_PATH_PATH_BYTES], const char **path, char *reason)
{
	int result = 0;

	*path = config->socket_path;
	if (config->socket_path == NULL) {
		*path = room;
		result = socket_path_default(room, reason);
	}
	if (config->taken_fd >= 0)
		return result; /* the service manager listens there */
	if (result == 0)
		result = socket_path_prepare(*path, &config->user, reason);
	if (result == 0)
		result = socket_path_check(*path, &config->user, reason);
	return result;
}

int control_plane_open(struct control_plane *control, const struct control_config *config,
		       uint64_t now_ns, char reason[CONTROL_REASON_BYTES])
{
	char room[SOCKET_PATH_PATH_BYTES];
	const char *path;
	int result;

	memset(control, 0, sizeof(*control));
	reason[0] = '\0';
	link_flap_end(&control->flap);
	result = control_choose_socket(config, room, &path, reason);
	if (result == 0 && config->capture != NULL && geteuid() == 0)
		result = socket_directory_check_file(config->capture, reason, CONTROL_REASON_BYTES);
	if (result == 0)
		result = control_open_network(control, config, reason);
	if (result != 0)
		return result;
	control_fill_facts(control, config);
	result = control_open_cm(control, config, reason);
	if (result != 0)
		goto close_network;
	result = control_open_backplane(control, config, now_ns, reason);
	if (result != 0)
		goto close_cm;
	control_fill_settings(control, config);
	result = control_open_clients(control, config, path, reason);
	if (result != 0)
		goto close_backplane;
	result = control_open_view(control, config, reason);
	if (result != 0)
		goto close_clients;
	return 0;

close_clients:
	ctl_server_close(&control->server);
	client_set_fini(&control->clients);
close_backplane:
	backplane_close(&control->backplane);
close_cm:
	cm_free(control->cm);
close_network:
	device_network_close(&control->network);
	return result;
}

/*
 * The socket's path goes last. A program that finds no path starts another daemon, and that daemon
 * needs port 4791. A program that connects meanwhile sees its connection hang up.
 */
void control_plane_close(struct control_plane *control)
{
	device_view_close(&control->view);
	peer_teardown_all(&control->clients.peers);
	client_set_fini(&control->clients);
	backplane_close(&control->backplane);
	cm_free(control->cm);
	device_network_close(&control->network);
	ctl_server_close(&control->server);
}

/* --- turns ----------------------------------------------------------------------------------- */

bool control_plane_turn(struct control_plane *control, uint64_t now_ns)
{
	struct client_set *clients = &control->clients;
	bool was_busy;

	clients->now_ns = now_ns;
	device_network_tick(&control->network, now_ns);
	control_turn_flap(control, now_ns);
	was_busy = backplane_turn(&control->backplane, now_ns);
	if (device_set_take_news(&control->backplane.devices)) {
		request_server_wake(&clients->peers.server);
		client_teardown_break_orphans(clients);
	}
	client_teardown_run(clients);
	ctl_server_follow(&control->server, now_ns);
	control_follow_ports(control);
	if (was_busy)
		device_view_note(&control->view, now_ns);
	if (clients->has_ended_program)
		device_view_hasten(&control->view, now_ns);
	clients->has_ended_program = false;
	return was_busy || served_set_has_work(&clients->peers) ||
	       backplane_has_work(&control->backplane);
}

bool control_plane_has_clients(const struct control_plane *control)
{
	return control->clients.peers.count > 0;
}

bool control_plane_retire(struct control_plane *control)
{
	struct device_set *devices = &control->backplane.devices;

	device_set_end_idle(devices);
	return device_set_process_count(devices) == 0;
}

void control_plane_report(struct control_plane *control, uint64_t now_ns)
{
	backplane_report(&control->backplane);
	log_follow(now_ns);
	/* Device processes count without a word to the control plane. */
	if (device_set_process_count(&control->backplane.devices) > 0)
		device_view_note(&control->view, now_ns);
	device_view_refresh(&control->view, now_ns);
}

uint64_t control_plane_next_deadline_ns(const struct control_plane *control)
{
	const uint64_t deadlines_ns[] = {
		backplane_next_deadline_ns(&control->backplane),
		client_next_hello_ns(&control->clients),
		request_server_next_deadline_ns(&control->clients.peers.server),
		device_network_next_deadline_ns(&control->network),
		control->flap.next_ns,
		ctl_server_next_deadline_ns(&control->server),
		control->view.due_ns,
		log_next_deadline_ns(),
	};

	return rnic_earliest_ns(deadlines_ns, RNIC_COUNT_OF(deadlines_ns));
}

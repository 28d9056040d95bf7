/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/backplane.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm/cm.h"
#include "daemon/control/network/addressing.h"
#include "daemon/control/server/troubles.h"
#include "daemon/control/supervisor/device_launch.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/network/unreachable_neighbours.h"
#include "daemon/shared/reports/counter_names.h"
#include "daemon/shared/reports/trouble_text.h"
#include "lib/nic/path/stack_counters.h"
#include "lib/nic/port/port_text.h"
#include "lib/nic/port/udp/udp_sockets.h"
#include "proto/base/bits.h"
#include "proto/base/lane.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "proto/wire/headers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(DEVICE_TEXT_BYTES >= PORT_TEXT_BYTES, "the sentences of lanes fit");

_Static_assert(RNIC_CTL_LANES_BYTES == LANE_GROUPS_TEXT_BYTES, "rnicctl shows the text");
_Static_assert(RNIC_GIDS_MAX <= 32, "backplane.lent has a bit for each GID");

/* --- the only socket of an address ------------------------------------------------------------ */

/*
 * Gives lane 0 its sockets at `index` anew: the receive socket, or while a device process has that
 * a send socket alone. Without them lane 0 does without the address.
 */
static int backplane_place_lane_zero(struct backplane *backplane, uint32_t index,
				     char text[PORT_TEXT_BYTES])
{
	const struct rnic_gid gid = *lane_groups_gid(&backplane->lanes, index);
	const bool is_lent = (backplane->lent & UINT32_C(1) << index) != 0;
	struct port *port = backplane->ports.top;
	struct udp_lane_sockets sockets;
	int result;

	port->ops->set_gid(port, index, NULL, NULL, text);
	if (is_lent)
		result = lane_groups_take_sender(&backplane->lanes, index, &sockets, text);
	else
		result = lane_groups_take_sockets(&backplane->lanes, index, 0, &sockets, text);
	if (result == 0)
		result = port->ops->set_gid(port, index, &gid, &sockets, text);
	return result;
}

static void backplane_lend(struct backplane *backplane, uint32_t index)
{
	char text[PORT_TEXT_BYTES];

	if ((backplane->lent & UINT32_C(1) << index) != 0)
		return;
	backplane->lent |= UINT32_C(1) << index;
	if (backplane_place_lane_zero(backplane, index, text) != 0)
		log_warning("no connections at an address: %s", text);
}

static void backplane_end_loans(struct backplane *backplane)
{
	char text[PORT_TEXT_BYTES];

	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++) {
		if ((backplane->lent & UINT32_C(1) << i) == 0)
			continue;
		backplane->lent &= ~(UINT32_C(1) << i);
		if (backplane_place_lane_zero(backplane, i, text) != 0)
			log_warning("no connections at an address: %s", text);
	}
}

/* --- what device processes ask for ------------------------------------------------------------ */

static int backplane_take_lane(void *context, uid_t uid, uint8_t *lane,
			       char text[DEVICE_TEXT_BYTES])
{
	struct backplane *backplane = context;
	const struct lane_user user = {
		.account = client_set_account(backplane->config.clients, uid),
		.is_owner = uid == 0 || uid == backplane->config.owner,
	};

	return lane_groups_take(&backplane->lanes, &user, lane, text);
}

static void backplane_give_lane_back(void *context, uint8_t lane)
{
	struct backplane *backplane = context;

	if (!lane_groups_give_back(&backplane->lanes, lane))
		log_from_client(LOG_NO_USER,
				"lane 0x%02x stays with its user: a socket was shut down or "
				"connected, which a device process never does",
				lane);
	backplane_end_loans(backplane);
}

static int backplane_open_sockets(void *context, uint8_t lane, uint32_t index,
				  struct device_lane_sockets *sockets, char text[DEVICE_TEXT_BYTES])
{
	struct backplane *backplane = context;
	struct udp_lane_sockets taken;
	int result;

	/* Lane 0 reads no more, before the device process does. */
	if (!lane_groups_are_steered(&backplane->lanes))
		backplane_lend(backplane, index);
	result = lane_groups_take_sockets(&backplane->lanes, index, lane, &taken, text);
	if (result != 0)
		return result;
	sockets->fds[0] = taken.receive_fd;
	memcpy(sockets->fds + 1, taken.send_fds, sizeof(taken.send_fds));
	return 0;
}

/* The socket is bound to the group's address, so that no other address can be asked for. */
static int backplane_open_group(void *context, const struct rnic_gid *group)
{
	const struct backplane *backplane = context;
	struct udp_socket sock;
	int result;

	if (!rnic_gid_is_multicast(group))
		return -EINVAL;
	result = udp_group_open(&sock, group, backplane->config.addressing->netdev_index);
	return result == 0 ? sock.fd : result;
}

static bool backplane_has_address(const struct backplane *backplane, const struct rnic_gid *gid)
{
	const struct rnic_ctl_gids_reply *gids = &backplane->config.facts->gids;

	for (uint32_t i = 0; i < gids->count; i++)
		if (rnic_gid_equal(&gids->entries[i].gid, gid))
			return true;
	return false;
}

/* Hands on a packet of a device process, to lane 0 or to another lane; a lane's own come never. */
static void backplane_packet(void *context, uint8_t from_lane,
			     const struct rnic_process_packet *packet, uint8_t *datagram)
{
	struct backplane *backplane = context;
	const struct rnic_addresses addresses = {
		.source = packet->source,
		.dest = packet->dest,
		.source_port = packet->source_port,
		.traffic_class = packet->traffic_class,
		.hop_limit = packet->hop_limit,
	};
	uint8_t lane;

	if (packet->datagram_bytes < RNIC_BTH_BYTES + RNIC_ICRC_BYTES ||
	    packet->datagram_bytes > RNIC_PACKET_BYTES_MAX ||
	    !backplane_has_address(backplane, &packet->dest))
		return;
	lane = rnic_lane_of(rnic_bth_dest_qpn(datagram));
	if (lane == RNIC_LANE_ZERO)
		lane_zero_deliver(&backplane->zero, &addresses, datagram, packet->datagram_bytes,
				  backplane->now_ns);
	else if (lane != from_lane)
		device_set_pass_packet(&backplane->devices, lane, packet, datagram);
}

static void backplane_trouble(void *context, const struct device_child *process,
			      const struct rnic_process_trouble *trouble)
{
	struct backplane *backplane = context;

	trouble_of_device(backplane->config.clients, process, trouble);
}

/*
 * A thread of the client may wait for the connection manager alone, and hear nothing of the device
 * connection: the end of its control connection tells it.
 */
static void backplane_client_gone(void *context, const struct device_child *process,
				  uint32_t client_id)
{
	const struct backplane *backplane = context;
	struct client *client = client_find(backplane->config.clients, client_id);

	if (client != NULL && client->device == process)
		served_peer_end(&client->peer);
}

static void backplane_probed(void *context, const struct rnic_process_probe *answer)
{
	const struct backplane *backplane = context;
	const struct cm_peer_answer told = {
		.comm_id = answer->number,
		.qpn = answer->qpn,
		.status = answer->status,
		.received_packets = answer->received_packets,
	};

	cm_peer_answered(backplane->config.clients->cm, &told, backplane->now_ns);
}

/* A packet of lane 0's sockets that is for a device process. */
static bool backplane_misrouted(void *context, uint8_t lane, const struct datagram *datagram)
{
	struct backplane *backplane = context;
	const struct rnic_process_packet packet = {
		.source = datagram->addresses.source,
		.dest = datagram->addresses.dest,
		.source_port = datagram->addresses.source_port,
		.traffic_class = datagram->addresses.traffic_class,
		.hop_limit = datagram->addresses.hop_limit,
		.datagram_bytes = datagram->length,
	};

	return device_set_pass_packet(&backplane->devices, lane, &packet, datagram->bytes);
}

/* --- addresses -------------------------------------------------------------------------------- */

static void backplane_empty_slot(struct backplane *backplane, uint32_t index, bool has_ports)
{
	struct port *port = backplane->ports.top;
	char text[PORT_TEXT_BYTES];

	if (has_ports)
		port->ops->set_gid(port, index, NULL, NULL, text);
	backplane->lent &= ~(UINT32_C(1) << index);
	if (lane_groups_has(&backplane->lanes, index))
		lane_groups_set_gid(&backplane->lanes, index, NULL, backplane->now_ns, text);
}

static int backplane_fill_slot(struct backplane *backplane, uint32_t index,
			       const struct rnic_gid *gid, char text[PORT_TEXT_BYTES])
{
	int result = lane_groups_set_gid(&backplane->lanes, index, gid, backplane->now_ns, text);

	if (result != 0)
		return result;
	if (text[0] != '\0')
		log_warning("%s", text);
	result = backplane_place_lane_zero(backplane, index, text);
	if (result != 0)
		backplane_empty_slot(backplane, index, false);
	return result;
}

static int backplane_set_gid(void *context, uint32_t index, const struct rnic_gid *gid,
			     char text[PORT_TEXT_BYTES])
{
	static const struct rnic_gid none;
	struct backplane *backplane = context;
	int result = 0;

	if (gid == NULL)
		backplane_empty_slot(backplane, index, true);
	else
		result = backplane_fill_slot(backplane, index, gid, text);
	device_set_set_gid(&backplane->devices, index, gid != NULL && result == 0 ? gid : &none);
	return result;
}

static void backplane_set_netdev(void *context, uint32_t netdev_index)
{
	struct backplane *backplane = context;
	struct port *udp = backplane->ports.udp;

	lane_groups_set_netdev(&backplane->lanes, netdev_index);
	udp->ops->set_netdev(udp, netdev_index);
	device_set_set_netdev(&backplane->devices, netdev_index);
}

static void backplane_set_facts(void *context, uint32_t path_mtu_bytes)
{
	struct backplane *backplane = context;

	device_set_set_facts(&backplane->devices, path_mtu_bytes);
}

static bool backplane_uses_gid(void *context, uint32_t index)
{
	struct backplane *backplane = context;

	return device_set_uses_gid(&backplane->devices, index);
}

struct network_user backplane_network_user(struct backplane *backplane)
{
	return (struct network_user){
		.set_gid = backplane_set_gid,
		.set_netdev = backplane_set_netdev,
		.set_facts = backplane_set_facts,
		.uses_gid = backplane_uses_gid,
		.context = backplane,
	};
}

void backplane_cut(struct backplane *backplane, bool is_cut)
{
	port_stack_set_cut(&backplane->ports, is_cut);
	lane_zero_set_port(&backplane->zero, backplane->ports.top);
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* Stores a counter of lane 0 in the statistics page, and at first names it. */
static void backplane_count(struct backplane *backplane, uint32_t *next, uint32_t kind,
			    const char *name, uint64_t value)
{
	struct rnic_stats_counter *counter = &backplane->stats.counters[*next];

	if (*next == RNIC_STATS_COUNTERS_MAX)
		return;
	counter->value = value;
	if (*next == backplane->stats.counter_count) {
		counter->kind = kind;
		snprintf(counter->name, sizeof(counter->name), "%s", name);
		backplane->stats.counter_count++;
	}
	++*next;
}

static void backplane_count_all(struct backplane *backplane)
{
	const struct lane_zero *zero = &backplane->zero;
	const struct lane_zero_counters *counters = &zero->counters;
	const uint64_t undecodable = counters->undecodable + counters->unknown;
	const uint64_t errors = zero->icrc.bad + undecodable;
	const char *name;
	uint32_t next = 0;
	uint64_t value;
	uint32_t id;

	backplane_count(backplane, &next, RNIC_STATS_DEVICE, "icrc_errors", zero->icrc.bad);
	backplane_count(backplane, &next, RNIC_STATS_DEVICE, "icrc_doubtful", zero->icrc.doubtful);
	backplane_count(backplane, &next, RNIC_STATS_DEVICE, "undecodable_pkts", undecodable);
	backplane_count(backplane, &next, RNIC_STATS_DEVICE, "misrouted_pkts", counters->misrouted);
	backplane_count(backplane, &next, RNIC_STATS_DEVICE, "misrouted_lost_pkts",
			backplane->devices.common.lost_packets);
	backplane_count(backplane, &next, RNIC_STATS_DEVICE, "drained_pkts",
			lane_groups_drained(&backplane->lanes));
	for (uint32_t i = 0; stack_counter_read(&backplane->ports, i, &name, &value); i++)
		backplane_count(backplane, &next, RNIC_STATS_DEVICE, name, value);
	for (uint32_t i = 0; stack_counter_read_port(&backplane->ports, errors, i, &name, &value);
	     i++)
		backplane_count(backplane, &next, RNIC_STATS_PORT, name, value);
	backplane_count(backplane, &next, RNIC_STATS_FAULT, RNIC_STATS_QUEUE_FULL,
			stack_lost_by_faults(&backplane->ports));
	for (uint32_t slot = 0; slot < RNIC_RULES_MAX; slot++) {
		stack_rule_read(&backplane->ports, slot, &id, &value);
		rnic_stats_rule_store(&backplane->stats.rules[slot], id, value);
	}
	rule_table_count(&backplane->devices.common.rules, &backplane->rules, &backplane->stats);
	stats_reader_update(&backplane->stats_reader, &backplane->devices.common.totals,
			    backplane->now_ns);
}

/* Names all counters that a device process may have: those of its engine, and those of lane 0. */
static void backplane_name_counters(struct backplane *backplane)
{
	struct stats_totals *totals = &backplane->devices.common.totals;
	const char *name;

	for (uint32_t i = 0; (name = device_counter_name(i)) != NULL; i++)
		stats_totals_add(totals, RNIC_STATS_DEVICE, name);
	backplane->stats.magic = RNIC_STATS_MAGIC;
	stats_reader_begin(&backplane->stats_reader, &backplane->stats, backplane->now_ns);
	backplane_count_all(backplane);
	for (uint32_t i = 0; i < backplane->stats.counter_count; i++)
		stats_totals_add(totals, backplane->stats.counters[i].kind,
				 backplane->stats.counters[i].name);
	stats_reader_begin(&backplane->stats_reader, &backplane->stats, backplane->now_ns);
	backplane_count_all(backplane);
}

static struct rnic_process_start backplane_start_message(const struct backplane *backplane)
{
	const struct backplane_config *config = &backplane->config;
	return (struct rnic_process_start){
		.flags = (config->has_ecn ? RNIC_START_ECN : 0) |
			 (backplane->capture_fd >= 0 ? RNIC_START_CAPTURE : 0),
		.port = config->port,
		.segmentation = config->segmentation,
		.poll = config->poll,
		.log_level = config->log_level,
		.peer_ports = config->peer_ports,
		.netdev_index = config->addressing->netdev_index,
		.speed_mbps = config->addressing->speed_mbps,
		.device = config->facts->device,
		.pkeys = config->facts->pkeys,
	};
}

static int backplane_open_ports(struct backplane *backplane, uint64_t now_ns, char *reason)
{
	const struct backplane_config *config = &backplane->config;
	struct port_stack_config stack = {
		.netdev = config->addressing->netdev,
		.netdev_index = config->addressing->netdev_index,
		.lane = RNIC_LANE_ZERO,
		.port = config->port,
		.segmentation = config->segmentation,
		.ask_neighbours = unreachable_neighbours_ask,
	};
	int result;

	if (backplane->capture_fd >= 0) {
		stack.has_capture_fd = true;
		stack.capture_fd = dup(backplane->capture_fd);
	}
	result = port_stack_open(&backplane->ports, &stack, now_ns, reason);
	if (result == 0 && reason[0] != '\0')
		log_info("%s", reason);
	return result;
}

static int backplane_find_program(struct backplane *backplane, char *reason)
{
	int result = device_launch_find(backplane->program_path, reason, PORT_TEXT_BYTES);

	if (result == 0)
		result = device_launch_keep(backplane->program_path, &backplane->program, reason,
					    PORT_TEXT_BYTES);
	return result;
}

static int backplane_open_devices(struct backplane *backplane, char *reason)
{
	const struct backplane_config *config = &backplane->config;
	const struct device_set_config devices = {
		.host = &backplane->host,
		.facts = config->facts,
		.start = backplane_start_message(backplane),
		.program = backplane->program,
		.program_path = backplane->program_path,
		.launch = device_launch_start,
		.capture_fd = backplane->capture_fd,
		.owner = config->owner,
		.allowed = config->allowed,
		.allowed_count = config->allowed_count,
		.has_one_lane = !lane_groups_are_steered(&backplane->lanes),
		.memory_bytes = memory_budget_measure("/proc/self/cgroup", "/sys/fs/cgroup"),
		.process_max = lane_groups_count(&backplane->lanes),
	};
	int result;

	backplane->host = (struct device_set_host){
		.take_lane = backplane_take_lane,
		.give_lane_back = backplane_give_lane_back,
		.open_sockets = backplane_open_sockets,
		.open_group = backplane_open_group,
		.packet = backplane_packet,
		.trouble = backplane_trouble,
		.client_gone = backplane_client_gone,
		.probed = backplane_probed,
		.context = backplane,
	};
	result = device_set_open(&backplane->devices, &devices);
	if (result != 0)
		snprintf(reason, PORT_TEXT_BYTES, "cannot make an epoll instance: %s",
			 strerror(-result));
	return result;
}

/* Lane 0 takes the rules for packets that concern all. */
void backplane_set_rules(struct backplane *backplane)
{
	const struct rule_table *table = &backplane->devices.common.rules;
	struct port_stack *ports = &backplane->ports;

	for (uint32_t slot = 0; slot < RNIC_RULES_MAX; slot++) {
		const struct rule_entry *entry = &table->entries[slot];
		const bool is_taken = entry->owner.is_of_all && entry->is_for_packets;
		const uint32_t id = is_taken ? entry->id : 0;

		if (port_stack_set_rule(ports, slot, id, entry->text, entry->seed,
					backplane->now_ns) != 0)
			log_warning("no memory for rules of faults on connections");
	}
	lane_zero_set_port(&backplane->zero, ports->top);
}

/* Loads the rules of the option. */
static int backplane_open_rules(struct backplane *backplane, char *reason)
{
	const struct rule_owner owner = {.uid = backplane->config.owner, .is_of_all = true};
	struct rule_table *table = &backplane->devices.common.rules;
	char text[PORT_TEXT_BYTES];
	uint32_t first, count;
	int result;

	if (backplane->config.fault == NULL)
		return 0;
	result = rule_table_add(table, &owner, backplane->config.fault, 1, &first, &count, text,
				sizeof(text));
	if (result != 0)
		return port_text_error(reason, result, "--fault: %s", text);
	backplane_set_rules(backplane);
	return 0;
}

static void backplane_open_lanes(struct backplane *backplane, uint64_t now_ns)
{
	const struct lane_groups_config lanes = {
		.netdev_index = backplane->config.addressing->netdev_index,
		.gid_slots = backplane->config.addressing->has_one_address ? 1 : RNIC_GIDS_MAX,
		.segmentation = backplane->config.segmentation,
		.owner = backplane->config.owner,
		.serves_all = backplane->config.owner == 0,
	};
	char text[PORT_TEXT_BYTES];

	lane_groups_init(&backplane->lanes, &lanes, now_ns, text);
	if (text[0] != '\0')
		log_info("%s", text);
}

int backplane_open(struct backplane *backplane, const struct backplane_config *config,
		   uint64_t now_ns, char *reason)
{
	int result;

	memset(backplane, 0, sizeof(*backplane));
	backplane->config = *config;
	backplane->now_ns = now_ns;
	backplane->capture_fd = -1;
	/* First, because the limit of descriptors is another one afterwards. */
	result = backplane_find_program(backplane, reason);
	if (result == 0 && config->capture != NULL)
		result = capture_create_file(&backplane->capture_fd, config->capture,
					     config->addressing->netdev, reason);
	if (result != 0)
		return result;
	result = backplane_open_ports(backplane, now_ns, reason);
	if (result != 0)
		goto close_capture;
	result = lane_zero_init(&backplane->zero, backplane->ports.top, config->services,
				backplane_misrouted, backplane);
	if (result != 0) {
		snprintf(reason, PORT_TEXT_BYTES, "no memory for datagrams");
		goto close_ports;
	}
	backplane_open_lanes(backplane, now_ns);
	result = backplane_open_devices(backplane, reason);
	if (result != 0)
		goto close_lanes;
	result = backplane_open_rules(backplane, reason);
	if (result != 0)
		goto close_devices;
	backplane_name_counters(backplane);
	return 0;

close_devices:
	device_set_close(&backplane->devices);
close_lanes:
	lane_groups_close(&backplane->lanes);
	lane_zero_fini(&backplane->zero);
close_ports:
	port_stack_close(&backplane->ports);
close_capture:
	if (backplane->capture_fd >= 0)
		close(backplane->capture_fd);
	return result;
}

void backplane_close(struct backplane *backplane)
{
	device_set_close(&backplane->devices);
	/* Send the packets that tell peers of the end of their connections. */
	while (lane_zero_has_work(&backplane->zero) &&
	       lane_zero_turn(&backplane->zero, backplane->now_ns) > 0)
		;
	lane_zero_fini(&backplane->zero);
	port_stack_close(&backplane->ports);
	lane_groups_close(&backplane->lanes);
	if (backplane->capture_fd >= 0)
		close(backplane->capture_fd);
}

/* --- turns ------------------------------------------------------------------------------------ */

/*
 * A group that is closed leaves its address to the next one, but for the device processes that have
 * not closed their duplicates: one of them may be stopped, or taken over. It is ended, else its
 * user would take the address from all.
 */
static void backplane_follow_lanes(struct backplane *backplane)
{
	uint8_t lane;

	while ((lane = lane_groups_follow(&backplane->lanes, backplane->now_ns)) != 0)
		device_set_end_lane(&backplane->devices, lane,
				    "it keeps the sockets of an address that is gone");
}

bool backplane_turn(struct backplane *backplane, uint64_t now_ns)
{
	bool was_busy;

	backplane->now_ns = now_ns;
	/* A device process may hand in packets of lane 0, or give lane 0 its socket back. */
	was_busy = device_set_turn(&backplane->devices, now_ns);
	was_busy = lane_zero_turn(&backplane->zero, now_ns) > 0 || was_busy;
	backplane_follow_lanes(backplane);
	if (was_busy)
		backplane_count_all(backplane);
	return was_busy;
}

bool backplane_has_work(const struct backplane *backplane)
{
	return lane_zero_has_work(&backplane->zero);
}

uint64_t backplane_next_deadline_ns(const struct backplane *backplane)
{
	const uint64_t deadlines_ns[] = {
		lane_zero_next_deadline_ns(&backplane->zero),
		device_set_next_deadline_ns(&backplane->devices),
		lane_groups_next_deadline_ns(&backplane->lanes),
	};

	return rnic_earliest_ns(deadlines_ns, RNIC_COUNT_OF(deadlines_ns));
}

void backplane_watch(struct backplane *backplane,
		     void (*watch)(void *context, int fd, bool for_writing), void *context)
{
	lane_zero_watch(&backplane->zero, watch, context);
}

void backplane_report(struct backplane *backplane)
{
	struct port *udp = backplane->ports.udp;
	struct port_refusal *refusal = &udp->refusal;
	struct rnic_process_trouble trouble;
	struct icrc_suspect accused;
	struct unknown_qp unknown;
	char text[PORT_TEXT_BYTES];

	if (icrc_check_take_accused(&backplane->zero.icrc, &accused)) {
		trouble_text_of_icrc(&trouble, &accused.source, accused.bad);
		trouble_of_packets(backplane->config.clients, &trouble);
	}
	if (unknown_qp_take(&backplane->zero.unknown, &unknown)) {
		trouble_text_of_unknown_qp(&trouble, &unknown);
		trouble_of_packets(backplane->config.clients, &trouble);
	}
	if (refusal->error != 0) {
		trouble_text_of_refusal(&trouble, &refusal->dest, refusal->bytes, refusal->error);
		trouble_of_packets(backplane->config.clients, &trouble);
		refusal->error = 0;
	}
	for (uint32_t i = 0; i < udp->report_count; i++)
		trouble_of_delivery(backplane->config.clients, &udp->reports[i]);
	udp->report_count = 0;
	if (backplane->ports.capture != NULL &&
	    capture_take_failure(backplane->ports.capture, text))
		log_warning("%s", text);
}

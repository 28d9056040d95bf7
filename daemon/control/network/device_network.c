/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/device_network.h"

#include "daemon/control/network/addressing.h"
#include "daemon/control/network/hop_limits.h"
#include "daemon/control/view/device_view.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/link/device_facts.h"
#include "lib/nic/port/port_text.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LEAST_PATH_MTU_BYTES   256
#define NETWORK_RETRY_LEAST_NS (1 * RNIC_NS_PER_SECOND)
#define NETWORK_RETRY_MOST_NS  (60 * RNIC_NS_PER_SECOND)
#define NETWORK_BEGIN_WAIT_NS  (2 * RNIC_NS_PER_SECOND)
#define NETWORK_BEGIN_PAUSE_NS 50000000

static bool network_gid_is_used(void *context, uint32_t index)
{
	const struct device_network *network = context;

	return network->user.uses_gid(network->user.context, index);
}

static bool network_gid_is_new(void *context, uint32_t index)
{
	(void)context;
	(void)index;
	return false;
}

static uint32_t network_update_table(struct device_network *network, gid_is_used *is_used)
{
	struct gid_address all[NETDEV_LIST_MAX], addresses[NETDEV_LIST_MAX];
	uint32_t count = netdev_state_list(&network->watch.state, all);

	count = addressing_filter(network->addressing, all, count, addresses);
	return gid_table_follow(&network->gids, addresses, count, is_used, network);
}

/* --- neighbours ------------------------------------------------------------------------------ */

static bool network_is_hop_unknown(void *context, const struct hop_way *way, struct next_hop *hop)
{
	const struct device_network *network = context;

	return next_hop_is_unknown(network->route_fd, way, hop);
}

static void network_call_hop(void *context, const struct hop_way *way)
{
	(void)context;
	next_hop_call(way);
}

/* Without news a query still looks at the end of its time. */
static void network_hear_neighbours(void *context, bool is_wanted)
{
	struct device_network *network = context;

	netdev_watch_hear(&network->watch, is_wanted);
}

static const struct neighbour_calls network_neighbour_calls = {
	.is_unknown = network_is_hop_unknown,
	.call = network_call_hop,
	.hear = network_hear_neighbours,
};

static void network_note_neighbour(void *context, const struct netlink_fact *neighbour)
{
	struct device_network *network = context;
	const struct next_hop hop = {neighbour->gid, neighbour->netdev_index};

	neighbour_queries_note(&network->neighbours, &hop);
}

static int network_open_neighbours(struct device_network *network, char *reason)
{
	network->route_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (network->route_fd < 0)
		return port_text_error(reason, -errno, "cannot open a netlink socket: %s",
				       strerror(errno));
	neighbour_queries_init(&network->neighbours, &network_neighbour_calls, network,
			       network->addressing->netdev_index);
	network->watch.heard = network_note_neighbour;
	network->watch.context = network;
	return 0;
}

/* --- life ------------------------------------------------------------------------------------ */

int device_network_open(struct device_network *network, char *reason)
{
	const struct addressing *addressing = network->addressing;
	int result = netdev_watch_open(&network->watch, addressing->netdev,
				       addressing->netdev_index, reason);

	if (result != 0)
		return result;
	result = network_open_neighbours(network, reason);
	if (result != 0) {
		netdev_watch_close(&network->watch);
		return result;
	}
	memset(&network->gids, 0, sizeof(network->gids));
	network->refused = 0;
	network->retry_ns = UINT64_MAX;
	network->retry_gap_ns = 0;
	network->is_gone = false;
	network_update_table(network, network_gid_is_new);
	return 0;
}

void device_network_close(struct device_network *network)
{
	close(network->route_fd);
	netdev_watch_close(&network->watch);
}

uint32_t device_network_gids(const struct device_network *network,
			     struct rnic_gid gids[GID_TABLE_SLOTS])
{
	uint32_t count = 0;

	memset(gids, 0, GID_TABLE_SLOTS * sizeof(gids[0]));
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++) {
		const struct gid_slot *slot = &network->gids.slots[i];

		if (!slot->is_usable)
			continue;
		gids[i] = slot->gid;
		count = i + 1;
	}
	return count;
}

/* 1 for 256 ... 5 for 4096. */
static uint8_t network_mtu_code(uint32_t bytes)
{
	return (uint8_t)(__builtin_ctz(bytes) - 7);
}

/* An interface that is too narrow for any packet has the least path MTU, and loses the packets. */
static uint32_t network_path_mtu(const struct device_network *network)
{
	uint32_t bytes = addressing_path_mtu(network->watch.state.mtu_bytes);

	return bytes != 0 ? bytes : LEAST_PATH_MTU_BYTES;
}

void device_network_fill_facts(struct device_network *network)
{
	struct device_facts *facts = network->facts;
	struct rnic_gid gids[GID_TABLE_SLOTS];

	memset(&facts->gids, 0, sizeof(facts->gids));
	facts->gids.count = device_network_gids(network, gids);
	for (uint32_t i = 0; i < facts->gids.count; i++)
		if (!rnic_gid_is_zero(&gids[i]))
			facts->gids.entries[i] = (struct rnic_gid_entry){
				.gid = gids[i],
				.netdev_index = network->addressing->netdev_index,
			};
	facts->port.own_gid_index = (uint8_t)gid_table_own(&network->gids);
	facts->port.state = network->watch.state.is_running && !facts->is_cut ? RNIC_PORT_ACTIVE
									      : RNIC_PORT_DOWN;
	facts->port.active_mtu = network_mtu_code(network_path_mtu(network));
	facts->hop_limit_ipv4 = hop_limit_read(AF_INET, network->addressing->netdev);
	facts->hop_limit_ipv6 = hop_limit_read(AF_INET6, network->addressing->netdev);
}

static int network_set_gid(struct device_network *network, uint32_t index,
			   const struct rnic_gid *gid, char text[PORT_TEXT_BYTES])
{
	const struct network_user *user = &network->user;
	int result = user->set_gid(user->context, index, gid, text);

	network->known[index] = (struct rnic_gid){0};
	if (result == 0 && gid != NULL)
		network->known[index] = *gid;
	return result;
}

/* Tells the user of a slot that is usable, or has lost its address for good. */
static void network_update_slot(struct device_network *network, uint32_t index)
{
	struct gid_slot *slot = &network->gids.slots[index];
	const struct rnic_gid *known = &network->known[index];
	const bool was_refused = (network->refused & UINT32_C(1) << index) != 0;
	char text[PORT_TEXT_BYTES];

	network->refused &= ~(UINT32_C(1) << index);
	if (!rnic_gid_is_zero(known) && !rnic_gid_equal(known, &slot->gid))
		network_set_gid(network, index, NULL, text);
	if (!slot->is_usable || rnic_gid_equal(known, &slot->gid))
		return;
	if (network_set_gid(network, index, &slot->gid, text) == 0)
		return;
	if (!was_refused)
		log_warning("a new address of %s is not used: %s", network->addressing->netdev,
			    text);
	network->refused |= UINT32_C(1) << index;
	slot->is_usable = false;
}

/*
 * Gives the user a GID at the start, when there is nobody else to serve: this function may wait. On
 * a busy machine an attempt itself takes long, because it looks at all processes. The last attempt
 * begins when the time is over.
 */
static int network_begin_gid(struct device_network *network, uint32_t index, char *reason)
{
	const struct timespec pause = {.tv_nsec = NETWORK_BEGIN_PAUSE_NS};
	const struct rnic_gid *gid = &network->gids.slots[index].gid;
	const uint64_t until_ns = clock_now_ns() + NETWORK_BEGIN_WAIT_NS;
	int result = network_set_gid(network, index, gid, reason);
	bool is_last = false;

	while (result == -EBUSY && !is_last) {
		nanosleep(&pause, NULL);
		is_last = clock_now_ns() >= until_ns;
		result = network_set_gid(network, index, gid, reason);
	}
	return result;
}

int device_network_begin(struct device_network *network, char *reason)
{
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++) {
		int result = network->gids.slots[i].is_usable
				     ? network_begin_gid(network, i, reason)
				     : 0;

		if (result != 0)
			return result;
	}
	network->user.set_facts(network->user.context, network_path_mtu(network));
	return 0;
}

/* `changed` is a mask of slots that changed before. */
static void network_update_gids(struct device_network *network, uint32_t changed)
{
	changed |= network_update_table(network, network_gid_is_used);
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if ((changed & UINT32_C(1) << i) != 0)
			network_update_slot(network, i);
}

static void network_plan_retry(struct device_network *network)
{
	if (network->refused == 0) {
		network->retry_ns = UINT64_MAX;
		network->retry_gap_ns = 0;
		return;
	}
	network->retry_gap_ns =
		network->retry_gap_ns == 0 ? NETWORK_RETRY_LEAST_NS : 2 * network->retry_gap_ns;
	if (network->retry_gap_ns > NETWORK_RETRY_MOST_NS)
		network->retry_gap_ns = NETWORK_RETRY_MOST_NS;
	network->retry_ns = clock_now_ns() + network->retry_gap_ns;
}

/*
 * Sockets at a link-local address, and groups joined, are bound to the interface that is gone: all
 * sockets are made anew.
 */
static void network_come_back(struct device_network *network)
{
	const uint32_t index = network->watch.state.netdev_index;
	char text[PORT_TEXT_BYTES];

	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if (!rnic_gid_is_zero(&network->known[i]))
			network_set_gid(network, i, NULL, text);
	network->addressing->netdev_index = index;
	network->facts->device.netdev_index = index;
	network->neighbours.netdev_index = index;
	network->user.set_netdev(network->user.context, index);
	log_info("the network interface %s is there again", network->addressing->netdev);
}

static void network_follow_netdev(struct device_network *network)
{
	const bool was_gone = network->is_gone;

	network->is_gone = network->watch.state.is_gone;
	if (network->is_gone && !was_gone)
		log_warning("the network interface %s is gone; the port stays down until an "
			    "interface of this name is there",
			    network->addressing->netdev);
	else if (was_gone && !network->is_gone)
		network_come_back(network);
}

static void network_log_state(const struct device_network *network)
{
	const bool is_active = network->facts->port.state == RNIC_PORT_ACTIVE;

	log_info("the network interface %s is %s", network->addressing->netdev,
		 is_active ? "up" : "down");
}

static void network_show(struct device_network *network)
{
	int error = device_view_follow(network->view);

	if (error != 0)
		log_warning("the path view %s is out of date: %s", network->view->tree.path,
			    strerror(-error));
}

static void network_apply(struct device_network *network, uint32_t changed)
{
	const struct device_facts *facts = network->facts;
	const struct rnic_ctl_gids_reply gids = facts->gids;
	const uint32_t state = facts->port.state;

	network_follow_netdev(network);
	network_update_gids(network, changed);
	network_plan_retry(network);
	device_network_fill_facts(network);
	if (memcmp(&facts->gids, &gids, sizeof(gids)) != 0 || facts->port.state != state)
		network_show(network);
	if (facts->port.state != state)
		network_log_state(network);
	network->user.set_facts(network->user.context, network_path_mtu(network));
}

void device_network_cut(struct device_network *network, bool is_cut)
{
	network->facts->is_cut = is_cut;
	device_network_fill_facts(network);
	network_show(network);
	network->user.set_facts(network->user.context, network_path_mtu(network));
}

void device_network_follow(struct device_network *network)
{
	while (netdev_watch_next(&network->watch))
		network_apply(network, 0);
}

void device_network_renumber(struct device_network *network)
{
	network_apply(network, gid_table_vacate(&network->gids, network_gid_is_used, network));
}

void device_network_tick(struct device_network *network, uint64_t now_ns)
{
	neighbour_queries_tick(&network->neighbours, now_ns);
	if (now_ns >= network->retry_ns)
		network_apply(network, 0);
}

uint64_t device_network_next_deadline_ns(const struct device_network *network)
{
	const uint64_t queries_ns = network->neighbours.next_ns;

	return queries_ns < network->retry_ns ? queries_ns : network->retry_ns;
}

/* SPDX-License-Identifier: MIT */
#include "network/device_network.h"

#include "base/log.h"
#include "cm/cm.h"
#include "common/device_facts.h"
#include "device/device_half.h"
#include "network/addressing.h"
#include "view/device_view.h"
#include "wire/gid.h"

#include <string.h>

#define LEAST_PATH_MTU_BYTES 256

static bool network_gid_is_used(void *context, uint32_t index)
{
	const struct device_network *network = context;

	return device_half_uses_gid(network->device, index);
}

static bool network_gid_is_new(void *context, uint32_t index)
{
	(void)context;
	(void)index;
	return false;
}

static uint32_t network_update_table(struct device_network *network, gid_is_used *is_used)
{
	const struct netdev_state *state = &network->watch.state;
	struct gid_address addresses[NETDEV_ADDRESSES_MAX];
	uint32_t count = addressing_filter(network->addressing, state->addresses,
					   state->address_count, addresses);

	return gid_table_follow(&network->gids, addresses, count, is_used, network);
}

int device_network_open(struct device_network *network, char *reason)
{
	int result = netdev_watch_open(&network->watch, network->addressing->netdev_index, reason);

	if (result != 0)
		return result;
	memset(&network->gids, 0, sizeof(network->gids));
	network->is_end_logged = false;
	network_update_table(network, network_gid_is_new);
	return 0;
}

void device_network_close(struct device_network *network)
{
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
	facts->port.state = network->watch.state.is_running ? RNIC_PORT_ACTIVE : RNIC_PORT_DOWN;
	facts->port.active_mtu = network_mtu_code(network_path_mtu(network));
	if (network->cm != NULL)
		cm_set_path_mtu(network->cm, (uint8_t)facts->port.active_mtu);
}

/* Tells the device half of a slot that is usable, or has lost its address for good. */
static void network_update_slot(struct device_network *network, uint32_t index)
{
	struct gid_slot *slot = &network->gids.slots[index];
	struct rnic_gid *known = &network->known[index];
	char text[PORT_TEXT_BYTES];

	if (!rnic_gid_is_zero(known) && !rnic_gid_equal(known, &slot->gid)) {
		device_half_set_gid(network->device, index, NULL, text);
		*known = (struct rnic_gid){0};
	}
	if (!slot->is_usable || rnic_gid_equal(known, &slot->gid))
		return;
	if (device_half_set_gid(network->device, index, &slot->gid, text) == 0) {
		*known = slot->gid;
	} else {
		log_warning("a new address of %s is not used: %s", network->addressing->netdev,
			    text);
		slot->is_usable = false;
	}
}

static void network_update_gids(struct device_network *network)
{
	uint32_t changed = network_update_table(network, network_gid_is_used);

	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if ((changed & UINT32_C(1) << i) != 0)
			network_update_slot(network, i);
}

static void network_log_end(struct device_network *network)
{
	if (!network->watch.state.is_gone || network->is_end_logged)
		return;
	network->is_end_logged = true;
	log_warning("the network interface %s is gone; the port stays down until rnicd is started "
		    "anew",
		    network->addressing->netdev);
}

static void network_tell_state(struct device_network *network)
{
	const bool is_active = network->facts->port.state == RNIC_PORT_ACTIVE;

	log_info("the network interface %s is %s", network->addressing->netdev,
		 is_active ? "up" : "down");
	device_half_port_event(network->device,
			       is_active ? RNIC_EVENT_PORT_ACTIVE : RNIC_EVENT_PORT_ERR);
}

static void network_show(struct device_network *network)
{
	int error = device_view_follow(network->view);

	if (error != 0)
		log_warning("the path view %s is out of date: %s", network->view->tree.path,
			    strerror(-error));
}

static void network_apply(struct device_network *network)
{
	const struct device_facts *facts = network->facts;
	const struct rnic_ctl_gids_reply gids = facts->gids;
	const uint32_t state = facts->port.state;
	bool has_new_gids;

	network_update_gids(network);
	device_half_set_path_mtu(network->device, network_path_mtu(network));
	device_network_fill_facts(network);
	has_new_gids = memcmp(&facts->gids, &gids, sizeof(gids)) != 0;
	if (has_new_gids || facts->port.state != state)
		network_show(network);
	if (facts->port.state != state)
		network_tell_state(network);
	network_log_end(network);
	if (has_new_gids)
		device_half_port_event(network->device, RNIC_EVENT_GID_CHANGE);
}

void device_network_follow(struct device_network *network)
{
	while (netdev_watch_next(&network->watch))
		network_apply(network);
}

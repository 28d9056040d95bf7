/* SPDX-License-Identifier: MIT */
#include "network/device_network.h"

#include "base/log.h"
#include "device/device.h"
#include "device/queues/cqe_delivery.h"
#include "wire/gid.h"

#include <string.h>

#define LEAST_PATH_MTU_BYTES 256

static bool network_gid_is_used(void *context, uint32_t index)
{
	const struct device *device = context;

	return session_set_uses_gid(&device->sessions, index);
}

static bool network_gid_is_new(void *context, uint32_t index)
{
	(void)context;
	(void)index;
	return false;
}

static uint32_t network_update_table(struct device *device, gid_is_used *is_used)
{
	struct device_network *network = &device->network;
	const struct netdev_state *state = &network->watch.state;
	struct gid_address addresses[NETDEV_ADDRESSES_MAX];
	uint32_t count = addressing_filter(&device->addressing, state->addresses,
					   state->address_count, addresses);

	return gid_table_follow(&network->gids, addresses, count, is_used, device);
}

int device_network_open(struct device *device, char *reason)
{
	struct device_network *network = &device->network;
	int result = netdev_watch_open(&network->watch, device->addressing.netdev_index, reason);

	if (result != 0)
		return result;
	memset(&network->gids, 0, sizeof(network->gids));
	network->is_end_logged = false;
	network_update_table(device, network_gid_is_new);
	return 0;
}

void device_network_close(struct device *device)
{
	netdev_watch_close(&device->network.watch);
}

uint32_t device_network_gids(const struct device *device, struct rnic_gid gids[GID_TABLE_SLOTS])
{
	uint32_t count = 0;

	memset(gids, 0, GID_TABLE_SLOTS * sizeof(gids[0]));
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++) {
		const struct gid_slot *slot = &device->network.gids.slots[i];

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
static uint32_t network_path_mtu(const struct device *device)
{
	uint32_t bytes = addressing_path_mtu(device->network.watch.state.mtu_bytes);

	return bytes != 0 ? bytes : LEAST_PATH_MTU_BYTES;
}

void device_network_fill_facts(struct device *device)
{
	struct device_facts *facts = &device->facts;
	struct rnic_gid gids[GID_TABLE_SLOTS];

	memset(&facts->gids, 0, sizeof(facts->gids));
	facts->gids.count = device_network_gids(device, gids);
	for (uint32_t i = 0; i < facts->gids.count; i++)
		if (!rnic_gid_is_zero(&gids[i]))
			facts->gids.entries[i] = (struct rnic_gid_entry){
				.gid = gids[i],
				.netdev_index = device->addressing.netdev_index,
			};
	facts->port.own_gid_index = (uint8_t)gid_table_own(&device->network.gids);
	facts->port.state =
		device->network.watch.state.is_running ? RNIC_PORT_ACTIVE : RNIC_PORT_DOWN;
	facts->port.active_mtu = network_mtu_code(network_path_mtu(device));
	if (device->cm != NULL)
		cm_set_path_mtu(device->cm, (uint8_t)facts->port.active_mtu);
}

/* Copies a slot to ports and engine, when it is usable or has lost its address for good. */
static void network_update_slot(struct device *device, uint32_t index)
{
	struct gid_slot *slot = &device->network.gids.slots[index];
	struct rnic_gid *known = &device->engine.gids[index];
	static const struct rnic_gid none;
	char text[PORT_TEXT_BYTES];

	if (!rnic_gid_is_zero(known) && !rnic_gid_equal(known, &slot->gid)) {
		device->port->ops->set_gid(device->port, index, NULL, text);
		engine_set_gid(&device->engine, index, &none);
	}
	if (!slot->is_usable || rnic_gid_equal(known, &slot->gid))
		return;
	if (device->port->ops->set_gid(device->port, index, &slot->gid, text) == 0) {
		engine_set_gid(&device->engine, index, &slot->gid);
	} else {
		log_warning("a new address of %s is not used: %s", device->addressing.netdev, text);
		slot->is_usable = false;
	}
}

static void network_update_gids(struct device *device)
{
	uint32_t changed = network_update_table(device, network_gid_is_used);

	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if ((changed & UINT32_C(1) << i) != 0)
			network_update_slot(device, i);
}

static void network_log_end(struct device *device)
{
	struct device_network *network = &device->network;

	if (!network->watch.state.is_gone || network->is_end_logged)
		return;
	network->is_end_logged = true;
	log_warning("the network interface %s is gone; the port stays down until rnicd is started "
		    "anew",
		    device->addressing.netdev);
}

static void network_tell_state(struct device *device)
{
	const bool is_active = device->facts.port.state == RNIC_PORT_ACTIVE;

	log_info("the network interface %s is %s", device->addressing.netdev,
		 is_active ? "up" : "down");
	cqe_delivery_port_event(&device->sessions,
				is_active ? RNIC_EVENT_PORT_ACTIVE : RNIC_EVENT_PORT_ERR);
}

static void network_show(struct device *device)
{
	int error = device_view_follow(&device->view);

	if (error != 0)
		log_warning("the path view %s is out of date: %s", device->view.tree.path,
			    strerror(-error));
}

static void network_apply(struct device *device)
{
	const struct device_facts *facts = &device->facts;
	const struct rnic_ctl_gids_reply gids = facts->gids;
	const uint32_t state = facts->port.state;
	bool has_new_gids;

	network_update_gids(device);
	engine_set_port_mtu(&device->engine, network_path_mtu(device));
	device_network_fill_facts(device);
	has_new_gids = memcmp(&facts->gids, &gids, sizeof(gids)) != 0;
	if (has_new_gids || facts->port.state != state)
		network_show(device);
	if (facts->port.state != state)
		network_tell_state(device);
	network_log_end(device);
	if (has_new_gids)
		cqe_delivery_port_event(&device->sessions, RNIC_EVENT_GID_CHANGE);
}

void device_network_follow(struct device *device)
{
	while (netdev_watch_next(&device->network.watch))
		network_apply(device);
}

/* SPDX-License-Identifier: MIT */
#include "device/device_ports.h"

#include "base/log.h"
#include "device/device_config.h"
#include "device/device_state.h"
#include "engine/datagrams/mcast.h"
#include "port/conditions/fault.h"
#include "port/local/loopback.h"
#include "port/local/multicast.h"

#include <errno.h>
#include <stdio.h>

_Static_assert(DEVICE_REASON_BYTES >= PORT_TEXT_BYTES, "every sentence fits");

static uint32_t device_ports_count_copies(void *context, const struct rnic_gid *group)
{
	const struct device_half *half = context;
	const struct mcast_group *joined = mcast_find(&half->engine, group);

	return joined != NULL ? joined->member_count : 0;
}

static int device_ports_open_udp(struct device_half *half, const struct device_half_config *config,
				 uint64_t now_ns, char *reason)
{
	const struct udp_options options = {
		.gids = config->gids,
		.gid_count = DEVICE_GIDS,
		.netdev_index = config->netdev_index,
		.segmentation = config->segmentation,
		.ask_neighbours = config->ask_neighbours,
		.sink = half->capture != NULL ? capture_sink(half->capture) : NULL,
	};
	int result = port_open_udp(&half->udp, config->port, &options, now_ns, reason);

	if (result == 0 && reason[0] != '\0')
		log_info("%s", reason);
	return result;
}

/* Builds the stack of ports from the bottom up. */
int device_ports_open(struct device_half *half, const struct device_half_config *config,
		      uint64_t now_ns, char *reason)
{
	const struct multicast_copies copies = {device_ports_count_copies, half};
	struct port *faulty;
	int result;

	half->capture = NULL;
	half->faults = NULL;
	if (config->capture != NULL) {
		result = capture_open(&half->capture, config->capture, config->netdev, now_ns,
				      reason);
		if (result != 0)
			return result;
	}
	result = device_ports_open_udp(half, config, now_ns, reason);
	if (result != 0)
		goto close_capture;
	result = multicast_open(&half->multicast, half->udp, config->netdev_index, &copies, reason);
	if (result != 0) {
		half->udp->ops->close(half->udp);
		goto close_capture;
	}
	half->loopback = loopback_create(half->multicast, config->gids, DEVICE_GIDS);
	if (half->loopback == NULL) {
		half->multicast->ops->close(half->multicast);
		snprintf(reason, DEVICE_REASON_BYTES, "no memory for the loopback port");
		result = -ENOMEM;
		goto close_capture;
	}
	half->port = half->loopback;
	if (half->capture != NULL)
		half->port = capture_stack(half->capture, half->port);
	if (config->fault == NULL)
		return 0;
	result = fault_open(half->port, config->fault, &faulty, reason, DEVICE_REASON_BYTES);
	if (result != 0) {
		half->port->ops->close(half->port);
		return result;
	}
	half->port = faulty;
	half->faults = fault_plan_of(faulty);
	return 0;

close_capture:
	if (half->capture != NULL)
		capture_close(half->capture);
	return result;
}

void device_ports_close(struct device_half *half)
{
	half->port->ops->close(half->port);
}

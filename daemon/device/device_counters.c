/* SPDX-License-Identifier: MIT */
#include "device/device_counters.h"

#include "device/device.h"
#include "port/conditions/fault.h"

#include <stdio.h>
#include <string.h>

/* Counters beside those of the engine, each a member of struct device. */
static const struct {
	const char *name;
	size_t offset; /* in struct device, or in the counters of the port at `port` */
	size_t port;   /* offset of a struct port pointer; 0: none */
} device_counters[] = {
#define OF_DEVICE(name, member)                                                                    \
	{                                                                                          \
		name, offsetof(struct device, member), 0                                           \
	}
#define OF_PORT(name, port, member)                                                                \
	{                                                                                          \
		name, offsetof(struct port_counters, member), offsetof(struct device, port)        \
	}
	OF_DEVICE("icrc_errors", path.receive.bad_icrc),
	OF_DEVICE("undecodable_pkts", path.receive.undecodable),
	OF_PORT("udp_sent_datagrams", udp, sent_datagrams),
	OF_PORT("udp_sent_bytes", udp, sent_bytes),
	OF_PORT("udp_received_datagrams", udp, received_datagrams),
	OF_PORT("udp_received_bytes", udp, received_bytes),
	OF_PORT("udp_send_calls", udp, send_calls),
	OF_PORT("udp_receive_calls", udp, receive_calls),
	OF_PORT("udp_send_refused", udp, send_refused),
	OF_PORT("udp_truncated", udp, truncated),
	OF_PORT("loopback_datagrams", loopback, sent_datagrams),
	OF_PORT("multicast_received_datagrams", multicast, received_datagrams),
	OF_DEVICE("loop_turns", loop_counters.turns),
	OF_DEVICE("loop_sleeps", loop_counters.sleeps),
#undef OF_DEVICE
#undef OF_PORT
};

static bool device_counters_of_cm(const struct device *device, uint32_t index,
				  struct view_counter *counter)
{
	if (index >= CM_COUNTER_COUNT)
		return false;
	counter->name = cm_counter_name((enum cm_counter)index);
	counter->value = cm_counter(device->cm, (enum cm_counter)index);
	return true;
}

static bool device_counters_read(const struct device *device, uint32_t index,
				 struct view_counter *counter)
{
	const uint8_t *base = (const uint8_t *)device;
	uint32_t other = index - COUNTER_COUNT;

	if (index < COUNTER_COUNT) {
		*counter =
			(struct view_counter){counter_name(index), device->engine.counters[index]};
		return true;
	}
	if (other >= RNIC_COUNT_OF(device_counters))
		return device_counters_of_cm(
			device, other - (uint32_t)RNIC_COUNT_OF(device_counters), counter);
	counter->name = device_counters[other].name;
	if (device_counters[other].port != 0) {
		struct port *const *port = (const void *)(base + device_counters[other].port);

		base = (const uint8_t *)&(*port)->counters;
	}
	memcpy(&counter->value, base + device_counters[other].offset, sizeof(counter->value));
	return true;
}

/* One counter for each rule of --fault: the packets it acted on. */
static bool device_counters_fault(const struct device *device, size_t rule,
				  struct rnic_show_counter *counter)
{
	if (device->faults == NULL || rule >= device->faults->rule_count)
		return false;
	snprintf(counter->name, sizeof(counter->name), "fault %.40s",
		 device->faults->rules[rule].text);
	counter->value = device->faults->rules[rule].hits;
	return true;
}

bool device_counters_show(void *context, uint32_t index, struct rnic_show_counter *counter)
{
	const uint32_t first_fault =
		COUNTER_COUNT + (uint32_t)RNIC_COUNT_OF(device_counters) + CM_COUNTER_COUNT;
	struct view_counter found;

	memset(counter, 0, sizeof(*counter));
	if (!device_counters_read(context, index, &found))
		return device_counters_fault(context, index - first_fault, counter);
	snprintf(counter->name, sizeof(counter->name), "%s", found.name);
	counter->value = found.value;
	return true;
}

/* ---- the port's, as the IBTA defines them ---- */

static uint64_t sent_packets(const struct device *device)
{
	return device->udp->counters.sent_datagrams + device->loopback->counters.sent_datagrams;
}

static uint64_t received_packets(const struct device *device)
{
	return device->udp->counters.received_datagrams +
	       device->multicast->counters.received_datagrams +
	       device->loopback->counters.received_datagrams;
}

/* In words of 4 bytes. Packets are multiples of that, from the base header to the ICRC. */
static uint64_t sent_data(const struct device *device)
{
	return (device->udp->counters.sent_bytes + device->loopback->counters.sent_bytes) / 4;
}

static uint64_t received_data(const struct device *device)
{
	return (device->udp->counters.received_bytes + device->multicast->counters.received_bytes +
		device->loopback->counters.received_bytes) /
	       4;
}

static uint64_t received_errors(const struct device *device)
{
	return device->path.receive.bad_icrc + device->path.receive.undecodable +
	       device->udp->counters.truncated + device->multicast->counters.truncated;
}

static uint64_t sent_discards(const struct device *device)
{
	return device->udp->counters.send_refused + device->loopback->counters.send_refused;
}

/* What a link of Ethernet frames does not have, or the kernel below does not let through. */
static uint64_t never(const struct device *device)
{
	(void)device;
	return 0;
}

static const struct {
	const char *name;
	uint64_t (*read)(const struct device *device);
} port_counters[] = {
	{"port_xmit_packets", sent_packets},
	{"port_xmit_data", sent_data},
	{"port_xmit_discards", sent_discards},
	{"port_rcv_packets", received_packets},
	{"port_rcv_data", received_data},
	{"port_rcv_errors", received_errors},
	{"VL15_dropped", never},
	{"link_downed", never},
	{"link_error_recovery", never},
	{"local_link_integrity_errors", never},
	{"port_rcv_constraint_errors", never},
	{"port_rcv_remote_physical_errors", never},
	{"port_rcv_switch_relay_errors", never},
	{"port_xmit_constraint_errors", never},
	{"symbol_error", never},
};

bool device_counters_view(const void *context, enum view_counter_folder folder, uint32_t index,
			  struct view_counter *counter)
{
	const struct device *device = context;

	if (folder == VIEW_HW_COUNTERS)
		return device_counters_read(device, index, counter);
	if (index >= RNIC_COUNT_OF(port_counters))
		return false;
	*counter =
		(struct view_counter){port_counters[index].name, port_counters[index].read(device)};
	return true;
}

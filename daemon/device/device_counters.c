/* SPDX-License-Identifier: MIT */
#include "device/device_half.h"

#include "base/bits.h"
#include "device/device_state.h"
#include "port/conditions/fault.h"

#include <stdio.h>
#include <string.h>

/* The counters besides the engine's counters. Each is a member of struct device_half. */
static const struct {
	const char *name;
	size_t offset; /* in struct device_half, or in the counters of the port at `port` */
	size_t port;   /* offset of a struct port pointer; 0: none */
} device_counters[] = {
#define OF_DEVICE(name, member)                                                                    \
	{                                                                                          \
		name, offsetof(struct device_half, member), 0                                      \
	}
#define OF_PORT(name, port, member)                                                                \
	{                                                                                          \
		name, offsetof(struct port_counters, member), offsetof(struct device_half, port)   \
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

bool device_half_counter(const struct device_half *half, uint32_t index, const char **name,
			 uint64_t *value)
{
	const uint8_t *base = (const uint8_t *)half;
	uint32_t other = index - COUNTER_COUNT;

	if (index < COUNTER_COUNT) {
		*name = counter_name(index);
		*value = half->engine.counters[index];
		return true;
	}
	if (other >= RNIC_COUNT_OF(device_counters))
		return false;
	*name = device_counters[other].name;
	if (device_counters[other].port != 0) {
		struct port *const *port = (const void *)(base + device_counters[other].port);

		base = (const uint8_t *)&(*port)->counters;
	}
	memcpy(value, base + device_counters[other].offset, sizeof(*value));
	return true;
}

uint32_t device_half_counter_count(const struct device_half *half)
{
	(void)half;
	return COUNTER_COUNT + (uint32_t)RNIC_COUNT_OF(device_counters);
}

/* One counter for each rule of --fault: the packets that the rule acted on. */
bool device_half_fault_counter(const struct device_half *half, uint32_t index,
			       struct rnic_show_counter *counter)
{
	if (half->faults == NULL || index >= half->faults->rule_count)
		return false;
	snprintf(counter->name, sizeof(counter->name), "fault %.40s",
		 half->faults->rules[index].text);
	counter->value = half->faults->rules[index].hits;
	return true;
}

/* ---- the port counters that the IBTA defines ---- */

static uint64_t sent_packets(const struct device_half *half)
{
	return half->udp->counters.sent_datagrams + half->loopback->counters.sent_datagrams;
}

static uint64_t received_packets(const struct device_half *half)
{
	return half->udp->counters.received_datagrams +
	       half->multicast->counters.received_datagrams +
	       half->loopback->counters.received_datagrams;
}

/*
 * Counts words of 4 bytes. The length of a packet, from the base header to the ICRC, is a multiple
 * of 4.
 */
static uint64_t sent_data(const struct device_half *half)
{
	return (half->udp->counters.sent_bytes + half->loopback->counters.sent_bytes) / 4;
}

static uint64_t received_data(const struct device_half *half)
{
	return (half->udp->counters.received_bytes + half->multicast->counters.received_bytes +
		half->loopback->counters.received_bytes) /
	       4;
}

static uint64_t received_errors(const struct device_half *half)
{
	return half->path.receive.bad_icrc + half->path.receive.undecodable +
	       half->udp->counters.truncated + half->multicast->counters.truncated;
}

static uint64_t sent_discards(const struct device_half *half)
{
	return half->udp->counters.send_refused + half->loopback->counters.send_refused;
}

/* Counts events that a link of Ethernet frames does not have, or that the kernel hides. */
static uint64_t never(const struct device_half *half)
{
	(void)half;
	return 0;
}

static const struct {
	const char *name;
	uint64_t (*read)(const struct device_half *half);
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

bool device_half_port_counter(const struct device_half *half, uint32_t index, const char **name,
			      uint64_t *value)
{
	if (index >= RNIC_COUNT_OF(port_counters))
		return false;
	*name = port_counters[index].name;
	*value = port_counters[index].read(half);
	return true;
}

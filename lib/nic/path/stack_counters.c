/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/stack_counters.h"

#include "lib/nic/path/port_stack.h"
#include "lib/nic/port/conditions/fault.h"
#include "proto/base/bits.h"

static const struct {
	const char *name;
	size_t port;   /* offset of a struct port pointer in struct port_stack */
	size_t offset; /* in struct port_counters */
} stack_counters[] = {
#define OF_PORT(name, port, member)                                                                \
	{                                                                                          \
		name, offsetof(struct port_stack, port), offsetof(struct port_counters, member)    \
	}
	OF_PORT("udp_sent_datagrams", udp, sent_datagrams),
	OF_PORT("udp_sent_bytes", udp, sent_bytes),
	OF_PORT("udp_received_datagrams", udp, received_datagrams),
	OF_PORT("udp_received_bytes", udp, received_bytes),
	OF_PORT("udp_send_calls", udp, send_calls),
	OF_PORT("udp_receive_calls", udp, receive_calls),
	OF_PORT("udp_send_refused", udp, send_refused),
	OF_PORT("udp_receive_dropped", udp, receive_dropped),
	OF_PORT("udp_truncated", udp, truncated),
	OF_PORT("loopback_datagrams", loopback, sent_datagrams),
	OF_PORT("multicast_received_datagrams", multicast, received_datagrams),
	OF_PORT("multicast_receive_dropped", multicast, receive_dropped),
#undef OF_PORT
};

_Static_assert(RNIC_COUNT_OF(stack_counters) == STACK_COUNTER_COUNT, "each is counted");

bool stack_counter_read(const struct port_stack *stack, uint32_t index, const char **name,
			uint64_t *value)
{
	struct port *const *port;

	if (index >= RNIC_COUNT_OF(stack_counters))
		return false;
	port = (const void *)((const uint8_t *)stack + stack_counters[index].port);
	*name = stack_counters[index].name;
	*value = *(const uint64_t *)(const void *)((const uint8_t *)&(*port)->counters +
						   stack_counters[index].offset);
	return true;
}

/* --- the port counters that the IBTA defines -------------------------------------------------- */

static uint64_t sent_packets(const struct port_stack *stack, uint64_t errors)
{
	(void)errors;
	return stack->udp->counters.sent_datagrams + stack->loopback->counters.sent_datagrams;
}

static uint64_t received_packets(const struct port_stack *stack, uint64_t errors)
{
	(void)errors;
	return stack->udp->counters.received_datagrams +
	       stack->multicast->counters.received_datagrams +
	       stack->loopback->counters.received_datagrams;
}

/*
 * Counts words of 4 bytes. The length of a packet, from the base header to the ICRC, is a multiple
 * of 4.
 */
static uint64_t sent_data(const struct port_stack *stack, uint64_t errors)
{
	(void)errors;
	return (stack->udp->counters.sent_bytes + stack->loopback->counters.sent_bytes) / 4;
}

static uint64_t received_data(const struct port_stack *stack, uint64_t errors)
{
	(void)errors;
	return (stack->udp->counters.received_bytes + stack->multicast->counters.received_bytes +
		stack->loopback->counters.received_bytes) /
	       4;
}

static uint64_t received_errors(const struct port_stack *stack, uint64_t errors)
{
	return errors + stack->udp->counters.truncated + stack->multicast->counters.truncated;
}

static uint64_t sent_discards(const struct port_stack *stack, uint64_t errors)
{
	(void)errors;
	return stack->udp->counters.send_refused + stack->loopback->counters.send_refused;
}

/* Counts events that a link of Ethernet frames does not have, or that the kernel hides. */
static uint64_t never(const struct port_stack *stack, uint64_t errors)
{
	(void)stack;
	(void)errors;
	return 0;
}

static const struct {
	const char *name;
	uint64_t (*read)(const struct port_stack *stack, uint64_t errors);
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

bool stack_counter_read_port(const struct port_stack *stack, uint64_t errors, uint32_t index,
			     const char **name, uint64_t *value)
{
	if (index >= RNIC_COUNT_OF(port_counters))
		return false;
	*name = port_counters[index].name;
	*value = port_counters[index].read(stack, errors);
	return true;
}

uint64_t stack_lost_by_faults(const struct port_stack *stack)
{
	return stack->lost_by_faults +
	       (stack->fault != NULL ? fault_lost_datagrams(stack->fault) : 0);
}

bool stack_counter_has_rules(const struct port_stack *stack)
{
	return stack->fault != NULL;
}

void stack_rule_read(const struct port_stack *stack, uint32_t slot, uint32_t *id, uint64_t *hits)
{
	const struct fault_plan *plan = stack->fault != NULL ? fault_plan_of(stack->fault) : NULL;

	*id = plan != NULL ? plan->ids[slot] : 0;
	*hits = *id != 0 ? plan->rules[slot].hits : 0;
}

/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/port_stack.h"

#include "lib/nic/port/conditions/fault.h"
#include "lib/nic/port/local/loopback.h"
#include "lib/nic/port/port_text.h"
#include "proto/base/lane.h"
#include "proto/base/maxima.h"

#include <errno.h>

static uint32_t port_stack_count_no_copies(void *context, const struct rnic_gid *group)
{
	(void)context;
	(void)group;
	return 0;
}

static int port_stack_open_capture(struct port_stack *stack, const struct port_stack_config *config,
				   uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	if (config->has_capture_fd)
		return capture_open_fd(&stack->capture, config->capture_fd, now_ns, text);
	if (config->capture != NULL)
		return capture_open(&stack->capture, config->capture, config->netdev, now_ns, text);
	return 0;
}

static int port_stack_open_udp(struct port_stack *stack, const struct port_stack_config *config,
			       uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	const struct udp_options options = {
		.gids = config->gids,
		.gid_count = config->gids != NULL ? RNIC_GIDS_MAX : 0,
		.netdev_index = config->netdev_index,
		.segmentation = config->segmentation,
		.ask_neighbours = config->ask_neighbours,
		.sink = stack->capture != NULL ? capture_sink(stack->capture) : NULL,
	};

	return port_open_udp(&stack->udp, config->port, &options, now_ns, text);
}

static int port_stack_open_local(struct port_stack *stack, const struct port_stack_config *config,
				 char text[PORT_TEXT_BYTES])
{
	static const struct multicast_copies no_copies = {port_stack_count_no_copies, NULL};
	const struct multicast_copies *copies =
		config->copies.count != NULL ? &config->copies : &no_copies;
	int result = multicast_open(&stack->multicast, stack->udp, copies, text);

	if (result != 0) {
		stack->udp->ops->close(stack->udp);
		return result;
	}
	stack->loopback = loopback_create(stack->multicast, config->gids,
					  config->gids != NULL ? RNIC_GIDS_MAX : 0, config->lane);
	if (stack->loopback == NULL) {
		stack->multicast->ops->close(stack->multicast);
		return port_text_error(text, -ENOMEM, "no memory for the loopback port");
	}
	return 0;
}

/* From the bottom up. */
int port_stack_open(struct port_stack *stack, const struct port_stack_config *config,
		    uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	int result;

	*stack = (struct port_stack){.lane = config->lane};
	result = port_stack_open_capture(stack, config, now_ns, text);
	if (result != 0)
		return result;
	result = port_stack_open_udp(stack, config, now_ns, text);
	if (result != 0)
		goto close_capture;
	result = port_stack_open_local(stack, config, text);
	if (result != 0)
		goto close_capture;
	stack->top = stack->loopback;
	if (stack->capture != NULL)
		stack->top = capture_stack(stack->capture, stack->top);
	return 0;

close_capture:
	if (stack->capture != NULL)
		capture_close(stack->capture);
	return result;
}

/* The port below the cut, or the top. */
static struct port **stack_upper(struct port_stack *stack)
{
	return stack->is_cut ? &stack->cut.next : &stack->top;
}

static bool stack_has_rules(const struct port_stack *stack)
{
	const struct fault_plan *plan = fault_plan_of(stack->fault);

	return plan->receive.count + plan->transmit.count > 0;
}

static int stack_open_fault(struct port_stack *stack)
{
	struct port **upper = stack_upper(stack);

	if (stack->fault != NULL)
		return 0;
	stack->fault = fault_create(*upper, stack->lane);
	if (stack->fault == NULL)
		return -ENOMEM;
	fault_tell_capture(stack->fault, stack->capture);
	*upper = stack->fault;
	return 0;
}

static void stack_close_fault(struct port_stack *stack, uint64_t now_ns)
{
	stack->lost_by_faults += fault_lost_datagrams(stack->fault);
	*stack_upper(stack) = fault_remove(stack->fault, now_ns);
	stack->fault = NULL;
}

int port_stack_set_rule(struct port_stack *stack, uint32_t slot, uint32_t id, const char *text,
			uint64_t seed, uint64_t now_ns)
{
	const uint32_t loaded = stack->fault != NULL ? fault_plan_of(stack->fault)->ids[slot] : 0;
	struct fault_rule rule;
	int result = 0;

	if (id == loaded)
		return 0;
	if (id != 0)
		result = fault_rule_load(&rule, text, seed, stack->lane, now_ns);
	if (result == 0 && id != 0 && !fault_rule_is_for_packets(&rule))
		result = -EINVAL;
	if (result == 0)
		result = stack_open_fault(stack);
	if (result != 0)
		return result;
	fault_set_rule(stack->fault, slot, id, &rule, now_ns);
	if (!stack_has_rules(stack))
		stack_close_fault(stack, now_ns);
	return 0;
}

struct port *port_stack_receiver(const struct port_stack *stack)
{
	return stack->fault != NULL && stack->top == stack->fault ? fault_receiver(stack->fault)
								  : stack->top;
}

struct port *port_stack_sender(const struct port_stack *stack)
{
	return stack->fault != NULL && stack->top == stack->fault ? fault_sender(stack->fault)
								  : stack->top;
}

void port_stack_set_cut(struct port_stack *stack, bool is_cut)
{
	if (is_cut == stack->is_cut)
		return;
	stack->is_cut = is_cut;
	if (is_cut) {
		cut_init(&stack->cut, stack->top);
		stack->top = &stack->cut.port;
	} else {
		stack->top = stack->cut.next;
	}
}

void port_stack_close(struct port_stack *stack)
{
	stack->top->ops->close(stack->top);
}

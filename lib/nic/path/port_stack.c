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

/* The capture belongs to the stack from here on. */
static int port_stack_open_fault(struct port_stack *stack, const struct port_stack_config *config,
				 char text[PORT_TEXT_BYTES])
{
	char error_text[PORT_TEXT_BYTES] = "no memory for faults";
	struct port *faulty;
	int result;

	if (config->fault == NULL)
		return 0;
	result = fault_open(stack->top, config->fault, &faulty, error_text, sizeof(error_text));
	if (result != 0) {
		stack->top->ops->close(stack->top);
		return port_text_error(text, result, "%s", error_text);
	}
	fault_offset_seed(faulty, config->lane);
	stack->top = faulty;
	stack->fault = faulty;
	return 0;
}

/* From the bottom up. */
int port_stack_open(struct port_stack *stack, const struct port_stack_config *config,
		    uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	int result;

	*stack = (struct port_stack){0};
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
	return port_stack_open_fault(stack, config, text);

close_capture:
	if (stack->capture != NULL)
		capture_close(stack->capture);
	return result;
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

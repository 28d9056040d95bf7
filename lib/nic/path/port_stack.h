/* SPDX-License-Identifier: MIT */
/*
 * Builds the stack of ports below a data path:
 *
 *     cut -> fault -> capture -> loopback (packets to ourselves) -> multicast (of groups joined) ->
 * UDP
 *
 * Faults and the cut come and go while the stack is open, and then `top` is another port.
 *
 * A process of a lane has a stack like that of a whole device, but opens no socket and no file: its
 * GIDs come later with their sockets (port_ops.set_gid), its groups too (multicast_give()), and its
 * capture has a descriptor.
 */
#ifndef LIB_NIC_PATH_PORT_STACK_H
#define LIB_NIC_PATH_PORT_STACK_H

#include "lib/nic/port/conditions/capture.h"
#include "lib/nic/port/conditions/cut.h"
#include "lib/nic/port/local/multicast.h"
#include "lib/nic/port/udp/udp_port.h"

#include <stdbool.h>
#include <stdint.h>

struct port_stack_config {
	const struct rnic_gid *gids; /* RNIC_GIDS_MAX by index, zero where none is; NULL: none */
	const char *netdev;	     /* for the capture, which shows the name */
	uint32_t netdev_index;
	uint8_t lane; /* RNIC_LANE_NONE, RNIC_LANE_ZERO or a lane: lane.h */
	enum udp_port_kind port;
	enum segmentation_mode segmentation;
	neighbours_ask *ask_neighbours; /* NULL: no neighbour table to ask */
	const char *capture;		/* the path of a file; NULL: none, or the next */
	bool has_capture_fd;		/* for capture_open_fd(), in place of `capture` */
	int capture_fd;			/* the stack closes it, also when it cannot open */
	struct multicast_copies copies; /* `count` NULL: a datagram to a group goes nowhere */
};

struct port_stack {
	struct port *udp; /* bottom of the stack */
	struct port *multicast;
	struct port *loopback;
	struct port *top;	 /* owns all ports below */
	struct capture *capture; /* in the stack; NULL: none */
	struct port *fault;	 /* in the stack, while there are rules; NULL: none */
	uint64_t lost_by_faults; /* by fault ports that are gone */
	uint8_t lane;
	bool is_cut;
	struct cut cut; /* the top, while `is_cut` */
};

/*
 * Returns a negative errno with a sentence in `text`; nothing is open then. On success `text` is
 * empty, or says why io_uring is not used.
 */
int port_stack_open(struct port_stack *stack, const struct port_stack_config *config,
		    uint64_t now_ns, char text[PORT_TEXT_BYTES]);
void port_stack_close(struct port_stack *stack);

/*
 * Loads the rule `text` (fault_rule.h) into `slot`, below FAULT_RULES_MAX, with `seed` where the
 * text has none; with an `id` of 0 empties the slot. Nothing happens where the slot has that id.
 * The caller gives the new `top` to all that knew the old one. -EINVAL for a text that is not one
 * rule for packets, -ENOMEM: nothing is changed.
 */
int port_stack_set_rule(struct port_stack *stack, uint32_t slot, uint32_t id, const char *text,
			uint64_t seed, uint64_t now_ns);

/*
 * The ports to receive from and to send to until the stack changes: the top, or the port below that
 * would only pass the call on. The time at which there is work is the top's to tell.
 */
struct port *port_stack_receiver(const struct port_stack *stack);
struct port *port_stack_sender(const struct port_stack *stack);

/* Cuts the link, or mends it. The caller gives the new `top` to all that knew the old one. */
void port_stack_set_cut(struct port_stack *stack, bool is_cut);

#endif

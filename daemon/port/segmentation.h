/* SPDX-License-Identifier: MIT */
/*
 * Whether to send trains (segment.h) or packets one by one.
 *
 * A train crosses a veth or loopback device uncut, and a program that captures there sees one
 * datagram of 60 KB that no dissector reads. So in mode auto, /proc/net/packet is looked at now and
 * then, and while anybody in this network namespace captures, trains are off. A DHCP client that
 * keeps a raw socket for all protocols cannot be told from a capture; mode on is for such a host.
 */
#ifndef DAEMON_PORT_SEGMENTATION_H
#define DAEMON_PORT_SEGMENTATION_H

#include <stdbool.h>
#include <stdint.h>

enum segmentation_mode { SEGMENTATION_AUTO, SEGMENTATION_ON, SEGMENTATION_OFF };

struct segmentation {
	bool is_on;
	int packet_sockets_fd; /* /proc/net/packet in mode auto; -1 when there is none */
	uint64_t look_again_ns;
};

/* Looks for captures at once. A system without /proc/net/packet has none. */
void segmentation_open(struct segmentation *segmentation, enum segmentation_mode mode,
		       uint64_t now_ns);
void segmentation_close(struct segmentation *segmentation);

/* Looks again when the last look was 200 ms ago. */
bool segmentation_is_on(struct segmentation *segmentation, uint64_t now_ns);

/* The kernel or the network device refused a train: off, whatever the mode was. */
void segmentation_refuse(struct segmentation *segmentation);

/* Whether a socket in `text`, the content of /proc/net/packet, takes packets of all protocols. */
bool segmentation_is_captured(const char *text);

#endif

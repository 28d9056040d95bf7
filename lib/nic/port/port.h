/* SPDX-License-Identifier: MIT */
/*
 * A port carries datagrams between this device and the network: UDP by io_uring, UDP by plain
 * sockets, or back to ourselves. Ports stack: fault, capture, loopback and multicast are ports that
 * hold the next one.
 *
 * A datagram is one RoCEv2 packet from the BTH on. On its way out it has no ICRC yet: the port that
 * puts it on the wire knows the IPv4 identification and writes it (segment.h). On its way in the
 * ICRC is its last four bytes, not yet checked.
 */
#ifndef NIC_PORT_PORT_H
#define NIC_PORT_PORT_H

#include "wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

/* Room for the sentence, for people, with which opening a port says why it failed. */
#define PORT_TEXT_BYTES 256

struct datagram {
	struct rnic_addresses addresses;
	uint8_t *bytes;	 /* outbound: room for RNIC_ICRC_BYTES behind `length` */
	uint32_t length; /* outbound: without ICRC; inbound: with it */
	uint32_t damage; /* outbound: number of the bit to flip after the ICRC was written, plus 1;
			    0 none */
	uint16_t gso_batch_position; /* inbound: how many came before it in one buffer of UDP_GRO */
	uint64_t received_ns;	     /* inbound */
};

struct port;

struct port_counters {
	uint64_t sent_datagrams;
	uint64_t sent_bytes;
	uint64_t received_datagrams;
	uint64_t received_bytes;
	uint64_t send_calls; /* system calls, for the copies-and-wakeups table */
	uint64_t receive_calls;
	uint64_t send_refused; /* the network said no for good (unreachable, too long): lost, as on
				  a wire */
	uint64_t truncated;
};

struct port_ops {
	const char *name; /* "uring", "socket", "multicast", "loopback", "capture", "fault" */
	/*
	 * Fetches up to `max` datagrams that have arrived and returns how many. Their bytes are
	 * valid until the next receive. Never blocks.
	 */
	uint32_t (*receive)(struct port *port, struct datagram *into, uint32_t max,
			    uint64_t now_ns);
	/*
	 * Sends in order and returns how many were taken; the rest is to be offered again when the
	 * port is writable. Bytes are free again on return. A datagram that can never be sent
	 * counts as taken and in send_refused.
	 */
	uint32_t (*transmit)(struct port *port, struct datagram *datagrams, uint32_t count,
			     uint64_t now_ns);
	/* Instant at which receive or transmit has something to do without any arrival (a delayed
	 * datagram); UINT64_MAX when none. */
	uint64_t (*next_deadline_ns)(const struct port *port);
	/* Descriptors to watch: calls `watch` for each with whether it is watched for writing too.
	 */
	void (*watch)(struct port *port, void (*watch)(void *context, int fd, bool for_writing),
		      void *context);
	/*
	 * The device's addresses have changed: has `gid` at `index` of the GID table from now on,
	 * where nothing was, or (NULL) nothing any more. Negative errno with a sentence in `text`
	 * when the address cannot be had: the index stays empty.
	 */
	int (*set_gid)(struct port *port, uint32_t index, const struct rnic_gid *gid,
		       char text[PORT_TEXT_BYTES]);
	void (*close)(struct port *port);
};

/* The last datagram that counted in send_refused; whoever has told of it sets `error` to 0. */
struct port_refusal {
	int error; /* negative errno; 0: none */
	uint32_t bytes;
	struct rnic_gid dest;
};

/*
 * What the network has said, by ICMP, of datagrams to `dest`: -ECONNREFUSED nobody has that UDP
 * port; -EHOSTUNREACH, -ENETUNREACH there is no way; -EMSGSIZE there is none for more than
 * `mtu_bytes`; -EACCES it is forbidden; -ETIME it is too long; or another errno. `from` says so, or
 * pretends to be who says so; zero when that is unknown.
 */
struct port_report {
	int error;
	uint32_t mtu_bytes; /* of IP packets; 0: not told */
	struct rnic_gid dest;
	struct rnic_gid from;
};

#define PORT_REPORTS_MAX 8

/* Embedded first in each port's own struct. */
struct port {
	const struct port_ops *ops;
	struct port_counters counters;
	/* Of ports that send by UDP. Whoever tells of the reports sets their number to 0. */
	struct port_refusal refusal;
	struct port_report reports[PORT_REPORTS_MAX];
	uint32_t report_count;
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A port carries datagrams between this device and the network: UDP by io_uring, UDP by plain
 * sockets, or back to ourselves. Ports stack: fault, capture, loopback and multicast are ports that
 * hold the next one.
 *
 * A datagram is one RoCEv2 packet from the BTH on. Outbound it has no ICRC yet: the port that puts
 * it on the wire knows the IPv4 identification and writes the ICRC (segment.h). Inbound the ICRC is
 * its last four bytes, not yet checked.
 */
#ifndef LIB_NIC_PORT_PORT_H
#define LIB_NIC_PORT_PORT_H

#include "proto/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

/* Room for a sentence for people: the reason why opening a port failed. */
#define PORT_TEXT_BYTES 256

struct datagram {
	struct rnic_addresses addresses;
	uint8_t *bytes;	 /* outbound: room for RNIC_ICRC_BYTES behind `length` */
	uint32_t length; /* outbound: without ICRC; inbound: with it */
	uint32_t damage; /* outbound: number of the bit to flip after the ICRC is written, plus 1; 0
			    none */
	uint16_t gso_batch_position; /* inbound: the number of datagrams before it in one buffer of
					UDP_GRO */
	uint64_t received_ns;	     /* inbound: the time of the call of receive */
};

struct port;
struct udp_lane_sockets;

struct port_counters {
	uint64_t sent_datagrams;
	uint64_t sent_bytes;
	uint64_t received_datagrams;
	uint64_t received_bytes;
	uint64_t send_calls; /* system calls, for the copies-and-wakeups table */
	uint64_t receive_calls;
	uint64_t send_refused; /* the network refused it for good (unreachable, too long): lost, as
				  on a wire */
	uint64_t receive_dropped; /* by the kernel: the socket's buffer was full */
	uint64_t truncated;
};

struct port_ops {
	const char *name; /* "uring", "socket", "multicast", "loopback", "capture", "fault" */
	/*
	 * Fetches up to `max` received datagrams and returns their number. Their bytes are valid
	 * until the next receive. Never blocks.
	 */
	uint32_t (*receive)(struct port *port, struct datagram *into, uint32_t max,
			    uint64_t now_ns);
	/*
	 * Sends in order and returns the number of taken datagrams; the caller offers the rest
	 * again when the port is writable. Bytes are free again on return. A datagram that can
	 * never be sent counts as taken and in send_refused.
	 */
	uint32_t (*transmit)(struct port *port, struct datagram *datagrams, uint32_t count,
			     uint64_t now_ns);
	/*
	 * The time at which receive or transmit has work without any arrival (a delayed datagram);
	 * UINT64_MAX when none.
	 */
	uint64_t (*next_deadline_ns)(const struct port *port);
	/*
	 * Calls `watch` for each descriptor to poll, and says whether to poll it for writing too.
	 */
	void (*watch)(struct port *port, void (*watch)(void *context, int fd, bool for_writing),
		      void *context);
	/*
	 * Notes a change of the device's addresses: `gid` is at `index` of the GID table from now
	 * on, where no address was, or (NULL) no address is there any more. `sockets` are the
	 * address's sockets, which the port closes, also when it fails; NULL: the port opens one.
	 * Negative errno with a sentence in `text` when the address is not available: the index
	 * stays empty.
	 */
	int (*set_gid)(struct port *port, uint32_t index, const struct rnic_gid *gid,
		       const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES]);
	/*
	 * Of a port that sends by UDP, and NULL of others: the device's interface has this index
	 * from now on. Sockets that were there before may be bound to the interface of before.
	 */
	void (*set_netdev)(struct port *port, uint32_t netdev_index);
	void (*close)(struct port *port);
};

/* The last datagram that counted in send_refused; the caller that reports it sets `error` to 0. */
struct port_refusal {
	int error; /* negative errno; 0: none */
	uint32_t bytes;
	struct rnic_gid dest;
};

/*
 * A report of the network, by ICMP, about datagrams to `dest`: -ECONNREFUSED nobody has that UDP
 * port; -EHOSTUNREACH, -ENETUNREACH there is no route; -EMSGSIZE there is none for more than
 * `mtu_bytes`; -EACCES it is forbidden; -ETIME the route is too long; or another errno. `from` is
 * the reporter, or the claimed one; zero when unknown.
 */
struct port_report {
	int error;
	uint32_t mtu_bytes; /* of IP packets; 0: unknown */
	struct rnic_gid dest;
	struct rnic_gid from;
};

#define PORT_REPORTS_MAX 8

/* The first member of each port's own struct. */
struct port {
	const struct port_ops *ops;
	struct port_counters counters;
	/* For ports that send by UDP. The caller that reports them sets their number to 0. */
	struct port_refusal refusal;
	struct port_report reports[PORT_REPORTS_MAX];
	uint32_t report_count;
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The common part of both UDP ports: the sockets, their options, the control messages of a send,
 * and the splitting of a received buffer.
 *
 * One unconnected socket per GID, bound to that address and the RoCEv2 port. It is bound because
 * several devices share a machine by address. It is unconnected and never fragments because only
 * then the kernel numbers IPv4 packets predictably for the ICRC (segment.h).
 *
 * A port of a lane opens nothing: it gets a socket to receive and several to send for each GID
 * (udp_lane_sockets.h). While open, a port calls setsockopt for UDP_GRO, IP_RECVERR and
 * IPV6_RECVERR only.
 */
#ifndef LIB_NIC_PORT_UDP_UDP_SOCKETS_H
#define LIB_NIC_PORT_UDP_UDP_SOCKETS_H

#include "lib/nic/port/port.h"
#include "lib/nic/port/udp/neighbours.h"
#include "lib/nic/port/udp/segment.h"
#include "lib/nic/port/udp/segmentation.h"
#include "lib/nic/port/udp/udp_lane_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define UDP_SOCKETS_MAX 32

/* A socket for each GID, and its send sockets where it has such. */
#define UDP_DESCRIPTORS_MAX (UDP_SOCKETS_MAX * (1 + RNIC_LANE_SEND_SOCKETS))

/* The longest UDP payload, and so the longest GSO batch that UDP_GRO can return. */
#define UDP_ARRIVAL_BYTES_MAX 65536
/*
 * Datagrams are received to this place modulo 16. The payload of most packets (behind a BTH alone,
 * or with RETH) then lies at a multiple of 16, and so does that of each further segment of 4 KiB
 * that the kernel puts together: the way to the program's memory is several times as fast.
 */
#define UDP_ARRIVAL_PHASE_BYTES 4

/* Room for three control messages of one int each. */
#define UDP_CONTROL_BYTES 80

struct udp_options {
	const struct rnic_gid *gids; /* for opening only; a zero GID leaves its slot empty */
	uint32_t gid_count;	     /* up to UDP_SOCKETS_MAX */
	uint32_t netdev_index;	     /* scope of link-local addresses */
	uint16_t udp_port;	     /* 0: RNIC_UDP_PORT; tests use another one */
	enum segmentation_mode segmentation;
	const struct segment_sink *sink; /* may be NULL; must stay valid longer than the port */
	neighbours_ask *ask_neighbours;
};

struct udp_socket {
	struct rnic_gid gid;
	int fd;			/* -1: the slot is empty */
	uint16_t source_port;	/* of what the socket sends */
	bool is_blocked;	/* the last send found no room */
	uint64_t full_since_ns; /* all sends since then found no room; 0: the last one did */
	uint32_t dropped;	/* that udp_socket_count_dropped() has counted; wraps */
	bool hears;	     /* collects the network's errors about sent datagrams: udp_errors.h */
	uint8_t heard;	     /* errors since the last look */
	uint8_t late_errors; /* errors that may still come after it stopped */
};

struct udp_sockets {
	/* By GID index, and from UDP_SOCKETS_MAX on the send sockets: udp_sockets_sender(). */
	struct udp_socket sockets[UDP_DESCRIPTORS_MAX];
	uint32_t count; /* of slots, up to the last one that was ever in use */
	uint32_t netdev_index;
	uint16_t udp_port;
	bool is_gro_on;
	bool has_errors;	 /* maybe: look at once */
	uint64_t errors_look_ns; /* the time of the next look */
	struct segmentation segmentation;
	struct neighbours neighbours;
	const struct segment_sink *sink;
};

/*
 * Opens and binds all sockets. Errors, with a sentence in `text`: -EADDRINUSE another socket has
 * the UDP port; -EADDRNOTAVAIL not an address of this machine; any other of socket(2), bind(2). No
 * socket stays open then.
 */
int udp_sockets_open(struct udp_sockets *sockets, const struct udp_options *options,
		     uint64_t now_ns, char text[PORT_TEXT_BYTES]);
void udp_sockets_close(struct udp_sockets *sockets);

/*
 * Opens the socket of `gid` in the empty slot `index`, or takes `given` for it. Errors as above;
 * the slot stays empty then, and `given` is closed.
 */
int udp_sockets_add(struct udp_sockets *sockets, uint32_t index, const struct rnic_gid *gid,
		    const struct udp_lane_sockets *given, char text[PORT_TEXT_BYTES]);

/* port_ops.set_netdev */
void udp_sockets_set_netdev(struct udp_sockets *sockets, uint32_t netdev_index);

/* Closes the sockets of a slot. */
void udp_sockets_remove(struct udp_sockets *sockets, uint32_t index);

/*
 * Sets the options that every socket of a port needs, before bind(2): `gid` is its address. -EINVAL
 * or another errno of setsockopt(2): this system lacks one.
 */
int udp_socket_set_options(int fd, const struct rnic_gid *gid, uint32_t netdev_index);

/*
 * Opens a socket that receives the datagrams to the multicast group `group` from the interface
 * `netdev_index`, beside those of other devices of this user. Negative errno of socket(2), bind(2),
 * setsockopt(2); -EADDRINUSE: another user's program has the group.
 */
int udp_group_open(struct udp_socket *sock, const struct rnic_gid *group, uint32_t netdev_index);

/*
 * Switches the error queue of `sock` (udp_errors.h). On a system without error queues the socket
 * stays deaf.
 */
void udp_socket_hear(struct udp_socket *sock, bool is_on);

/*
 * Adds to receive_dropped what the kernel has dropped at `sock` since the last call, for want of
 * room in the buffer; a GSO batch may count as one (findings/udp-counters-count-batches.sh).
 * SO_RXQ_OVFL would tell only with a later datagram, which may never come.
 */
void udp_socket_count_dropped(struct udp_socket *sock, struct port_counters *counters);

/* The place of send socket `i` of the GID at `index`; its descriptor may be -1. */
static inline struct udp_socket *udp_sockets_sender(struct udp_sockets *sockets, uint32_t index,
						    uint32_t i)
{
	return &sockets->sockets[UDP_SOCKETS_MAX + index * RNIC_LANE_SEND_SOCKETS + i];
}

/* The socket that sends `datagram`: bound to its source, for its destination's lane. Or NULL. */
struct udp_socket *udp_sockets_find(struct udp_sockets *sockets, const struct datagram *datagram);

/*
 * Whether to send GSO batches now; switches UDP_GRO of all sockets to match. Call it before each
 * receive and transmit.
 */
bool udp_sockets_segmentation(struct udp_sockets *sockets, uint64_t now_ns);

union udp_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

/* Writes the address of `gid` and returns its length. */
socklen_t udp_address_write(union udp_address *address, const struct rnic_gid *gid,
			    uint16_t udp_port, uint32_t netdev_index);

/*
 * Writes the control messages of a send to `control` and returns their length: traffic class, to a
 * multicast group the hop limit, and, when `segment_bytes` is not 0, the length at which the kernel
 * cuts. Packets to one host get the hop limit of the kernel's route.
 */
size_t udp_control_write(uint8_t control[UDP_CONTROL_BYTES], const struct rnic_addresses *addresses,
			 uint16_t segment_bytes);

/* Writes why bind(2) failed with `error`, an errno, and returns -`error`. */
int udp_bind_error(char text[PORT_TEXT_BYTES], int error, const struct rnic_gid *gid,
		   uint16_t udp_port);

/* A received buffer, with one datagram or several of equal length. */
struct udp_arrival {
	struct rnic_addresses addresses;
	uint8_t *bytes;
	uint32_t length;
	uint32_t segment_bytes;
	uint32_t offset; /* of the bytes that are not taken yet */
};

/*
 * Reads name, flags and control messages of `header`, the result of receiving `length` bytes at
 * `bytes` by `socket`. Errors: -EMSGSIZE the kernel cut the datagram to the buffer: drop it.
 */
int udp_arrival_read(struct udp_arrival *arrival, const struct udp_socket *socket,
		     struct msghdr *header, uint8_t *bytes, size_t length);

/* Takes the next datagram from `arrival`; false when there is none left. */
bool udp_arrival_next(struct udp_arrival *arrival, struct datagram *out, uint64_t now_ns);

/*
 * Takes up to `max` datagrams from `arrivals[*next .. count)`, moves *next on and counts the
 * datagrams.
 */
uint32_t udp_arrivals_take(struct udp_arrival *arrivals, uint32_t *next, uint32_t count,
			   struct datagram *into, uint32_t max, struct port_counters *counters,
			   uint64_t now_ns);

#endif

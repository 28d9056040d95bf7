/* SPDX-License-Identifier: MIT */
/*
 * A datagram socket: a UDP socket, whose descriptor is the rsocket's number, and a UD queue pair,
 * which the first peer brings into being. Datagrams go from queue pair to queue pair. Only the UDP
 * socket knows the addresses of peers. While the peer's queue pair is not known, datagrams go
 * through the UDP socket, in an envelope that tells the number of our queue pair; the answer tells
 * that of the peer's. Datagrams that are too long for a packet go the same way.
 *
 * The lock of the rsocket guards everything, and calls of the application do all work: no thread
 * would answer for the application. Only the look-up of a new peer runs without the lock.
 */
#ifndef LIB_DROPIN_RSOCKETS_RSOCKET_DATAGRAM_H
#define LIB_DROPIN_RSOCKETS_RSOCKET_DATAGRAM_H

#include "lib/dropin/rsockets/rsocket_objects.h"
#include "lib/dropin/rsockets/rsocket_wire.h"

#include <rnic/rnic_cm.h>

/* Bytes of a datagram with its header, on either way. Every receiver has room for so many. */
#define RNIC_RSOCKET_DATAGRAM_BYTES 2048u

/* A peer of this socket. */
struct rnic_rsocket_peer {
	struct rnic_rsocket_peer *next;
	struct sockaddr_storage address;
	struct sockaddr_storage source; /* this side's address towards the peer */
	struct rnic_gid gid;		/* the end of the way to the peer */
	struct ibv_ah *ah;
	uint32_t qpn;
	int64_t heard_ns; /* when the peer last told its number; 0: never */
};

/* A received datagram that waits for the application. */
struct rnic_rsocket_parcel {
	struct sockaddr_storage from;
	uint8_t *payload;
	uint32_t bytes;
	int64_t slot; /* of the receive buffers that the datagram lies in; negative: allocated */
	uint8_t *allocated;
};

struct rnic_rsocket_datagram {
	struct rnic_rsocket rs; /* its fd is the UDP socket */
	bool is_bound;
	bool has_news;			   /* that no sleeper was woken for yet */
	struct sockaddr_storage connected; /* AF_UNSPEC: to nobody */
	struct rnic_rsocket_peer *peers;   /* the peer used last comes first */
	uint32_t peer_count;

	/* The queue pair and the objects behind it: none before there is a peer. */
	struct rdma_cm_id *id;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	bool is_armed;
	uint32_t packet_bytes; /* payload of a packet */
	uint8_t *block;
	size_t block_bytes;
	struct ibv_mr *mr;
	uint8_t *send_slots;
	uint8_t *receive_slots;
	uint32_t *free_slots; /* for sending */
	uint32_t free_count;
	uint32_t send_count;
	uint32_t receive_count;

	struct rnic_rsocket_parcel *parcels; /* a ring */
	uint32_t parcel_room;
	uint32_t parcel_head;
	uint32_t parcel_count;
};

static inline struct rnic_rsocket_datagram *rnic_rsocket_datagram(const struct rnic_rsocket *rs)
{
	return (struct rnic_rsocket_datagram *)rs;
}

/* ---- rsocket_peers.c ---- */

/*
 * Turns IPv4 addresses of IPv6 sockets into IPv4 addresses, and back into those that the
 * application knows.
 */
void rnic_rsocket_unmap(struct sockaddr_storage *address);
void rnic_rsocket_map(struct sockaddr_storage *address, int domain);
bool rnic_rsocket_is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* Between sockaddrs and the addresses in headers; the port is apart. */
struct rnic_rsocket_address rnic_rsocket_address_of(const struct sockaddr_storage *address);
void rnic_rsocket_address_to(const struct rnic_rsocket_address *from, uint16_t port,
			     struct sockaddr_storage *address);
uint16_t rnic_rsocket_port_of(const struct sockaddr_storage *address);

/*
 * Finds the peer with this address, anew if need be, and with the peer the queue pair. Forgets the
 * oldest of too many peers. Gives up the lock while the daemon looks for the way, so that others
 * send and receive: facts about the socket from before need not hold after. -EHOSTUNREACH and
 * others: there is no way to the peer.
 */
int rnic_rsocket_find_peer(struct rnic_rsocket_datagram *datagram,
			   const struct sockaddr_storage *address,
			   struct rnic_rsocket_peer **found);
/*
 * Whether a datagram from `source` may claim to be from `address`: it is that address, or the way
 * to `address` leads there, as the way to an address of loopback leads to the device's own.
 */
bool rnic_rsocket_is_from(const struct rnic_rsocket_datagram *datagram,
			  const struct sockaddr_storage *address, const struct rnic_gid *source);

void rnic_rsocket_forget_peers(struct rnic_rsocket_datagram *datagram);

/* The socket's own address. Binds the socket to a free port if it was not bound. */
int rnic_rsocket_own_address(struct rnic_rsocket_datagram *datagram,
			     struct sockaddr_storage *address);

/* ---- rsocket_ud.c ---- */

/* Makes the queue pair of `id`, which becomes the socket's. */
int rnic_rsocket_ud_create(struct rnic_rsocket_datagram *datagram, struct rdma_cm_id *id);
void rnic_rsocket_ud_destroy(struct rnic_rsocket_datagram *datagram);

/* In the number of a work request, above the number of its slot: a receive. */
#define RNIC_RSOCKET_UD_RECEIVE (UINT64_C(1) << 32)

uint8_t *rnic_rsocket_ud_receive_slot(const struct rnic_rsocket_datagram *datagram, uint32_t slot);
int rnic_rsocket_ud_post_receive(struct rnic_rsocket_datagram *datagram, uint32_t slot);
int rnic_rsocket_ud_send(struct rnic_rsocket_datagram *datagram,
			 const struct rnic_rsocket_peer *peer, uint32_t slot, uint32_t bytes);

/* ---- rsocket_mailbox.c ---- */

ssize_t rnic_rsocket_datagram_send(struct rnic_rsocket *rs, const struct msghdr *message,
				   int flags);
ssize_t rnic_rsocket_datagram_receive(struct rnic_rsocket *rs, struct msghdr *message, int flags);

/* Takes in envelopes from UDP. True: there was one. */
bool rnic_rsocket_take_envelopes(struct rnic_rsocket_datagram *datagram);

/*
 * Queues a datagram for the application. False: the socket is connected to another peer, or there
 * is no room.
 */
bool rnic_rsocket_store(struct rnic_rsocket_datagram *datagram,
			const struct rnic_rsocket_parcel *parcel);

/* ---- rsocket_arrival.c ---- */

/* Takes in the completions of the queue pair. */
void rnic_rsocket_take_packets(struct rnic_rsocket_datagram *datagram);

#endif

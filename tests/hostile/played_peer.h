/* SPDX-License-Identifier: MIT */
/*
 * An honest client whose QP has a peer that the test plays by hand, packet by packet. The peer's
 * sockets are the test's.
 */
#ifndef TESTS_HOSTILE_PLAYED_PEER_H
#define TESTS_HOSTILE_PLAYED_PEER_H

#include "proto/wire/packet.h"
#include "tests/hostile/hostile_link.h"

#include <netinet/in.h>

#define PLAYED_FIRST_PSN 100

struct played_peer {
	struct hostile_client client; /* its QP is in RTR */
	struct rnic_gid own;	      /* of the client's device */
	struct rnic_gid gid;	      /* of the peer */
	uint32_t qpn;		      /* of the peer */
	int admin_fd;
	int answers_fd; /* the peer's socket at port 4791; of the test */
};

/* The first GID of the daemon's device. */
struct rnic_gid played_peer_own_gid(void);

/* Opens the client, and connects its QP to `qpn` at `gid`. */
void played_peer_open(struct played_peer *played, const struct rnic_gid *gid, uint32_t qpn);
void played_peer_close(struct played_peer *played);

struct sockaddr_in played_peer_address(const struct rnic_gid *gid, uint16_t port);

/*
 * Builds a WRITE of no bytes, which needs no key and asks for an acknowledgement, from UDP `port`.
 * Returns the length.
 */
size_t played_peer_build_write(const struct played_peer *played, uint16_t port, uint32_t psn,
			       uint8_t bytes[RNIC_PACKET_BYTES_MAX]);

/* Sends a WRITE of no bytes, which needs no key and asks for an acknowledgement, from UDP `port`.
 */
void played_peer_write(const struct played_peer *played, int fd, uint16_t port, uint32_t psn);

/* Whether the device has answered, within the time. */
bool played_peer_has_answer(const struct played_peer *played, int timeout_ms);

/* The device acknowledges the PSN as the message of that number, and sends nothing else. */
void played_peer_expect_acknowledge(const struct played_peer *played, uint32_t psn, uint32_t msn);

/* One page of a listing. */
void played_peer_show(const struct played_peer *played, const struct rnic_ctl_show *request,
		      struct hostile_reply *reply, struct rnic_ctl_show_reply *answer);

uint64_t played_peer_counter(const struct played_peer *played, const char *name);

#endif

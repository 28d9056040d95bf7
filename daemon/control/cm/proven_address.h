/* SPDX-License-Identifier: MIT */
/*
 * Anybody can send a REQ with the address of somebody else as the source. An address is proven once
 * a message names our random identifier, or packets come on the QP. Until then
 *
 * - the address gets at most CREDIT_OF_MESSAGE messages for each of its own, all of one length, as
 *   in QUIC (RFC 9000, section 8.1). When they are used up, the timers run on in silence, and the
 *   peer's next copy of the REQ is good for as many again;
 * - the address has a share of the requests to the listeners of one user that wait for such a
 *   proof. A request that ended without a proof goes on to count until it is forgiven,
 *   LIMIT_CM_FORGIVEN in a second: else short times between tries would make a flood of few
 *   requests at a time.
 *
 * Proven or not, an address has a share of each backlog: our MRA tells whoever asks what proves the
 * address, long before the holder answers. So the requests of one address leave room for those of
 * others, and a user who lets the requests of a host wait takes nothing from others' listeners.
 *
 * The users of our own host have one address. Each of them counts as an address by itself: the
 * connection that asked is ours as well (request.c).
 *
 * The address of a connection that we asked for is the holder's choice, and counts as proven.
 */
#ifndef DAEMON_CONTROL_CM_PROVEN_ADDRESS_H
#define DAEMON_CONTROL_CM_PROVEN_ADDRESS_H

#include "daemon/control/cm/peer_table.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

#define CREDIT_OF_MESSAGE 3

struct cm;
struct cm_binding;

/* An address with requests to a user that count, or ended without a proof not long ago. */
struct peer_share {
	struct peer_node node;
	struct list idle_node; /* of cm.idle_shares, while no request counts */
	uint32_t unproven;     /* requests that wait for a proof */
	uint32_t unanswered;   /* those that wait for the holder, in a backlog */
	uint32_t failures;     /* of those that ended, at `forgiven_ns` */
	uint64_t forgiven_ns;
};

/* What is known of the address of a connection's peer. */
struct proven_address {
	bool is_proven;
	bool is_unproven_of_share;   /* counts in `share`, of those that wait for a proof */
	bool is_unanswered_of_share; /* likewise, of those that wait for the holder */
	uint8_t credit;		     /* messages that may go to an address that is not */
	struct peer_share *share;    /* of that address; NULL: none */
};

/*
 * Whether a listener may have one more request of that address. When not, counts the request. A
 * short backlog that is full has room for a few addresses that have no request there.
 */
bool proven_address_admits(struct cm *cm, const struct cm_binding *binding,
			   const struct rnic_gid *peer);

/* Begins with an address that has to prove itself, and counts it in its share. -ENOMEM. */
int proven_address_await(struct cm *cm, struct proven_address *address,
			 const struct cm_binding *binding, const struct rnic_gid *peer);

/* A message of the address came for the connection, and `is_proof`: it names our identifier. */
void proven_address_heard(struct cm *cm, struct proven_address *address, bool is_proof);

/* Whether one more message may go to the address, which counts as sent. */
bool proven_address_spend(struct cm *cm, struct proven_address *address);

/* The connection leaves those that wait for a proof: nothing will prove its address. */
void proven_address_waive(struct cm *cm, struct proven_address *address);

/* The connection leaves those that wait for the holder. */
void proven_address_answered(struct cm *cm, struct proven_address *address);

/* The connection ends: what is not proven by now has failed. */
void proven_address_end(struct cm *cm, struct proven_address *address);

/* Frees the shares without connections; no other ones may be left. */
void proven_address_fini(struct cm *cm);

#endif

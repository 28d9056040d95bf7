/* SPDX-License-Identifier: MIT */
/*
 * Ends peers. The first step cuts a peer off at once. Each later turn frees a few of the peer's
 * objects, stage after stage: there may be hundreds of thousands, and the other peers must not wait
 * for them. The urgent stages of all peers end before any other stage begins.
 *
 * A stage is a table of objects of one kind. The role has the stages, in an order that ends users
 * before the objects that they use. Nothing here allocates: no peer stays half torn down.
 */
#ifndef DAEMON_SHARED_SERVED_PEER_PEER_TEARDOWN_H
#define DAEMON_SHARED_SERVED_PEER_PEER_TEARDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct served_set;

enum {
	/* What a turn frees of the objects of ended peers. One microsecond is about 4 units. */
	LIMIT_TURN_TEARDOWN = 1024,
};

struct teardown_stage {
	const char *name; /* NULL: behind the last stage */
	size_t table;	  /* offset of a struct handle_table in served_peer.objects */
	/*
	 * Frees the object, or a part of it, and returns the cost: 1 for a small object, more for a
	 * system call. `owner` is served_peer.objects. Called again until the slot is free.
	 */
	uint32_t (*end)(void *owner, void *object);
	bool is_urgent; /* what others wait for; no urgent stage comes after another one */
};

/*
 * Ends the peers that were broken, and the peers that sent no first request in time, in as many
 * calls as it takes. Call it where no pointer to a peer or its objects is held.
 */
void peer_teardown_run(struct served_set *set, uint64_t now_ns);

/* Ends all peers, however long it takes. */
void peer_teardown_all(struct served_set *set);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * When a call ends while the server may still write into the memory that the client offered for the
 * call, that memory is an orphan until the server says that it writes no more, or the conversation
 * ends. The client ends the conversation of a server that says nothing for as long as a peer may be
 * silent, or that lets too many orphans come together.
 */
#ifndef LIB_APIS_RPC_CLIENT_CLIENT_ORPHANS_H
#define LIB_APIS_RPC_CLIENT_CLIENT_ORPHANS_H

#include "lib/apis/rpc/transport/bulk_transfer.h"
#include "lib/apis/rpc/wire/rpc_calls.h"

/* As many as a client can cut off at once. */
#define CLIENT_ORPHANS_MAX RPC_CALLS_MAX

struct client_orphan {
	uint64_t call;
	uint64_t until_ns; /* the server must have said by then that it writes no more */
	struct bulk_in in;
	struct client_orphan *next;
};

struct client_orphans {
	struct client_orphan *oldest;
	uint32_t count;
};

/*
 * Takes over the memory of a call. False: there is no memory for the record, and the call took
 * nothing.
 */
bool client_orphans_add(struct client_orphans *orphans, uint64_t call, const struct bulk_in *in,
			uint64_t until_ns);

/* Takes a CHUNK for a call that has ended. */
void client_orphans_note_unclaimed(struct client_orphans *orphans, const struct rpc_frame *frame);

/*
 * Whether the server keeps memory too long: only the end of the conversation brings the memory
 * back.
 */
bool client_orphans_are_kept(const struct client_orphans *orphans, uint64_t now_ns);

/*
 * The earliest time at which client_orphans_are_kept() may be true; RPC_NEVER: there are no
 * orphans.
 */
uint64_t client_orphans_next_deadline_ns(const struct client_orphans *orphans);

/* Frees the orphans: the conversation has ended, and the server can write no more. */
void client_orphans_free(struct client_orphans *orphans);

#endif

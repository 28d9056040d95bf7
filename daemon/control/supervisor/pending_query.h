/* SPDX-License-Identifier: MIT */
/*
 * A request for rows to one device process, and its answer. A process has one slot, which one asker
 * at a time uses: a request of a client to list something. Pure: device_rows.h sends the request.
 *
 * The slot becomes free at its deadline, whatever happened to the asker. A process that did not
 * answer by then is silent until its late answer has come.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_PENDING_QUERY_H
#define DAEMON_CONTROL_SUPERVISOR_PENDING_QUERY_H

#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

#define PENDING_QUERY_NOBODY 0 /* no client has this number */

enum pending_query_state {
	PENDING_QUERY_FREE,
	PENDING_QUERY_ASKED,
	PENDING_QUERY_ANSWERED,
};

struct pending_query {
	enum pending_query_state state;
	bool is_silent;
	bool is_early;	     /* the asker may never come for the answer */
	uint32_t request_id; /* of the latest request */
	uint32_t asker;	     /* a client_id; PENDING_QUERY_NOBODY: who asked has gone */
	uint32_t kind;
	uint32_t cursor;
	uint64_t until_ns; /* unless FREE */
	struct rnic_process_rows_reply head;
	uint8_t *rows; /* of ANSWERED */
};

/* Notes a request that was sent. */
void pending_query_ask(struct pending_query *slot, uint32_t asker, uint32_t request_id,
		       uint32_t kind, uint32_t cursor, uint64_t until_ns);

/* Whether the request under way is this one. */
bool pending_query_is_of(const struct pending_query *slot, uint32_t asker, uint32_t kind,
			 uint32_t cursor);

/*
 * Takes an answer. Late answers, also after another request, are dropped. False: nobody asked for
 * this answer, or the answer contradicts itself.
 */
bool pending_query_take(struct pending_query *slot, const struct rnic_process_rows_reply *head,
			const uint8_t *rows);

/*
 * Another request needs the slot, for its turn has come. An earlier request of the same asker gives
 * way, and so does one that was early: at once, or when its answer comes. Returns whether the slot
 * is free.
 */
bool pending_query_yield(struct pending_query *slot, uint32_t asker);

/* Keeps the rows of an answer from row number `next` on, which the answer has. */
void pending_query_keep(struct pending_query *slot, uint32_t next);

/* Frees the slot when its deadline has passed. Returns whether it did. */
bool pending_query_expire(struct pending_query *slot, uint64_t now_ns);

/* The asker has gone: its answer is dropped, also one that is still to come. */
void pending_query_forget(struct pending_query *slot);

/* Frees the slot; the answer was used, or nobody wants it. */
void pending_query_clear(struct pending_query *slot);

#endif

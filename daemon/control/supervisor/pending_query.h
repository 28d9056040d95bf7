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

#define ROWS_SLOT_NOBODY 0 /* no client has this number */

enum rows_slot_state {
	ROWS_SLOT_FREE,
	ROWS_SLOT_ASKED,
	ROWS_SLOT_ANSWERED,
};

struct rows_slot {
	enum rows_slot_state state;
	bool is_silent;
	uint32_t request_id; /* of the latest request */
	uint32_t asker;	     /* a client_id; ROWS_SLOT_NOBODY: who asked has gone */
	uint32_t kind;
	uint32_t cursor;
	uint64_t until_ns; /* unless FREE */
	struct rnic_process_rows_reply head;
	uint8_t *rows; /* of ANSWERED */
};

/* Notes a request that was sent. */
void rows_slot_ask(struct rows_slot *slot, uint32_t asker, uint32_t request_id, uint32_t kind,
		   uint32_t cursor, uint64_t until_ns);

/* Whether the request under way is this one. */
bool rows_slot_is_of(const struct rows_slot *slot, uint32_t asker, uint32_t kind, uint32_t cursor);

/*
 * Takes an answer. Late answers, also after another request, are dropped. False: nobody asked for
 * this answer, or the answer contradicts itself.
 */
bool rows_slot_take(struct rows_slot *slot, const struct rnic_process_rows_reply *head,
		    const uint8_t *rows);

/* Frees the slot when its deadline has passed. Returns whether it did. */
bool rows_slot_expire(struct rows_slot *slot, uint64_t now_ns);

/* The asker has gone: its answer is dropped, also one that is still to come. */
void rows_slot_forget(struct rows_slot *slot);

/* Frees the slot; the answer was used, or nobody wants it. */
void rows_slot_clear(struct rows_slot *slot);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The clients that a device process holds: from CLIENT until the process says CLIENT_GONE. The
 * control plane may have ended such a client, and then the process is to be told so.
 *
 * The process is not trusted: a process that never says CLIENT_GONE gets no more than
 * HELD_CLIENTS_MAX clients.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_CLIENT_LEDGER_H
#define DAEMON_CONTROL_SUPERVISOR_CLIENT_LEDGER_H

#include "daemon/shared/quota/client_limits.h"

#include <stdbool.h>
#include <stdint.h>

#define HELD_CLIENTS_MAX LIMIT_SESSIONS

enum held_client_state {
	HELD_CLIENT_LIVES,
	HELD_CLIENT_ENDED, /* the process is to be told */
	HELD_CLIENT_TOLD,
};

struct held_client {
	uint32_t client_id;
	enum held_client_state state;
};

struct held_clients {
	struct held_client *entries;
	uint32_t count;
	uint32_t room;
	uint32_t ended_count; /* in the state HELD_CLIENT_ENDED */
};

/* Adds a client that lives. -EAGAIN: there are HELD_CLIENTS_MAX; -ENOMEM. */
int held_clients_add(struct held_clients *held, uint32_t client_id);

/* Removes a client. Returns whether it was there. */
bool held_clients_remove(struct held_clients *held, uint32_t client_id);

/* Notes that the control plane has ended the client, if it is there. */
void held_clients_end(struct held_clients *held, uint32_t client_id);

/* Returns a client of whose end the process is to be told; NULL: there is none. */
struct held_client *held_clients_next_ended(const struct held_clients *held);

void held_clients_note_told(struct held_clients *held, struct held_client *client);

/* Whether the client is there. */
bool held_clients_has(const struct held_clients *held, uint32_t client_id);

/* Removes all. */
void held_clients_clear(struct held_clients *held);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The clients that a device process holds: from CLIENT until the process says CLIENT_GONE. The
 * control plane may have ended such a client, and then the process is to be told so.
 *
 * The process is not trusted: a process that never says CLIENT_GONE gets no more than
 * CLIENT_LEDGER_MAX clients.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_CLIENT_LEDGER_H
#define DAEMON_CONTROL_SUPERVISOR_CLIENT_LEDGER_H

#include "daemon/shared/quota/client_limits.h"

#include <stdbool.h>
#include <stdint.h>

#define CLIENT_LEDGER_MAX LIMIT_SESSIONS

enum ledger_entry_state {
	HELD_CLIENT_LIVES,
	HELD_CLIENT_ENDED, /* the process is to be told */
	HELD_CLIENT_TOLD,
};

struct ledger_entry {
	uint32_t client_id;
	enum ledger_entry_state state;
};

struct client_ledger {
	struct ledger_entry *entries;
	uint32_t count;
	uint32_t room;
	uint32_t ended_count; /* in the state HELD_CLIENT_ENDED */
};

/* Adds a client that lives. -EAGAIN: there are CLIENT_LEDGER_MAX; -ENOMEM. */
int client_ledger_add(struct client_ledger *held, uint32_t client_id);

/* Removes a client. Returns whether it was there. */
bool client_ledger_remove(struct client_ledger *held, uint32_t client_id);

/* Notes that the control plane has ended the client, if it is there. */
void client_ledger_end(struct client_ledger *held, uint32_t client_id);

/* Returns a client of whose end the process is to be told; NULL: there is none. */
struct ledger_entry *client_ledger_next_ended(const struct client_ledger *held);

void client_ledger_note_told(struct client_ledger *held, struct ledger_entry *client);

/* Whether the client is there. */
bool client_ledger_has(const struct client_ledger *held, uint32_t client_id);

/* Removes all. */
void client_ledger_clear(struct client_ledger *held);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A client: a connection of the control plane, the process behind it, the request under way, and
 * the client's objects of the connection manager. From HELLO on a client has a session in the
 * device half, unless the connection is an admin connection.
 *
 * The client is hostile. client_break() notes what is wrong, and client_teardown_run() ends the
 * client where no caller still holds a pointer to the client.
 *
 * Invariant: the account (quota.h) ends at 0; client_destroy() asserts this.
 */
#ifndef DAEMON_CLIENT_CLIENT_H
#define DAEMON_CLIENT_CLIENT_H

#include "base/list.h"
#include "common/handle_table.h"
#include "common/quota.h"
#include "ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client_set;
struct ctl_call;
struct session;

struct client {
	struct list node;	    /* of client_set.clients */
	struct list pre_hello_node; /* of client_set.pre_hello, until HELLO was accepted */
	struct list resume_node;    /* of client_set.resumes, while `call` is set */
	struct list broken_node;    /* of client_set.broken, then leaving, then ending */
	struct client_set *set;
	struct session
		*session; /* in the device half; NULL: before HELLO, and for an admin connection */
	int socket_fd;	  /* -1: cut off */
	uint32_t client_id;
	pid_t pid;
	uid_t uid;
	struct quota_account account;
	char program[RNIC_CTL_NAME_BYTES];
	bool has_greeted;     /* HELLO was accepted */
	uint64_t hello_by_ns; /* the deadline for HELLO */
	bool is_admin;
	bool is_broken;	       /* the client is to end, or is ending */
	struct ctl_call *call; /* a request that goes on in a later turn; NULL: none */

	struct handle_table cm_channels; /* struct session_cm_channel */
	struct handle_table cm_ids;	 /* struct session_cm_id */
	uint32_t cm_event_count;	 /* events that wait in all cm_channels */
	struct {
		uint32_t stage;
		uint32_t slot;
	} teardown; /* the progress of freeing these objects */
};

/*
 * Makes a client for an accepted connection and puts the client into the set. The client owns the
 * connection from then on. NULL: out of memory, or the user has too many clients; the caller closes
 * the connection.
 */
struct client *client_create(struct client_set *set, int socket_fd, pid_t pid, uid_t uid);

/*
 * The last two of the three steps in which a client ends (client_teardown.h). client_cut() shuts
 * the connection down. client_destroy() frees the client itself after all its objects are freed,
 * and asserts that none is left.
 */
void client_cut(struct client *client);
void client_destroy(struct client *client);

/*
 * Notes that the client broke the protocol: logs one line (the first time) and marks the client,
 * which ends with this turn. `format` completes "client 3 (program, pid 17) was disconnected: ".
 */
void client_break(struct client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Ends the client with this turn and without a log line: the client has gone, or is to go. */
void client_end(struct client *client);

/*
 * Returns the earliest deadline by which a connection of the set has to say HELLO; UINT64_MAX: all
 * have said HELLO.
 */
uint64_t client_next_hello_ns(const struct client_set *set);

/* Notes a failure for the client, which rnicctl shows. */
void client_note_trouble(struct client *client, const char *subject, const char *reason);

#endif

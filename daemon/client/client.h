/* SPDX-License-Identifier: MIT */
/*
 * A client of the control plane: a connection, the process behind it, the request under way, and
 * what the connection manager has for it. From HELLO on a client has a session in the device half,
 * unless it is an admin connection.
 *
 * The client is hostile until proven otherwise, and is never proven. client_break() notes what is
 * wrong, and client_teardown_run() ends the client where no caller still holds a pointer to it.
 *
 * Invariant: the account (quota.h) ends at 0; client_destroy() asserts it.
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
	struct list resume_node;    /* of client_set.resumes, when there is `call` */
	struct list broken_node;    /* of client_set.broken, then leaving, then ending */
	struct client_set *set;
	struct session *session; /* in the device half; NULL: before HELLO, and of an admin */
	int socket_fd;		 /* -1: cut off */
	uint32_t client_id;
	pid_t pid;
	uid_t uid;
	struct quota_account account;
	char program[RNIC_CTL_NAME_BYTES];
	bool has_greeted;     /* HELLO was accepted */
	uint64_t hello_by_ns; /* until then it has to be */
	bool is_admin;
	bool is_broken;	       /* to be ended, or ending */
	struct ctl_call *call; /* a request that goes on in a later turn; NULL: none */

	struct handle_table cm_channels; /* struct session_cm_channel */
	struct handle_table cm_ids;	 /* struct session_cm_id */
	uint32_t cm_event_count;	 /* that wait in all cm_channels */
	struct {
		uint32_t stage;
		uint32_t slot;
	} teardown; /* how far the freeing of these has got */
};

/*
 * Makes a client of a connection that was accepted, which the client owns from then on, and puts it
 * into the set. NULL: out of memory, or the user has too many; the caller closes the connection.
 */
struct client *client_create(struct client_set *set, int socket_fd, pid_t pid, uid_t uid);

/*
 * The last two of three steps in which a client ends (client_teardown.h): the connection is shut
 * down; and the rest is freed once all that the client created is. Asserts that nothing is left.
 */
void client_cut(struct client *client);
void client_destroy(struct client *client);

/*
 * The client broke the protocol: logs one line (the first time) and marks the client, which is
 * ended with this turn. `format` completes "client 3 (program, pid 17) was disconnected: ".
 */
void client_break(struct client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The client has gone, or is to go without a word: it is ended with this turn. */
void client_end(struct client *client);

/* When the first connection of the set has to have said HELLO; UINT64_MAX: all have. */
uint64_t client_next_hello_ns(const struct client_set *set);

/* Notes what went wrong for the client, as rnicctl shows it. */
void client_note_trouble(struct client *client, const char *subject, const char *reason);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The processes that serve clients, in the order in which they began. There is room for LAB_CLIENTS
 * of them. Who connects and then says nothing, or not what a client says, must not keep others out:
 * with all the room taken, the process that has been meeting its client longest gives way. One that
 * has met its client, to the end of lab_session_answer(), stays as long as the client does.
 */
#ifndef TOOLS_RNIC_LAB_EXCHANGE_LAB_CLIENTS_H
#define TOOLS_RNIC_LAB_EXCHANGE_LAB_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LAB_CLIENTS = 64 };

struct lab_clients {
	uint32_t count;
	bool has_served; /* a process that had met its client has ended */
	int last_status; /* of the last such process, as main() returns it */
	struct lab_client_process {
		pid_t pid;
		int met_fd; /* eventfd, which the process writes to when it has met its client */
	} processes[LAB_CLIENTS];
};

/* Makes room for one more, says so if another one has to give way; false: all have met theirs. */
bool lab_clients_make_room(struct lab_clients *clients);

/* Adds one, for which there is room; `met_fd` is the table's from now on. */
void lab_clients_add(struct lab_clients *clients, pid_t pid, int met_fd);

/* Whether some process has met its client, and has not been taken leave of. */
bool lab_clients_have_met(const struct lab_clients *clients);

/* Takes leave of those that have ended; of all of them, with `options` (waitpid(2)) 0. */
void lab_clients_reap(struct lab_clients *clients, int options);

#endif

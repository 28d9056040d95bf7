/* SPDX-License-Identifier: MIT */
/*
 * The processes that serve clients, in the order in which they began. There is room for LAB_CLIENTS
 * of them. A peer that connects and then is silent, or sends something else, must not keep others
 * out: with no room left, the table ends the process that has waited longest for its client to
 * become known. A process whose client is known, after lab_meeting_answer(), stays as long as the
 * client does.
 */
#ifndef TOOLS_LAB_EXCHANGE_LAB_CLIENTS_H
#define TOOLS_LAB_EXCHANGE_LAB_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LAB_CLIENTS = 64 };

struct lab_clients {
	uint32_t count;
	bool has_served; /* a process with a known client has ended */
	int last_status; /* of the last such process, as main() returns it */
	struct lab_client_process {
		pid_t pid;
		int met_fd; /* eventfd, which the process writes to when its client is known */
	} processes[LAB_CLIENTS];
};

/*
 * Makes room for one more, and reports a process that it ends for that; false: all clients are
 * known.
 */
bool lab_clients_make_room(struct lab_clients *clients);

/* Adds a process, for which there is room; the table takes over `met_fd`. */
void lab_clients_add(struct lab_clients *clients, pid_t pid, int met_fd);

/* Whether some process has a known client, and is not reaped. */
bool lab_clients_have_met(const struct lab_clients *clients);

/* Reaps the processes that have ended; with `options` (waitpid(2)) 0 it waits for all of them. */
void lab_clients_reap(struct lab_clients *clients, int options);

#endif

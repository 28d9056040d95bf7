/* SPDX-License-Identifier: MIT */
#include "tools/lab/exchange/lab_clients.h"

#include "tools/lab/lab_text.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Removes an entry; the others keep their order. */
static void take_out(struct lab_clients *clients, uint32_t index)
{
	struct lab_client_process *place = &clients->processes[index];

	close(place->met_fd);
	clients->count--;
	memmove(place, place + 1, (clients->count - index) * sizeof(*place));
}

static bool has_met(const struct lab_client_process *process)
{
	struct pollfd met = {.fd = process->met_fd, .events = POLLIN};

	return poll(&met, 1, 0) == 1;
}

bool lab_clients_have_met(const struct lab_clients *clients)
{
	for (uint32_t i = 0; i < clients->count; i++) {
		if (has_met(&clients->processes[i]))
			return true;
	}
	return false;
}

void lab_clients_add(struct lab_clients *clients, pid_t pid, int met_fd)
{
	clients->processes[clients->count++] = (struct lab_client_process){pid, met_fd};
}

void lab_clients_reap(struct lab_clients *clients, int options)
{
	int status;

	for (uint32_t i = 0; i < clients->count;) {
		if (waitpid(clients->processes[i].pid, &status, options) !=
		    clients->processes[i].pid) {
			i++;
			continue;
		}
		if (has_met(&clients->processes[i])) {
			clients->has_served = true;
			clients->last_status =
				WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
		}
		if (WIFSIGNALED(status))
			lab_say("the process of a client died: %s", strsignal(WTERMSIG(status)));
		take_out(clients, i);
	}
}

bool lab_clients_make_room(struct lab_clients *clients)
{
	lab_clients_reap(clients, WNOHANG);
	if (clients->count < LAB_CLIENTS)
		return true;
	for (uint32_t i = 0; i < clients->count; i++) {
		pid_t pid = clients->processes[i].pid;

		if (has_met(&clients->processes[i]))
			continue;
		lab_say("dropped a client that stayed unknown, to make room for another");
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) != pid)
			;
		take_out(clients, i);
		return true;
	}
	return false;
}

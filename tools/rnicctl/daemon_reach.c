/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/daemon_reach.h"

#include "tools/support/machine_socket.h"
#include "tools/support/socket_option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Leaves in `path` the socket to which the link leads. */
static int reach_open(struct admin_link *link, char path[RNIC_SOCKET_PATH_BYTES], bool is_named)
{
	const struct machine_search search = {
		.program = "rnicctl",
		.is_viewer = true,
		.own = path,
	};
	struct machine_socket machine;
	int error = admin_link_open(link, path, "rnicctl");

	if (!admin_link_is_absence(error) || is_named ||
	    machine_socket_find(&search, &machine) != 0)
		return error;
	memcpy(path, machine.path, RNIC_SOCKET_PATH_BYTES);
	fprintf(stderr, "rnicctl: showing the machine's rnicd on %s\n", path);
	return admin_link_open(link, path, "rnicctl");
}

/*
 * A daemon that rnic-run started ends with its last client and leaves its log: the line names the
 * log.
 */
static void reach_complain_of_silence(const char *path)
{
	char log[RNIC_SOCKET_PATH_BYTES + sizeof(".log")];

	snprintf(log, sizeof(log), "%s.log", path);
	fprintf(stderr, "rnicctl: no rnicd answers at %s; start rnicd, or give --socket", path);
	if (access(log, R_OK) == 0)
		fprintf(stderr, "; the log of the last one is %s", log);
	fprintf(stderr, "\n");
}

int daemon_reach_path(struct admin_link *link, const char *given, char path[RNIC_SOCKET_PATH_BYTES])
{
	int error = socket_option_resolve("rnicctl", given, path);

	if (error < 0)
		return error;
	error = reach_open(link, path, socket_option_is_named(given));
	if (admin_link_is_absence(error))
		reach_complain_of_silence(path);
	else if (error)
		fprintf(stderr, "rnicctl: %s\n", link->reason);
	return error;
}

int daemon_reach(struct admin_link *link, const char *given)
{
	char path[RNIC_SOCKET_PATH_BYTES];

	return daemon_reach_path(link, given, path);
}

/* SPDX-License-Identifier: MIT */
/*
 * Finds the daemon that the machine has for all its users: the sockets /run/rnicd/IF.sock of
 * systemd's units, and the one of a daemon that root started by hand. A socket of systemd starts
 * its daemon with the first connection. So the search asks one socket after the other and ends at
 * the first that serves this user: with the interface that the user names, else with the
 * interface of the default route, else the first by name.
 */
#ifndef TOOLS_SUPPORT_MACHINE_SOCKET_H
#define TOOLS_SUPPORT_MACHINE_SOCKET_H

#include <rnic/rnic.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MACHINE_SOCKET_DIRECTORY "/run/rnicd"
#define MACHINE_SOCKETS_MAX	 64

struct machine_socket {
	char path[RNIC_SOCKET_PATH_BYTES];
	char netdev[RNIC_DEVICE_NAME_BYTES];
	uid_t owner; /* of the daemon */
};

struct machine_search {
	const char *program; /* as which to greet daemons */
	/*
	 * The program only looks: it takes no place of a program, and finds a daemon in which no
	 * more programs have a place.
	 */
	bool is_viewer;
	const char *netdev;  /* the interface that the user names; NULL: any */
	const char *address; /* likewise its address */
	const char *own;     /* the user's own socket, which is not the machine's */
	/* Takes a sentence on a socket that does not serve. NULL: nobody wants to know. */
	void (*say)(const char *sentence);
};

/*
 * Returns 0, or -ENOENT when no daemon of the machine serves this user, or when something answers
 * at the user's own socket: a daemon of the user's comes first, and the user should hear of a
 * failure there.
 */
int machine_socket_find(const struct machine_search *search, struct machine_socket *found);

/*
 * Puts the names of sockets ("eth0.sock") into the order in which to ask, and returns how many to
 * ask. `netdev` comes first. With `is_named` no other interface will do, and only a daemon that
 * root started by hand may have it under another name. An empty `netdev` is none.
 */
size_t machine_socket_order(char names[][RNIC_SOCKET_PATH_BYTES], size_t count, const char *netdev,
			    bool is_named);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The sockets of the daemons whose devices a program has. RNIC_SOCKET names several as PATH:PATH,
 * and a directory stands for the sockets *.sock in it, in the order of their names. Without the
 * variable there is one socket, the default one.
 *
 * The place of a socket is the index of its device, whether or not a daemon answers there: names
 * that follow from the index stay when another daemon ends. Sockets come and go in a directory, so
 * a process that looks again keeps the places of before.
 */
#ifndef LIB_CLIENT_NATIVE_SOCKET_LIST_H
#define LIB_CLIENT_NATIVE_SOCKET_LIST_H

#include <rnic/rnic.h>

#include <stdbool.h>

#define RNIC_SOCKETS_MAX 32

struct rnic_socket_list {
	uint32_t count;
	uint32_t found; /* those that a directory stands for, by their bits */
	char paths[RNIC_SOCKETS_MAX][RNIC_SOCKET_PATH_BYTES];
};

/*
 * Appends the sockets that `text` names to the list, without those that are there already.
 * -ENAMETOOLONG: a path is too long for a socket. -E2BIG: they are more than RNIC_SOCKETS_MAX.
 * -ENOMEM, or an errno of reading a directory. The list is undefined then.
 */
int rnic_socket_list_add(struct rnic_socket_list *list, const char *text);

bool rnic_socket_list_has(const struct rnic_socket_list *list, const char *path);

/*
 * Gives each listed socket a place in `places`. Those that have one keep it. When no place is left,
 * a new socket takes the place of one that is not listed any more. When no listed socket has a
 * place, the process looks elsewhere than before, and the places begin anew. `places->found` stays
 * as it is.
 */
void rnic_socket_list_keep_places(struct rnic_socket_list *places,
				  const struct rnic_socket_list *listed);

/* The list of this process, of one socket or more. -ENOENT: no socket is in the directories. */
int rnic_socket_list_read(struct rnic_socket_list *list);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of an event channel of the connection manager: a socket on which the events of
 * identifiers go to the client, as <ctl_cm.h> describes.
 *
 * Events go in runs: the last of RNIC_CM_EVENTS_SENT_MAX says so, and others wait in order until
 * the client has taken that one. An event that was sent stays known until the client says that it
 * has taken the event, because the identifier may go or move before. Sending never blocks, whatever
 * the client does with its end: a reader of a socket holds no lock that a sender needs.
 */
#ifndef DAEMON_CONTROL_CM_IDS_CM_CHANNEL_H
#define DAEMON_CONTROL_CM_IDS_CM_CHANNEL_H

#include "lib/nic/base/list.h"
#include "proto/ctl/ctl_cm.h"

#include <stdbool.h>
#include <stdint.h>

struct client_cm_id;

/* An event of an identifier, until the client has taken the event. */
struct cm_waiting_event {
	struct list channel_node;	/* of client_cm_channel.waiting, until sent */
	struct list id_node;		/* of client_cm_id.events */
	struct client_cm_id *id;	/* the identifier that reports the event */
	struct client_cm_id *requester; /* made by a CONNECT_REQUEST: the new identifier */
	struct rnic_ctl_cm_event event;
};

struct client_cm_channel {
	int fd;
	struct list waiting; /* struct cm_waiting_event.channel_node, oldest first */
	/* Those under way: number n, as `sent` counts, is entry n % RNIC_CM_EVENTS_SENT_MAX. */
	struct cm_waiting_event *under_way[RNIC_CM_EVENTS_SENT_MAX]; /* NULL: void */
	uint32_t sent;	/* events ever sent, modulo 2^32 */
	uint32_t taken; /* those known as taken, likewise */
	bool is_full;	/* the newest one under way was marked as the last */
	struct rnic_handle handle;
	uint32_t references; /* the number of identifiers */
};

/*
 * Opens the socket, and stores the client's end at `client_fd`. The caller passes that end on and
 * closes it. Negative errno: -EMFILE, -ENFILE, -ENOMEM.
 */
int cm_channel_open(struct client_cm_channel *channel, int *client_fd);

/* Closes the socket; no event may wait or be under way (asserted). */
void cm_channel_close(struct client_cm_channel *channel);

/* Lets an event wait, behind the others. */
void cm_channel_add(struct client_cm_channel *channel, struct cm_waiting_event *event);

/* Forgets an event that is about to go or to move: one under way is void from then on. */
void cm_channel_withdraw(struct client_cm_channel *channel, struct cm_waiting_event *event);

/*
 * Sends what waits, up to the last one of a run. A client that has shut its end
 * gets nothing. Negative errno: the kernel has no room for an event, and the program would wait for
 * ever.
 */
int cm_channel_send(struct client_cm_channel *channel);

/*
 * Removes the oldest event under way, if the client has taken it by its count `taken`. NULL: there
 * is none. A client that counts wrong loses events of its own.
 */
struct cm_waiting_event *cm_channel_next_taken(struct client_cm_channel *channel, uint32_t taken);

/* Whether to find out by cm_channel_known_taken() what the client has taken, before the run ends.
 */
bool cm_channel_is_half_full(const struct client_cm_channel *channel);

/* Returns the client's count as far as it is known: the socket knows when all events are taken. */
uint32_t cm_channel_known_taken(const struct client_cm_channel *channel);

#endif

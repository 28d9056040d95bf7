/* SPDX-License-Identifier: MIT */
/*
 * Ends clients. The first step cuts a client off at once: it shuts the connection down. Each later
 * turn frees a few of the client's objects, so that the other clients need not wait for them. The
 * connections of all clients end before anything else: peers wait to hear of the end, and a program
 * that is started again waits for its port.
 */
#ifndef DAEMON_CONTROL_SERVER_CLIENT_TEARDOWN_H
#define DAEMON_CONTROL_SERVER_CLIENT_TEARDOWN_H

struct client_set;

/*
 * Ends the clients that were broken, and the clients that did not say HELLO in time, in as many
 * calls as it takes. Call it where no pointer to a client is held.
 */
void client_teardown_run(struct client_set *set);

/*
 * Marks the clients whose device process serves no more: they end in the next
 * client_teardown_run(). A program that waits for the connection manager so learns of the end, too.
 */
void client_teardown_break_orphans(struct client_set *set);

/* Ends all clients, however long it takes. */
void client_teardown_all(struct client_set *set);

#endif

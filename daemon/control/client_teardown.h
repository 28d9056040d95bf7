/* SPDX-License-Identifier: MIT */
/*
 * Ends clients. The first step cuts a client off at once: it shuts the connection down, and the
 * session in the device half can reach nothing. Each later turn frees a few of the client's
 * objects: there may be hundreds of thousands, and the other clients must not wait for them. The
 * connections of all clients end before anything else: peers wait to hear of the end, and a program
 * that is started again waits for its port.
 */
#ifndef DAEMON_CONTROL_CLIENT_TEARDOWN_H
#define DAEMON_CONTROL_CLIENT_TEARDOWN_H

struct client_set;

/*
 * Ends the clients that were broken, and the clients that did not say HELLO in time, in as many
 * calls as it takes. Call it where no pointer to a client or session is held.
 */
void client_teardown_run(struct client_set *set);

/* Ends all clients, however long it takes. */
void client_teardown_all(struct client_set *set);

#endif

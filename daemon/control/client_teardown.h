/* SPDX-License-Identifier: MIT */
/*
 * The end of clients. At once a client is cut off: the connection is shut down, and the session in
 * the device half can reach nothing. What the client owned is freed a little in each turn, since
 * there may be hundreds of thousands of objects, for which the other clients must not wait. The
 * connections of all clients go before anything else: peers wait to hear of their end, and whoever
 * starts the program again waits for its port.
 */
#ifndef DAEMON_CONTROL_CLIENT_TEARDOWN_H
#define DAEMON_CONTROL_CLIENT_TEARDOWN_H

struct client_set;

/*
 * Ends the clients that were broken, and those that said nothing in time, in as many calls as it
 * takes. Call it where no pointer to a client or session is held.
 */
void client_teardown_run(struct client_set *set);

/* Ends all clients, however long it takes. */
void client_teardown_all(struct client_set *set);

#endif

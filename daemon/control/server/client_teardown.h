/* SPDX-License-Identifier: MIT */
/*
 * The end of clients (peer_teardown.h). The connections of all clients end before anything else:
 * peers wait to hear of the end, and a program that is started again waits for its port.
 */
#ifndef DAEMON_CONTROL_SERVER_CLIENT_TEARDOWN_H
#define DAEMON_CONTROL_SERVER_CLIENT_TEARDOWN_H

#include "daemon/shared/served_peer/peer_teardown.h"

struct client_set;

extern const struct teardown_stage client_teardown_stages[];

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

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The way out for a user whose daemon does not start, because a daemon of somebody else has the UDP
 * port: the device of the other daemon, where that daemon serves the user, or an address of the
 * own.
 */
#ifndef TOOLS_RNIC_RUN_PORT_ADVICE_H
#define TOOLS_RNIC_RUN_PORT_ADVICE_H

#include <stddef.h>

#define PORT_ADVICE_BYTES 512

/*
 * Writes what the user can do, as the rest of a sentence, when `failure`, the daemon's last line,
 * says that the port is taken; else an empty text. Asks the daemons of this host whether they serve
 * the user.
 */
void port_advice(const char *failure, char advice[PORT_ADVICE_BYTES]);

#endif

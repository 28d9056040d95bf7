/* SPDX-License-Identifier: MIT */
/* Turns the events of the connection manager (cm.h) into events of the clients' identifiers. */
#ifndef DAEMON_CONTROL_CM_IDS_CM_SINK_H
#define DAEMON_CONTROL_CM_IDS_CM_SINK_H

#include "daemon/control/cm/cm.h"

/* The sink of the device's connection manager; its context is the set of clients. */
extern const struct cm_sink cm_identifier_sink;

#endif

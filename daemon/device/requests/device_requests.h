/* SPDX-License-Identifier: MIT */
/*
 * The requests of device connections: OPEN_DEVICE first, then all requests about the port and about
 * objects (object_requests.h). Checks the order, and answers OPEN_DEVICE.
 */
#ifndef DAEMON_DEVICE_REQUESTS_DEVICE_REQUESTS_H
#define DAEMON_DEVICE_REQUESTS_DEVICE_REQUESTS_H

#include "daemon/shared/served_peer/request_server.h"

/* The role of a server whose connections are those of struct device_connection. */
extern const struct request_role device_requests_role;

#endif

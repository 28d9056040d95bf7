/* SPDX-License-Identifier: MIT */
/* Both programs of the daemon without network, and clients, which the tests play themselves. */
#ifndef TESTS_UNIT_DAEMON_DEVICE_SESSION_CLIENT_FIXTURE_H
#define TESTS_UNIT_DAEMON_DEVICE_SESSION_CLIENT_FIXTURE_H

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/device/device.h"
#include "daemon/device/device_state.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/session/session.h"

#include <sys/types.h>

struct ctl_call;
struct session_qp;

struct family {
	struct device_facts facts; /* the test's to fill in */
	struct device_settings settings;
	struct device_host host;
	struct device device;	   /* of which there are sessions only */
	struct device_set devices; /* without processes */
	struct device_child child; /* of the device, as the control plane would see it */
	struct client_set clients;
	uint32_t last_client_id; /* of the device connections */
	uint32_t gone_count;	 /* clients of whose end the device has told */
	uint32_t gone_client_id; /* the last of them */
};

/* `engine` and `cm` may be NULL where nobody asks them; the engine may be made later. */
void family_init(struct family *family, struct engine *engine, struct cm *cm);

/* Ends all clients. */
void family_fini(struct family *family);

/* Ends clients as a turn does. */
void family_reap(struct family *family);

/* Serves the requests that have come, as after a turn of the device. */
bool family_serve(struct family *family);

/* Whether another turn has anything to do. */
bool family_have_work(const struct family *family);

/*
 * A client of `uid` that has connected to the control plane and said nothing yet. The client's end
 * of the connection, which does not block, is at `*peer_fd` for the test to close; NULL: closed at
 * once.
 */
struct client *client_fixture_connect(struct family *family, uid_t uid, int *peer_fd);

/* The same for a device connection. */
struct device_connection *client_fixture_connect_device(struct family *family, uid_t uid,
							int *peer_fd);

/*
 * The session of a client whose OPEN_DEVICE is accepted. The descriptors are for the test to close;
 * NULL: closed at once.
 */
struct session *client_fixture_open(struct device_connection *connection, int *doorbell_fd,
				    int *async_fd);

/*
 * Makes a region for the queues of a queue pair that is to be requested, and says in the request
 * that they lie there. `like` brings the session.
 */
void client_fixture_place_queues(const struct ctl_call *like, struct rnic_ctl_create_qp *request);

/* The words of the queue pair that its client writes. */
struct rnic_qp_control *client_fixture_control(const struct session_qp *qp);

#endif

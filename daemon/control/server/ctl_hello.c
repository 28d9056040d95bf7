/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/ctl_dispatch.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/server/peer_user.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Copies the name that a client gives itself, made fit for a log line or a terminal. */
static void hello_copy_program(char *program, const char *claimed)
{
	uint32_t length = 0;

	while (length < RNIC_CTL_NAME_BYTES - 1 && claimed[length] != '\0') {
		char character = claimed[length];

		program[length++] = character > ' ' && character <= '~' ? character : '?';
	}
	memset(program + length, 0, RNIC_CTL_NAME_BYTES - length);
}

/* The flags of HELLO that this build serves. */
#ifdef RNIC_WITH_DIRECT
#define HELLO_FLAGS ((uint32_t)(RNIC_HELLO_ADMIN | RNIC_HELLO_DIRECT))
#else
#define HELLO_FLAGS ((uint32_t)RNIC_HELLO_ADMIN)
#endif

/* ctl_call.progress[0] */
#define HELLO_BEGUN   1u
#define HELLO_RETRIED 2u

/*
 * Makes the device connection, with the device process that serves the user; starts the process if
 * need be. -EINPROGRESS: the process is not ready yet, or there is no lane for it yet.
 *
 * The control plane vouches for the client there: the credentials of this socket pair would name
 * the daemon. A PID proves nothing: the process that connected may have passed the socket on, and
 * then ended or executed a program of another user. So the device process gets the client's process
 * only when both are of one user for the kernel, because then the kernel checks the rights of the
 * device process as it would check the client's.
 */
static int hello_try_device(struct ctl_call *call)
{
	struct client *client = call->client;
	struct served_client served = {
		.client_id = client->peer.client_id,
		.uid = client->peer.uid,
		.pid = client->peer.pid,
		.pid_fd = -1,
		.program = client->peer.program,
	};
	char reason[DEVICE_TEXT_BYTES] = "";
	int result = 0;

	if (client->device == NULL)
		result = device_set_acquire(client->set->devices, client->peer.uid, &client->device,
					    reason);
	if (result == 0 && client->peer.uid == client->device->uid &&
	    client->peer.uid != PEER_USER_CONTAINED)
		served.pid_fd = peer_user_hold(client->peer.requests.fd, client->peer.pid);
	if (result == 0)
		result = device_set_connect(client->device, &served, call->reply_fds, reason);
	if (served.pid_fd >= 0)
		close(served.pid_fd);
	if (result == 0)
		call->reply_fd_count = 1;
	if (result == 0 || result == -EINPROGRESS)
		return result;
	return ctl_refuse(call, result, "%s", reason);
}

static void hello_drop_device(struct client *client)
{
	if (client->device != NULL)
		device_set_release(client->device);
	client->device = NULL;
}

/* Waits for the device process, but not for ever: it may be stopped. */
static int hello_wait(struct ctl_call *call)
{
	const struct client *client = call->client;

	if (client->set->now_ns < client->peer.speak_by_ns) {
		call->awaits_news = true;
		return -EINPROGRESS;
	}
	if (client->device == NULL)
		return ctl_refuse(call, -ETIMEDOUT, "no lane became free in time");
	return ctl_refuse(call, -ETIMEDOUT,
			  "the device process of user %u (pid %d) does not answer",
			  client->device->uid, (int)client->device->pid);
}

/*
 * Gives the client a device connection. A device process that served, and dies before it has the
 * client, is replaced once. A client that is refused keeps nothing, and may say HELLO again.
 */
static int hello_connect_device(struct ctl_call *call)
{
	struct client *client = call->client;
	int result;

	if ((call->progress[0] & HELLO_BEGUN) == 0)
		client_expect_hello(client, &client->set->greeting);
	call->progress[0] |= HELLO_BEGUN;
	result = hello_try_device(call);
	if (result == -ENODEV && client->device != NULL && client->device->has_served &&
	    (call->progress[0] & HELLO_RETRIED) == 0) {
		call->progress[0] |= HELLO_RETRIED;
		hello_drop_device(client);
		result = hello_try_device(call);
	}
	if (result == -EINPROGRESS)
		result = hello_wait(call);
	if (result == 0 || result == -EINPROGRESS)
		return result;
	hello_drop_device(client);
	client_expect_hello(client, &client->set->peers.silent);
	call->progress[0] = 0;
	return result;
}

/* Makes the program its own device process. The reply brings its end of the process link. */
static int hello_adopt(struct ctl_call *call)
{
	struct client *client = call->client;
	struct served_client served = {
		.client_id = client->peer.client_id,
		.uid = client->peer.uid,
		.pid = client->peer.pid,
		.pid_fd = peer_user_hold(client->peer.requests.fd, client->peer.pid),
		.program = client->peer.program,
	};
	char reason[DEVICE_TEXT_BYTES] = "";
	int result = device_set_adopt(client->set->devices, &served, &client->device,
				      call->reply_fds, reason);

	if (served.pid_fd >= 0)
		close(served.pid_fd);
	if (result != 0)
		return ctl_refuse(call, result, "%s", reason);
	call->reply_fd_count = 1;
	return 0;
}

int ctl_hello(struct ctl_call *call)
{
	const struct rnic_ctl_hello *request = (const void *)call->request.payload;
	struct rnic_ctl_hello_reply *reply = (void *)call->reply.payload;
	struct client *client = call->client;
	int result;

	if (request->version_min > RNIC_CTL_VERSION_MAX ||
	    request->version_max < RNIC_CTL_VERSION_MIN)
		return ctl_refuse(
			call, -EPROTONOSUPPORT,
			"the library speaks control versions %u to %u, this daemon %d to %d",
			request->version_min, request->version_max, RNIC_CTL_VERSION_MIN,
			RNIC_CTL_VERSION_MAX);
	if (call->has_foreign_fds)
		return ctl_refuse(call, -EPROTO, "HELLO brought descriptors");
	if ((request->flags & ~HELLO_FLAGS) != 0 ||
	    request->flags == (RNIC_HELLO_ADMIN | RNIC_HELLO_DIRECT))
		return ctl_refuse(call, -EINVAL, "HELLO has flags that are not defined");
	hello_copy_program(client->peer.program, request->program);
	client->is_admin = (request->flags & RNIC_HELLO_ADMIN) != 0;
	if (!client->is_admin && client->peer.account.is_viewer)
		return ctl_refuse(call, -ENOSPC,
				  "user %u has as many clients as one user may have; rnicctl show "
				  "clients lists them",
				  (unsigned)client->peer.uid);
	if (!client->is_admin) {
		result = (request->flags & RNIC_HELLO_DIRECT) != 0 ? hello_adopt(call)
								   : hello_connect_device(call);
		if (result != 0)
			return result;
	}
	client->has_greeted = true;
	client->greeted_ns = client->set->now_ns;
	list_remove(&client->peer.silent_node);
	reply->version = RNIC_CTL_VERSION_MAX;
	reply->client_id = client->peer.client_id;
	reply->features = RNIC_FEATURE_VERB_RULES;
	if (client->is_admin && !device_set_serves(client->set->devices, client->peer.uid))
		reply->flags = RNIC_HELLO_REFUSES_PROGRAMS;
	reply->device = client->set->facts->device;
	return 0;
}

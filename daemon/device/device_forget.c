/* SPDX-License-Identifier: MIT */
/*
 * What a child of fork() closes of a device that was inside its parent. Only close(2) may be used
 * on what is watched: the parent has the same epoll instances, which a call would change.
 */
#include "daemon/device/device.h"

#include "daemon/device/device_state.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/session/session.h"

#include <unistd.h>

static void device_forget_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void device_forget_session(struct session *session)
{
	const struct session_channel *channel;

	for (uint32_t slot = 0; (channel = handle_table_next(&session->channels, &slot)) != NULL;)
		device_forget_fd(channel->pipe.write_fd);
	device_forget_fd(session->async_pipe.write_fd);
	device_forget_fd(session->doorbell_fd);
	device_forget_fd(session->share_fd);
	if (session->has_process)
		remote_process_fini(&session->process);
}

void device_forget(struct device *device)
{
	const struct list *node;

	memory_watch_forget();
	list_for_each (node, &device->sessions.sessions)
		device_forget_session(list_entry(node, struct session, node));
	list_for_each (node, &device->connections.peers.all) {
		const struct device_connection *connection =
			list_entry(node, struct device_connection, peer.node);

		device_forget_fd(connection->peer.requests.fd);
		device_forget_fd(connection->pid_fd);
	}
	device_forget_fd(device->connections.peers.server.epoll_fd);
	device_forget_fd(device->sessions.epoll_fd);
	port_stack_close(&device->ports);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/device_requests.h"

#include "daemon/device/device_host.h"
#include "daemon/device/objects/object_requests.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/requests/session_teardown.h"
#include "daemon/device/session/session.h"
#include "daemon/shared/reports/trouble_text.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "proto/ctl/ctl_check.h"

#include <errno.h>
#include <string.h>

static struct device_connection *device_requests_owner(struct request_connection *requests)
{
	return list_entry(requests, struct device_connection, peer.requests);
}

static int device_requests_open(struct ctl_call *call, struct device_connection *connection)
{
	const struct rnic_ctl_open_device *request = (const void *)call->request.payload;
	struct rnic_ctl_open_device_reply *reply = (void *)call->reply.payload;
	int memory_fd = -1;
	int result;

	if ((request->flags & ~(uint32_t)RNIC_OPEN_MEMORY_FD) != 0 || request->reserved != 0)
		return ctl_refuse(call, -EINVAL, "OPEN_DEVICE has flags that are not defined");
	if (call->fd_count > 0) {
		memory_fd = call->fds[0];
		call->fds[0] = -1;
	}
	result = device_connection_open_session(connection, memory_fd, call->reply_fds);
	if (result == -EINVAL)
		return ctl_refuse(call, result,
				  "the memory descriptor is no /proc/self/mem open for both");
	if (result != 0)
		return ctl_refuse(call, result, "the daemon has no room for a client: %s",
				  strerror(-result));
	call->reply_fd_count = 4;
	reply->client_id = connection->peer.client_id;
	return 0;
}

static int device_requests_handle(struct ctl_call *call)
{
	struct device_connection *connection = device_requests_owner(call->connection);
	const struct rnic_ctl_header *header = &call->request.header;
	const struct device_host *host = connection->set->host;
	const bool is_open = header->operation == RNIC_CTL_OPEN_DEVICE;

	host->catch_up(host->context);
	if (rnic_ctl_operation_connection(header->operation) != RNIC_CTL_DEVICE_CONNECTION)
		return ctl_refuse(call, -EPROTO, "%s came on a device connection",
				  rnic_ctl_operation_name(header->operation));
	if (is_open && connection->session != NULL)
		return ctl_refuse(call, -EPROTO, "OPEN_DEVICE came twice");
	if (!is_open && connection->session == NULL)
		return ctl_refuse(call, -EPROTO, "a device connection begins with OPEN_DEVICE");
	if (is_open)
		return device_requests_open(call, connection);
	call->session = connection->session;
	return object_request(call);
}

/* Makes the turns look at the client's doorbells from now on. */
static void device_requests_wake(struct request_connection *requests)
{
	struct session *session = device_requests_owner(requests)->session;

	if (session != NULL)
		session_wake(session);
}

static void device_requests_note_refusal(struct request_connection *requests, uint16_t operation,
					 int error, const char *reason)
{
	const struct device_connection *connection = device_requests_owner(requests);
	const struct device_host *host = connection->set->host;
	struct rnic_process_trouble trouble;

	if (trouble_text_of_request(&trouble, connection->peer.client_id, operation, error, reason))
		host->trouble(host->context, &trouble);
}

const struct request_role device_requests_role = {
	.takes_descriptors = true,
	.wake = device_requests_wake,
	.handle = device_requests_handle,
	.note_refusal = device_requests_note_refusal,
	.note_late = served_peer_note_late,
	.end = served_peer_end_connection,
	.first_request = "OPEN_DEVICE",
	.stages = session_teardown_stages,
	.mark = device_connection_mark,
	.hold = device_connection_hold,
	.cut = device_connection_cut,
	.release = device_connection_release,
	.destroy = device_connection_destroy,
};

/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/control/server/client_teardown.h"
#include "daemon/control/server/ctl_dispatch.h"
#include "daemon/control/server/troubles.h"
#include "daemon/device/objects/object_requests.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/requests/device_requests.h"
#include "daemon/device/session_turn.h"
#include "daemon/device/sigbus_guard.h"
#include "daemon/shared/served_peer/peer_teardown.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

static void fixture_trouble(void *context, const struct rnic_process_trouble *trouble)
{
	struct family *family = context;

	trouble_of_device(&family->clients, &family->child, trouble);
}

static void note_gone(void *context, uint32_t client_id)
{
	struct family *family = context;

	family->gone_count++;
	family->gone_client_id = client_id;
}

/* The fixture's facts are those of the sessions. */
static void fixture_catch_up(void *context)
{
	(void)context;
}

/* Of devices whose test has no engine. */
static struct engine idle_engine;

void family_init(struct family *family, struct engine *engine, struct cm *cm)
{
	const struct client_set_config config = {
		.role = &ctl_dispatch_role,
		.devices = &family->devices,
		.cm = cm,
		.facts = &family->facts,
		.settings = &family->settings,
	};
	const struct device_set_config no_devices = {.capture_fd = -1, .process_max = 1};

	family->host = (struct device_host){
		.trouble = fixture_trouble,
		.client_gone = note_gone,
		.catch_up = fixture_catch_up,
		.context = family,
	};
	family->device.host = &family->host;
	family->device.path.engine = engine != NULL ? engine : &idle_engine;
	assert_int_equal(session_set_init(&family->device.sessions, engine, &family->facts,
					  &device_connection_owner),
			 0);
	assert_int_equal(connection_set_init(&family->device.connections, &family->device.sessions,
					     &family->host, &device_requests_role, UINT64_MAX),
			 0);
	family->child.pid = getpid();
	family->child.uid = geteuid();
	assert_int_equal(device_set_open(&family->devices, &no_devices), 0);
	assert_int_equal(client_set_init(&family->clients, &config), 0);
}

void family_fini(struct family *family)
{
	peer_teardown_all(&family->clients.peers);
	client_set_fini(&family->clients);
	device_set_close(&family->devices);
	peer_teardown_all(&family->device.connections.peers);
	served_set_fini(&family->device.connections.peers);
	session_set_fini(&family->device.sessions);
}

void family_reap(struct family *family)
{
	sigbus_guard_break(&family->device.sessions);
	peer_teardown_run(&family->device.connections.peers, family->device.sessions.now_ns);
	client_teardown_run(&family->clients);
}

bool family_have_work(const struct family *family)
{
	return served_set_has_work(&family->clients.peers) ||
	       served_set_has_work(&family->device.connections.peers) ||
	       session_turn_has_work(&family->device.sessions);
}

static void keep_or_close(int fd, int *kept)
{
	if (kept != NULL)
		*kept = fd;
	else
		close(fd);
}

struct client *client_fixture_connect(struct family *family, uid_t uid, int *peer_fd)
{
	struct client *client;
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sockets), 0);
	keep_or_close(sockets[1], peer_fd);
	client = client_create(&family->clients, sockets[0], 1, uid,
			       client_set_account(&family->clients, uid));
	assert_non_null(client);
	return client;
}

struct device_connection *client_fixture_connect_device(struct family *family, uid_t uid,
							int *peer_fd)
{
	struct device_client client = {
		.client_id = ++family->last_client_id,
		.uid = uid,
		.pid = 1,
		.pid_fd = -1,
	};
	struct device_connection *connection;
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sockets), 0);
	keep_or_close(sockets[1], peer_fd);
	client.connection_fd = sockets[0];
	assert_int_equal(
		device_connection_create(&family->device.connections, &client, &connection), 0);
	return connection;
}

struct session *client_fixture_open(struct device_connection *connection, int *doorbell_fd,
				    int *async_fd)
{
	int fds[4];

	assert_int_equal(device_connection_open_session(connection, -1, fds), 0);
	keep_or_close(fds[0], NULL);
	keep_or_close(fds[1], NULL);
	keep_or_close(fds[2], doorbell_fd);
	keep_or_close(fds[3], async_fd);
	return connection->session;
}

bool family_serve(struct family *family)
{
	device_note_requests(&family->device);
	return device_serve(&family->device);
}

struct rnic_qp_control *client_fixture_control(const struct session_qp *qp)
{
	return rnic_qp_control_of(session_region(qp->session), qp->handle.slot);
}

void client_fixture_place_queues(const struct ctl_call *like, struct rnic_ctl_create_qp *request)
{
	struct rnic_qp_capacities granted;
	struct rnic_queues_plan plan;
	static struct ctl_call call;
	uint64_t entries_bytes;

	rnic_queues_grant(&request->capacities, request->type, !rnic_handle_is_none(request->srq),
			  &granted);
	assert_int_equal(rnic_queues_plan(&granted, &plan), 0);
	entries_bytes = rnic_round_up(plan.entries_bytes, RNIC_CACHE_LINE_BYTES);
	const struct rnic_ctl_create_queue_region region = {
		.bytes = rnic_round_up(entries_bytes + plan.spill_bytes, RNIC_QUEUE_PAGE_BYTES),
	};

	if (region.bytes == 0)
		return;
	call = (struct ctl_call){.session = like->session};
	memcpy(call.request.payload, &region, sizeof(region));
	assert_int_equal(ctl_create_queue_region(&call), 0);
	close(call.reply_fds[0]);
	memcpy(&request->queue_region, call.reply.payload, sizeof(request->queue_region));
	request->entries_offset = 0;
	request->spill_offset = entries_bytes;
}

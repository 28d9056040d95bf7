/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/control/server/client_teardown.h"
#include "daemon/control/server/ctl_dispatch.h"
#include "daemon/control/server/troubles.h"
#include "daemon/device/objects/object_requests.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/requests/connection_teardown.h"
#include "daemon/device/requests/device_requests.h"
#include "daemon/device/session_turn.h"
#include "daemon/device/sigbus_guard.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

static void fixture_trouble(void *context, const struct rnic_process_trouble *trouble)
{
	struct halves *halves = context;

	trouble_of_device(&halves->clients, &halves->child, trouble);
}

static void note_gone(void *context, uint32_t client_id)
{
	struct halves *halves = context;

	halves->gone_count++;
	halves->gone_client_id = client_id;
}

/* The fixture's facts are those of the sessions. */
static void fixture_catch_up(void *context)
{
	(void)context;
}

/* Of devices whose test has no engine. */
static struct engine idle_engine;

void halves_init(struct halves *halves, struct engine *engine, struct cm *cm)
{
	const struct client_set_config config = {
		.role = &ctl_dispatch_role,
		.devices = &halves->devices,
		.cm = cm,
		.facts = &halves->facts,
		.settings = &halves->settings,
	};
	const struct device_set_config no_devices = {.capture_fd = -1, .process_max = 1};

	halves->host = (struct device_host){
		.trouble = fixture_trouble,
		.client_gone = note_gone,
		.catch_up = fixture_catch_up,
		.context = halves,
	};
	halves->device.host = &halves->host;
	halves->device.path.engine = engine != NULL ? engine : &idle_engine;
	assert_int_equal(session_set_init(&halves->device.sessions, engine, &halves->facts,
					  &device_connection_owner),
			 0);
	assert_int_equal(connection_set_init(&halves->device.connections, &halves->device.sessions,
					     &halves->host, &device_requests_role, UINT64_MAX),
			 0);
	halves->child.pid = getpid();
	halves->child.uid = geteuid();
	assert_int_equal(device_set_open(&halves->devices, &no_devices), 0);
	assert_int_equal(client_set_init(&halves->clients, &config), 0);
}

void halves_fini(struct halves *halves)
{
	client_teardown_all(&halves->clients);
	client_set_fini(&halves->clients);
	device_set_close(&halves->devices);
	connection_teardown_all(&halves->device.connections);
	connection_set_fini(&halves->device.connections);
	session_set_fini(&halves->device.sessions);
}

void halves_reap(struct halves *halves)
{
	sigbus_guard_break(&halves->device.sessions);
	connection_teardown_run(&halves->device.connections);
	client_teardown_run(&halves->clients);
}

bool halves_have_work(const struct halves *halves)
{
	return client_set_has_work(&halves->clients) ||
	       connection_set_has_work(&halves->device.connections) ||
	       session_turn_has_work(&halves->device.sessions);
}

static void keep_or_close(int fd, int *kept)
{
	if (kept != NULL)
		*kept = fd;
	else
		close(fd);
}

struct client *client_fixture_connect(struct halves *halves, uid_t uid, int *peer_fd)
{
	struct client *client;
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sockets), 0);
	keep_or_close(sockets[1], peer_fd);
	client = client_create(&halves->clients, sockets[0], 1, uid);
	assert_non_null(client);
	return client;
}

struct device_connection *client_fixture_connect_device(struct halves *halves, uid_t uid,
							int *peer_fd)
{
	struct device_client client = {
		.client_id = ++halves->last_client_id,
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
		device_connection_create(&halves->device.connections, &client, &connection), 0);
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

bool halves_serve(struct halves *halves)
{
	device_half_note_requests(&halves->device);
	return device_half_serve(&halves->device);
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
		.bytes = rnic_round_up(entries_bytes + plan.sides_bytes, RNIC_QUEUE_PAGE_BYTES),
	};

	if (region.bytes == 0)
		return;
	call = (struct ctl_call){.session = like->session};
	memcpy(call.request.payload, &region, sizeof(region));
	assert_int_equal(ctl_create_queue_region(&call), 0);
	close(call.reply_fds[0]);
	memcpy(&request->queue_region, call.reply.payload, sizeof(request->queue_region));
	request->entries_offset = 0;
	request->sides_offset = entries_bytes;
}

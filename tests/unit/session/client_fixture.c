/* SPDX-License-Identifier: MIT */
#include "client_fixture.h"

#include "control/client_teardown.h"
#include "device/session_turn.h"
#include "device/sigbus_guard.h"
#include "unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

static void fixture_break_client(struct client *client, const char *reason)
{
	client_break(client, "%s", reason);
}

void halves_init(struct halves *halves, struct engine *engine, struct cm *cm)
{
	const struct client_set_config config = {
		.device = &halves->device,
		.cm = cm,
		.facts = &halves->facts,
	};

	halves->host = (struct device_host){
		.break_client = fixture_break_client,
		.note_trouble = client_note_trouble,
	};
	assert_int_equal(
		session_set_init(&halves->device.sessions, engine, &halves->facts, &halves->host),
		0);
	assert_int_equal(client_set_init(&halves->clients, &config), 0);
}

void halves_fini(struct halves *halves)
{
	client_teardown_all(&halves->clients);
	client_set_fini(&halves->clients);
	session_set_fini(&halves->device.sessions);
}

void halves_reap(struct halves *halves)
{
	sigbus_guard_break(&halves->device.sessions);
	client_teardown_run(&halves->clients);
}

bool halves_have_work(const struct halves *halves)
{
	return client_set_has_work(&halves->clients) ||
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

struct session *client_fixture_greet(struct client *client, int *doorbell_fd, int *async_fd)
{
	const struct session_config config = {
		.client = client,
		.account = &client->account,
		.client_id = client->client_id,
		.pid = client->pid,
		.pid_fd = -1,
		.memory_fd = -1,
	};
	int fds[4];

	assert_int_equal(
		device_half_open_session(client->set->device, &config, fds, &client->session), 0);
	keep_or_close(fds[0], NULL);
	keep_or_close(fds[1], NULL);
	keep_or_close(fds[2], doorbell_fd);
	keep_or_close(fds[3], async_fd);
	client->has_greeted = true;
	list_remove(&client->pre_hello_node);
	return client->session;
}

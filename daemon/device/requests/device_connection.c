/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/device_connection.h"

#include "daemon/device/device_config.h"
#include "daemon/device/device_host.h"
#include "daemon/device/requests/connection_set.h"
#include "daemon/device/requests/teardown.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_owner.h"
#include "daemon/device/session/session_set.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"
#include "proto/base/time_units.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void device_connection_fill(struct device_connection *connection, struct connection_set *set,
				   const struct device_client *client)
{
	connection->set = set;
	connection->client_id = client->client_id;
	connection->pid = client->pid;
	connection->uid = client->uid;
	connection->pid_fd = client->pid_fd;
	memcpy(connection->program, client->program, sizeof(connection->program));
	connection->program[sizeof(connection->program) - 1] = '\0';
	connection->open_by_ns = set->sessions->now_ns + LIMIT_HELLO_MS * RNIC_NS_PER_MS;
}

int device_connection_create(struct connection_set *set, const struct device_client *client,
			     struct device_connection **created)
{
	struct device_connection *connection = calloc(1, sizeof(*connection));
	int result = connection != NULL ? 0 : -ENOMEM;

	if (result != 0)
		goto close_fds;
	result = -ENOSPC;
	if (quota_open(&connection->account, &set->quotas, NULL) != 0)
		goto free_connection;
	result = request_connection_open(&connection->requests, &set->server, &connection->account,
					 client->connection_fd);
	if (result != 0)
		goto close_account;
	device_connection_fill(connection, set, client);
	list_add_tail(&set->pre_open, &connection->pre_open_node);
	list_add_tail(&set->connections, &connection->node);
	set->connection_count++;
	*created = connection;
	return 0;

close_account:
	quota_close(&connection->account);
free_connection:
	free(connection);
close_fds:
	close(client->connection_fd);
	if (client->pid_fd >= 0)
		close(client->pid_fd);
	return result;
}

int device_connection_open_session(struct device_connection *connection, int memory_fd, int fds[4])
{
	const struct session_config config = {
		.connection = connection,
		.account = &connection->account,
		.client_id = connection->client_id,
		.pid = connection->pid,
		.pid_fd = connection->pid_fd,
		.memory_fd = memory_fd,
	};
	int result;

	connection->pid_fd = -1;
	result = session_create(connection->set->sessions, &config, fds, &connection->session);
	if (result == 0)
		list_remove(&connection->pre_open_node);
	return result;
}

void device_connection_cut(struct device_connection *connection)
{
	const struct device_host *host = connection->set->host;

	list_remove(&connection->pre_open_node);
	if (connection->session != NULL)
		teardown_begin(connection->session);
	request_connection_cut(&connection->requests);
	if (connection->pid_fd >= 0)
		close(connection->pid_fd);
	connection->pid_fd = -1;
	host->client_gone(host->context, connection->client_id);
}

void device_connection_destroy(struct device_connection *connection)
{
	struct connection_set *set = connection->set;

	assert(connection->session == NULL && connection->requests.fd < 0);
	quota_close(&connection->account);
	list_remove(&connection->broken_node);
	list_remove(&connection->node);
	set->connection_count--;
	set->server.freed_count++;
	free(connection);
}

void device_connection_end(struct device_connection *connection)
{
	if (connection->requests.is_broken)
		return;
	connection->requests.is_broken = true;
	if (connection->session != NULL)
		connection->session->is_broken = true;
	connection->set->server.ended_count++;
	list_add_tail(&connection->set->broken, &connection->broken_node);
}

void device_connection_end_client(struct connection_set *set, uint32_t client_id)
{
	struct list *node;

	list_for_each (node, &set->connections) {
		struct device_connection *connection =
			list_entry(node, struct device_connection, node);

		if (connection->client_id == client_id)
			device_connection_end(connection);
	}
}

void device_connection_break(struct device_connection *connection, const char *reason)
{
	if (connection->requests.is_broken)
		return;
	device_connection_end(connection);
	log_from_client("client %u (%s, pid %d) was disconnected: %s", connection->client_id,
			connection->program[0] != '\0' ? connection->program : "unnamed",
			(int)connection->pid, reason);
}

static void device_connection_note_trouble(struct device_connection *connection,
					   const char *subject, const char *reason)
{
	const struct device_host *host = connection->set->host;
	struct rnic_process_trouble trouble = {.client_id = connection->client_id};

	snprintf(trouble.subject, sizeof(trouble.subject), "%s", subject);
	snprintf(trouble.reason, sizeof(trouble.reason), "%s", reason);
	host->trouble(host->context, &trouble);
}

const struct session_owner device_connection_owner = {
	.break_client = device_connection_break,
	.note_trouble = device_connection_note_trouble,
};

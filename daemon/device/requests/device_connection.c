/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/device_connection.h"

#include "daemon/device/device_config.h"
#include "daemon/device/device_host.h"
#include "daemon/device/device_limits.h"
#include "daemon/device/requests/end_rules.h"
#include "daemon/device/requests/session_teardown.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_owner.h"
#include "daemon/device/session/session_set.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTION_MIB (UINT64_C(1) << 20)

static const uint64_t connection_set_limits[RESOURCE_COUNT] = {
	[RESOURCE_SESSION] = LIMIT_SESSIONS,
	[RESOURCE_PD] = LIMIT_PDS,
	[RESOURCE_MR] = LIMIT_MRS,
	[RESOURCE_MW] = LIMIT_MWS,
	[RESOURCE_CHANNEL] = LIMIT_CHANNELS,
	[RESOURCE_CQ] = LIMIT_CQS,
	[RESOURCE_QP] = LIMIT_QPS,
	[RESOURCE_AH] = LIMIT_AHS,
	[RESOURCE_SRQ] = LIMIT_SRQS,
	[RESOURCE_XRCD] = LIMIT_XRCDS,
	[RESOURCE_SHARED_BYTES] = LIMIT_SHARED_MIB * CONNECTION_MIB,
	[RESOURCE_MAPPED_FILES] = LIMIT_MAPPED_FILES,
	[RESOURCE_MAPPED_BYTES] = LIMIT_MAPPED_MIB * CONNECTION_MIB,
};

int connection_set_init(struct connection_set *set, struct session_set *sessions,
			const struct device_host *host, const struct request_role *role,
			uint64_t memory_bytes)
{
	int result =
		served_set_init(&set->peers, role, connection_set_limits, LIMIT_OWN_DESCRIPTORS);
	uint64_t *limit = &set->peers.quotas.limits[RESOURCE_SHARED_BYTES];

	set->sessions = sessions;
	set->host = host;
	if (memory_bytes < *limit)
		*limit = memory_bytes;
	return result;
}

static void device_connection_fill(struct device_connection *connection, struct connection_set *set,
				   const struct device_client *client)
{
	struct served_peer *peer = &connection->peer;

	connection->set = set;
	connection->pid_fd = client->pid_fd;
	peer->client_id = client->client_id;
	peer->pid = client->pid;
	peer->uid = client->uid;
	memcpy(peer->program, client->program, sizeof(peer->program));
	peer->program[sizeof(peer->program) - 1] = '\0';
}

int device_connection_create(struct connection_set *set, const struct device_client *client,
			     struct device_connection **created)
{
	struct device_connection *connection = calloc(1, sizeof(*connection));
	int result = connection != NULL ? 0 : -ENOMEM;

	if (result != 0)
		goto close_fds;
	result = quota_open(&connection->peer.account, &set->peers.quotas, NULL);
	if (result != 0)
		goto free_connection;
	result = served_set_add(&set->peers, &connection->peer, client->connection_fd,
				set->sessions->now_ns);
	if (result != 0)
		goto close_account;
	device_connection_fill(connection, set, client);
	*created = connection;
	return 0;

close_account:
	quota_close(&connection->peer.account);
free_connection:
	free(connection);
close_fds:
	close(client->connection_fd);
	if (client->pid_fd >= 0)
		close(client->pid_fd);
	return result;
}

static struct device_connection *device_connection_of(struct served_peer *peer)
{
	return RNIC_CONTAINER_OF(peer, struct device_connection, peer);
}

int device_connection_open_session(struct device_connection *connection, int memory_fd, int fds[4])
{
	const struct session_config config = {
		.connection = connection,
		.account = &connection->peer.account,
		.client_id = connection->peer.client_id,
		.pid = connection->peer.pid,
		.pid_fd = connection->pid_fd,
		.memory_fd = memory_fd,
	};
	int result;

	connection->pid_fd = -1;
	result = session_create(connection->set->sessions, &config, fds, &connection->session);
	if (result != 0)
		return result;
	connection->peer.objects = connection->session;
	list_remove(&connection->peer.silent_node);
	return 0;
}

void device_connection_mark(struct served_peer *peer)
{
	struct session *session = device_connection_of(peer)->session;

	if (session != NULL)
		session->is_broken = true;
}

/* Asks the rules, once for each client: memory may show the end before the connection does. */
static uint64_t device_connection_judge(struct device_connection *connection, uint64_t now_ns)
{
	const struct served_peer *peer = &connection->peer;
	struct end_rules *ends = connection->set->ends;

	if (connection->is_judged || ends == NULL || connection->session->qps.count == 0)
		return connection->hold_ns;
	connection->is_judged = true;
	connection->hold_ns = end_rules_judge(ends, peer->program, peer->pid, now_ns);
	if (connection->hold_ns != 0)
		log_from_client(peer->uid,
				"client %u (%s, pid %d) has ended; its queue pairs stay for %u ms: "
				"a rule of faults says so",
				peer->client_id, peer->program, (int)peer->pid,
				(unsigned)(connection->hold_ns / RNIC_NS_PER_MS));
	return connection->hold_ns;
}

/* A client that broke the protocol has nothing left that answers. */
uint64_t device_connection_hold(struct served_peer *peer, uint64_t now_ns)
{
	struct device_connection *connection = device_connection_of(peer);

	if (connection->session == NULL || peer->has_misbehaved)
		return 0;
	connection->is_held = device_connection_judge(connection, now_ns) != 0;
	return connection->hold_ns;
}

static void device_connection_tell_gone(const struct device_connection *connection)
{
	const struct device_host *host = connection->set->host;

	host->client_gone(host->context, connection->peer.client_id);
}

void device_connection_cut(struct served_peer *peer)
{
	struct device_connection *connection = device_connection_of(peer);

	if (connection->is_held)
		session_teardown_cut_memory(connection->session);
	else if (connection->session != NULL)
		session_teardown_cut(connection->session);
	served_set_cut(peer);
	if (connection->pid_fd >= 0)
		close(connection->pid_fd);
	connection->pid_fd = -1;
	if (!connection->is_held)
		device_connection_tell_gone(connection);
}

void device_connection_release(struct served_peer *peer)
{
	struct device_connection *connection = device_connection_of(peer);

	session_teardown_cut_queue_pairs(connection->session);
	device_connection_tell_gone(connection);
}

void device_connection_destroy(struct served_peer *peer)
{
	struct device_connection *connection = device_connection_of(peer);

	if (connection->session != NULL)
		session_destroy(connection->session);
	served_set_remove(peer);
	free(connection);
}

void device_connection_end_client(struct connection_set *set, uint32_t client_id)
{
	struct list *node;

	list_for_each (node, &set->peers.all) {
		struct served_peer *peer = list_entry(node, struct served_peer, node);

		if (peer->client_id == client_id)
			served_peer_end(peer);
	}
}

static void device_connection_break(struct device_connection *connection, const char *reason)
{
	served_peer_break(&connection->peer, "%s", reason);
}

static void device_connection_note_trouble(struct device_connection *connection,
					   enum rnic_cause cause, const char *subject,
					   const char *reason)
{
	const struct device_host *host = connection->set->host;
	struct rnic_process_trouble trouble = {
		.client_id = connection->peer.client_id,
		.cause = cause,
	};

	snprintf(trouble.subject, sizeof(trouble.subject), "%s", subject);
	snprintf(trouble.reason, sizeof(trouble.reason), "%s", reason);
	host->trouble(host->context, &trouble);
}

static bool device_connection_refuses_when_gone(struct device_connection *connection)
{
	return device_connection_judge(connection, connection->set->sessions->now_ns) != 0;
}

static void device_connection_name_program(const struct device_connection *connection, char *text,
					   size_t bytes)
{
	snprintf(text, bytes, "%.*s (pid %d)", (int)sizeof(connection->peer.program),
		 connection->peer.program, (int)connection->peer.pid);
}

const struct session_owner device_connection_owner = {
	.break_client = device_connection_break,
	.note_trouble = device_connection_note_trouble,
	.refuses_when_gone = device_connection_refuses_when_gone,
	.name_program = device_connection_name_program,
};

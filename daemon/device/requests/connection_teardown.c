/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/connection_teardown.h"

#include "daemon/device/requests/connection_set.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/requests/teardown.h"
#include "daemon/device/session/session_set.h"
#include "daemon/shared/quota/client_limits.h"

#define COST_CONNECTION 128 /* as the teardown of sessions counts */

static struct device_connection *connection_teardown_first(const struct list *list)
{
	return list_first_entry(list, struct device_connection, broken_node);
}

static void connection_teardown_begin(struct device_connection *connection)
{
	device_connection_cut(connection);
	list_remove(&connection->broken_node);
	list_add_tail(&connection->set->ending, &connection->broken_node);
}

/* Returns whether the connection is gone with all that the client had. */
static bool connection_teardown_finish(struct device_connection *connection, uint32_t *budget)
{
	if (connection->session != NULL && !teardown_run(connection->session, budget))
		return false;
	connection->session = NULL;
	*budget -= COST_CONNECTION < *budget ? COST_CONNECTION : *budget;
	device_connection_destroy(connection);
	return true;
}

uint64_t connection_teardown_next_ns(const struct connection_set *set)
{
	if (list_is_empty(&set->pre_open))
		return UINT64_MAX;
	return list_first_entry(&set->pre_open, const struct device_connection, pre_open_node)
		->open_by_ns;
}

static void connection_teardown_break_pre_open(struct connection_set *set)
{
	while (connection_teardown_next_ns(set) <= set->sessions->now_ns) {
		struct device_connection *connection =
			list_first_entry(&set->pre_open, struct device_connection, pre_open_node);

		list_remove(&connection->pre_open_node);
		device_connection_break(connection, "it did not say OPEN_DEVICE");
	}
}

void connection_teardown_run(struct connection_set *set)
{
	uint32_t budget = LIMIT_TURN_TEARDOWN;

	connection_teardown_break_pre_open(set);
	while (!list_is_empty(&set->broken))
		connection_teardown_begin(connection_teardown_first(&set->broken));
	while (budget > 0 && !list_is_empty(&set->ending))
		connection_teardown_finish(connection_teardown_first(&set->ending), &budget);
}

void connection_teardown_all(struct connection_set *set)
{
	while (!list_is_empty(&set->connections)) {
		struct device_connection *connection =
			list_first_entry(&set->connections, struct device_connection, node);
		uint32_t budget;

		device_connection_end(connection);
		if (connection->requests.fd >= 0)
			connection_teardown_begin(connection);
		do
			budget = UINT32_MAX;
		while (!connection_teardown_finish(connection, &budget));
	}
}

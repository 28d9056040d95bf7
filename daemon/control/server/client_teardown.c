/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/client_teardown.h"
#include "daemon/shared/quota/client_limits.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/supervisor/device_child.h"
#include "proto/base/bits.h"

#include <assert.h>
#include <stddef.h>

/* One microsecond is about 4 units of cost. */
#define COST_SOCKET 16
#define COST_CLIENT 128

static uint32_t client_teardown_end_channel(struct client *client, void *object)
{
	cm_channel_free(client, object);
	return COST_SOCKET;
}

/*
 * A listener ends together with the connection requests that nobody took. Each is an identifier,
 * so this frees one at a time.
 */
static uint32_t client_teardown_end_id(struct client *client, void *object)
{
	(void)client;
	if (!cm_identifier_drop_event(object))
		cm_identifier_free(object);
	return 1;
}

/*
 * Ends first what other programs wait for: connections, whose peers must be told, and ports.
 * Identifiers name channels. `end` frees the object, or a part of it, and returns the cost.
 */
static const struct {
	size_t table; /* offset of a struct handle_table */
	uint32_t (*end)(struct client *client, void *object);
} client_teardown_stages[] = {
	{offsetof(struct client, cm_ids), client_teardown_end_id},
	{offsetof(struct client, cm_channels), client_teardown_end_channel},
};

#define CONNECTION_STAGES 1

/* Frees objects of the first `stages` stages. Returns whether it has freed all of them. */
static bool client_teardown_end_objects(struct client *client, uint32_t stages, uint32_t *budget)
{
	while (*budget > 0 && client->teardown.stage < stages) {
		const uint32_t stage = client->teardown.stage;
		const struct handle_table *table =
			(const void *)((const uint8_t *)client +
				       client_teardown_stages[stage].table);
		uint32_t next = client->teardown.slot;
		void *object = handle_table_next(table, &next);
		uint32_t cost;

		if (object == NULL) {
			client->teardown.stage++;
			client->teardown.slot = 0;
			continue;
		}
		client->teardown.slot = next - 1; /* `end` may have freed only a part */
		cost = client_teardown_stages[stage].end(client, object);
		*budget -= cost < *budget ? cost : *budget;
	}
	return client->teardown.stage >= stages;
}

static void client_teardown_begin(struct client *client)
{
	assert(client->requests.is_broken);
	client_cut(client);
	list_remove(&client->broken_node);
	list_add_tail(&client->set->leaving, &client->broken_node);
}

static void client_teardown_disconnect(struct client *client, uint32_t *budget)
{
	if (!client_teardown_end_objects(client, CONNECTION_STAGES, budget))
		return;
	list_remove(&client->broken_node);
	list_add_tail(&client->set->ending, &client->broken_node);
}

static bool client_teardown_finish(struct client *client, uint32_t *budget)
{
	if (!client_teardown_end_objects(client, RNIC_COUNT_OF(client_teardown_stages), budget))
		return false;
	*budget -= COST_CLIENT < *budget ? COST_CLIENT : *budget;
	client_destroy(client);
	return true;
}

static void client_teardown_break_pre_hello(struct client_set *set)
{
	while (client_hello_deadline_ns(&set->pre_hello) <= set->now_ns) {
		struct client *client =
			list_first_entry(&set->pre_hello, struct client, hello_node);

		list_remove(&client->hello_node);
		client_break(client, "it did not say HELLO");
	}
	/* A HELLO that has waited long enough goes on, to be refused. */
	while (client_hello_deadline_ns(&set->greeting) <= set->now_ns) {
		struct client *client = list_first_entry(&set->greeting, struct client, hello_node);

		list_remove(&client->hello_node);
		request_connection_hasten(&client->requests);
	}
}

void client_teardown_break_orphans(struct client_set *set)
{
	struct list *node;

	list_for_each (node, &set->clients) {
		struct client *client = list_entry(node, struct client, node);

		if (client->has_greeted && client->device != NULL &&
		    !device_child_is_alive(client->device))
			client_end(client);
	}
}

void client_teardown_run(struct client_set *set)
{
	uint32_t budget = LIMIT_TURN_TEARDOWN;

	client_teardown_break_pre_hello(set);
	while (!list_is_empty(&set->broken))
		client_teardown_begin(list_first_entry(&set->broken, struct client, broken_node));
	while (budget > 0 && !list_is_empty(&set->leaving))
		client_teardown_disconnect(
			list_first_entry(&set->leaving, struct client, broken_node), &budget);
	while (budget > 0 && !list_is_empty(&set->ending))
		client_teardown_finish(list_first_entry(&set->ending, struct client, broken_node),
				       &budget);
}

void client_teardown_all(struct client_set *set)
{
	while (!list_is_empty(&set->clients)) {
		struct client *client = list_first_entry(&set->clients, struct client, node);
		uint32_t budget;

		client_end(client);
		if (client->requests.fd >= 0)
			client_teardown_begin(client);
		do
			budget = UINT32_MAX;
		while (!client_teardown_finish(client, &budget));
	}
}

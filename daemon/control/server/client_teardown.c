/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/client_teardown.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/supervisor/device_child.h"

#define COST_SOCKET 16

static uint32_t client_teardown_end_channel(void *client, void *object)
{
	cm_channel_free(client, object);
	return COST_SOCKET;
}

/*
 * A listener ends together with the connection requests that nobody took. Each is an identifier,
 * so this frees one at a time.
 */
static uint32_t client_teardown_end_id(void *client, void *object)
{
	(void)client;
	if (!cm_identifier_drop_event(object))
		cm_identifier_free(object);
	return 1;
}

/*
 * Ends first what other programs wait for: connections, whose peers must be told, and ports.
 * Identifiers name channels.
 */
const struct teardown_stage client_teardown_stages[] = {
	{"identifiers", offsetof(struct client, cm_ids), client_teardown_end_id, true},
	{"channels", offsetof(struct client, cm_channels), client_teardown_end_channel, false},
	{.name = NULL},
};

void client_teardown_break_orphans(struct client_set *set)
{
	struct list *node;

	list_for_each (node, &set->peers.all) {
		struct client *client = list_entry(node, struct client, peer.node);

		if (client->has_greeted && client->device != NULL &&
		    !device_child_is_alive(client->device))
			served_peer_end(&client->peer);
	}
}

void client_teardown_run(struct client_set *set)
{
	struct served_peer *late;

	/* A HELLO that has waited long enough goes on, to be refused. */
	while ((late = served_peer_take_late(&set->greeting, set->now_ns)) != NULL)
		request_connection_hasten(&late->requests);
	peer_teardown_run(&set->peers, set->now_ns);
}

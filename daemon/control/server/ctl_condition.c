/* SPDX-License-Identifier: MIT */
/* Answers CONDITION: rnicctl link, event and qp. */
#include "daemon/control/server/ctl_dispatch.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/supervisor/device_orders.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "proto/base/lane.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The progress of a walk over all device processes, in ctl_call.progress[0]; [1] is the order's. */
#define WALK_LANE_BITS 8
#define WALK_LANE_MASK ((1u << WALK_LANE_BITS) - 1)

static bool condition_rules_all(const struct client *asker)
{
	return asker->peer.uid == 0 || asker->peer.uid == geteuid();
}

/* Refuses what only root, the daemon's user and, if given, `owner` may do. */
static int condition_refuse(struct ctl_call *call, const char *what, const char *owner)
{
	char user[sizeof(" and user 4294967295")] = "";

	if (geteuid() != 0)
		snprintf(user, sizeof(user), " and user %u", (unsigned)geteuid());
	return ctl_refuse(call, -EPERM, "%s: %sroot%s may do it, user %u may not", what, owner,
			  user, (unsigned)call->client->peer.uid);
}

static int condition_refuse_all(struct ctl_call *call)
{
	return condition_refuse(call, "this concerns the programs of all users", "");
}

static int condition_refuse_one(struct ctl_call *call, const struct client *owner)
{
	char what[sizeof("it belongs to user 4294967295")];

	snprintf(what, sizeof(what), "it belongs to user %u", (unsigned)owner->peer.uid);
	return condition_refuse(call, what, "that user, ");
}

static int condition_tell_link(struct ctl_call *call)
{
	const struct device_facts *facts = call->client->set->facts;
	struct rnic_ctl_condition_reply *reply = (void *)call->reply.payload;
	const char *state = facts->is_cut ? "down: rnicctl link up brings it up"
			    : facts->port.state == RNIC_PORT_ACTIVE
				    ? "up"
				    : "down, because the network interface is";

	snprintf(reply->text, sizeof(reply->text), "the link of %s is %s", facts->device.name,
		 state);
	return 0;
}

/* Gives all device processes an order, one after the other. -EINPROGRESS: one is to answer. */
static int condition_order_all(struct ctl_call *call, uint32_t condition)
{
	const struct rnic_process_order order = {.condition = condition};
	struct rnic_ctl_condition_reply *reply = (void *)call->reply.payload;
	struct device_set *devices = call->client->set->devices;
	uint32_t *walk = &call->progress[0];
	struct device_child *process;
	char reason[RNIC_CTL_TEXT_BYTES];

	while ((process = device_set_next(devices, *walk & WALK_LANE_MASK)) != NULL) {
		int result;

		if ((*walk & WALK_LANE_MASK) != process->lane)
			call->progress[1] = 0;
		*walk = (*walk & ~WALK_LANE_MASK) | process->lane;
		result = device_orders_give(process, &order, &call->progress[1], reason);
		if (result == -EINPROGRESS) {
			call->awaits_news = true;
			return result;
		}
		if (result == -ETIMEDOUT)
			*walk += 1u << WALK_LANE_BITS;
		*walk += 1;
		call->progress[1] = 0;
	}
	if (*walk >> WALK_LANE_BITS != 0)
		snprintf(reply->text, sizeof(reply->text),
			 "%u device processes did not answer: are they stopped?",
			 *walk >> WALK_LANE_BITS);
	return 0;
}

static int condition_set_link(struct ctl_call *call, bool is_cut)
{
	const struct client_set *set = call->client->set;

	if (set->facts->is_cut != is_cut) {
		log_info("rnicctl of user %u brings the link %s", (unsigned)call->client->peer.uid,
			 is_cut ? "down" : "up");
		set->conditions.cut_link(set->conditions.context, is_cut);
	}
	/* The order comes behind the facts: its answer says that they are applied. */
	return condition_order_all(call, RNIC_CONDITION_LINK);
}

/* Finds the client whose object the request names; a queue pair names its client by itself. */
static struct client *condition_find_client(const struct ctl_call *call, uint32_t client_id)
{
	struct client *client = client_find(call->client->set, client_id);

	return client != NULL && client->device != NULL ? client : NULL;
}

static uint32_t condition_qp_owner(const struct ctl_call *call, uint32_t qpn)
{
	const uint8_t lane = rnic_lane_of(qpn);
	const struct device_child *process = device_set_next(call->client->set->devices, lane);

	return process != NULL && process->lane == lane ? device_child_qp_owner(process, qpn) : 0;
}

static int condition_order_one(struct ctl_call *call, const struct rnic_ctl_condition *request,
			       uint32_t client_id)
{
	const struct client *owner = condition_find_client(call, client_id);
	const struct rnic_process_order order = {
		.condition = request->condition,
		.client_id = client_id,
		.number = request->number,
	};
	char reason[RNIC_CTL_TEXT_BYTES];
	int result;

	if (owner == NULL)
		return ctl_refuse(call, -ENOENT,
				  "no program has it: rnicctl show lists what is "
				  "there");
	if (!condition_rules_all(call->client) && owner->peer.uid != call->client->peer.uid)
		return condition_refuse_one(call, owner);
	result = device_orders_give(owner->device, &order, &call->progress[1], reason);
	if (result == -EINPROGRESS)
		call->awaits_news = true;
	else if (result == -ETIMEDOUT)
		return ctl_refuse(call, result, "the device process (pid %d) does not answer",
				  (int)owner->device->pid);
	else if (result != 0)
		return ctl_refuse(call, result, "%s", reason);
	return result;
}

int ctl_condition(struct ctl_call *call)
{
	const struct rnic_ctl_condition *request = (const void *)call->request.payload;
	const enum rnic_condition condition = (enum rnic_condition)request->condition;

	switch (condition) {
	case RNIC_CONDITION_LINK:
		return condition_tell_link(call);
	case RNIC_CONDITION_LINK_DOWN:
	case RNIC_CONDITION_LINK_UP:
		return condition_rules_all(call->client)
			       ? condition_set_link(call, condition == RNIC_CONDITION_LINK_DOWN)
			       : condition_refuse_all(call);
	case RNIC_CONDITION_PORT_ERR:
	case RNIC_CONDITION_PORT_ACTIVE:
	case RNIC_CONDITION_GID_CHANGE:
	case RNIC_CONDITION_DEVICE_FATAL:
		return condition_rules_all(call->client) ? condition_order_all(call, condition)
							 : condition_refuse_all(call);
	case RNIC_CONDITION_QP_FATAL:
	case RNIC_CONDITION_QP_ERROR:
		return condition_order_one(call, request,
					   condition_qp_owner(call, request->number));
	case RNIC_CONDITION_CQ_ERR:
	case RNIC_CONDITION_SRQ_ERR:
		return condition_order_one(call, request, request->client_id);
	case RNIC_CONDITION_COUNT:
		break;
	}
	return ctl_refuse(call, -EINVAL, "there is no condition %u", request->condition);
}

/* SPDX-License-Identifier: MIT */
/* Answers CONDITION: rnicctl link, event, qp and fault. */
#include "daemon/control/server/ctl_dispatch.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/supervisor/device_orders.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "lib/nic/port/conditions/fault_reader.h"
#include "proto/base/lane.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The progress of a walk over all device processes, in ctl_call.progress[0]; [1] is the order's. */
#define WALK_LANE_BITS 8
#define WALK_LANE_MASK ((1u << WALK_LANE_BITS) - 1)

/* All device processes learn of each change of the link. */
#define LIMIT_FLAP_NS (10 * RNIC_NS_PER_MS)

static bool condition_rules_all(const struct client *asker)
{
	return asker->peer.uid == 0 || asker->peer.uid == geteuid();
}

/* Refuses what only root, the daemon's user and, if there is one, the `owner` may do. */
static int condition_refuse(struct ctl_call *call, const char *what, const char *owner)
{
	const bool has_user = geteuid() != 0;
	const char *joint = owner[0] == '\0' ? "" : has_user ? ", " : " and ";
	char user[sizeof(" and user 4294967295")] = "";

	if (has_user)
		snprintf(user, sizeof(user), " and user %u", (unsigned)geteuid());
	return ctl_refuse(call, -EPERM, "%s: %s%sroot%s may do it, user %u may not", what, owner,
			  joint, user, (unsigned)call->client->peer.uid);
}

static int condition_refuse_all(struct ctl_call *call)
{
	return condition_refuse(call, "this concerns the programs of all users", "");
}

static int condition_refuse_one(struct ctl_call *call, const struct client *owner)
{
	char what[sizeof("it belongs to user 4294967295")];

	snprintf(what, sizeof(what), "it belongs to user %u", (unsigned)owner->peer.uid);
	return condition_refuse(call, what, "that user");
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

/*
 * Gives an order to all device processes that the asker rules, one after the other: a user can make
 * neither the processes of others work, nor wait for them. -EINPROGRESS: one is to answer.
 */
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
		if (!condition_rules_all(call->client) && process->uid != call->client->peer.uid) {
			*walk += 1;
			continue;
		}
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

/* The times of "down/up", or of one for both. */
static int condition_read_times(struct ctl_call *call, const char *text, uint64_t times_ns[2])
{
	char message[RNIC_CTL_TEXT_BYTES];
	struct fault_reader reader = {.begin = text,
				      .line = 1,
				      .at = text,
				      .end = text + strlen(text),
				      .message = message,
				      .message_bytes = sizeof(message)};
	int result = fault_reader_time(&reader, &times_ns[0]);

	times_ns[1] = times_ns[0];
	if (result == 0 && fault_reader_skip(&reader, "/"))
		result = fault_reader_time(&reader, &times_ns[1]);
	if (result == 0 && reader.at != reader.end)
		result = fault_reader_refuse(&reader, "/ and a time");
	if (result != 0)
		return ctl_refuse(call, result, "%s", message);
	if (times_ns[0] < LIMIT_FLAP_NS || times_ns[1] < LIMIT_FLAP_NS)
		return ctl_refuse(call, -EINVAL, "a link flaps no faster than in 10 ms");
	return 0;
}

static int condition_flap_link(struct ctl_call *call, const struct rnic_ctl_condition *request)
{
	const struct client_set *set = call->client->set;
	struct rnic_ctl_condition_reply *reply = (void *)call->reply.payload;
	uint64_t times_ns[2];
	int result;

	if (memchr(request->text, 0, sizeof(request->text)) == NULL)
		return ctl_refuse(call, -EINVAL, "the text of the times does not end");
	result = condition_read_times(call, request->text, times_ns);
	if (result != 0)
		return result;
	log_info("rnicctl of user %u lets the link flap", (unsigned)call->client->peer.uid);
	set->conditions.flap_link(set->conditions.context, times_ns[0], times_ns[1]);
	snprintf(reply->text, sizeof(reply->text),
		 "the link is %u ms down and %u ms up by turns, until rnicctl link up",
		 (unsigned)(times_ns[0] / RNIC_NS_PER_MS),
		 (unsigned)(times_ns[1] / RNIC_NS_PER_MS));
	return 0;
}

/* Renumbers GIDs when all device processes have said which ones they use. */
static int condition_renumber(struct ctl_call *call)
{
	const struct client_set *set = call->client->set;
	const int result = condition_order_all(call, RNIC_CONDITION_LINK);

	if (result != 0)
		return result;
	log_info("rnicctl of user %u renumbers GIDs", (unsigned)call->client->peer.uid);
	set->conditions.renumber_gids(set->conditions.context);
	return 0;
}

static int condition_set_link(struct ctl_call *call, bool is_cut)
{
	const struct client_set *set = call->client->set;

	if (set->facts->is_cut != is_cut)
		log_info("rnicctl of user %u brings the link %s", (unsigned)call->client->peer.uid,
			 is_cut ? "down" : "up");
	set->conditions.cut_link(set->conditions.context, is_cut);
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

/* --- rules of faults ------------------------------------------------------------------------- */

#define FAULT_PIDS_SHOWN 6

/* A rule of a user reaches the user's own device process and programs, which only a daemon of root
 * has. */
static int fault_check_owner(struct ctl_call *call, struct rule_owner *owner)
{
	*owner = (struct rule_owner){
		.uid = call->client->peer.uid,
		.account = call->client->peer.account.user->uid,
		.is_of_all = condition_rules_all(call->client),
	};
	if (!owner->is_of_all && geteuid() != 0)
		return condition_refuse_all(call);
	return 0;
}

/* Refuses a rule that would concern programs with the device inside, which no rule reaches. */
static int fault_check_programs(struct ctl_call *call, const struct rule_owner *owner)
{
	const struct device_set *devices = call->client->set->devices;
	pid_t pids[FAULT_PIDS_SHOWN];
	char text[FAULT_PIDS_SHOWN * sizeof(", 4194304") + sizeof(" ...")] = "";
	const uint32_t count =
		device_set_programs(devices, owner->uid, owner->is_of_all, pids, FAULT_PIDS_SHOWN);

	for (uint32_t i = 0; i < count && i <= FAULT_PIDS_SHOWN; i++) {
		const size_t length = strlen(text);

		if (i == FAULT_PIDS_SHOWN)
			snprintf(text + length, sizeof(text) - length, " ...");
		else
			snprintf(text + length, sizeof(text) - length, "%s%d", i == 0 ? "" : ", ",
				 (int)pids[i]);
	}
	if (count == 0)
		return 0;
	return ctl_refuse(call, -EBUSY,
			  "rules do not reach programs that run with --direct, and these do: pid "
			  "%s",
			  text);
}

/* Refuses rules that name programs of other users: such rules would never act. */
static int fault_check_pids(struct ctl_call *call, const struct rule_owner *owner,
			    const struct rule_needs *needs)
{
	const struct list *node;

	if (owner->is_of_all || needs->pid_count == 0)
		return 0;
	list_for_each (node, &call->client->set->peers.all) {
		const struct client *other = list_entry(node, const struct client, peer.node);

		for (uint32_t i = 0; i < needs->pid_count; i++)
			if (needs->pids[i] == (uint32_t)other->peer.pid &&
			    other->peer.uid != owner->uid)
				return condition_refuse_one(call, other);
	}
	return 0;
}

static int fault_add(struct ctl_call *call, const struct rnic_ctl_condition *request)
{
	struct client *client = call->client;
	const struct client_set *set = client->set;
	struct rule_owner owner;
	char reason[RNIC_CTL_TEXT_BYTES];
	struct rule_needs needs;
	int result = fault_check_owner(call, &owner);

	if (result == 0 && memchr(request->text, 0, sizeof(request->text)) == NULL)
		result = ctl_refuse(call, -EINVAL, "the text of the rules does not end");
	if (result != 0)
		return result;
	result = rule_table_needs(request->text, request->number, &needs, reason, sizeof(reason));
	if (result != 0)
		return ctl_refuse(call, result, "%s", reason);
	result = fault_check_pids(call, &owner, &needs);
	if (result == 0 && needs.has_process)
		result = fault_check_programs(call, &owner);
	if (result != 0)
		return result;
	result = rule_table_add(&set->devices->common.rules, &owner, request->text, request->number,
				&client->rule_first, &client->rule_count, reason, sizeof(reason));
	if (result != 0)
		return ctl_refuse(call, result, "%s", reason);
	set->conditions.set_rules(set->conditions.context, &owner);
	return 0;
}

static int fault_delete(struct ctl_call *call, uint32_t id)
{
	const struct client_set *set = call->client->set;
	struct rule_table *table = &set->devices->common.rules;
	const struct rule_entry *entry = rule_table_find(table, id);
	struct rule_owner owner;

	if (entry == NULL)
		return ctl_refuse(call, -ENOENT, "there is no rule %u: rnicctl fault list", id);
	if (!condition_rules_all(call->client) &&
	    (entry->owner.is_of_all || entry->owner.uid != call->client->peer.uid))
		return condition_refuse(call, "the rule is not yours", "");
	owner = entry->owner;
	rule_table_remove(table, id);
	set->conditions.set_rules(set->conditions.context, &owner);
	return 0;
}

static int fault_clear(struct ctl_call *call)
{
	const struct client_set *set = call->client->set;
	struct rule_owner owner;
	int result = fault_check_owner(call, &owner);

	if (result != 0)
		return result;
	if (rule_table_clear(&set->devices->common.rules, &owner) > 0)
		set->conditions.set_rules(set->conditions.context, &owner);
	return 0;
}

/* Tells the numbers of the rules, unless a process that does not answer is to be told. */
static void fault_tell_rules(struct ctl_call *call)
{
	struct rnic_ctl_condition_reply *reply = (void *)call->reply.payload;
	const struct client *client = call->client;
	const uint32_t first = client->rule_first, count = client->rule_count;

	if (reply->text[0] != '\0' || count == 0)
		return;
	if (count == 1)
		snprintf(reply->text, sizeof(reply->text), "rule %u", first);
	else
		snprintf(reply->text, sizeof(reply->text), "rules %u to %u", first,
			 first + count - 1);
}

/* Changes the rules with the first call, and waits for the device processes with all. */
static int condition_change_rules(struct ctl_call *call, const struct rnic_ctl_condition *request)
{
	int result = 0;

	if (call->progress[0] == 0) {
		switch (request->condition) {
		case RNIC_CONDITION_FAULT_ADD:
			result = fault_add(call, request);
			break;
		case RNIC_CONDITION_FAULT_DELETE:
			result = fault_delete(call, request->number);
			break;
		default:
			result = fault_clear(call);
			break;
		}
		if (result != 0)
			return result;
		call->progress[0] = RNIC_LANE_FIRST;
	}
	result = condition_order_all(call, RNIC_CONDITION_LINK);
	if (result == 0 && request->condition == RNIC_CONDITION_FAULT_ADD)
		fault_tell_rules(call);
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
	case RNIC_CONDITION_LINK_FLAP:
		return condition_rules_all(call->client) ? condition_flap_link(call, request)
							 : condition_refuse_all(call);
	case RNIC_CONDITION_GID_RENUMBER:
		return condition_rules_all(call->client) ? condition_renumber(call)
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
	case RNIC_CONDITION_FAULT_ADD:
	case RNIC_CONDITION_FAULT_DELETE:
	case RNIC_CONDITION_FAULT_CLEAR:
		return condition_change_rules(call, request);
	case RNIC_CONDITION_COUNT:
		break;
	}
	return ctl_refuse(call, -EINVAL, "there is no condition %u", request->condition);
}

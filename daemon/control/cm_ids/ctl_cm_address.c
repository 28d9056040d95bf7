/* SPDX-License-Identifier: MIT */
/* Control requests that give an identifier its addresses: binding, resolving, multicast. */
#include "daemon/control/cm_ids/ctl_cm_handlers.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_address.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/cm_ids/ctl_cm_common.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <string.h>

#define PRIVILEGED_PORTS 1024

/*
 * Whether the identifier that has the wanted address is that of a program that has ended. The
 * request is carried out again then, until the identifier is freed.
 */
static bool holder_has_gone(const struct client_cm_id *holder)
{
	return holder != NULL && client_has_gone(holder->client);
}

/* Binds the identifier to `address`; port 0: the manager chooses a port. */
static int take_address(struct ctl_call *call, struct client_cm_id *id,
			const struct cm_address *address)
{
	int result;

	if (address->port != 0 && address->port < PRIVILEGED_PORTS && call->client->peer.uid != 0)
		return ctl_refuse(call, -EACCES, "only root may use ports below %u",
				  PRIVILEGED_PORTS);
	result = cm_identifier_bind(id, address);
	if (result == -EADDRINUSE && holder_has_gone(cm_identifier_in_the_way(id, address)))
		return -EINPROGRESS;
	if (result == -EADDRINUSE)
		return ctl_refuse(call, result, "port %u is in use", address->port);
	if (result == -EDQUOT)
		return ctl_refuse(call, -EADDRNOTAVAIL,
				  "the user's programs have as many ports as one user may have");
	if (result != 0)
		return ctl_refuse(call, result, "no port is available: %s", strerror(-result));
	id->local = *cm_binding_address(id->binding);
	return 0;
}

int ctl_cm_bind(struct ctl_call *call)
{
	const struct rnic_ctl_cm_bind *request = (const void *)call->request.payload;
	const struct rnic_ctl_gids_reply *gids = &call->client->set->facts->gids;
	struct cm_address local;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	if (!cm_address_from_endpoint(&request->local, &local))
		return ctl_refuse(call, -EINVAL, "the address to bind to is neither IPv4 nor IPv6");
	if (!cm_address_is_any(&local) && !cm_address_to_own(gids, &local))
		return ctl_refuse(call, -EADDRNOTAVAIL,
				  "that address is not an address of the device");
	result = take_address(call, id, &local);
	if (result != 0)
		return result;
	id->has_local = !cm_address_is_any(&local);
	id->setup = CM_ID_BOUND;
	cm_identifier_describe(id, (void *)call->reply.payload);
	return 0;
}

int ctl_cm_listen(struct ctl_call *call)
{
	const struct rnic_ctl_cm_listen *request = (const void *)call->request.payload;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	if (id->binding == NULL) {
		result = take_address(call, id, &(struct cm_address){.gid = cm_address_any_ipv4()});
		if (result != 0)
			return result;
		id->setup = CM_ID_BOUND;
	}
	result = cm_listen(id->binding, request->backlog);
	if (result == -EADDRINUSE && holder_has_gone(cm_listen_holder(id->binding)))
		return -EINPROGRESS;
	if (result != 0)
		return ctl_refuse(call, result, "another listener has that address already");
	id->setup = CM_ID_LISTENING;
	cm_identifier_describe(id, (void *)call->reply.payload);
	return 0;
}

static int check_room(struct ctl_call *call, struct client_cm_id *id)
{
	int result = cm_identifier_check_room(id);

	return result == 0 ? 0 : ctl_refuse(call, result, "too many events of the identifier wait");
}

/*
 * Chooses the device's address for `peer`. 0; -EADDRNOTAVAIL the requested source is not the
 * device's; -EINVAL the requested source is not an address, or is of another family; else the
 * reason why `peer` is unreachable.
 */
static int choose_source(const struct client_cm_id *id, const struct rnic_endpoint *source,
			 const struct cm_address *peer, struct cm_address *local)
{
	const struct rnic_ctl_gids_reply *gids = &id->client->set->facts->gids;
	struct cm_address wanted = id->local;

	if (!id->has_local && source->family != 0) {
		if (!cm_address_from_endpoint(source, &wanted))
			return -EINVAL;
		if (!cm_address_is_any(&wanted) && !cm_address_to_own(gids, &wanted))
			return -EADDRNOTAVAIL;
	}
	if (id->binding != NULL)
		wanted.port = id->local.port;
	*local = wanted;
	if (id->has_local || (source->family != 0 && !cm_address_is_any(&wanted)))
		return rnic_gid_is_ipv4(&wanted.gid) == rnic_gid_is_ipv4(&peer->gid) ? 0 : -EINVAL;
	return cm_address_choose_source(gids, &peer->gid, &local->gid);
}

static void end_resolution(struct client_cm_id *id, int status)
{
	id->has_local |= status == 0;
	id->has_peer = status == 0;
	id->setup = status == 0 ? CM_ID_ADDRESS_RESOLVED : CM_ID_BOUND;
	cm_identifier_report(id, status == 0 ? RNIC_CM_ADDR_RESOLVED : RNIC_CM_ADDR_ERROR, status,
			     NULL);
}

static void ctl_cm_address_on_query(struct neighbour_query *query, int status)
{
	end_resolution(RNIC_CONTAINER_OF(query, struct client_cm_id, query), status);
}

/*
 * Waits for the link address of the peer, or of the router to it, as Linux does. The device itself
 * has no neighbour to ask.
 */
static void await_neighbour(struct client_cm_id *id, bool is_own, uint32_t timeout_ms)
{
	struct client_set *set = id->client->set;
	const uint64_t until_ns = set->now_ns + timeout_ms * RNIC_NS_PER_MS;

	id->query.ended = ctl_cm_address_on_query;
	if (is_own || set->neighbours == NULL ||
	    !neighbour_queries_begin(set->neighbours, &id->query, &id->local.gid, &id->peer.gid,
				     until_ns)) {
		end_resolution(id, 0);
		return;
	}
	id->has_peer = false;
	id->setup = CM_ID_ADDRESS_RESOLVING;
}

int ctl_cm_resolve_address(struct ctl_call *call)
{
	const struct rnic_ctl_cm_resolve_address *request = (const void *)call->request.payload;
	struct cm_address peer, local;
	bool is_own;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	if (!cm_address_from_endpoint(&request->destination, &peer) || cm_address_is_any(&peer))
		return ctl_refuse(call, -EINVAL, "the destination is not an address");
	result = check_room(call, id);
	if (result != 0)
		return result;
	is_own = cm_address_to_own(&call->client->set->facts->gids, &peer);
	result = choose_source(id, &request->source, &peer, &local);
	if (result == -EADDRNOTAVAIL)
		return ctl_refuse(call, result, "the source is not an address of the device");
	if (result == -EINVAL)
		return ctl_refuse(call, result, "no such source reaches that destination");
	if (result != 0) {
		cm_identifier_report(id, RNIC_CM_ADDR_ERROR, result, NULL);
		return 0;
	}
	if (id->binding == NULL) {
		result = take_address(call, id, &local);
		if (result != 0)
			return result;
	}
	id->local.gid = local.gid;
	id->peer = peer;
	await_neighbour(id, is_own, request->timeout_ms);
	return 0;
}

/* The device's interface has one route, and the address resolution has found it. */
int ctl_cm_resolve_route(struct ctl_call *call)
{
	const struct rnic_ctl_cm_resolve_route *request = (const void *)call->request.payload;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	id->setup = CM_ID_ROUTE_RESOLVED;
	cm_identifier_report(id, RNIC_CM_ROUTE_RESOLVED, 0, NULL);
	return 0;
}

static int ctl_cm_address_find_group(struct ctl_call *call, struct cm_address *group)
{
	const struct rnic_ctl_cm_multicast *request = (const void *)call->request.payload;

	if (!cm_address_from_endpoint(&request->group, group) ||
	    !rnic_gid_is_multicast(&group->gid))
		return ctl_refuse(call, -EINVAL, "that is not a multicast address");
	return 0;
}

int ctl_cm_join_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_cm_multicast *request = (const void *)call->request.payload;
	struct cm_address group;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	if (id->qp_type != RNIC_QP_TYPE_UD)
		return ctl_refuse(call, -EINVAL, "only datagram services join multicast groups");
	result = check_room(call, id);
	if (result != 0)
		return result;
	result = ctl_cm_address_find_group(call, &group);
	if (result != 0)
		return result;
	if (!id->has_local) {
		result = cm_address_choose_source(&call->client->set->facts->gids, &group.gid,
						  &id->local.gid);
		if (result != 0)
			return ctl_refuse(call, -EADDRNOTAVAIL,
					  "the device has no address for that group");
		id->has_local = true;
	}
	result = cm_identifier_join(id, &group);
	if (result != 0)
		return ctl_refuse(call, result, "the identifier cannot join: %s",
				  strerror(-result));
	cm_identifier_report(id, RNIC_CM_MULTICAST_JOIN, 0, &group);
	return 0;
}

int ctl_cm_leave_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_cm_multicast *request = (const void *)call->request.payload;
	struct cm_address group;
	int result;
	struct client_cm_id *id = ctl_cm_find(call, request->id, &result);

	if (id == NULL)
		return result;
	result = ctl_cm_address_find_group(call, &group);
	if (result != 0)
		return result;
	if (cm_identifier_leave(id, &group) != 0)
		return ctl_refuse(call, -EINVAL, "the identifier has not joined that group");
	return 0;
}

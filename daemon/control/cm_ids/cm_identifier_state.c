/* SPDX-License-Identifier: MIT */
/* The state of an identifier, and which requests a state allows. */
#include "daemon/control/cm_ids/cm_identifier.h"

#define IN(state) (1u << CM_ID_##state)
#define ANYWHERE  ((1u << CM_ID_STATE_COUNT) - 1)
#define JOINABLE  (IN(BOUND) | IN(ADDRESS_RESOLVED) | IN(ROUTE_RESOLVED) | IN(CONNECTED))

/* The states that allow an operation. An operation without an entry needs no state. */
static const uint32_t operation_states[RNIC_CTL_OPERATION_COUNT] = {
	[RNIC_CTL_CM_BIND] = IN(IDLE),
	[RNIC_CTL_CM_RESOLVE_ADDRESS] = IN(IDLE) | IN(BOUND) | IN(ADDRESS_RESOLVED),
	[RNIC_CTL_CM_RESOLVE_ROUTE] = IN(ADDRESS_RESOLVED),
	[RNIC_CTL_CM_LISTEN] = IN(IDLE) | IN(BOUND),
	[RNIC_CTL_CM_CONNECT] = IN(ROUTE_RESOLVED),
	[RNIC_CTL_CM_ACCEPT] = IN(REQUESTED),
	[RNIC_CTL_CM_REJECT] = IN(REQUESTED) | IN(ANSWERED),
	[RNIC_CTL_CM_ESTABLISH] = IN(ANSWERED),
	[RNIC_CTL_CM_DISCONNECT] = IN(ANSWERED) | IN(ACCEPTED) | IN(CONNECTED) | IN(CLOSED),
	[RNIC_CTL_CM_JOIN_MCAST] = JOINABLE,
	[RNIC_CTL_CM_LEAVE_MCAST] = ANYWHERE,
	[RNIC_CTL_CM_SET_OPTION] = ANYWHERE,
};

enum cm_id_state cm_identifier_state(const struct client_cm_id *id)
{
	static const uint8_t phase_states[CM_PHASE_COUNT] = {
		[CM_PHASE_CONNECTING] = CM_ID_CONNECTING, [CM_PHASE_ANSWERED] = CM_ID_ANSWERED,
		[CM_PHASE_REQUESTED] = CM_ID_REQUESTED,	  [CM_PHASE_ACCEPTED] = CM_ID_ACCEPTED,
		[CM_PHASE_CONNECTED] = CM_ID_CONNECTED,	  [CM_PHASE_CLOSED] = CM_ID_CLOSED,
	};

	if (id->connection == NULL)
		return (enum cm_id_state)id->setup;
	return (enum cm_id_state)phase_states[cm_connection_phase(id->connection)];
}

bool cm_identifier_allows(const struct client_cm_id *id, uint32_t operation)
{
	return (operation_states[operation] & 1u << cm_identifier_state(id)) != 0;
}

const char *cm_identifier_state_name(const struct client_cm_id *id)
{
	static const char *const names[CM_ID_STATE_COUNT] = {
		[CM_ID_IDLE] = "idle",
		[CM_ID_BOUND] = "bound",
		[CM_ID_ADDRESS_RESOLVING] = "addr query",
		[CM_ID_ADDRESS_RESOLVED] = "addr resolved",
		[CM_ID_ROUTE_RESOLVED] = "route resolved",
		[CM_ID_LISTENING] = "listening",
		[CM_ID_CONNECTING] = "connecting",
		[CM_ID_ANSWERED] = "answered",
		[CM_ID_REQUESTED] = "requested",
		[CM_ID_ACCEPTED] = "accepted",
		[CM_ID_CONNECTED] = "connected",
		[CM_ID_CLOSED] = "closed",
	};

	return names[cm_identifier_state(id)];
}

/* SPDX-License-Identifier: MIT */
/*
 * The end of a remote procedure call: <rnic/rpc.h>. The numbers are on the wire and never change.
 */
#ifndef RNIC_RPC_STATUS_H
#define RNIC_RPC_STATUS_H

#include <rnic/rnic.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rnic_rpc_status {
	RNIC_RPC_OK = 0,
	RNIC_RPC_CANCELLED,	    /* by its caller */
	RNIC_RPC_DEADLINE_EXCEEDED, /* the server may have executed it */
	RNIC_RPC_NO_SERVICE,
	RNIC_RPC_NO_METHOD,
	RNIC_RPC_BAD_REQUEST,	  /* the server could not read the request */
	RNIC_RPC_BAD_ANSWER,	  /* the client could not read the answer */
	RNIC_RPC_OVERLOADED,	  /* not executed; a later call may be */
	RNIC_RPC_UNAVAILABLE,	  /* no server; the call was not executed, or is idempotent */
	RNIC_RPC_OUTCOME_UNKNOWN, /* the server went away; it may have executed the call, once */
	RNIC_RPC_INTERNAL,	  /* the service failed */
	RNIC_RPC_TOO_LARGE,	  /* the request, not executed; or the answer, executed */
	RNIC_RPC_STATUS_COUNT,
};

/* A sentence for people, without a full stop, for any number. */
RNIC_API const char *rnic_rpc_status_text(uint32_t status);

#ifdef __cplusplus
}
#endif

#endif

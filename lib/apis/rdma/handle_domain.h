/* SPDX-License-Identifier: MIT */
/*
 * A session with the daemon and a protection domain in it. All handles of the process share one
 * session, from the first handle that is made to the last that is destroyed. After the daemon's
 * death the next handles share another.
 */
#ifndef LIB_APIS_RDMA_HANDLE_DOMAIN_H
#define LIB_APIS_RDMA_HANDLE_DOMAIN_H

#include <rnic/rnic.h>

struct rnic_handle_session {
	unsigned references; /* under the lock of all sessions */
	struct rnic_context *context;
	struct rnic_pd *pd;
};

/*
 * Takes a reference to the session whose daemon lives, and opens that session first if there is
 * none.
 */
int rnic_handle_session_hold(struct rnic_handle_session **session);

/* NULL is allowed. */
void rnic_handle_session_release(struct rnic_handle_session *session);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A connection to the daemon with one protection domain, after which this object is named. All
 * handles of the process share one domain, from the first handle that is made to the last that is
 * destroyed. After the daemon's death the next handles share another.
 */
#ifndef LIB_APIS_RDMA_HANDLE_DOMAIN_H
#define LIB_APIS_RDMA_HANDLE_DOMAIN_H

#include <rnic/rnic.h>

struct rnic_handle_domain {
	unsigned references; /* under the lock of all domains */
	struct rnic_context *context;
	struct rnic_pd *pd;
};

/*
 * Takes a reference to the domain whose daemon lives, and opens that domain first if there is
 * none.
 */
int rnic_handle_domain_hold(struct rnic_handle_domain **domain);

/* NULL is allowed. */
void rnic_handle_domain_release(struct rnic_handle_domain *domain);

#endif

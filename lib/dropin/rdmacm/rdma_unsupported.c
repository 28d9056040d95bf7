/* SPDX-License-Identifier: MIT */
/* Functions of releases of rdma-core later than the headers of this build. */
#include "lib/client/native/refuse.h"
#include "lib/dropin/rdmacm/rdma_interface.h"

#pragma GCC visibility push(default)
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t argument);
struct epoll_event;
int repoll_create(int flags);
int repoll_ctl(int repoll, int operation, int socket, struct epoll_event *event);
int repoll_wait(int repoll, struct epoll_event *events, int count, int timeout_ms);
#pragma GCC visibility pop

REFUSES_WITH_MINUS_ONE(int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
						 const char *service,
						 const struct rdma_addrinfo *hints))
REFUSES_WITH_MINUS_ONE(int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info))
REFUSES_WITH_MINUS_ONE(int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
					       int status, uint64_t argument))
REFUSES_WITH_MINUS_ONE(int repoll_create(int flags))
REFUSES_WITH_MINUS_ONE(int repoll_ctl(int repoll, int operation, int socket,
				      struct epoll_event *event))
REFUSES_WITH_MINUS_ONE(int repoll_wait(int repoll, struct epoll_event *events, int count,
				       int timeout_ms))

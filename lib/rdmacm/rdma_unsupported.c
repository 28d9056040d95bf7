/* SPDX-License-Identifier: MIT */
/* The connection manager is not served: no event channel and no identifier comes into being. */
#include "native/refuse.h"
#include "rdmacm/rdma_interface.h"

#include <stddef.h>

/* Of releases of rdma-core later than the headers that this is built with. */
#pragma GCC visibility push(default)
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t argument);
#pragma GCC visibility pop

REFUSES_WITH_NULL(struct rdma_event_channel *rdma_create_event_channel(void))
HAS_NOTHING_TO_DO(void rdma_destroy_event_channel(struct rdma_event_channel *channel))
REFUSES_WITH_MINUS_ONE(int rdma_get_cm_event(struct rdma_event_channel *channel,
					     struct rdma_cm_event **event))
REFUSES_WITH_MINUS_ONE(int rdma_ack_cm_event(struct rdma_cm_event *event))

REFUSES_WITH_MINUS_ONE(int rdma_create_id(struct rdma_event_channel *channel,
					  struct rdma_cm_id **id, void *context,
					  enum rdma_port_space ps))
REFUSES_WITH_MINUS_ONE(int rdma_destroy_id(struct rdma_cm_id *id))
REFUSES_WITH_MINUS_ONE(int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res,
					  struct ibv_pd *pd, struct ibv_qp_init_attr *attributes))
HAS_NOTHING_TO_DO(void rdma_destroy_ep(struct rdma_cm_id *id))
REFUSES_WITH_MINUS_ONE(int rdma_migrate_id(struct rdma_cm_id *id,
					   struct rdma_event_channel *channel))
REFUSES_WITH_MINUS_ONE(int rdma_set_option(struct rdma_cm_id *id, int level, int optname,
					   void *optval, size_t optlen))

REFUSES_WITH_MINUS_ONE(int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr))
REFUSES_WITH_MINUS_ONE(int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
					     struct sockaddr *dst_addr, int timeout_ms))
REFUSES_WITH_MINUS_ONE(int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms))
REFUSES_WITH_MINUS_ONE(int rdma_getaddrinfo(const char *node, const char *service,
					    const struct rdma_addrinfo *hints,
					    struct rdma_addrinfo **res))
HAS_NOTHING_TO_DO(void rdma_freeaddrinfo(struct rdma_addrinfo *res))
REFUSES_WITH_MINUS_ONE(int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
						 const char *service,
						 const struct rdma_addrinfo *hints))
REFUSES_WITH_MINUS_ONE(int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info))
RNIC_REFUSES_WITH(0, __be16 rdma_get_src_port(struct rdma_cm_id *id))
RNIC_REFUSES_WITH(0, __be16 rdma_get_dst_port(struct rdma_cm_id *id))

REFUSES_WITH_MINUS_ONE(int rdma_listen(struct rdma_cm_id *id, int backlog))
REFUSES_WITH_MINUS_ONE(int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id))
REFUSES_WITH_MINUS_ONE(int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters))
REFUSES_WITH_MINUS_ONE(int rdma_establish(struct rdma_cm_id *id))
REFUSES_WITH_MINUS_ONE(int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters))
REFUSES_WITH_MINUS_ONE(int rdma_reject(struct rdma_cm_id *id, const void *private_data,
				       uint8_t private_data_len))
REFUSES_WITH_MINUS_ONE(int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
					   uint8_t private_data_len))
REFUSES_WITH_MINUS_ONE(int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event))
REFUSES_WITH_MINUS_ONE(int rdma_disconnect(struct rdma_cm_id *id))
REFUSES_WITH_MINUS_ONE(int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
					       int status, uint64_t argument))

REFUSES_WITH_MINUS_ONE(int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
					  struct ibv_qp_init_attr *attributes))
REFUSES_WITH_MINUS_ONE(int rdma_create_qp_ex(struct rdma_cm_id *id,
					     struct ibv_qp_init_attr_ex *attributes))
HAS_NOTHING_TO_DO(void rdma_destroy_qp(struct rdma_cm_id *id))
REFUSES_WITH_MINUS_ONE(int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attributes,
					     int *mask))
REFUSES_WITH_MINUS_ONE(int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
					   struct ibv_srq_init_attr *attributes))
REFUSES_WITH_MINUS_ONE(int rdma_create_srq_ex(struct rdma_cm_id *id,
					      struct ibv_srq_init_attr_ex *attributes))
HAS_NOTHING_TO_DO(void rdma_destroy_srq(struct rdma_cm_id *id))

REFUSES_WITH_MINUS_ONE(int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
					       void *context))
REFUSES_WITH_MINUS_ONE(int rdma_join_multicast_ex(struct rdma_cm_id *id,
						  struct rdma_cm_join_mc_attr_ex *attributes,
						  void *context))
REFUSES_WITH_MINUS_ONE(int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr))
REFUSES_WITH_MINUS_ONE(int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece))
REFUSES_WITH_MINUS_ONE(int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece))

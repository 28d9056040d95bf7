/* SPDX-License-Identifier: MIT */
/*
 * The sizes that programs were compiled with (x86-64, rdma-core 39 to 44). Headers of another
 * release may have grown a struct; then this says which, and the slack of
 * lib/dropin/verbs/ibv_objects.h must be looked at.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#if defined(__x86_64__)
#define SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), "size of " #type)

SIZE(ibv_device, 664);
SIZE(ibv_context, 328);
SIZE(ibv_device_attr, 232);
SIZE(ibv_device_attr_ex, 400);
SIZE(ibv_wc, 48);
SIZE(ibv_send_wr, 128);
SIZE(ibv_qp, 160);
SIZE(ibv_cq, 128);
SIZE(ibv_cq_ex, 288);
SIZE(ibv_srq, 128);
SIZE(ibv_mr, 48);
SIZE(ibv_pd, 16);
SIZE(ibv_ah_attr, 32);
SIZE(ibv_qp_attr, 144);
SIZE(ibv_qp_init_attr_ex, 136);
SIZE(rdma_cm_id, 416);
SIZE(rdma_cm_event, 80);
SIZE(rdma_addrinfo, 96);

/* These grow; what is not yet known to a program must lie behind what is. */
_Static_assert(sizeof(struct ibv_port_attr) >= 52, "size of ibv_port_attr");
_Static_assert(sizeof(struct ibv_qp_ex) >= 344, "size of ibv_qp_ex");
_Static_assert(sizeof(struct verbs_context) >= 648, "size of verbs_context");
_Static_assert(offsetof(struct ibv_port_attr, port_cap_flags2) == 48,
	       "the old port attributes end");
#endif

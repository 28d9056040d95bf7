/* SPDX-License-Identifier: MIT */
/*
 * What stands behind the structs of <infiniband/verbs.h> when our libibverbs.so.1 made them.
 *
 * Each object embeds the public struct and points to the native object that does the work; programs
 * see the embedded struct only. Public structs that grow between releases of rdma-core lie in
 * blocks with slack, so that a program built against a later header reads zeros or finds a refusal,
 * never our data.
 */
#ifndef RNIC_VERBS_OBJECTS_H
#define RNIC_VERBS_OBJECTS_H

/* Hidden is the default here; what the public header declares is what this library exports. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#include "base/bits.h"

#include <rnic/rnic.h>

#include <stdatomic.h>

/* The macros of the header stand in front of the functions that they call. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define RNIC_VERBS_PORT 1

/*
 * Providers of rdma-core that a program links compare a pointer which lies right behind struct
 * ibv_device with their own; in this zeroed block they find NULL.
 */
#define RNIC_VERBS_DEVICE_VIEW_BYTES 1024
#define RNIC_VERBS_QP_VIEW_BYTES     512
#define RNIC_VERBS_CQ_VIEW_BYTES     512

struct rnic_verbs_device {
	union {
		struct ibv_device device;
		uint8_t view[RNIC_VERBS_DEVICE_VIEW_BYTES];
	};
	atomic_uint references; /* of lists and of contexts */
	struct rnic_device_attributes attributes;
};

struct rnic_verbs_context {
	struct rnic_context *native;
	struct rnic_verbs_device *device;
	struct verbs_context verbs; /* last: programs find members counting from its end */
};

struct rnic_verbs_pd {
	struct ibv_pd pd;
	struct rnic_pd *native;
};

struct rnic_verbs_mr {
	struct ibv_mr mr;
	struct rnic_mr *native;
};

struct rnic_verbs_channel {
	struct ibv_comp_channel channel;
	struct rnic_channel *native;
};

struct rnic_verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
		uint8_t view[RNIC_VERBS_CQ_VIEW_BYTES];
	};
	struct rnic_cq *native;
	struct rnic_completion current; /* what the extended face reads */
};

struct rnic_verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
		uint8_t view[RNIC_VERBS_QP_VIEW_BYTES];
	};
	struct rnic_qp *native;
	bool signal_all;
};

struct rnic_verbs_ah {
	struct ibv_ah ah;
	struct rnic_ah *native;
};

_Static_assert(sizeof(struct ibv_device) + sizeof(void *) <= RNIC_VERBS_DEVICE_VIEW_BYTES,
	       "providers look behind the device");
_Static_assert(sizeof(struct ibv_qp_ex) < RNIC_VERBS_QP_VIEW_BYTES, "slack for later headers");
_Static_assert(sizeof(struct ibv_cq_ex) < RNIC_VERBS_CQ_VIEW_BYTES, "slack for later headers");

static inline struct rnic_verbs_context *rnic_verbs_context(struct ibv_context *context)
{
	return RNIC_CONTAINER_OF(context, struct rnic_verbs_context, verbs.context);
}

static inline struct rnic_context *rnic_verbs_native(struct ibv_context *context)
{
	return rnic_verbs_context(context)->native;
}

static inline struct rnic_verbs_device *rnic_verbs_device(struct ibv_device *device)
{
	return RNIC_CONTAINER_OF(device, struct rnic_verbs_device, device);
}

static inline struct rnic_verbs_pd *rnic_verbs_pd(struct ibv_pd *pd)
{
	return RNIC_CONTAINER_OF(pd, struct rnic_verbs_pd, pd);
}

static inline struct rnic_verbs_cq *rnic_verbs_cq(struct ibv_cq *cq)
{
	return RNIC_CONTAINER_OF(cq, struct rnic_verbs_cq, cq);
}

static inline struct rnic_verbs_qp *rnic_verbs_qp(struct ibv_qp *qp)
{
	return RNIC_CONTAINER_OF(qp, struct rnic_verbs_qp, qp);
}

static inline struct rnic_verbs_ah *rnic_verbs_ah(const struct ibv_ah *ah)
{
	return RNIC_CONTAINER_OF(ah, struct rnic_verbs_ah, ah);
}

/* Puts the functions that inline verbs call into a new context. */
void rnic_verbs_fill_data_path(struct ibv_context_ops *ops);   /* ibv_post.c */
void rnic_verbs_fill_unsupported(struct verbs_context *verbs); /* ibv_unsupported.c */
void rnic_verbs_fill_unsupported_qp(struct rnic_verbs_qp *qp); /* ibv_unsupported.c */
void rnic_verbs_fill_unsupported_cq(struct rnic_verbs_cq *cq); /* ibv_unsupported.c */

/* Operations of the extended context that are served. */
int rnic_verbs_query_device_ex(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attributes, size_t bytes);
int rnic_verbs_query_port(struct ibv_context *context, uint8_t port,
			  struct ibv_port_attr *attributes, size_t bytes);
struct ibv_cq_ex *rnic_verbs_create_cq_ex(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attributes);
struct ibv_qp *rnic_verbs_create_qp_ex(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attributes);

#endif

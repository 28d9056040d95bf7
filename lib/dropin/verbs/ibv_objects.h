/* SPDX-License-Identifier: MIT */
/*
 * The objects behind the structs of <infiniband/verbs.h> that our libibverbs.so.1 makes.
 *
 * Each object embeds the public struct and points to the native object that does the work; programs
 * see the embedded struct only. Public structs that grow between releases of rdma-core lie in
 * blocks with slack, so that a program built against a later header reads zeros or finds a refusal,
 * never our data.
 */
#ifndef LIB_DROPIN_VERBS_IBV_OBJECTS_H
#define LIB_DROPIN_VERBS_IBV_OBJECTS_H

/* Hidden visibility is the default here; this library exports what the public header declares. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#include "proto/base/bits.h"

#include <rnic/rnic.h>

#include <stdatomic.h>

/* The macros of the header stand in front of the functions that they call. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define RNIC_VERBS_PORT		1
#define RNIC_VERBS_DM_BYTES_MAX (UINT32_C(16) << 20) /* of one opened device */

/*
 * Providers of rdma-core that a program links compare a pointer right behind struct ibv_device with
 * their own; in this zeroed block they find NULL.
 */
#define RNIC_VERBS_DEVICE_VIEW_BYTES 1024
#define RNIC_VERBS_QP_VIEW_BYTES     512
#define RNIC_VERBS_CQ_VIEW_BYTES     512
#define RNIC_VERBS_SRQ_VIEW_BYTES    256

struct rnic_verbs_device {
	union {
		struct ibv_device device;
		uint8_t view[RNIC_VERBS_DEVICE_VIEW_BYTES];
	};
	atomic_uint references; /* of lists and of contexts */
	uint32_t index;
	uint64_t node_guid; /* host order */
	char socket_path[RNIC_SOCKET_PATH_BYTES];
};

struct rnic_verbs_opened; /* ibv_opened.h */
struct rnic_verbs_send_batch;

struct rnic_verbs_context {
	struct rnic_context *native;
	struct rnic_verbs_opened *opened;
	struct rnic_verbs_device *device;
	struct verbs_context verbs; /* last: programs find members counting from its end */
};

/* Names an object for a program that imports its context. */
struct rnic_verbs_export {
	struct rnic_verbs_export *next;
	struct rnic_verbs_export **link; /* what points to this one in the list of exports */
	uint32_t kind;			 /* enum rnic_verbs_export_kind */
	uint32_t handle;
	uint32_t key; /* of an MR: its lkey */
};

/* As the object was made, whatever its public struct says: see ibv_made.h. */
struct rnic_verbs_made {
	struct ibv_context *context;
	uint32_t handle;
};

struct rnic_verbs_td {
	struct ibv_td td;
	atomic_uint users; /* parent domains */
	struct rnic_verbs_made made;
};

struct rnic_verbs_pd {
	struct ibv_pd pd;
	struct rnic_pd *native;
	struct rnic_verbs_export export;
	atomic_uint users;	      /* parent domains of it */
	struct rnic_verbs_pd *parent; /* of a parent domain: what it extends, else NULL */
	struct rnic_verbs_td *td;     /* of a parent domain, or NULL */
	struct rnic_verbs_made made;
};

/* The part that device memory and its imports share. It goes with the last reference. */
struct rnic_verbs_dm_memory {
	struct rnic_context *native;
	uint8_t *bytes;
	size_t length;
	atomic_uint references; /* of the handles and the regions */
	atomic_uint regions;
};

struct rnic_verbs_dm {
	struct ibv_dm dm;
	struct rnic_verbs_dm_memory *memory;
	struct rnic_verbs_export export;
	struct rnic_verbs_made made;
};

struct rnic_verbs_mr {
	struct ibv_mr mr;
	struct rnic_mr *native;
	struct rnic_verbs_export export;
	struct rnic_verbs_dm_memory *dm; /* that the region lies in, or NULL */
	void *mapping;			 /* of a descriptor that was registered, or NULL */
	size_t mapping_bytes;
	uint8_t *memory; /* its first byte */
	uint64_t iova;
	uint32_t access;
	struct rnic_verbs_made made;
};

struct rnic_verbs_mw {
	struct ibv_mw mw;
	struct rnic_mw *native;
	struct rnic_verbs_mw *next_bound; /* in a batch that binds windows; at its end itself */
	uint32_t bound_rkey;		  /* the key that the batch gives to the window */
	struct rnic_verbs_made made;
};

struct rnic_verbs_channel {
	struct ibv_comp_channel channel;
	struct rnic_channel *native;
	struct rnic_verbs_made made;
};

struct rnic_verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
		uint8_t view[RNIC_VERBS_CQ_VIEW_BYTES];
	};
	struct rnic_cq *native;
	struct rnic_completion current; /* what the extended operations read */
	int64_t clocks_apart_ns;	/* in this poll: wall clock less monotonic clock */
	bool has_wall_clock;
	bool is_single_threaded;
	struct rnic_verbs_made made;
};

struct rnic_verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
		uint8_t view[RNIC_VERBS_QP_VIEW_BYTES];
	};
	struct rnic_qp *native;
	struct rnic_verbs_send_batch *batch; /* of the extended operations, else NULL */
	bool signal_all;
	struct rnic_verbs_made made;
};

struct rnic_verbs_srq {
	union {
		struct ibv_srq srq;
		uint8_t view[RNIC_VERBS_SRQ_VIEW_BYTES];
	};
	struct rnic_srq *native;
	struct rnic_verbs_made made;
};

struct rnic_verbs_xrcd {
	struct ibv_xrcd xrcd;
	struct rnic_xrcd *native;
	struct rnic_verbs_made made;
};

struct rnic_verbs_ah {
	struct ibv_ah ah;
	struct rnic_ah *native;
	struct rnic_verbs_made made;
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

static inline struct rnic_verbs_td *rnic_verbs_td(struct ibv_td *td)
{
	return RNIC_CONTAINER_OF(td, struct rnic_verbs_td, td);
}

static inline struct rnic_verbs_dm *rnic_verbs_dm(struct ibv_dm *dm)
{
	return RNIC_CONTAINER_OF(dm, struct rnic_verbs_dm, dm);
}

static inline struct rnic_verbs_channel *rnic_verbs_channel(struct ibv_comp_channel *channel)
{
	return RNIC_CONTAINER_OF(channel, struct rnic_verbs_channel, channel);
}

static inline struct rnic_verbs_mr *rnic_verbs_mr(struct ibv_mr *mr)
{
	return RNIC_CONTAINER_OF(mr, struct rnic_verbs_mr, mr);
}

static inline struct rnic_verbs_mw *rnic_verbs_mw(struct ibv_mw *mw)
{
	return RNIC_CONTAINER_OF(mw, struct rnic_verbs_mw, mw);
}

static inline struct rnic_verbs_cq *rnic_verbs_cq(struct ibv_cq *cq)
{
	return RNIC_CONTAINER_OF(cq, struct rnic_verbs_cq, cq);
}

static inline struct rnic_verbs_qp *rnic_verbs_qp(struct ibv_qp *qp)
{
	return RNIC_CONTAINER_OF(qp, struct rnic_verbs_qp, qp);
}

static inline struct rnic_verbs_srq *rnic_verbs_srq(struct ibv_srq *srq)
{
	return RNIC_CONTAINER_OF(srq, struct rnic_verbs_srq, srq);
}

static inline struct rnic_verbs_xrcd *rnic_verbs_xrcd(struct ibv_xrcd *xrcd)
{
	return RNIC_CONTAINER_OF(xrcd, struct rnic_verbs_xrcd, xrcd);
}

static inline struct rnic_verbs_ah *rnic_verbs_ah(const struct ibv_ah *ah)
{
	return RNIC_CONTAINER_OF(ah, struct rnic_verbs_ah, ah);
}

/*
 * Makes a context of `opened`. The caller's reference and `cmd_fd` become the context's. NULL with
 * errno: no memory; both stay the caller's. In ibv_device.c.
 */
struct ibv_context *rnic_verbs_context_create(struct rnic_verbs_opened *opened, int cmd_fd);

/* Gives a reference to the device back. In ibv_device.c. */
void rnic_verbs_device_release(struct rnic_verbs_device *device);

/*
 * The extended operations that are offered, a mask of enum ibv_qp_create_send_ops_flags.
 * ibv_qp_ex.c
 */
uint64_t rnic_verbs_served_send_operations(enum ibv_qp_type type);

/* Gives a queue pair some of the extended operations. -ENOMEM. In ibv_qp_ex.c. */
int rnic_verbs_add_send_batch(struct rnic_verbs_qp *qp, uint64_t send_operations,
			      uint32_t max_inline_bytes);

/* Puts the functions that inline verbs call into a new context. */
void rnic_verbs_fill_data_path(struct ibv_context_ops *ops);   /* ibv_post.c */
void rnic_verbs_fill_windows(struct ibv_context_ops *ops);     /* ibv_window.c */
void rnic_verbs_fill_unsupported_qp(struct rnic_verbs_qp *qp); /* ibv_unsupported.c */
void rnic_verbs_fill_unsupported_cq(struct rnic_verbs_cq *cq); /* ibv_unsupported.c */

/* Operations of the extended context that are served. */
int rnic_verbs_query_device_ex(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attributes, size_t bytes);
int rnic_verbs_query_port(struct ibv_context *context, uint8_t port,
			  struct ibv_port_attr *attributes, size_t bytes);
int rnic_verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
int rnic_verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attributes);
int rnic_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *elements, uint32_t count);
struct ibv_td *rnic_verbs_alloc_td(struct ibv_context *context,
				   struct ibv_td_init_attr *attributes);
int rnic_verbs_dealloc_td(struct ibv_td *td);
struct ibv_pd *rnic_verbs_alloc_parent_domain(struct ibv_context *context,
					      struct ibv_parent_domain_init_attr *attributes);
struct ibv_dm *rnic_verbs_alloc_dm(struct ibv_context *context,
				   struct ibv_alloc_dm_attr *attributes);
int rnic_verbs_free_dm(struct ibv_dm *dm);
struct ibv_mr *rnic_verbs_alloc_null_mr(struct ibv_pd *pd);
/* A region lies in the memory from here on; no longer. The memory stays as long as its regions. */
void rnic_verbs_dm_region_made(struct rnic_verbs_dm_memory *memory);
void rnic_verbs_dm_region_gone(struct ibv_context *context, struct rnic_verbs_dm_memory *memory);
struct ibv_mr *rnic_verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				    size_t length, unsigned access);
/* ibv_create_cq() with flags of enum rnic_cq_flag. */
struct ibv_cq *rnic_verbs_create_cq(struct ibv_context *context, int entries, void *cq_context,
				    struct ibv_comp_channel *channel, int completion_vector,
				    uint32_t flags);
struct ibv_cq_ex *rnic_verbs_create_cq_ex(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attributes);
struct ibv_qp *rnic_verbs_create_qp_ex(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attributes);
struct ibv_srq *rnic_verbs_create_srq_ex(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *attributes);
int rnic_verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number);
struct ibv_xrcd *rnic_verbs_open_xrcd(struct ibv_context *context,
				      struct ibv_xrcd_init_attr *attributes);
int rnic_verbs_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *rnic_verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attributes);

#endif

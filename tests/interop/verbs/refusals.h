/* SPDX-License-Identifier: MIT */
/*
 * Wrong arguments to libibverbs: tables of cases, each of which gets the same objects, does one
 * wrong thing, and returns the errno that came of it. verbs_refusals.c runs them.
 */
#ifndef TESTS_INTEROP_VERBS_REFUSALS_H
#define TESTS_INTEROP_VERBS_REFUSALS_H

#include <infiniband/verbs.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTES 4096
#define DEPTH 4

/* Returned by cases in which nothing was refused, or in another way than the call has. */
#define NOT_REFUSED (-1)

struct bench {
	struct ibv_context *context;
	struct ibv_device_attr limits;
	struct ibv_gid_entry gid;
	uint8_t *bytes;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* of the channel */
	struct ibv_mr *mr; /* of the bytes */
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_dm *dm; /* as long as the bytes */
	struct ibv_qp *rc; /* in RESET, as is the next */
	struct ibv_qp *ud;
};

struct refusal {
	const char *name; /* NULL ends the table */
	int (*run)(struct bench *bench);
	int expected;
};

#define REFUSAL(function, expected_errno)                                                          \
	{                                                                                          \
#function, function, expected_errno                                                \
	}

extern const struct refusal refusals_memory[];
extern const struct refusal refusals_qp[];
extern const struct refusal refusals_shared[];
extern const struct refusal refusals_overwritten[];

/* Of a call that returns a pointer, -1, or the number itself. */
#define NULL_ERRNO(call)      (errno = 0, (call) != NULL ? NOT_REFUSED : errno)
#define MINUS_ONE_ERRNO(call) (errno = 0, (call) != -1 ? NOT_REFUSED : errno)
#define ERRNO(call)	      refusal_errno(call)

static inline int refusal_errno(int result)
{
	return result <= 0 ? NOT_REFUSED : result;
}

/* What a queue pair of the bench is made with. */
static inline struct ibv_qp_init_attr init_attributes(const struct bench *bench)
{
	return (struct ibv_qp_init_attr){
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.cap = {DEPTH, DEPTH, 1, 1, 64},
		.qp_type = IBV_QPT_RC,
	};
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the tests that call libibverbs themselves share: a device with one address, and a queue pair
 * on it. They run under rnic-run.
 */
#ifndef TESTS_INTEROP_VERBS_VERBS_BENCH_H
#define TESTS_INTEROP_VERBS_VERBS_BENCH_H

#include <infiniband/verbs.h>

#include <stdint.h>

#define BENCH_BYTES 4096
#define BENCH_SENDS 8192
#define BENCH_QKEY  0x1234

struct bench {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* NULL: none */
	struct ibv_qp *qp;   /* connected to itself; UD: ready to send */
	struct ibv_gid_entry gid;
	struct ibv_mr *mr;
	uint8_t bytes[BENCH_BYTES];
};

/* With a queue pair of the type; the caller stops it. Fails the test when anything is refused. */
struct bench *bench_start(enum ibv_qp_type type);

/* The same with a shared receive queue of so many entries, from which the queue pair receives. */
struct bench *bench_start_shared(enum ibv_qp_type type, uint32_t depth);

/* The same for RC in a domain that there is, which the bench then owns with its context. */
struct bench *bench_start_in(struct ibv_pd *pd);

void bench_stop(struct bench *bench);

/* Waits for so many completions; fails the test when one is an error. */
void bench_expect(struct bench *bench, uint32_t count);

/* Waits for one completion; its status. */
enum ibv_wc_status bench_status(struct bench *bench);

/* Posts one transfer between `local` and `remote`. */
void bench_post(struct bench *bench, enum ibv_wr_opcode opcode, struct ibv_sge local,
		uint64_t remote, uint32_t rkey);

/* One transfer between `local` and `remote`, until it is complete. */
void bench_transfer(struct bench *bench, enum ibv_wr_opcode opcode, struct ibv_sge local,
		    uint64_t remote, uint32_t rkey);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One RC QP in RTR whose peer is the test: the test forges request packets one by one, and inspects
 * the answers one by one. Client memory is an array that can fail.
 */
#ifndef TESTS_UNIT_LIB_NIC_ENGINE_RESPONDER_BENCH_H
#define TESTS_UNIT_LIB_NIC_ENGINE_RESPONDER_BENCH_H

#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/verbs/qp.h"
#include "tests/sim/model_memory.h"

#define BENCH_MTU	  1024
#define BENCH_IOVA	  UINT64_C(0x70000000)
#define BENCH_BYTES	  32768
#define BENCH_RNR_TIMER	  12
#define BENCH_PEER_QPN	  0x123456
#define BENCH_RD_ATOMIC	  2
#define BENCH_COMPLETIONS 16
#define BENCH_RECEIVES	  16

struct responder_bench {
	struct engine engine;
	struct prng random; /* of the engine */
	struct pd pd;
	struct cq cq;
	struct qp *qp;
	struct mr mr;

	struct model_memory model;
	bool refuses_when_gone; /* when `model` says that the client has ended */
	uint8_t memory[BENCH_BYTES];

	struct cqe completions[BENCH_COMPLETIONS];
	uint32_t completion_count;
	uint32_t completion_limit; /* of the CQ */
	enum rnic_async_event_type events[8];
	uint32_t event_count;

	struct recv_wqe receives[BENCH_RECEIVES];
	struct rnic_sge receive_sges[BENCH_RECEIVES][2];
	uint32_t receives_posted;
	uint32_t receives_handed_over;

	uint8_t payload[BENCH_MTU * 2]; /* of the packets that bench_packet() makes: 1, 2, 3, ... */
};

/* A QP that expects `psn`. Memory is written at once when `direct`, else at the next flush. */
void bench_start(struct responder_bench *bench, uint32_t psn, bool direct);
void bench_stop(struct responder_bench *bench);

/* Posts a receive entry of one SGE at `offset` of the region. */
void bench_post(struct responder_bench *bench, uint64_t wr_id, uint64_t offset, uint32_t length);

/* A request of `operation` whose RETH or AtomicETH, if any, names `offset` of the region. */
struct rnic_packet bench_packet(struct responder_bench *bench, enum rnic_operation operation,
				enum rnic_position position, uint16_t headers, uint32_t psn,
				uint32_t payload_bytes);
struct rnic_packet bench_send(struct responder_bench *bench, uint32_t psn, uint32_t payload_bytes);
struct rnic_packet bench_write(struct responder_bench *bench, uint32_t psn, uint64_t offset,
			       uint32_t payload_bytes);
struct rnic_packet bench_read(struct responder_bench *bench, uint32_t psn, uint64_t offset,
			      uint32_t length);
struct rnic_packet bench_atomic(struct responder_bench *bench, enum rnic_operation operation,
				uint32_t psn, uint64_t offset, uint64_t swap_or_add,
				uint64_t compare);

void bench_receive(struct responder_bench *bench, struct rnic_packet packet);
void bench_flush(struct responder_bench *bench);

/*
 * The next answer is an ACK or NAK; there is no next answer; the next answer is this part of a READ
 * response.
 */
void expect_acknowledge(struct responder_bench *bench, uint8_t syndrome, uint32_t psn,
			uint32_t msn);
void expect_silence(struct responder_bench *bench);
void expect_response(struct responder_bench *bench, enum rnic_position position, uint32_t psn,
		     uint32_t msn, uint64_t offset, uint32_t bytes);
void expect_atomic(struct responder_bench *bench, uint32_t psn, uint32_t msn, uint64_t original);

/* The oldest completion not yet looked at. */
void expect_completion(struct responder_bench *bench, uint64_t wr_id, enum rnic_wc_status status);
void expect_no_completion(struct responder_bench *bench);

#endif

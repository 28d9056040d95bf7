/* SPDX-License-Identifier: MIT */
/*
 * An engine with one queue pair in RTS, for unit tests: one flat region of memory registered with
 * all rights, a sink that records events, a ring of receive entries. No peer answers: a test takes
 * packets out and forges the peer's.
 */
#ifndef TESTS_UNIT_LIB_NIC_ENGINE_ENGINE_FIXTURE_H
#define TESTS_UNIT_LIB_NIC_ENGINE_ENGINE_FIXTURE_H

#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/reliability/acknowledgement.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/verbs/qp.h"
#include "tests/sim/model_memory.h"

#define FIXTURE_MEMORY_BYTES (1 << 20)
#define FIXTURE_IOVA	     UINT64_C(0x10000000)
#define FIXTURE_RECORDS	     1024
#define FIXTURE_DEST_QPN     0x123456
#define FIXTURE_QKEY	     0x11223344 /* of UD */

struct fixture_options {
	uint8_t type;	  /* enum rnic_qp_type; 0: RC */
	uint8_t path_mtu; /* 1 .. 5 */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t timeout;
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint32_t sq_psn;
	uint32_t rq_psn;
	bool is_batched; /* memory is reached in batches, not at once */
	bool signal_all;
	struct rnic_qp_capacities capacities; /* all 0: 64 deep, with the most SGEs */
	struct srq *srq;		      /* NULL: none */
	struct xrcd *xrcd;		      /* of an XRC target, which has neither PD nor CQs */
};

struct fixture_receive {
	struct recv_wqe wqe;
	struct rnic_sge sges[LIMIT_SGES];
};

struct engine_fixture {
	struct engine engine;
	struct prng random; /* of the engine */
	struct model_memory memory;
	struct pd pd;
	struct mr mr;
	struct cq send_cq;
	struct cq recv_cq;
	struct qp *qp;
	struct rnic_gid own_gid;
	struct rnic_gid peer_gid;
	uint64_t now_ns;

	struct cqe completions[FIXTURE_RECORDS];
	uint32_t completion_count;
	uint32_t completion_room; /* the sink refuses more than this */
	enum rnic_async_event_type events[FIXTURE_RECORDS];
	uint32_t event_count;

	uint32_t trouble_log;	 /* that the sink was told of */
	uint32_t errors_entered; /* times that the sink was told of a QP's way into ERR */
	uint32_t send_spaces;	 /* times that the sink was told of room to send */
	uint32_t groups_wanted;	 /* multicast groups that the engine has asked for */
	int group_error;	 /* the error for the next group */

	struct fixture_receive receives[16];
	uint32_t receives_posted;
	uint32_t receives_taken;

	struct packet_builder sent; /* the last packet that fixture_transmit() took out */
	uint8_t payload[RNIC_PAYLOAD_BYTES_MAX]; /* its payload */
};

/* MTU 1024, both PSNs 100, 16 READs either way, timeout 14, 7 retries of both kinds. */
extern const struct fixture_options fixture_defaults;

/* A fixture on the heap, its memory filled with a pattern; free with fixture_destroy(). */
struct engine_fixture *fixture_create(const struct fixture_options *options);
void fixture_destroy(struct engine_fixture *fixture);

/* Another QP of the same fixture, in RTS. Destroy it with qp_destroy(). */
struct qp *fixture_create_qp(struct engine_fixture *fixture, const struct fixture_options *options);

/* Takes one packet out, checks invariants, and copies its payload; false when there is none. */
bool fixture_transmit(struct engine_fixture *fixture);

/* Takes all packets out that there are, and returns how many. */
uint32_t fixture_transmit_all(struct engine_fixture *fixture);

/* The entry `opcode` over [offset, offset + length) of the memory; more members may be set after.
 */
struct send_wqe fixture_work(enum rnic_wr_opcode opcode, uint64_t wr_id, uint32_t length);
struct rnic_sge fixture_sge(const struct engine_fixture *fixture, uint32_t offset, uint32_t length);
void fixture_post(struct engine_fixture *fixture, const struct send_wqe *wqe,
		  const struct rnic_sge *sges);

/* A signaled entry with one SGE at the start of the memory. */
void fixture_post_simple(struct engine_fixture *fixture, enum rnic_wr_opcode opcode, uint64_t wr_id,
			 uint32_t length);

void fixture_post_receive(struct engine_fixture *fixture, uint64_t wr_id, uint32_t offset,
			  uint32_t length);

/* A packet of the peer for the fixture's QP, all else zero. */
struct rnic_packet fixture_packet(const struct engine_fixture *fixture,
				  enum rnic_operation operation, enum rnic_position position,
				  uint32_t psn);

/* Hands `packet` to the engine, flushes, and checks invariants. */
void fixture_receive(struct engine_fixture *fixture, const struct rnic_packet *packet);

/* An acknowledgement or NAK of the peer. */
void fixture_receive_acknowledge(struct engine_fixture *fixture, uint32_t psn, uint8_t syndrome);

/* A READ response with `bytes` of payload from `payload`. */
void fixture_receive_read(struct engine_fixture *fixture, enum rnic_position position, uint32_t psn,
			  const uint8_t *payload, uint32_t bytes);

/* Moves time forward and runs the timers. */
void fixture_tick(struct engine_fixture *fixture, uint64_t ns);

#endif

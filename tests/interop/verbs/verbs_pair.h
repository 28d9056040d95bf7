/* SPDX-License-Identifier: MIT */
/*
 * Two queue pairs of one context that are connected to each other, for tests of what shows at both
 * ends. They run under rnic-run, on a device with one address.
 */
#ifndef TESTS_INTEROP_VERBS_VERBS_PAIR_H
#define TESTS_INTEROP_VERBS_VERBS_PAIR_H

#include <infiniband/verbs.h>

#include <stdint.h>

#define PAIR_BYTES 4096
#define PAIR_QKEY  0x1234
#define PAIR_RIGHTS                                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_gid_entry gid;
	struct ibv_mr *mr; /* of the bytes, with PAIR_RIGHTS and MW_BIND */
	struct ibv_ah *ah; /* of the device itself */
	struct {
		struct ibv_cq *cq;
		struct ibv_qp *qp;
	} ends[2];
	_Alignas(64) uint8_t bytes[PAIR_BYTES];
};

/*
 * With queue pairs of the type; the caller stops it. A requester gives up after 117 ms without an
 * answer: a timeout of 17 ms, and two retries. Fails the test when anything is refused.
 */
struct pair *pair_start(enum ibv_qp_type type);

/*
 * One end, 0, whose other end is that of another process, which makes the same call at the other
 * end of the stream socket.
 */
struct pair *pair_start_half(enum ibv_qp_type type, int socket);

/* Brings a queue pair of the context, in RESET, to RTS. The peer gets PAIR_RIGHTS and those. */
void pair_connect(struct pair *pair, struct ibv_qp *qp, uint32_t dest_qpn, unsigned more_rights);

void pair_stop(struct pair *pair);

/* Waits for the next completion of an end. */
struct ibv_wc pair_wait(struct pair *pair, uint32_t end);

/* The next completion of the end has this number and status, or the test fails. */
void pair_expect(struct pair *pair, uint32_t end, uint64_t wr_id, enum ibv_wc_status status);

#endif

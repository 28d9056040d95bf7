/* SPDX-License-Identifier: MIT */
/*
 * Wrong arguments to libibverbs: tables of cases, each of which gets the same objects, does one
 * wrong thing, and returns the errno that came of it. And all values of every word of flags, and of
 * every enumeration, that a call takes: each is done, which shows, or refused. verbs_refusals.c
 * runs them.
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

/* Returned for a value that a call took and that changed nothing. */
#define NOT_DONE (-2)

struct bench {
	struct ibv_context *context;
	struct ibv_device_attr limits;
	struct ibv_gid_entry gid;
	uint8_t *bytes;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;   /* of the channel */
	struct ibv_mr *mr;   /* of the bytes */
	struct ibv_mr *open; /* of the bytes too, with every right */
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_dm *dm; /* as long as the bytes */
	struct ibv_qp *rc; /* in RESET, as is the next */
	struct ibv_qp *ud;
	bool is_direct; /* no file names an XRC domain there */
};

struct refusal {
	const char *name; /* NULL ends the table */
	int (*run)(struct bench *bench);
	int expected;
};

/* A word of flags, or an enumeration, of a call. */
struct flag_word {
	const char *name; /* NULL ends the table */
	/* 0: done. An errno: refused. Anything else fails. One flag, or one value if `counts`. */
	int (*give)(struct bench *bench, uint64_t value);
	uint64_t served; /* which flags, or which values */
	uint32_t width;	 /* how many there are */
	bool counts;
};

#define REFUSAL(function, expected_errno)                                                          \
	{                                                                                          \
#function, function, expected_errno                                                \
	}

extern const struct refusal refusals_memory[];
extern const struct refusal refusals_qp[];
extern const struct refusal refusals_shared[];
extern const struct refusal refusals_overwritten[];

extern const struct flag_word flags_of_memory[];
extern const struct flag_word flags_of_queues[];
extern const struct flag_word flags_of_qps[];

/*
 * Brings a queue pair from any state to RTS, its own peer, which gets the rights. Ends the program
 * on failure, as the next do.
 */
void bench_connect(const struct bench *bench, struct ibv_qp *qp, unsigned rights);

/* Waits for the next completion in the queue of the bench. */
struct ibv_wc bench_wait(struct bench *bench);

/* The status of a request of the connected queue pair, or a negative errno from the post. */
int bench_run(struct bench *bench, struct ibv_qp *qp, struct ibv_send_wr *wr);

/* The requests that use a peer's memory, each with the right that it needs there. */
#define BENCH_WAYS 3

struct bench_way {
	enum ibv_wr_opcode opcode;
	unsigned right;
};

extern const struct bench_way bench_ways[BENCH_WAYS];

/* Whether a request of the connected queue pair `rc` for 8 bytes succeeds. */
bool bench_reaches(struct bench *bench, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t address);

#define EVERY_RIGHT                                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

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

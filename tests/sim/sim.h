/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary of scenarios and storms: hosts, connections, posts, faults, and "run until all is
 * done".
 *
 * All posts through here also reach the oracle, with buffers chosen and filled at
 * random, so a scenario states what happens on the network and the oracle checks what the programs
 * see. The functions whose names end in _with take a struct; the macros above them let it be
 * written in place:
 *
 *     struct sim *sim = sim_create(.hosts = 2);
 *     struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 3);
 *
 *     sim_fault(sim, 1, "drop@rc-acknowledge/first=1");
 *     sim_post(qp, .opcode = RNIC_WR_RDMA_WRITE, .bytes = 100000);
 *     sim_run(sim, 20 * SIM_MS);
 *     assert_null(sim_finish(sim));
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "tests/sim/sim_host.h"

#define SIM_US	    UINT64_C(1000)
#define SIM_MS	    UINT64_C(1000000)
#define SIM_S	    UINT64_C(1000000000)
#define SIM_REFUSED UINT32_MAX /* the send queue is full */

struct sim_config {
	uint32_t hosts; /* 0: two */
	uint64_t seed;
	uint64_t delay_ns;	/* of every link; 0: 10 us */
	uint64_t arena_bytes;	/* of each host; 0: 4 MiB */
	uint64_t pattern_bytes; /* of each host's pattern region; 0: 2 GiB */
	uint32_t max_qps;	/* of each host; 0: 8 */
	uint32_t batch;		/* packets a host handles at once; 0: 16 */
	bool has_ecn;		/* hosts react to marks */
	uint64_t line_rate;	/* of congestion control; 0: the default */
	bool has_no_credits;	/* hosts send no end-to-end credits */
	uint32_t kept_packets;	/* behind gaps, of each host; 0: 512 */
	uint32_t drops_hosts;	/* bits of those that keep nothing */
	bool is_direct;		/* client memory is mapped: payload is put in place at once */
	bool has_no_recorder;	/* hosts record nothing */
	FILE *trace;
};

struct sim_post {
	uint8_t opcode; /* enum rnic_wr_opcode; 0 is RDMA WRITE */
	uint8_t sges;	/* 0: one */
	bool unsignaled;
	bool fence;
	bool solicited;
	bool inlined;
	bool hot;	 /* a write to the range that all hot writes of this QP share */
	bool pattern;	 /* between the pattern regions: for messages beyond the arena */
	bool beyond_end; /* the remote range ends one byte after its region */
	bool misaligned; /* atomics and ATOMIC WRITE */
	bool window;	 /* READ, WRITE: through the peer's window */
	enum sim_key local_key;
	enum sim_key remote_key;
	uint32_t bytes;
};

struct sim_receive_post {
	uint32_t bytes;
	uint8_t sges; /* 0: one */
	enum sim_key key;
	bool pattern;
};

struct sim {
	struct oracle oracle;
	struct sim_net net;
	struct sim_host *hosts;
	struct prng prng;
	struct sim_qp **qps;
	uint32_t qp_count;
	uint32_t qp_capacity;
	struct sim_chunk *chunks; /* spans and inline bytes of the models */
	uint32_t turns_at_once;
};

#define sim_create(...) sim_create_with(&(struct sim_config){__VA_ARGS__})
#define sim_connect(sim, a, b, ...)                                                                \
	sim_connect_with(sim, a, b, &(struct sim_connection){__VA_ARGS__})
#define sim_post(qp, ...)    sim_post_with(qp, &(struct sim_post){__VA_ARGS__})
#define sim_receive(qp, ...) sim_receive_with(qp, &(struct sim_receive_post){__VA_ARGS__})

/* Aborts when out of memory. */
struct sim *sim_create_with(const struct sim_config *config);

/*
 * Ends the run: lets the network fall silent, brings every QP into error, checks that all is
 * flushed, memory equals the model, the counters are right and nothing is owned, and frees it.
 * Returns NULL, or the first fault, in a static buffer.
 */
const char *sim_finish(struct sim *sim);

/* The end on host `a`; ->peer is the one on `b`. */
struct sim_qp *sim_connect_with(struct sim *sim, uint32_t a, uint32_t b,
				const struct sim_connection *connection);

/* Takes both ends through RESET and connects them again. Call when nothing is under way. */
void sim_reconnect(struct sim_qp *qp);

/*
 * Destroys both QPs and connects others in their place, at once: packets of the old ones are still
 * under way. `has_same_qpn`, of RC: they have the numbers of the old ones, too.
 */
void sim_recreate(struct sim_qp *qp, bool has_same_qpn);

/*
 * The host loses all state but its memory. Its QPs are dead until sim_reconnect(): they refuse
 * posts, and their peers notice by running out of retries.
 */
void sim_restart(struct sim *sim, uint32_t host);

/* Posts one work or receive. Returns its number, or SIM_REFUSED when the send queue is full, or
 * the QP dead. */
uint32_t sim_post_with(struct sim_qp *qp, const struct sim_post *post);
uint32_t sim_receive_with(struct sim_qp *qp, const struct sim_receive_post *post);

/* Posts a receive to the SRQ of `host`, for whichever of its QPs comes first. */
void sim_receive_shared(struct sim *sim, uint32_t host, uint32_t bytes);

/* The same for its XRC targets. */
void sim_receive_xrc(struct sim *sim, uint32_t host, uint32_t bytes);

/* Memory that lives as long as the simulation: an array of pieces of `bytes` in all. */
struct span *sim_allocate_pieces(struct sim *sim, struct sim_host *host, uint32_t bytes,
				 uint32_t count, uint32_t align);

/* Frees the memory of posts; sim_finish() does. */
void sim_posts_free(struct sim *sim);

/*
 * The window through which the peer reaches some of this end's memory. Posts a valid bind, and the
 * work that closes the window: LOCAL_INVALIDATE, or of type 1 a bind to nothing or (`reopens`)
 * anew. Returns the number of the work, or SIM_REFUSED. The peer closes the window by
 * SEND_WITH_INVALIDATE.
 */
uint32_t sim_window_open(struct sim_qp *qp);
uint32_t sim_window_close(struct sim_qp *qp, bool reopens);

/* Fills in a post that has to do with the peer's window; false when it is not in order. */
bool sim_window_access(struct sim_qp *qp, struct sim_post *post, struct model_work *model);

/* A new window, of either type, in place of the old one; none. */
void sim_window_renew(struct sim_qp *qp);
void sim_window_drop(struct sim_qp *qp);

/* Memory that lives as long as the simulation. */
void *sim_keep(struct sim *sim, size_t bytes);

/* Puts rules of port/fault.h in front of a host's statistics page, on top of the rules there. */
struct port *sim_fault(struct sim *sim, uint32_t host, const char *spec);

/* The link's properties, to be changed at will. */
struct sim_link *sim_link(struct sim *sim, uint32_t from, uint32_t to);

/* Gives all links these properties, delay excepted. */
void sim_all_links(struct sim *sim, const struct sim_link *link);

/*
 * Runs until every posted work has completed. Too much virtual time, or an idle simulation, is a
 * violation that names the QP's wait. Returns the time that it took.
 */
uint64_t sim_run(struct sim *sim, uint64_t budget_ns);

/* Runs for this long. */
void sim_run_for(struct sim *sim, uint64_t duration_ns);

/* An error that this end's works may have, because of the scenario's acts. */
void sim_may_fail(struct sim_qp *qp, enum rnic_wc_status status);

/* Every work of every QP may run out of retries. */
void sim_may_lose_all(struct sim *sim);

/* The memory of a host vanishes; accesses fail from now on. */
void sim_take_memory(struct sim *sim, uint32_t host);

/* A host registers its memory anew while work is under way: the old key grants nothing. */
void sim_change_key(struct sim *sim, uint32_t host);

void sim_enter_error(struct sim_qp *qp);

/* From RTS to SQD, where no new work starts and an event tells when the old is done; and back. */
void sim_pause(struct sim_qp *qp);
void sim_resume(struct sim_qp *qp);

/* Only this end forgets everything, as when its program restarts. Nothing may be posted on it. */
void sim_forget(struct sim_qp *qp);

static inline struct model_work *sim_work(struct sim_qp *qp, uint32_t number)
{
	return &qp->end.wqes[number];
}

static inline uint8_t sim_status(struct sim_qp *qp, uint32_t number)
{
	return sim_work(qp, number)->status;
}

static inline uint64_t sim_counter(const struct sim *sim, uint32_t host, enum counter counter)
{
	return sim->hosts[host].engine.counters[counter];
}

#endif

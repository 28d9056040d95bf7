/* SPDX-License-Identifier: MIT */
/*
 * Storms: random programs on random networks, each wholly determined by a 64-bit seed. The oracle
 * judges.
 *
 *     storm [--count N] [--start S]      runs N seeds from S on; N is $RNIC_STORM_SEEDS or 1000
 *     storm --seed S [--trace]           replays one, printing its packets
 *
 * A seed that fails is named with what was wrong and its last packets, and the status is 1.
 */
#include "tests/sim/sim.h"
#include "tests/sim/storm_main.h"

#include "proto/base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS_MAX 4
#define RUN_BUDGET_NS	(120 * SIM_S)

/* Where packets overtake each other within a burst, a peer that keeps nothing takes one or two of
 * them in a round trip. */
#define RUN_BUDGET_ROUND_TRIPS 1000

#define LONG_ONE_IN    6 /* storms on long paths, of 0.3 to 154 ms one way */
#define LONG_LEAST_NS  (300 * SIM_US)
#define LONG_DOUBLINGS 10
#define LONG_SLOWER    64 /* links with a rate */
#define LONG_TIMEOUTS  6  /* added to the code of the ACK timeout */

/* No datagram is on its way longer: links and faults hold a packet for a few milliseconds. */
#define DATAGRAMS_BUDGET_NS (20 * SIM_MS)

/* One random program while it runs. */
struct storm {
	struct sim *sim;
	struct prng prng;
	struct sim_qp *connections[CONNECTIONS_MAX];
	uint32_t connection_count;
	uint32_t bytes_max; /* of a message */
	uint32_t error_ppm; /* of wrong keys and the like */
	uint64_t delay_ns;  /* of every link */
	bool is_disturbed;  /* packets are lost, late or twice */
	bool is_harsh;	    /* so many in a row that any number of retries may run out */
	bool is_memory_gone;
	bool may_restart; /* hosts do, now and then */
};

static struct {
	uint64_t wqes;
	uint64_t failed_works;
	uint64_t retries_exceeded;
	uint64_t packets;
	uint64_t lost;
	uint64_t tail_probes;
	uint64_t virtual_ns;
} totals;

static bool errs(struct storm *storm)
{
	return storm->error_ppm != 0 && storm_below(&storm->prng, 1000000) < storm->error_ppm;
}

static bool is_long(const struct storm *storm)
{
	return storm->delay_ns >= LONG_LEAST_NS;
}

static void disturb_links(struct storm *storm)
{
	struct sim_link link = {0};

	switch (storm_below(&storm->prng, 8)) {
	case 0:
	case 1:
		return;
	case 2:
		link.loss_ppm = 1 + storm_below(&storm->prng, 50000);
		break;
	case 3:
		link.burst_ppm = 1 + storm_below(&storm->prng, 10000);
		link.burst_packets = 1 + storm_below(&storm->prng, 12);
		storm->is_harsh = true;
		break;
	case 4:
		link.jitter_ns = storm_below(&storm->prng, 30000);
		link.duplicate_ppm = storm_below(&storm->prng, 50000);
		break;
	case 5:
		link.reorder_ppm = 1 + storm_below(&storm->prng, 50000);
		link.reorder_ns = storm_below(&storm->prng, 200000);
		break;
	case 6:
		link.bits_per_second =
			1000000000 + UINT64_C(1000000) * storm_below(&storm->prng, 9000);
		link.mark_bytes = storm_below(&storm->prng, 100000);
		link.queue_bytes = 20000 + storm_below(&storm->prng, 200000);
		if (is_long(storm))
			link.bits_per_second /= LONG_SLOWER;
		break;
	case 7:
		link.loss_ppm = link.duplicate_ppm = link.reorder_ppm = link.corrupt_ppm = 10000;
		link.reorder_ns = 50000;
		break;
	}
	storm->is_disturbed = true;
	sim_all_links(storm->sim, &link);
}

static void add_faults(struct storm *storm)
{
	static const char *const specs[] = {
		"drop=2%",
		"drop@rc-acknowledge/every=3",
		"drop@rc-read-response/every=5",
		"drop@rc-read-request/first=2",
		"drop@rc-atomic-acknowledge/every=2",
		"drop@rc-send-last/every=2",
		"drop@rc-write-first/every=3",
		"duplicate=20%",
		"duplicate@rc-fetch-add,duplicate@rc-compare-swap",
		"rx:duplicate@rc-read-request",
		"reorder=3%",
		"delay=1ms+-900us/every=7",
		"corrupt=3%",
		"rx:corrupt=2%,rx:drop=2%",
		"rx:delay=20us+-20us",
		"delay=8ms@rc-acknowledge/every=4",
		"drop@holes",
		"drop=50%@holes,duplicate=50%@holes",
	};

	if (!storm_one_in(&storm->prng, 3))
		return;
	for (uint32_t i = storm_below(&storm->prng, 3); i < 3; i++) {
		uint32_t host = storm_below(&storm->prng, storm->sim->net.host_count);

		sim_fault(storm->sim, host, specs[storm_below(&storm->prng, RNIC_COUNT_OF(specs))]);
	}
	storm->is_disturbed = true;
	storm->is_harsh = true;
}

static void connect_all(struct storm *storm)
{
	static const uint8_t types[] = {RNIC_QP_TYPE_RC, RNIC_QP_TYPE_RC,
					RNIC_QP_TYPE_RC, RNIC_QP_TYPE_UC,
					RNIC_QP_TYPE_UD, RNIC_QP_TYPE_XRC_INITIATOR};
	uint32_t hosts = storm->sim->net.host_count;

	storm->connection_count = 1 + storm_below(&storm->prng, CONNECTIONS_MAX);
	for (uint32_t i = 0; i < storm->connection_count; i++) {
		uint32_t a = storm_below(&storm->prng, hosts);
		uint32_t b = storm_one_in(&storm->prng, 16)
				     ? a
				     : (a + 1 + storm_below(&storm->prng, hosts - 1)) % hosts;

		storm->connections[i] = sim_connect(
			storm->sim, a, b,
			.type = types[storm_below(&storm->prng, RNIC_COUNT_OF(types))],
			.path_mtu = (uint8_t)(1 + storm_below(&storm->prng, 5)),
			.timeout = (uint8_t)(8 + storm_below(&storm->prng, 5) +
					     (is_long(storm) ? LONG_TIMEOUTS : 0)),
			.retry_count = (uint8_t)(storm_one_in(&storm->prng, 8)
							 ? 1 + storm_below(&storm->prng, 3)
							 : 7),
			.rnr_retry = (uint8_t)(storm_one_in(&storm->prng, 8)
						       ? 1 + storm_below(&storm->prng, 6)
						       : 7),
			.min_rnr_timer = (uint8_t)(1 + storm_below(&storm->prng, 12)),
			.rd_atomic = (uint8_t)(1 + storm_below(&storm->prng, 16)),
			.sges = (uint8_t)(1 + storm_below(&storm->prng, 8)),
			.signal_all = storm_one_in(&storm->prng, 8),
			.is_shared = storm_one_in(&storm->prng, 4),
			.depth = 1 + storm_below(&storm->prng, 64),
			.inline_bytes = 1 + storm_below(&storm->prng, 512),
			.psn = storm_one_in(&storm->prng, 2)
				       ? RNIC_PSN_MASK - storm_below(&storm->prng, 100)
				       : 0);
	}
}

/*
 * Which QPs may run out of retries. With 7 of them a few losses in a hundred are never enough: the
 * oldest packet would have to be lost eight times in a row. On a long path few retries are over
 * before the first answer.
 */
static void allow_losses(struct storm *storm)
{
	for (uint32_t i = 0; i < storm->sim->qp_count; i++) {
		struct sim_qp *qp = storm->sim->qps[i];

		if (storm->is_harsh ||
		    ((storm->is_disturbed || is_long(storm)) && qp->connection.retry_count < 7))
			sim_may_fail(qp, RNIC_WC_RETRY_EXC_ERR);
	}
}

static struct storm storm_begin(uint64_t seed, FILE *trace)
{
	static const uint32_t sizes[] = {64, 300, 300, 3000, 3000, 3000, 20000, 60000};
	struct storm storm = {0};

	prng_init(&storm.prng, seed);
	storm.delay_ns = 1000 + storm_below(&storm.prng, 100000);
	if (storm_one_in(&storm.prng, LONG_ONE_IN))
		storm.delay_ns = LONG_LEAST_NS << storm_below(&storm.prng, LONG_DOUBLINGS);
	storm.sim = sim_create(.hosts = storm_one_in(&storm.prng, 4) ? 3 : 2, .seed = seed,
			       .delay_ns = storm.delay_ns,
			       .batch = 1 + storm_below(&storm.prng, SIM_BATCH),
			       .has_no_credits = storm_one_in(&storm.prng, 3),
			       .has_ecn = storm_one_in(&storm.prng, 3),
			       .kept_packets = 4u << storm_below(&storm.prng, 9),
			       .drops_hosts = storm_below(&storm.prng, 8),
			       .is_direct = storm_one_in(&storm.prng, 2), .trace = trace);
	storm.may_restart = storm_one_in(&storm.prng, 8);
	storm.bytes_max = sizes[storm_below(&storm.prng, RNIC_COUNT_OF(sizes))];
	storm.error_ppm = storm_one_in(&storm.prng, 4) ? 1 + storm_below(&storm.prng, 50000) : 0;
	for (uint32_t i = 0; i < storm.sim->net.host_count; i++)
		storm.sim->net.nics[i].refuse_ppm = storm_one_in(&storm.prng, 4) ? 200000 : 0;
	disturb_links(&storm);
	add_faults(&storm);
	connect_all(&storm);
	allow_losses(&storm);
	return storm;
}

static void post_receive(struct storm *storm, struct sim_qp *qp)
{
	struct sim_receive_post post = {
		.bytes = storm->bytes_max,
		.sges = (uint8_t)(1 + storm_below(&storm->prng, qp->connection.sges)),
	};

	/* Each QP that takes it must find it long enough. */
	if (qp->connection.type == RNIC_QP_TYPE_XRC_TARGET) {
		sim_receive_xrc(storm->sim, qp->host->index, storm->bytes_max);
		return;
	}
	if (qp->connection.type == RNIC_QP_TYPE_XRC_INITIATOR)
		return;
	if (qp->connection.is_shared) {
		sim_receive_shared(storm->sim, qp->host->index, storm->bytes_max);
		return;
	}
	if (errs(storm) && storm_one_in(&storm->prng, 2)) {
		post.bytes = storm_below(&storm->prng, storm->bytes_max);
		qp->end.legal_receive_errors |= STATUS_BIT(RNIC_WC_LOC_LEN_ERR);
		sim_may_fail(qp->peer, RNIC_WC_REM_INV_REQ_ERR);
	} else if (errs(storm)) {
		post.key = storm_one_in(&storm->prng, 2) ? SIM_KEY_READ_ONLY : SIM_KEY_OTHER_PD;
	}
	sim_receive_with(qp, &post);
}

/* The operations of UC and UD, without the operations that are an error at the sender. */
static void post_lossy(struct storm *storm, struct sim_qp *qp)
{
	static const uint8_t opcodes[] = {RNIC_WR_SEND, RNIC_WR_SEND_WITH_IMM, RNIC_WR_RDMA_WRITE,
					  RNIC_WR_RDMA_WRITE_WITH_IMM};
	bool is_datagram = qp->connection.type == RNIC_QP_TYPE_UD;
	struct sim_post post = {
		.opcode = opcodes[storm_below(&storm->prng,
					      is_datagram ? 2 : RNIC_COUNT_OF(opcodes))],
		.bytes = storm_one_in(&storm->prng, 4)
				 ? storm_below(&storm->prng, 9)
				 : storm_below(&storm->prng, storm->bytes_max + 1),
		.sges = (uint8_t)(1 + storm_below(&storm->prng, qp->connection.sges)),
		.unsignaled = storm_one_in(&storm->prng, 3),
		.solicited = storm_one_in(&storm->prng, 4),
	};

	if (is_datagram && post.bytes > RNIC_PAYLOAD_BYTES_MAX)
		post.bytes = RNIC_PAYLOAD_BYTES_MAX;
	if (post.bytes <= qp->connection.inline_bytes)
		post.inlined = storm_one_in(&storm->prng, 2);
	if (errs(storm))
		post.remote_key = (enum sim_key)storm_below(&storm->prng, SIM_KEY_PATTERN);
	post.beyond_end = errs(storm);
	sim_post_with(qp, &post);
}

static void post_work(struct storm *storm, struct sim_qp *qp)
{
	static const uint8_t opcodes[] = {
		RNIC_WR_RDMA_WRITE,	     RNIC_WR_RDMA_WRITE_WITH_IMM, RNIC_WR_SEND,
		RNIC_WR_SEND_WITH_IMM,	     RNIC_WR_RDMA_READ,		  RNIC_WR_RDMA_READ,
		RNIC_WR_ATOMIC_COMPARE_SWAP, RNIC_WR_ATOMIC_FETCH_ADD,	  RNIC_WR_FLUSH,
		RNIC_WR_ATOMIC_WRITE,
	};
	struct sim_post post = {
		.opcode = opcodes[storm_below(&storm->prng, RNIC_COUNT_OF(opcodes))],
		.bytes = storm_one_in(&storm->prng, 4)
				 ? storm_below(&storm->prng, 9)
				 : storm_below(&storm->prng, storm->bytes_max + 1),
		.sges = (uint8_t)(1 + storm_below(&storm->prng, qp->connection.sges)),
		.unsignaled = storm_one_in(&storm->prng, 3),
		.fence = storm_one_in(&storm->prng, 8),
		.solicited = storm_one_in(&storm->prng, 4),
	};
	bool is_atomic = post.opcode == RNIC_WR_ATOMIC_COMPARE_SWAP ||
			 post.opcode == RNIC_WR_ATOMIC_FETCH_ADD;

	if (is_atomic)
		post.sges = 1;
	if (post.opcode == RNIC_WR_ATOMIC_WRITE)
		post.bytes = 8;
	if (!is_atomic && post.opcode != RNIC_WR_RDMA_READ && post.opcode != RNIC_WR_FLUSH &&
	    post.bytes <= qp->connection.inline_bytes)
		post.inlined = storm_one_in(&storm->prng, 2);
	if (post.opcode == RNIC_WR_RDMA_WRITE && storm_one_in(&storm->prng, 4)) {
		post.hot = true;
		post.inlined = false;
	}
	if (errs(storm))
		post.remote_key = (enum sim_key)storm_below(&storm->prng, SIM_KEY_PATTERN);
	if (errs(storm))
		post.local_key = (enum sim_key)storm_below(&storm->prng, SIM_KEY_PATTERN);
	post.beyond_end = errs(storm);
	post.misaligned = (is_atomic || post.opcode == RNIC_WR_ATOMIC_WRITE) && errs(storm);
	sim_post_with(qp, &post);
}

/* Something with the window that `qp` has at its peer. */
static void use_window(struct storm *storm, struct sim_qp *qp)
{
	struct sim_post post = {
		.opcode = storm_one_in(&storm->prng, 2) ? RNIC_WR_RDMA_READ : RNIC_WR_RDMA_WRITE,
		.bytes = 1 + storm_below(&storm->prng, 500),
		.unsignaled = storm_one_in(&storm->prng, 3),
		.window = true,
	};

	switch (storm_below(&storm->prng, 8)) {
	case 0:
	case 1:
		sim_window_open(qp->peer);
		break;
	case 2:
		/* Accesses that come too late end the connection: not in every storm. */
		if (storm->error_ppm != 0)
			sim_window_close(qp->peer, storm_one_in(&storm->prng, 2));
		break;
	case 3:
		post.opcode = RNIC_WR_SEND_WITH_INVALIDATE;
		post.window = false;
		post.bytes = storm_below(&storm->prng, storm->bytes_max + 1);
		sim_post_with(qp, &post);
		break;
	default:
		if (qp->peer->end.window.state == WINDOW_OPEN || errs(storm))
			sim_post_with(qp, &post);
		break;
	}
}

static bool has_room(const struct storm *storm)
{
	for (uint32_t i = 0; i < storm->sim->net.host_count; i++) {
		const struct sim_memory *memory = &storm->sim->hosts[i].memory;

		if (memory->bytes - memory->used < 3 * (uint64_t)storm->bytes_max + 100000)
			return false;
	}
	return true;
}

/*
 * There is no memory for the receives of `qp`. Every QP that shares its queue gives up too:
 * messages under way to `qp` may take receives posted for theirs.
 */
static void give_up_receiving(struct storm *storm, struct sim_qp *qp)
{
	for (uint32_t i = 0; i < storm->sim->qp_count; i++) {
		struct sim_qp *other = storm->sim->qps[i];

		if (other == qp || (qp->connection.is_shared && other->connection.is_shared &&
				    other->host == qp->host))
			sim_enter_error(other->peer);
	}
}

/* Receives for all messages that wait for one. */
static void top_up_receives(struct storm *storm, struct sim_qp *qp)
{
	uint32_t done = qp->end.receive_count;
	uint32_t messages = 0;

	if (qp->is_dead)
		return;
	for (uint32_t i = 0; i < qp->peer->end.work_count; i++) {
		uint8_t opcode = qp->peer->end.wqes[i].opcode;

		messages += opcode == RNIC_WR_SEND || opcode == RNIC_WR_SEND_WITH_IMM ||
			    opcode == RNIC_WR_SEND_WITH_INVALIDATE ||
			    opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
	}
	/* Shared receives count when they complete: other QPs may take earlier ones. */
	for (; messages > done && has_room(storm); done++)
		post_receive(storm, qp);
	if (messages > done)
		give_up_receiving(storm, qp);
}

static void top_up_all(struct storm *storm)
{
	for (uint32_t i = 0; i < storm->connection_count; i++) {
		top_up_receives(storm, storm->connections[i]);
		top_up_receives(storm, storm->connections[i]->peer);
	}
}

/* A datagram that comes twice takes two receives, the second maybe one meant for another QP. */
static bool may_lose_receives(const struct storm *storm)
{
	for (uint32_t i = 0; i < storm->connection_count; i++) {
		const struct sim_connection *connection = &storm->connections[i]->connection;

		if (connection->type == RNIC_QP_TYPE_UD && connection->is_shared)
			return storm->is_disturbed;
	}
	return false;
}

static void misbehave(struct storm *storm)
{
	struct sim_qp *qp = storm->connections[storm_below(&storm->prng, storm->connection_count)];

	if (storm->error_ppm == 0 || !storm_one_in(&storm->prng, 5))
		return;
	switch (storm_below(&storm->prng, 3)) {
	case 0:
		sim_enter_error(storm_one_in(&storm->prng, 2) ? qp : qp->peer);
		break;
	case 1:
		sim_change_key(storm->sim, qp->host->index);
		break;
	case 2:
		sim_take_memory(storm->sim, qp->host->index);
		storm->is_memory_gone = true;
		break;
	}
}

static void restart(struct storm *storm)
{
	if (storm->may_restart && !storm->is_memory_gone && storm_one_in(&storm->prng, 4))
		sim_restart(storm->sim, storm_below(&storm->prng, storm->sim->net.host_count));
}

static void play(struct storm *storm)
{
	for (uint32_t round = 1 + storm_below(&storm->prng, 5); round != 0; round--) {
		uint32_t actions = storm_below(&storm->prng, 30);
		struct sim_qp *paused =
			storm->connections[storm_below(&storm->prng, storm->connection_count)];

		for (uint32_t i = 0; i < actions && has_room(storm); i++) {
			struct sim_qp *qp = storm->connections[storm_below(
				&storm->prng, storm->connection_count)];

			if (storm_one_in(&storm->prng, 3) &&
			    qp->connection.type != RNIC_QP_TYPE_XRC_INITIATOR)
				qp = qp->peer;
			if (storm_one_in(&storm->prng, 3))
				post_receive(storm, qp->peer);
			if (qp->connection.type == RNIC_QP_TYPE_XRC_INITIATOR)
				post_work(storm, qp);
			else if (qp->connection.type != RNIC_QP_TYPE_RC)
				post_lossy(storm, qp);
			else if (storm_one_in(&storm->prng, 4))
				use_window(storm, qp);
			else
				post_work(storm, qp);
		}
		misbehave(storm);
		restart(storm);
		if (storm_one_in(&storm->prng, 8))
			sim_pause(paused);
		sim_run_for(storm->sim, storm_below(&storm->prng, 400000) +
						(is_long(storm) ? storm->delay_ns : 0));
		sim_resume(paused);
	}
	top_up_all(storm);
	if (may_lose_receives(storm)) {
		sim_run_for(storm->sim, DATAGRAMS_BUDGET_NS + 2 * storm->delay_ns);
		top_up_all(storm);
	}
	sim_run(storm->sim, RUN_BUDGET_NS + RUN_BUDGET_ROUND_TRIPS * 2 * storm->delay_ns);
}

/* In silence the same QPs again, or others while packets of the old ones are under way. */
static void live_again(struct storm *storm)
{
	bool is_silent = storm_one_in(&storm->prng, 2);

	if (is_silent)
		sim_run_for(storm->sim, 200 * SIM_MS + 2 * storm->delay_ns);
	for (uint32_t i = 0; i < storm->connection_count; i++) {
		struct sim_qp *qp = storm->connections[i];

		if (is_silent)
			sim_reconnect(qp);
		else
			sim_recreate(qp, qp->connection.type == RNIC_QP_TYPE_RC &&
						 storm_one_in(&storm->prng, 2));
	}
	allow_losses(storm);
	play(storm);
}

static void count(struct storm *storm)
{
	for (uint32_t i = 0; i < storm->sim->qp_count; i++) {
		const struct oracle_end *end = &storm->sim->qps[i]->end;

		totals.wqes += end->work_count;
		for (uint32_t wqe = 0; wqe < end->work_count; wqe++) {
			uint8_t status = end->wqes[wqe].status;

			totals.failed_works += status != RNIC_WC_SUCCESS;
			totals.retries_exceeded += status == RNIC_WC_RETRY_EXC_ERR;
		}
	}
	totals.packets += storm->sim->net.counters.sent;
	totals.lost += storm->sim->net.counters.lost;
	for (uint32_t host = 0; host < storm->sim->net.host_count; host++)
		totals.tail_probes += sim_counter(storm->sim, host, COUNTER_TAIL_PROBES);
	totals.virtual_ns += storm->sim->net.now_ns;
}

/* Runs one seed; NULL, or the fault. */
static const char *storm_run(uint64_t seed, FILE *trace)
{
	struct storm storm;

	storm = storm_begin(seed, trace);
	play(&storm);
	if (!storm.is_memory_gone && storm_one_in(&storm.prng, 4) && has_room(&storm))
		live_again(&storm);
	count(&storm);
	return sim_finish(storm.sim);
}

static void print_totals(void)
{
	printf("%" PRIu64 " works (%" PRIu64 " without success, %" PRIu64
	       " out of retries), %" PRIu64 " packets (%" PRIu64 " lost), %" PRIu64
	       " tail probes, %" PRIu64 " s of virtual time",
	       totals.wqes, totals.failed_works, totals.retries_exceeded, totals.packets,
	       totals.lost, totals.tail_probes, totals.virtual_ns / SIM_S);
}

int main(int argc, char **argv)
{
	static const struct storm_kind kind = {
		.name = "storm",
		.run = storm_run,
		.totals = &totals,
		.totals_bytes = sizeof(totals),
		.print_totals = print_totals,
	};

	return storm_main(&kind, argc, argv);
}

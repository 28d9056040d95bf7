/* SPDX-License-Identifier: MIT */
/* Long paths: what the window's model of the path and the pace make of them. */
#include "tests/sim/scenario.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/peer_window.h"

#define MESSAGE_BYTES (256 * 1024)
#define DEPTH	      256
#define GBIT	      UINT64_C(1000000000)

/* A path in one direction: half of `round_trip_ns`, then a queue in front of a slower link. */
struct path {
	uint64_t round_trip_ns;
	uint64_t bits_per_second;
	uint32_t queue_bytes;
	enum rnic_wr_opcode opcode;
	uint64_t duration_ns;
};

/* What goes wrong beside the queue. */
struct trouble {
	uint32_t loss_ppm;    /* of what the slow link carries */
	bool is_both_ways;    /* as much is lost of what goes the other way */
	uint32_t drops_hosts; /* as in struct sim_config */
	bool is_untold;	      /* no report of holes arrives */
};

static const struct trouble no_trouble;

struct outcome {
	uint32_t percent; /* of what the link carries, in the second half */
	uint64_t lost;	  /* in the second half */
	uint32_t queue_bytes;
	uint64_t retransmitted;
	uint64_t timeouts;
	uint32_t window_bytes;
};

/* Host 0 receives, over its slow ingress, what host 1 sends, or what host 0 reads of host 1. */
static struct outcome run_path(const struct path *path, const struct trouble *trouble)
{
	const bool is_read = path->opcode == RNIC_WR_RDMA_READ;
	struct sim *sim =
		sim_create(.seed = 1, .delay_ns = path->round_trip_ns / 2,
			   .kept_packets = LIMIT_KEPT_PACKETS, .drops_hosts = trouble->drops_hosts);
	struct sim_nic *nic = &sim->net.nics[0];
	struct outcome outcome = {0};
	struct sim_qp *qp;
	uint64_t half_bytes = 0, bytes;

	sim_link(sim, 1, 0)->loss_ppm = trouble->loss_ppm;
	if (trouble->is_both_ways)
		sim_link(sim, 0, 1)->loss_ppm = trouble->loss_ppm;
	if (trouble->is_untold)
		sim_fault(sim, 0, "drop@holes");
	nic->ingress_bits_per_second = path->bits_per_second;
	nic->ingress_queue_bytes = path->queue_bytes;
	qp = sim_connect(sim, is_read ? 0 : 1, is_read ? 1 : 0, .path_mtu = 5, .depth = DEPTH,
			 .timeout = 16, .rd_atomic = 128);
	sim_may_lose_all(sim);
	for (uint64_t at_ns = 0; at_ns < path->duration_ns; at_ns += SIM_MS) {
		if (at_ns >= path->duration_ns / 2 && half_bytes == 0) {
			half_bytes = qp->end.completed * (uint64_t)MESSAGE_BYTES;
			outcome.lost = sim->net.counters.lost;
			outcome.retransmitted =
				sim_counter(sim, qp->host->index, COUNTER_RETRANSMITTED_PACKETS);
			nic->ingress_bytes_seen = 0;
		}
		keep_busy(qp, path->opcode, MESSAGE_BYTES);
		sim_run_for(sim, SIM_MS);
	}
	bytes = qp->end.completed * (uint64_t)MESSAGE_BYTES - half_bytes;
	outcome.percent = (uint32_t)(800.0 * (double)bytes * 2 * (double)SIM_S /
				     (double)path->duration_ns / (double)path->bits_per_second);
	outcome.lost = sim->net.counters.lost - outcome.lost;
	outcome.retransmitted = sim_counter(sim, qp->host->index, COUNTER_RETRANSMITTED_PACKETS) -
				outcome.retransmitted;
	outcome.timeouts = sim_counter(sim, qp->host->index, COUNTER_ACK_TIMEOUTS);
	outcome.queue_bytes = nic->ingress_bytes_seen;
	outcome.window_bytes = peer_window_bytes(qp->qp->peer_window);
	sim_run(sim, 10 * SIM_S);
	assert_sim_is_right(sim);
	return outcome;
}

static void print_outcome(const struct path *path, const struct outcome *outcome)
{
	print_message("%-5s %3llu ms, %4llu Mb/s, queue %7u: %3u %%, window %8u, queue %7u, "
		      "%llu lost, %llu sent again\n",
		      path->opcode == RNIC_WR_RDMA_READ ? "READ" : "WRITE",
		      (unsigned long long)(path->round_trip_ns / SIM_MS),
		      (unsigned long long)(path->bits_per_second / 1000000), path->queue_bytes,
		      outcome->percent, outcome->window_bytes, outcome->queue_bytes,
		      (unsigned long long)outcome->lost,
		      (unsigned long long)outcome->retransmitted);
}

static struct outcome show_path(const struct path *path, const struct trouble *trouble)
{
	const struct outcome outcome = run_path(path, trouble);

	print_outcome(path, &outcome);
	return outcome;
}

/* A thousandth is lost, and no queue is full. */
static void losses_leave_a_share(void **state)
{
	const struct path path = {10 * SIM_MS, 10 * GBIT, 16 << 20, RNIC_WR_RDMA_WRITE, 4 * SIM_S};
	const struct path reads = {10 * SIM_MS, 10 * GBIT, 16 << 20, RNIC_WR_RDMA_READ, 2 * SIM_S};

	(void)state;
	assert_true(show_path(&path, &(struct trouble){.loss_ppm = 1000}).percent >= 60);
	/* Responses behind a gap are kept, and each READ request has holes of its own. */
	assert_true(show_path(&reads, &(struct trouble){.loss_ppm = 1000}).percent >= 60);
	/* A lost READ request stops all behind for a round trip. */
	assert_true(show_path(&reads, &(struct trouble){.loss_ppm = 1000, .is_both_ways = true})
			    .percent >= 35);
	/* One hole a round trip: 4096 B / (0.001 * 10 ms), and most of that. */
	assert_true(
		show_path(&path, &(struct trouble){.loss_ppm = 1000, .is_untold = true}).percent >=
		26);
}

/* Paths whose queue takes a burst are filled, and nothing is lost there. */
static void long_paths_are_filled(void **state)
{
	static const struct {
		struct path path;
		uint32_t percent;
	} rows[] = {
		{{1 * SIM_MS, 10 * GBIT, 4 << 20, RNIC_WR_RDMA_WRITE, 200 * SIM_MS}, 90},
		{{10 * SIM_MS, 10 * GBIT, 16 << 20, RNIC_WR_RDMA_WRITE, 800 * SIM_MS}, 90},
		{{10 * SIM_MS, 10 * GBIT, 16 << 20, RNIC_WR_RDMA_READ, 800 * SIM_MS}, 90},
		{{40 * SIM_MS, 2 * GBIT, 16 << 20, RNIC_WR_RDMA_WRITE, 3 * SIM_S}, 85},
		{{100 * SIM_MS, 1 * GBIT, 16 << 20, RNIC_WR_RDMA_WRITE, 6 * SIM_S}, 85},
		{{300 * SIM_MS, 500000000, 16 << 20, RNIC_WR_RDMA_WRITE, 18 * SIM_S}, 80},
	};

	(void)state;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		const struct outcome outcome = show_path(&rows[i].path, &no_trouble);

		assert_true(outcome.percent >= rows[i].percent);
		assert_int_equal(outcome.lost, 0);
	}
}

/* A queue of a quarter of the path: what overflows it stays little, and the link stays busy. */
static void a_shallow_queue_is_not_flooded(void **state)
{
	static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_READ};

	(void)state;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(opcodes); i++) {
		const struct path path = {10 * SIM_MS, 1 * GBIT, 312500, opcodes[i], 4 * SIM_S};
		const struct outcome outcome = show_path(&path, &no_trouble);

		assert_true(outcome.percent >= 80);
		assert_true(outcome.lost < 1000);
		assert_int_equal(outcome.timeouts, 0);
	}
}

/* A long path's queue does not grow with time: the least round trip is looked for again. */
static void a_deep_queue_stays_shallow(void **state)
{
	const struct path path = {20 * SIM_MS, 400000000, 64 << 20, RNIC_WR_RDMA_WRITE, 60 * SIM_S};
	const struct outcome outcome = show_path(&path, &no_trouble);

	(void)state;
	assert_true(outcome.percent >= 90);
	assert_true(outcome.queue_bytes < 4 << 20);
}

/*
 * A timeout that fits the path is not too short for the queues that we make there: how long an
 * answer takes is measured while they grow, and what leaves before is little. Several QPs with much
 * posted.
 */
static uint64_t count_timeouts(const struct path *path, uint8_t timeout)
{
	const uint32_t sender = path->opcode == RNIC_WR_RDMA_READ ? 0 : 1;
	struct sim *sim = sim_create(.seed = 1, .delay_ns = path->round_trip_ns / 2);
	struct sim_qp *qps[4];
	uint64_t timeouts;

	sim->net.nics[0].ingress_bits_per_second = path->bits_per_second;
	sim->net.nics[0].ingress_queue_bytes = path->queue_bytes;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(qps); i++)
		qps[i] = sim_connect(sim, sender, 1 - sender, .path_mtu = 5, .depth = DEPTH,
				     .timeout = timeout, .rd_atomic = 128);
	for (uint64_t at_ns = 0; at_ns < path->duration_ns; at_ns += SIM_MS) {
		for (uint32_t i = 0; i < RNIC_COUNT_OF(qps); i++)
			keep_busy(qps[i], path->opcode, MESSAGE_BYTES);
		sim_run_for(sim, SIM_MS);
	}
	timeouts = sim_counter(sim, sender, COUNTER_ACK_TIMEOUTS);
	print_message("%3llu ms, timeout %u: %llu timeouts, window %u\n",
		      (unsigned long long)(path->round_trip_ns / SIM_MS), timeout,
		      (unsigned long long)timeouts, peer_window_bytes(qps[0]->qp->peer_window));
	sim_run(sim, 10 * SIM_S);
	assert_sim_is_right(sim);
	return timeouts;
}

static void our_queues_make_no_timeouts(void **state)
{
	static const struct {
		struct path path;
		uint8_t timeout; /* 14: 67 ms, 12: 17 ms */
	} rows[] = {
		{{60 * SIM_MS, 1 * GBIT, 64 << 20, RNIC_WR_RDMA_WRITE, 2 * SIM_S}, 14},
		{{15 * SIM_MS, 10 * GBIT, 64 << 20, RNIC_WR_RDMA_WRITE, 300 * SIM_MS}, 12},
		{{15 * SIM_MS, 1 * GBIT, 64 << 20, RNIC_WR_RDMA_WRITE, 1 * SIM_S}, 12},
		{{15 * SIM_MS, 1 * GBIT, 64 << 20, RNIC_WR_RDMA_READ, 1 * SIM_S}, 12},
	};

	(void)state;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++)
		assert_int_equal(count_timeouts(&rows[i].path, rows[i].timeout), 0);
}

/*
 * The peer is off the processor for longer than the timeout, and nothing is lost: the answer to the
 * oldest packet acknowledges all, and no others go again.
 */
static void a_stall_sends_little_again(void **state)
{
	struct sim *sim =
		sim_create(.seed = 1, .delay_ns = 5 * SIM_MS, .kept_packets = LIMIT_KEPT_PACKETS);
	struct sim_qp *qp = sim_connect(sim, 1, 0, .path_mtu = 5, .depth = DEPTH, .timeout = 14);
	struct sim_link *answers = sim_link(sim, 0, 1);

	(void)state;
	sim->net.nics[0].ingress_bits_per_second = 10 * GBIT;
	for (uint32_t ms = 0; ms < 600; ms++) {
		keep_busy(qp, RNIC_WR_RDMA_WRITE, MESSAGE_BYTES);
		answers->delay_ns = ms == 300 ? 205 * SIM_MS : 5 * SIM_MS;
		for (; ms == 300; ms++)
			sim_run_for(sim, 200 * SIM_MS);
		sim_run_for(sim, SIM_MS);
	}
	print_message("%llu timeouts, %llu sent again\n",
		      (unsigned long long)sim_counter(sim, 1, COUNTER_ACK_TIMEOUTS),
		      (unsigned long long)sim_counter(sim, 1, COUNTER_RETRANSMITTED_PACKETS));
	assert_in_range(sim_counter(sim, 1, COUNTER_ACK_TIMEOUTS), 1, 2);
	assert_true(sim_counter(sim, 1, COUNTER_RETRANSMITTED_PACKETS) < 20);
	sim_run(sim, 10 * SIM_S);
	assert_sim_is_right(sim);
}

/*
 * All READ requests that are under way are lost, and no more may follow: the first that comes again
 * shows what else is missing.
 */
static void lost_reads_are_asked_for_together(void **state)
{
	enum { READS = 128, ROUND_TRIPS = 8 };
	const uint64_t round_trip_ns = 10 * SIM_MS;
	struct sim *sim = sim_create(.seed = 1, .delay_ns = round_trip_ns / 2);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 5, .depth = READS, .timeout = 16,
					.rd_atomic = READS);

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 4096);
		sim_run(sim, SIM_S);
	}
	sim_link(sim, 0, 1)->loss_ppm = 1000000;
	for (uint32_t i = 0; i < READS; i++)
		sim_post(qp, .opcode = RNIC_WR_RDMA_READ, .bytes = 4096);
	sim_run_for(sim, round_trip_ns);
	sim_link(sim, 0, 1)->loss_ppm = 0;
	assert_true(sim_run(sim, 10 * SIM_S) < ROUND_TRIPS * round_trip_ns);
	assert_int_equal(sim_counter(sim, 0, COUNTER_ACK_TIMEOUTS), 0);
	assert_sim_is_right(sim);
}

/*
 * Many QPs share a long path as one would use it: who goes to the end of the line has asked for an
 * acknowledgement, or the packets of those who wait fill the window, and nobody is asked.
 */
static void many_qps_fill_a_path(void **state)
{
	enum { QPS = 200, BYTES = 64 * 1024, WARM_UP_MS = 200, MEASURED_MS = 100 };
	struct sim *sim = sim_create(.seed = 1, .max_qps = QPS + 1, .delay_ns = 5 * SIM_MS,
				     .kept_packets = LIMIT_KEPT_PACKETS);
	struct sim_qp *qps[QPS];
	uint64_t messages = 0;

	(void)state;
	sim->net.nics[0].ingress_bits_per_second = 10 * GBIT;
	sim->net.nics[0].ingress_queue_bytes = 32 << 20;
	for (uint32_t i = 0; i < QPS; i++)
		qps[i] = sim_connect(sim, 1, 0, .path_mtu = 5, .depth = 4, .timeout = 14);
	for (uint32_t ms = 0; ms < WARM_UP_MS + MEASURED_MS; ms++) {
		for (uint32_t i = 0; i < QPS; i++) {
			keep_busy(qps[i], RNIC_WR_RDMA_WRITE, BYTES);
			messages -= ms == WARM_UP_MS ? qps[i]->end.completed : 0;
		}
		sim_run_for(sim, SIM_MS);
	}
	for (uint32_t i = 0; i < QPS; i++)
		messages += qps[i]->end.completed;
	print_message("%u QPs: %llu MB/s\n", QPS,
		      (unsigned long long)(messages * BYTES / MEASURED_MS / 1000));
	assert_true(messages * BYTES * 8 * 1000 / MEASURED_MS >= 9 * GBIT);
	assert_int_equal(sim_counter(sim, 1, COUNTER_ACK_TIMEOUTS), 0);
	sim_run(sim, 10 * SIM_S);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_sends_little_again),
		cmocka_unit_test(lost_reads_are_asked_for_together),
		cmocka_unit_test(long_paths_are_filled),
		cmocka_unit_test(losses_leave_a_share),
		cmocka_unit_test(a_shallow_queue_is_not_flooded),
		cmocka_unit_test(a_deep_queue_stays_shallow),
		cmocka_unit_test(many_qps_fill_a_path),
		cmocka_unit_test(our_queues_make_no_timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

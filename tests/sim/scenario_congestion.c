/* SPDX-License-Identifier: MIT */
/* Congestion control: senders that share a bottleneck, with ECN and without. */
#include "tests/sim/invariants.h"
#include "tests/sim/scenario.h"

#define BOTTLENECK_BITS UINT64_C(10000000000)
#define QUEUE_BYTES	(256 * 1024)
#define MARK_BYTES	(40 * 1024)
#define MESSAGE_BYTES	(256 * 1024)
#define SENDERS_MAX	4

struct outcome {
	uint64_t lost;
	uint64_t retransmitted;
	uint64_t bytes[SENDERS_MAX]; /* of each sender in the second half */
	uint64_t sum_bytes;
	uint32_t queue_bytes; /* most in the second half */
};

static uint64_t payload_bytes(const struct sim *sim, uint32_t sender)
{
	return sim->qps[2 * sender]->end.completed * (uint64_t)MESSAGE_BYTES;
}

/* `senders` hosts send to one for `duration_ns`, all but the first a little later than that. */
static struct outcome share(uint32_t senders, bool has_ecn, enum rnic_wr_opcode opcode,
			    uint64_t duration_ns)
{
	struct sim *sim = sim_create(.seed = senders, .hosts = senders + 1, .has_ecn = has_ecn);
	struct sim_nic *nic = &sim->net.nics[0];
	struct outcome outcome = {0};
	uint64_t step_ns = SIM_MS / 4;

	nic->ingress_bits_per_second = BOTTLENECK_BITS;
	nic->ingress_queue_bytes = QUEUE_BYTES;
	nic->ingress_mark_bytes = MARK_BYTES;
	for (uint32_t i = 0; i < senders; i++) {
		bool is_read = opcode == RNIC_WR_RDMA_READ;

		sim_connect(sim, is_read ? 0 : i + 1, is_read ? i + 1 : 0, .path_mtu = 5,
			    .depth = 16, .timeout = 12);
	}
	sim_may_lose_all(sim);
	for (uint64_t at_ns = 0; at_ns < duration_ns; at_ns += step_ns) {
		if (at_ns == duration_ns / 2) {
			nic->ingress_bytes_seen = 0;
			outcome.lost = sim->net.counters.lost;
			for (uint32_t i = 0; i < senders; i++)
				outcome.bytes[i] = payload_bytes(sim, i);
		}
		for (uint32_t i = 0; i < senders; i++) {
			if (i == 0 || at_ns >= duration_ns / 8)
				keep_busy(sim->qps[2 * i], opcode, MESSAGE_BYTES);
		}
		sim_run_for(sim, step_ns);
	}
	outcome.lost = sim->net.counters.lost - outcome.lost;
	outcome.queue_bytes = nic->ingress_bytes_seen;
	for (uint32_t i = 0; i < senders; i++) {
		outcome.bytes[i] = payload_bytes(sim, i) - outcome.bytes[i];
		outcome.sum_bytes += outcome.bytes[i];
		outcome.retransmitted += sim_counter(sim, i + 1, COUNTER_RETRANSMITTED_PACKETS);
	}
	sim_run(sim, SIM_S);
	assert_sim_is_right(sim);
	return outcome;
}

static void print_outcome(bool has_ecn, uint32_t senders, uint64_t duration_ns,
			  const struct outcome *outcome)
{
	print_message("ECN %-3s, %u senders: %5.2f Gb/s, %6llu lost, %6llu sent again, queue %6u; "
		      "shares",
		      has_ecn ? "on" : "off", senders,
		      16.0 * (double)outcome->sum_bytes / (double)duration_ns,
		      (unsigned long long)outcome->lost, (unsigned long long)outcome->retransmitted,
		      outcome->queue_bytes);
	for (uint32_t i = 0; i < senders; i++)
		print_message(" %.2f", (double)outcome->bytes[i] / (double)outcome->sum_bytes);
	print_message("\n");
}

static void check_share(uint32_t senders, enum rnic_wr_opcode opcode)
{
	const uint64_t duration_ns = 160 * SIM_MS;
	struct outcome with = share(senders, true, opcode, duration_ns);
	struct outcome without = share(senders, false, opcode, duration_ns);

	print_outcome(true, senders, duration_ns, &with);
	print_outcome(false, senders, duration_ns, &without);
	assert_true(without.lost > 0);
	assert_int_equal(with.lost, 0);
	assert_true(with.queue_bytes < QUEUE_BYTES / 2);
	/* Of 10 Gb/s in half of the time. */
	assert_true(16 * with.sum_bytes > 8 * duration_ns);
	for (uint32_t i = 0; i < senders; i++)
		assert_in_range(with.bytes[i], with.sum_bytes / senders * 7 / 10,
				with.sum_bytes / senders * 13 / 10);
}

static void writers_share_a_bottleneck(void **state)
{
	(void)state;
	check_share(2, RNIC_WR_RDMA_WRITE);
	check_share(4, RNIC_WR_RDMA_WRITE);
}

/* The marked packets are answers: the responder is the one that slows down. */
static void responders_share_a_bottleneck(void **state)
{
	(void)state;
	check_share(2, RNIC_WR_RDMA_READ);
}

/* A device that has the option off takes no part: its packets cannot be marked. */
static void nothing_reacts_with_the_option_off(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);

	(void)state;
	sim_link(sim, 0, 1)->bits_per_second = 1000000000;
	sim_link(sim, 0, 1)->mark_bytes = 1;
	sim_post(qp, .bytes = 100000);
	sim_run(sim, 20 * SIM_MS);
	assert_int_equal(sim->net.counters.marked, 0);
	assert_int_equal(sim_counter(sim, 1, COUNTER_CNPS_SENT), 0);
	assert_sim_is_right(sim);
}

/*
 * The writer's rate lets few packets go at a time, none of which asks for an acknowledgement, while
 * the READ waits for an empty path. The writer's next packet asks, so that the READ need not wait
 * for the end of the WRITE.
 */
static void read_beside_a_slowed_writer(uint64_t start_ns)
{
	struct sim *sim = sim_create(.seed = 1, .has_ecn = true);
	struct sim_qp *writer = sim_connect(sim, 0, 1, .path_mtu = 5);
	struct sim_qp *reader = sim_connect(sim, 0, 1, .path_mtu = 1);

	sim_link(sim, 0, 1)->bits_per_second = 1000000000;
	sim_link(sim, 0, 1)->mark_bytes = 1;
	sim_post(writer, .bytes = 2000000);
	sim_run_for(sim, start_ns);
	sim_post(reader, .opcode = RNIC_WR_RDMA_READ, .bytes = 64000);
	for (uint32_t i = 0; i < 2000 && reader->end.completed == 0; i++) {
		sim_run_for(sim, 5 * SIM_US);
		engine_check_invariants(&sim->hosts[0].engine);
	}
	assert_int_equal(reader->end.completed, 1);
	assert_int_equal(writer->end.completed, 0);
	sim_run(sim, SIM_S);
	assert_sim_is_right(sim);
}

static void a_slowed_writer_asks_on_behalf_of_the_line(void **state)
{
	(void)state;
	for (uint64_t start_ns = 0; start_ns < 5 * SIM_MS; start_ns += SIM_MS / 5)
		read_beside_a_slowed_writer(start_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writers_share_a_bottleneck),
		cmocka_unit_test(responders_share_a_bottleneck),
		cmocka_unit_test(nothing_reacts_with_the_option_off),
		cmocka_unit_test(a_slowed_writer_asks_on_behalf_of_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Packets that no RNIC would send, from the right address and with a good ICRC. */
#include "tests/sim/scenario.h"

#include "proto/wire/headers.h"

#include <string.h>

#define ROUNDS	      2000
#define FORGED_EACH   60
#define PAYLOAD_BYTES 1024

static uint32_t below(struct sim *sim, uint32_t bound)
{
	return (uint32_t)prng_below(&sim->prng, bound);
}

static uint32_t random_payload_bytes(struct sim *sim, const struct rnic_opcode *row)
{
	static const uint32_t near[] = {1, 4, 1023, 1024, 1025, 2048, 4096};

	switch (row->payload) {
	case RNIC_PAYLOAD_NONE:
		return 0;
	case RNIC_PAYLOAD_EIGHT:
		return 8;
	case RNIC_PAYLOAD_FULL:
		return below(sim, 3) != 0 ? PAYLOAD_BYTES : 256U << below(sim, 5);
	default:
		return near[below(sim, RNIC_COUNT_OF(near))];
	}
}

/* A PSN that the victim expects, or one near by, or any. */
static struct rnic_psn random_psn(struct sim *sim, const struct qp *victim, bool is_request)
{
	struct rnic_psn expected =
		is_request ? victim->responder.expected_psn : victim->requester.unacknowledged;

	switch (below(sim, 4)) {
	case 0:
		return rnic_psn_add(expected, (int32_t)below(sim, 20) - 10);
	case 1:
		return rnic_psn(below(sim, RNIC_PSN_MASK + 1));
	default:
		return expected;
	}
}

static bool forge(struct sim *sim, const struct sim_qp *victim, struct rnic_packet *packet)
{
	const struct mr *mr = &victim->host->mrs[below(sim, SIM_KEY_COUNT)];
	uint8_t opcode = (uint8_t)(below(sim, 8) != 0 ? below(sim, 0x18) : below(sim, 256));
	static const uint32_t lengths[] = {0, 1, 8, 1024, 5000, 1U << 31, UINT32_MAX};

	*packet = (struct rnic_packet){.opcode = opcode, .row = rnic_opcode_row(opcode)};
	if (packet->row->operation == RNIC_OPERATION_NONE)
		return false;
	packet->addresses.source = victim->peer->host->nic->gid;
	packet->addresses.dest = victim->host->nic->gid;
	packet->addresses.source_port = RNIC_UDP_PORT;
	packet->addresses.hop_limit = 64;
	packet->pkey = below(sim, 10) != 0 ? 0xffff : 0x1234;
	packet->dest_qpn = victim->qp->qpn;
	packet->ack_request = below(sim, 2) != 0;
	packet->psn = random_psn(sim, victim->qp, packet->row->is_request);
	packet->reth.address = mr->iova + below(sim, 100000);
	packet->reth.rkey = mr->key;
	packet->reth.length = lengths[below(sim, RNIC_COUNT_OF(lengths))];
	packet->atomic.address = mr->iova + below(sim, 1000);
	packet->atomic.rkey = mr->key;
	packet->aeth.syndrome = (uint8_t)below(sim, 256);
	packet->aeth.msn = below(sim, RNIC_PSN_MASK + 1);
	packet->payload_bytes = random_payload_bytes(sim, packet->row);
	return true;
}

static void send_forged(struct sim *sim, const struct sim_qp *victim)
{
	uint8_t bytes[RNIC_PACKET_BYTES_MAX] = {0};
	struct datagram datagram = {.bytes = bytes};
	struct port *port = &victim->peer->host->nic->port;
	struct rnic_packet packet;

	if (!forge(sim, victim, &packet))
		return;
	rnic_packet_encode_headers(&packet, bytes);
	datagram.addresses = packet.addresses;
	datagram.length = rnic_packet_bytes(&packet);
	port->ops->transmit(port, &datagram, 1, sim->net.now_ns);
}

static void forged_packets_harm_only_their_own_qp(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct sim *sim = sim_create(.seed = seed, .hosts = 3, .is_direct = seed % 2 != 0);
		struct sim_qp *victim = sim_connect(sim, 0, 1);
		struct sim_qp *bystander = sim_connect(sim, 0, 2);
		struct oracle ignored = {0};

		victim->end.oracle = victim->peer->end.oracle = &ignored;
		for (uint32_t i = 0; i < FORGED_EACH; i++) {
			sim_receive(victim, .bytes = 3000);
			sim_post(victim, .opcode = (uint8_t)(i % 7), .bytes = 3000);
			send_forged(sim, victim);
			if (i % 5 == 0)
				sim_post(bystander, .bytes = 1000);
			sim_run_for(sim, 20 * SIM_US);
		}
		sim_run_for(sim, 20 * SIM_S);
		assert_string_equal(sim->oracle.failure, "");
		assert_int_equal(bystander->end.completed, FORGED_EACH / 5);
		assert_int_equal(bystander->qp->state, RNIC_QP_STATE_RTS);
		sim_finish(sim); /* the victim's memory is not as its model has it */
		oracle_fini(&ignored);
	}
}

static void packets_for_qps_that_are_not_there_are_counted(void **state)
{
	struct sim *sim = sim_create(.seed = 1);
	struct sim_qp *qp = sim_connect(sim, 0, 1);
	struct qp stranger = {.qpn = qp->qp->qpn ^ 0x10};
	struct sim_qp victim = {.host = qp->host, .peer = qp->peer, .qp = &stranger};

	(void)state;
	for (uint32_t i = 0; i < 50; i++)
		send_forged(sim, &victim);
	sim_run_for(sim, SIM_MS);
	assert_true(sim_counter(sim, 0, COUNTER_DROPPED_UNKNOWN_QP) > 30);
	sim_post(qp, .bytes = 100);
	sim_run(sim, SIM_MS);
	assert_sim_is_right(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forged_packets_harm_only_their_own_qp),
		cmocka_unit_test(packets_for_qps_that_are_not_there_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/path_limits.h"
#include "lib/nic/path/transmit.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define PAYLOAD_BYTES 64

/* A port that keeps outgoing packets. */
struct bench {
	struct port port;
	uint32_t sent;
	uint8_t opcodes[LIMIT_TURN_TRANSMITS];
	uint8_t payloads[LIMIT_TURN_TRANSMITS][PAYLOAD_BYTES];
	struct packet_notes notes;
	struct transmit transmit;
	struct engine_fixture *fixture;
	struct client_region lost; /* memory that is gone */
	struct mr lost_mr;
};

static uint32_t keep(struct port *port, struct datagram *datagrams, uint32_t count, uint64_t now_ns)
{
	struct bench *bench = RNIC_CONTAINER_OF(port, struct bench, port);

	(void)now_ns;
	for (uint32_t i = 0; i < count; i++, bench->sent++) {
		const struct datagram *datagram = &datagrams[i];
		uint32_t header_bytes = rnic_opcode_row(datagram->bytes[0])->header_bytes;
		uint32_t payload_bytes = datagram->length - header_bytes;

		assert_true(bench->sent < LIMIT_TURN_TRANSMITS);
		/* Copies between places that differ modulo 16 take several times as long. */
		assert_int_equal((uintptr_t)(datagram->bytes + header_bytes) % 16, 0);
		bench->opcodes[bench->sent] = datagram->bytes[0];
		memcpy(bench->payloads[bench->sent], datagram->bytes + header_bytes,
		       payload_bytes < PAYLOAD_BYTES ? payload_bytes : PAYLOAD_BYTES);
	}
	return count;
}

static uint64_t never(const struct port *port)
{
	(void)port;
	return UINT64_MAX;
}

static uint32_t read_nothing(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	(void)transfers;
	(void)count;
	*error = -EFAULT;
	return 0;
}

static const struct port_ops keeping_ops = {.transmit = keep, .next_deadline_ns = never};
static const struct client_memory_ops lost_ops = {.read = read_nothing};

static struct bench *bench_create(void)
{
	struct fixture_options options = fixture_defaults;
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	options.is_batched = true;
	bench->fixture = fixture_create(&options);
	bench->port.ops = &keeping_ops;
	assert_int_equal(transmit_init(&bench->transmit, &bench->fixture->engine, &bench->port,
				       &bench->notes),
			 0);
	bench->lost = (struct client_region){
		.ops = &lost_ops, .space = bench, .bytes = FIXTURE_MEMORY_BYTES};
	bench->lost_mr = bench->fixture->mr;
	bench->lost_mr.region = &bench->lost;
	assert_int_equal(mr_register(&bench->fixture->engine, &bench->lost_mr), 0);
	return bench;
}

static void bench_destroy(struct bench *bench)
{
	mr_deregister(&bench->fixture->engine, &bench->lost_mr);
	transmit_fini(&bench->transmit);
	fixture_destroy(bench->fixture);
	free(bench);
}

static void receive_read_request(struct bench *bench, const struct mr *mr)
{
	struct rnic_packet request = fixture_packet(bench->fixture, RNIC_OPERATION_READ_REQUEST,
						    RNIC_POSITION_ONLY, fixture_defaults.rq_psn);

	request.reth = (struct rnic_reth){FIXTURE_IOVA, mr->key, PAYLOAD_BYTES};
	fixture_receive(bench->fixture, &request);
}

/* A SEND that is built together with an answer for which there are no bytes has its own. */
static void test_answer_without_bytes(void **state)
{
	struct bench *bench = bench_create();
	struct engine_fixture *fixture = bench->fixture;

	(void)state;
	receive_read_request(bench, &bench->lost_mr);
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, PAYLOAD_BYTES);
	assert_int_equal(transmit_run(&bench->transmit, fixture->now_ns), 1);
	assert_int_equal(rnic_opcode_row(bench->opcodes[0])->operation, RNIC_OPERATION_SEND);
	assert_memory_equal(bench->payloads[0], fixture->memory.bytes, PAYLOAD_BYTES);

	assert_int_equal(transmit_run(&bench->transmit, fixture->now_ns), 1);
	assert_int_equal(rnic_opcode_row(bench->opcodes[1])->operation, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	bench_destroy(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {

		cmocka_unit_test(test_answer_without_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

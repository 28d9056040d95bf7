/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/responder_bench.h"

#include "tests/sim/recv_room_copy.h"
#include "tests/unit/unit_test.h"

static const struct rnic_gid our_gid = {{[10] = 0xff, 0xff, 192, 0, 2, 1}};
static const struct rnic_gid peer_gid = {{[10] = 0xff, 0xff, 192, 0, 2, 2}};

/* --- sink ------------------------------------------------------------------------------------ */

static bool take_completion(void *context, struct cq *cq, const struct cqe *cqe)
{
	struct responder_bench *bench = context;

	assert_ptr_equal(cq, &bench->cq);
	if (bench->completion_count == bench->completion_limit)
		return false;
	bench->completions[bench->completion_count++] = *cqe;
	return true;
}

static void take_event(void *context, enum rnic_async_event_type type, void *object)
{
	struct responder_bench *bench = context;

	(void)object;
	if (type != RNIC_EVENT_COMM_EST)
		bench->events[bench->event_count++] = type;
}

static uint32_t refill(void *context, const struct recv_queue *queue, const struct recv_room *room)
{
	struct responder_bench *bench = context;
	uint32_t filled = 0;

	(void)queue;
	while (filled < room->count && bench->receives_handed_over < bench->receives_posted) {
		uint32_t i = bench->receives_handed_over++;

		recv_room_copy(room, filled++, &bench->receives[i], bench->receive_sges[i]);
	}
	return filled;
}

static bool refuses_when_gone(void *context, const struct qp *qp)
{
	const struct responder_bench *bench = context;

	(void)qp;
	return bench->refuses_when_gone;
}

static const struct engine_sink sink = {
	.refuses_when_gone = refuses_when_gone,
	.cqe = take_completion,
	.async_event = take_event,
	.refill = refill,
};

/* --- set-up ---------------------------------------------------------------------------------- */

static void connect(struct responder_bench *bench, uint32_t psn)
{
	const struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT,
		.port = 1,
		.access_flags = RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_WRITE |
				RNIC_ACCESS_REMOTE_ATOMIC,
		.path = {.dest_gid = peer_gid, .is_global = 1, .port = 1, .hop_limit = 64},
		.path_mtu = 3,
		.dest_qpn = BENCH_PEER_QPN,
		.rq_psn = psn,
		.max_dest_rd_atomic = BENCH_RD_ATOMIC,
		.min_rnr_timer = BENCH_RNR_TIMER,
	};
	struct rnic_qp_attributes to_receive = attributes;

	assert_int_equal(qp_modify(bench->qp, &attributes,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS),
			 0);
	to_receive.state = RNIC_QP_STATE_RTR;
	assert_int_equal(qp_modify(bench->qp, &to_receive,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
					   RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |
					   RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC |
					   RNIC_QP_ATTR_MIN_RNR_TIMER),
			 0);
}

void bench_start(struct responder_bench *bench, uint32_t psn, bool direct)
{
	const struct engine_config config = {
		.sink = &sink,
		.sink_context = bench,
		.random = prng_source(&bench->random),
		.max_qps = 4,
		.max_mrs = 4,
	};
	const struct qp_config qp_config = {
		.type = RNIC_QP_TYPE_RC,
		.pd = &bench->pd,
		.send_cq = &bench->cq,
		.recv_cq = &bench->cq,
		.capacities = {.max_send_wr = 1, .max_recv_wr = BENCH_RECEIVES, .max_recv_sge = 2},
	};

	memset(bench, 0, sizeof(*bench));
	prng_init(&bench->random, 7);
	bench->completion_limit = BENCH_COMPLETIONS;
	for (uint32_t i = 0; i < sizeof(bench->payload); i++)
		bench->payload[i] = (uint8_t)(i + 1);
	assert_int_equal(engine_init(&bench->engine, &config), 0);
	engine_set_gid(&bench->engine, 0, &our_gid);
	model_memory_init(&bench->model, bench->memory, BENCH_BYTES, direct);
	bench->mr = (struct mr){
		.pd = &bench->pd,
		.region = &bench->model.region,
		.iova = BENCH_IOVA,
		.length = BENCH_BYTES,
		.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ |
			  RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC,
	};
	assert_int_equal(mr_register(&bench->engine, &bench->mr), 0);
	assert_int_equal(qp_create(&bench->engine, &qp_config, &bench->qp), 0);
	connect(bench, psn);
}

void bench_stop(struct responder_bench *bench)
{
	qp_destroy(bench->qp);
	if (bench->mr.region != NULL)
		mr_deregister(&bench->engine, &bench->mr);
	engine_fini(&bench->engine);
}

void bench_post(struct responder_bench *bench, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	uint32_t i = bench->receives_posted++;

	assert_true(i < BENCH_RECEIVES);
	bench->receives[i] = (struct recv_wqe){.wr_id = wr_id, .sge_count = 1, .length = length};
	bench->receive_sges[i][0] = (struct rnic_sge){BENCH_IOVA + offset, length, bench->mr.key};
}

/* --- packets --------------------------------------------------------------------------------- */

struct rnic_packet bench_packet(struct responder_bench *bench, enum rnic_operation operation,
				enum rnic_position position, uint16_t headers, uint32_t psn,
				uint32_t payload_bytes)
{
	int opcode = rnic_opcode_find(RNIC_SERVICE_RC, operation, position, headers);

	assert_true(opcode >= 0);
	return (struct rnic_packet){
		.addresses = {.source = peer_gid, .dest = our_gid, .source_port = RNIC_UDP_PORT},
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.pkey = 0xffff,
		.dest_qpn = bench->qp->qpn,
		.psn = rnic_psn(psn),
		.ack_request = true,
		.payload = bench->payload,
		.payload_bytes = payload_bytes,
	};
}

struct rnic_packet bench_send(struct responder_bench *bench, uint32_t psn, uint32_t payload_bytes)
{
	return bench_packet(bench, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 0, psn, payload_bytes);
}

struct rnic_packet bench_write(struct responder_bench *bench, uint32_t psn, uint64_t offset,
			       uint32_t payload_bytes)
{
	struct rnic_packet packet = bench_packet(bench, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, 0,
						 psn, payload_bytes);

	packet.reth = (struct rnic_reth){BENCH_IOVA + offset, bench->mr.key, payload_bytes};
	return packet;
}

struct rnic_packet bench_read(struct responder_bench *bench, uint32_t psn, uint64_t offset,
			      uint32_t length)
{
	struct rnic_packet packet =
		bench_packet(bench, RNIC_OPERATION_READ_REQUEST, RNIC_POSITION_ONLY, 0, psn, 0);

	packet.reth = (struct rnic_reth){BENCH_IOVA + offset, bench->mr.key, length};
	return packet;
}

struct rnic_packet bench_atomic(struct responder_bench *bench, enum rnic_operation operation,
				uint32_t psn, uint64_t offset, uint64_t swap_or_add,
				uint64_t compare)
{
	struct rnic_packet packet = bench_packet(bench, operation, RNIC_POSITION_ONLY, 0, psn, 0);

	packet.atomic = (struct rnic_atomic_header){BENCH_IOVA + offset, bench->mr.key, swap_or_add,
						    compare};
	return packet;
}

void bench_receive(struct responder_bench *bench, struct rnic_packet packet)
{
	engine_receive(&bench->engine, &packet, 1000);
}

void bench_flush(struct responder_bench *bench)
{
	engine_flush(&bench->engine, 1000);
}

/* --- expectations ---------------------------------------------------------------------------- */

static struct packet_builder next_answer(struct responder_bench *bench,
					 enum rnic_operation operation, enum rnic_position position,
					 uint32_t psn)
{
	struct packet_builder out;

	assert_true(engine_transmit(&bench->engine, &out, 2000));
	if (out.packet.row->operation != operation || out.packet.row->position != position)
		fail_msg("answer is %s, PSN %u", out.packet.row->name, out.packet.psn.value);
	assert_int_equal(out.packet.psn.value, psn & RNIC_PSN_MASK);
	assert_int_equal(out.packet.dest_qpn, BENCH_PEER_QPN);
	assert_memory_equal(&out.packet.addresses.dest, &peer_gid, sizeof(peer_gid));
	assert_memory_equal(&out.packet.addresses.source, &our_gid, sizeof(our_gid));
	assert_false(out.packet.row->is_request);
	assert_false(out.packet.ack_request);
	assert_ptr_equal(out.qp, bench->qp);
	return out;
}

void expect_acknowledge(struct responder_bench *bench, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	struct packet_builder out =
		next_answer(bench, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, psn);

	assert_int_equal(out.packet.aeth.syndrome, syndrome);
	assert_int_equal(out.packet.aeth.msn, msn);
	assert_int_equal(out.piece_count, 0);
	assert_int_equal(out.packet.payload_bytes, 0);
}

void expect_silence(struct responder_bench *bench)
{
	struct packet_builder out;

	if (engine_transmit(&bench->engine, &out, 2000))
		fail_msg("unexpected answer %s, PSN %u, syndrome 0x%02x", out.packet.row->name,
			 out.packet.psn.value, out.packet.aeth.syndrome);
}

void expect_response(struct responder_bench *bench, enum rnic_position position, uint32_t psn,
		     uint32_t msn, uint64_t offset, uint32_t bytes)
{
	struct packet_builder out = next_answer(bench, RNIC_OPERATION_READ_RESPONSE, position, psn);

	if (position != RNIC_POSITION_MIDDLE) {
		assert_int_equal(out.packet.aeth.syndrome, 0x1f);
		assert_int_equal(out.packet.aeth.msn, msn);
	}
	assert_int_equal(out.packet.payload_bytes, bytes);
	assert_int_equal(out.piece_count, bytes > 0 ? 1 : 0);
	if (bytes > 0) {
		assert_ptr_equal(out.pieces[0].region, &bench->model.region);
		assert_int_equal(out.pieces[0].offset, offset);
		assert_int_equal(out.pieces[0].length, bytes);
	}
}

void expect_atomic(struct responder_bench *bench, uint32_t psn, uint32_t msn, uint64_t original)
{
	struct packet_builder out =
		next_answer(bench, RNIC_OPERATION_ATOMIC_ACKNOWLEDGE, RNIC_POSITION_ONLY, psn);

	assert_int_equal(out.packet.aeth.syndrome, 0x1f);
	assert_int_equal(out.packet.aeth.msn, msn);
	assert_int_equal(out.packet.atomic_original, original);
}

void expect_completion(struct responder_bench *bench, uint64_t wr_id, enum rnic_wc_status status)
{
	const struct cqe *oldest = &bench->completions[0];

	assert_true(bench->completion_count > 0);
	assert_int_equal(oldest->wr_id, wr_id);
	assert_int_equal(oldest->status, status);
	assert_ptr_equal(oldest->qp, bench->qp);
	assert_true(oldest->is_recv);
	bench->completion_count--;
	memmove(bench->completions, bench->completions + 1,
		bench->completion_count * sizeof(bench->completions[0]));
}

void expect_no_completion(struct responder_bench *bench)
{
	assert_int_equal(bench->completion_count, 0);
}

/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/engine_fixture.h"

#include "proto/wire/gid.h"
#include "proto/wire/syndrome.h"
#include "tests/sim/invariants.h"
#include "tests/sim/recv_room_copy.h"
#include "tests/unit/unit_test.h"

const struct fixture_options fixture_defaults = {
	.path_mtu = 3,
	.max_rd_atomic = 16,
	.max_dest_rd_atomic = 16,
	.timeout = 14,
	.retry_count = 7,
	.rnr_retry = 7,
	.sq_psn = 100,
	.rq_psn = 100,
};

/* --- sink ------------------------------------------------------------------------------------ */

static bool record_completion(void *context, struct cq *cq, const struct cqe *cqe)
{
	struct engine_fixture *fixture = context;

	(void)cq;
	if (fixture->completion_count == fixture->completion_room)
		return false;
	fixture->completions[fixture->completion_count++] = *cqe;
	return true;
}

static void record_event(void *context, enum rnic_async_event_type type, void *object)
{
	struct engine_fixture *fixture = context;

	(void)object;
	assert_true(fixture->event_count < FIXTURE_RECORDS);
	fixture->events[fixture->event_count++] = type;
}

static uint32_t refill(void *context, const struct recv_queue *queue, const struct recv_room *room)
{
	struct engine_fixture *fixture = context;
	uint32_t filled = 0;

	(void)queue;
	while (fixture->receives_taken != fixture->receives_posted && filled < room->count) {
		const struct fixture_receive *receive =
			&fixture->receives[fixture->receives_taken++ %
					   RNIC_COUNT_OF(fixture->receives)];

		recv_room_copy(room, filled++, &receive->wqe, receive->sges);
	}
	return filled;
}

static int count_groups(void *context, const struct rnic_gid *group, bool is_wanted)
{
	struct engine_fixture *fixture = context;

	assert_true(rnic_gid_is_multicast(group));
	if (is_wanted && fixture->group_error != 0)
		return fixture->group_error;
	fixture->groups_wanted += is_wanted ? 1 : UINT32_MAX;
	return 0;
}

static void count_trouble(void *context, const struct qp *qp)
{
	struct engine_fixture *fixture = context;

	assert_int_not_equal(qp->last_error, VERDICT_PASS);
	fixture->trouble_log++;
}

static void count_errors(void *context, struct qp *qp)
{
	struct engine_fixture *fixture = context;

	assert_int_equal(qp->state, RNIC_QP_STATE_ERR);
	fixture->errors_entered++;
}

static void count_send_spaces(void *context, struct qp *qp)
{
	struct engine_fixture *fixture = context;

	assert_true(send_queue_space(&qp->send_queue) > 0);
	fixture->send_spaces++;
}

static const struct engine_sink recording_sink = {
	.cqe = record_completion,
	.send_space = count_send_spaces,
	.async_event = record_event,
	.refill = refill,
	.multicast = count_groups,
	.entered_error = count_errors,
	.trouble = count_trouble,
};

/* --- set-up ---------------------------------------------------------------------------------- */

static void modify(struct qp *qp, struct rnic_qp_attributes *attributes, enum rnic_qp_state state,
		   uint32_t mask)
{
	attributes->state = state;
	assert_int_equal(qp_modify(qp, attributes, mask | RNIC_QP_ATTR_STATE), 0);
}

static void bring_to_rts(struct engine_fixture *fixture, struct qp *qp,
			 const struct fixture_options *options)
{
	struct rnic_qp_attributes attributes = {
		.access_flags = RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_WRITE |
				RNIC_ACCESS_REMOTE_ATOMIC,
		.port = 1,
		.path_mtu = options->path_mtu,
		.dest_qpn = FIXTURE_DEST_QPN,
		.rq_psn = options->rq_psn,
		.sq_psn = options->sq_psn,
		.max_dest_rd_atomic = options->max_dest_rd_atomic,
		.max_rd_atomic = options->max_rd_atomic,
		.min_rnr_timer = 12,
		.timeout = options->timeout,
		.retry_count = options->retry_count,
		.rnr_retry = options->rnr_retry,
		.qkey = FIXTURE_QKEY,
		.path = {.dest_gid = fixture->peer_gid, .hop_limit = 64, .port = 1, .is_global = 1},
	};

	const uint32_t peer = RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN |
			      RNIC_QP_ATTR_RQ_PSN;

	modify(qp, &attributes, RNIC_QP_STATE_INIT,
	       RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT |
		       (qp->type == RNIC_QP_TYPE_UD ? RNIC_QP_ATTR_QKEY
						    : RNIC_QP_ATTR_ACCESS_FLAGS));
	if (!qp_is_reliable(qp)) {
		modify(qp, &attributes, RNIC_QP_STATE_RTR, qp->type == RNIC_QP_TYPE_UD ? 0 : peer);
		modify(qp, &attributes, RNIC_QP_STATE_RTS, RNIC_QP_ATTR_SQ_PSN);
		return;
	}
	modify(qp, &attributes, RNIC_QP_STATE_RTR,
	       peer | (qp_has_responder(qp)
			       ? RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER
			       : 0));
	modify(qp, &attributes, RNIC_QP_STATE_RTS,
	       RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_SQ_PSN |
		       (qp_has_requester(qp) ? RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY |
						       RNIC_QP_ATTR_MAX_RD_ATOMIC
					     : 0));
	/* As of a path that has been in use: its first steps are for tests of their own. */
	qp->peer_window->queue_bytes = LIMIT_PATH_WINDOW_BYTES;
	qp->peer_window->is_open = true;
}

static const struct rnic_qp_capacities usual_capacities = {
	.max_send_wr = 64,
	.max_recv_wr = 64,
	.max_send_sge = LIMIT_SGES,
	.max_recv_sge = LIMIT_SGES,
	.max_inline_bytes = 256,
};

struct qp *fixture_create_qp(struct engine_fixture *fixture, const struct fixture_options *options)
{
	const bool is_target = options->xrcd != NULL;
	const struct qp_config config = {
		.type = options->type != 0 ? options->type : RNIC_QP_TYPE_RC,
		.signal_all = options->signal_all,
		.pd = is_target ? NULL : &fixture->pd,
		.send_cq = is_target ? NULL : &fixture->send_cq,
		.recv_cq = is_target ? NULL : &fixture->recv_cq,
		.srq = options->srq,
		.xrcd = options->xrcd,
		.capacities = options->capacities.max_send_wr != 0 ? options->capacities
								   : usual_capacities,
	};
	struct qp *qp;

	assert_int_equal(qp_create(&fixture->engine, &config, &qp), 0);
	bring_to_rts(fixture, qp, options);
	return qp;
}

struct engine_fixture *fixture_create(const struct fixture_options *options)
{
	struct engine_fixture *fixture = calloc(1, sizeof(*fixture));
	const struct engine_config config = {
		.sink = &recording_sink,
		.sink_context = fixture,
		.random = prng_source(&fixture->random),
		.max_qps = 1024,
		.max_mrs = 1024,
		.kept_packets = 64,
	};
	uint8_t *bytes;

	assert_non_null(fixture);
	prng_init(&fixture->random, 1);
	assert_int_equal(engine_init(&fixture->engine, &config), 0);
	fixture->own_gid = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 1});
	fixture->peer_gid = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 2});
	engine_set_gid(&fixture->engine, 0, &fixture->own_gid);
	fixture->now_ns = 1000000000;
	fixture->completion_room = FIXTURE_RECORDS;
	bytes = malloc(FIXTURE_MEMORY_BYTES);
	assert_non_null(bytes);
	model_memory_init(&fixture->memory, bytes, FIXTURE_MEMORY_BYTES, !options->is_batched);
	for (uint32_t i = 0; i < FIXTURE_MEMORY_BYTES; i++)
		fixture->memory.bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	fixture->mr = (struct mr){
		.pd = &fixture->pd,
		.region = &fixture->memory.region,
		.iova = FIXTURE_IOVA,
		.length = FIXTURE_MEMORY_BYTES,
		.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ |
			  RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC,
	};
	assert_int_equal(mr_register(&fixture->engine, &fixture->mr), 0);
	fixture->qp = fixture_create_qp(fixture, options);
	return fixture;
}

void fixture_destroy(struct engine_fixture *fixture)
{
	engine_check_invariants(&fixture->engine);
	qp_destroy(fixture->qp);
	if (key_table_find(&fixture->engine.mrs, fixture->mr.key >> 8) != NULL)
		mr_deregister(&fixture->engine, &fixture->mr);
	assert_int_equal(fixture->pd.references, 0);
	assert_int_equal(fixture->send_cq.references, 0);
	assert_int_equal(fixture->recv_cq.references, 0);
	engine_fini(&fixture->engine);
	free(fixture->memory.bytes);
	free(fixture);
}

/* --- packets out ----------------------------------------------------------------------------- */

static void copy_payload(struct engine_fixture *fixture)
{
	uint32_t filled = 0;

	for (uint32_t i = 0; i < fixture->sent.piece_count; i++) {
		const struct payload_piece *piece = &fixture->sent.pieces[i];
		const uint8_t *from = piece->region == NULL ? piece->inline_bytes
							    : fixture->memory.bytes + piece->offset;

		assert_true(filled + piece->length <= sizeof(fixture->payload));
		memcpy(fixture->payload + filled, from, piece->length);
		filled += piece->length;
	}
	assert_int_equal(filled, fixture->sent.packet.payload_bytes);
}

bool fixture_transmit(struct engine_fixture *fixture)
{
	struct packet_builder builder;
	bool has_packet = engine_transmit(&fixture->engine, &builder, fixture->now_ns);

	engine_check_invariants(&fixture->engine);
	if (has_packet) {
		fixture->sent = builder;
		copy_payload(fixture);
	}
	return has_packet;
}

uint32_t fixture_transmit_all(struct engine_fixture *fixture)
{
	uint32_t count = 0;

	while (fixture_transmit(fixture))
		count++;
	return count;
}

/* --- work ------------------------------------------------------------------------------------ */

struct send_wqe fixture_work(enum rnic_wr_opcode opcode, uint64_t wr_id, uint32_t length)
{
	return (struct send_wqe){
		.wr_id = wr_id,
		.remote_address = UINT64_C(0x7000000000),
		.rkey = 0xabcdef01,
		.length = length,
		.opcode = (uint8_t)opcode,
		.flags = RNIC_SEND_SIGNALED,
		.sge_count = 1,
	};
}

struct rnic_sge fixture_sge(const struct engine_fixture *fixture, uint32_t offset, uint32_t length)
{
	return (struct rnic_sge){FIXTURE_IOVA + offset, length, fixture->mr.key};
}

void fixture_post(struct engine_fixture *fixture, const struct send_wqe *wqe,
		  const struct rnic_sge *sges)
{
	assert_true(send_queue_space(&fixture->qp->send_queue) > 0);
	qp_post_send(fixture->qp, wqe, sges, NULL);
	engine_check_invariants(&fixture->engine);
}

void fixture_post_simple(struct engine_fixture *fixture, enum rnic_wr_opcode opcode, uint64_t wr_id,
			 uint32_t length)
{
	struct send_wqe wqe = fixture_work(opcode, wr_id, length);
	struct rnic_sge sge = fixture_sge(fixture, 0, length);

	fixture_post(fixture, &wqe, &sge);
}

void fixture_post_receive(struct engine_fixture *fixture, uint64_t wr_id, uint32_t offset,
			  uint32_t length)
{
	struct fixture_receive *receive =
		&fixture->receives[fixture->receives_posted++ % RNIC_COUNT_OF(fixture->receives)];

	assert_true(fixture->receives_posted - fixture->receives_taken <=
		    RNIC_COUNT_OF(fixture->receives));
	receive->wqe = (struct recv_wqe){.wr_id = wr_id, .sge_count = 1, .length = length};
	receive->sges[0] = fixture_sge(fixture, offset, length);
}

/* --- packets in ------------------------------------------------------------------------------ */

struct rnic_packet fixture_packet(const struct engine_fixture *fixture,
				  enum rnic_operation operation, enum rnic_position position,
				  uint32_t psn)
{
	int opcode = rnic_opcode_find(qp_service(fixture->qp), operation, position, 0);

	assert_true(opcode >= 0);
	return (struct rnic_packet){
		.addresses =
			{
				.source = fixture->peer_gid,
				.dest = fixture->own_gid,
				.source_port = RNIC_UDP_PORT,
			},
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.pkey = 0xffff,
		.dest_qpn = fixture->qp->qpn,
		.psn = rnic_psn(psn),
		.qkey = FIXTURE_QKEY,
		.source_qpn = FIXTURE_DEST_QPN,
	};
}

void fixture_receive(struct engine_fixture *fixture, const struct rnic_packet *packet)
{
	engine_receive(&fixture->engine, packet, fixture->now_ns);
	engine_check_invariants(&fixture->engine);
	engine_flush(&fixture->engine, fixture->now_ns);
	engine_check_invariants(&fixture->engine);
}

void fixture_receive_acknowledge(struct engine_fixture *fixture, uint32_t psn, uint8_t syndrome)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, psn);

	packet.aeth.syndrome = syndrome;
	fixture_receive(fixture, &packet);
}

void fixture_receive_read(struct engine_fixture *fixture, enum rnic_position position, uint32_t psn,
			  const uint8_t *payload, uint32_t bytes)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_READ_RESPONSE, position, psn);

	packet.aeth.syndrome = rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED);
	packet.payload = payload;
	packet.payload_bytes = bytes;
	fixture_receive(fixture, &packet);
}

void fixture_tick(struct engine_fixture *fixture, uint64_t ns)
{
	fixture->now_ns += ns;
	engine_tick(&fixture->engine, fixture->now_ns);
	assert_true(engine_next_deadline_ns(&fixture->engine) > fixture->now_ns);
	engine_check_invariants(&fixture->engine);
}

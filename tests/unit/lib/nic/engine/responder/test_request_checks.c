/* SPDX-License-Identifier: MIT */
/* Each case takes a request that passes, spoils one thing, and names the verdict. */
#include "lib/nic/base/prng.h"
#include "lib/nic/engine/responder/request_checks.h"

#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/bits.h"
#include "tests/sim/recv_room_copy.h"
#include "tests/unit/unit_test.h"

#define MTU	     1024
#define IOVA	     UINT64_C(0x10000)
#define REGION_BYTES 65536
#define PSN	     100

#define ALL_ACCESS                                                                                 \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |            \
	 RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_FLUSH_GLOBAL)

struct bench {
	struct engine engine;
	struct prng random; /* of the engine */
	struct pd pd;
	struct pd other_pd;
	struct client_region region;
	struct mr mr;
	struct qp qp;
	struct rnic_sge receive_sges[2];
	struct recv_wqe posted; /* entries of the client's ring */
	struct rnic_sge posted_sges[2];
	bool is_posted;
	struct rnic_packet packet;
};

static uint32_t refill(void *context, const struct recv_queue *queue, const struct recv_room *room)
{
	struct bench *bench = context;

	(void)queue;
	if (!bench->is_posted)
		return 0;
	recv_room_copy(room, 0, &bench->posted, bench->posted_sges);
	return 1;
}

static const struct engine_sink sink = {.refill = refill};

static void bench_start(struct bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	bench->engine.config = (struct engine_config){.sink = &sink,
						      .sink_context = bench,
						      .random = prng_source(&bench->random),
						      .max_mrs = 8};
	prng_init(&bench->random, 1);
	key_table_init(&bench->engine.mrs, 24, 1, 0);
	bench->region.bytes = REGION_BYTES;
	bench->mr = (struct mr){
		.pd = &bench->pd,
		.region = &bench->region,
		.iova = IOVA,
		.length = REGION_BYTES,
		.access = ALL_ACCESS,
	};
	assert_int_equal(mr_register(&bench->engine, &bench->mr), 0);
	bench->qp = (struct qp){
		.engine = &bench->engine,
		.type = RNIC_QP_TYPE_RC,
		.state = RNIC_QP_STATE_RTS,
		.pd = &bench->pd,
		.path_mtu_bytes = MTU,
		.attributes = {.access_flags = ALL_ACCESS},
	};
	bench->qp.responder.expected_psn = rnic_psn(PSN);
	bench->qp.responder.receive_sges = bench->receive_sges;
	assert_int_equal(responder_resources_init(&bench->qp.responder.resources, 1), 0);
	assert_int_equal(recv_queue_init(&bench->qp.recv_queue, 2), 0);
	bench->is_posted = true;
	bench->posted = (struct recv_wqe){.wr_id = 1, .sge_count = 2, .length = 4000};
	for (uint32_t i = 0; i < 2; i++)
		bench->posted_sges[i] = (struct rnic_sge){IOVA + i * 2000, 2000, bench->mr.key};
}

static void bench_stop(struct bench *bench)
{
	key_table_remove(&bench->engine.mrs, bench->mr.key >> 8);
	key_table_fini(&bench->engine.mrs);
	responder_resources_fini(&bench->qp.responder.resources);
	recv_queue_fini(&bench->qp.recv_queue);
}

/* --- requests that pass ---------------------------------------------------------------------- */

static void set_opcode(struct bench *bench, enum rnic_operation operation,
		       enum rnic_position position, uint16_t headers, uint32_t payload_bytes)
{
	int opcode = rnic_opcode_find(RNIC_SERVICE_RC, operation, position, headers);

	assert_true(opcode >= 0);
	bench->packet = (struct rnic_packet){
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.psn = rnic_psn(PSN),
		.payload_bytes = payload_bytes,
	};
}

static void send_only(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 0, 1000);
}

static void send_first(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_SEND, RNIC_POSITION_FIRST, 0, MTU);
}

static void open_send(struct bench *bench)
{
	struct responder *responder = &bench->qp.responder;

	responder->open_operation = RNIC_OPERATION_SEND;
	responder->message_bytes = MTU;
	responder->has_receive = true;
	responder->receive = bench->posted;
	bench->is_posted = false;
}

static void send_middle(struct bench *bench)
{
	open_send(bench);
	set_opcode(bench, RNIC_OPERATION_SEND, RNIC_POSITION_MIDDLE, 0, MTU);
}

static void send_last(struct bench *bench)
{
	open_send(bench);
	set_opcode(bench, RNIC_OPERATION_SEND, RNIC_POSITION_LAST, 0, 1);
}

static void write_only(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, 0, 500);
	bench->packet.reth = (struct rnic_reth){IOVA, bench->mr.key, 500};
}

static void write_first(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_WRITE, RNIC_POSITION_FIRST, 0, MTU);
	bench->packet.reth = (struct rnic_reth){IOVA, bench->mr.key, 3 * MTU};
}

static void open_write(struct bench *bench)
{
	struct responder *responder = &bench->qp.responder;

	responder->open_operation = RNIC_OPERATION_WRITE;
	responder->message_bytes = MTU;
	responder->write_length = 3 * MTU;
	responder->write_rkey = bench->mr.key;
	responder->write_address = IOVA + MTU;
}

static void write_middle(struct bench *bench)
{
	open_write(bench);
	set_opcode(bench, RNIC_OPERATION_WRITE, RNIC_POSITION_MIDDLE, 0, MTU);
}

static void write_last_immediate(struct bench *bench)
{
	open_write(bench);
	bench->qp.responder.message_bytes = 2 * MTU;
	set_opcode(bench, RNIC_OPERATION_WRITE, RNIC_POSITION_LAST, RNIC_HEADER_IMMEDIATE, MTU);
}

static void read_request(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_READ_REQUEST, RNIC_POSITION_ONLY, 0, 0);
	bench->packet.reth = (struct rnic_reth){IOVA, bench->mr.key, REGION_BYTES};
}

static void fetch_add(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_FETCH_ADD, RNIC_POSITION_ONLY, 0, 0);
	bench->packet.atomic = (struct rnic_atomic_header){IOVA + 8, bench->mr.key, 1, 0};
}

static void send_invalidate(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, RNIC_HEADER_INVALIDATE, 10);
	bench->packet.invalidate_rkey = bench->mr.key;
}

static void flush(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_FLUSH, RNIC_POSITION_ONLY, 0, 0);
	bench->packet.reth = (struct rnic_reth){IOVA, bench->mr.key, REGION_BYTES};
	bench->packet.flush_type = RNIC_FLUSH_GLOBAL;
}

static void flush_whole(struct bench *bench)
{
	flush(bench);
	bench->packet.reth.address = 0;
	bench->packet.reth.length = UINT32_MAX;
	bench->packet.flush_type |= RNIC_FLUSH_WHOLE_REGION;
}

static void atomic_write(struct bench *bench)
{
	set_opcode(bench, RNIC_OPERATION_ATOMIC_WRITE, RNIC_POSITION_ONLY, 0, 8);
	bench->packet.reth = (struct rnic_reth){IOVA, bench->mr.key, 8};
}

/* --- what is wrong with them ----------------------------------------------------------------- */

static void come_again(struct bench *bench)
{
	bench->packet.psn = rnic_psn(PSN - 1);
}

static void come_early(struct bench *bench)
{
	bench->packet.psn = rnic_psn(PSN + 1);
}

static void forbid_all(struct bench *bench)
{
	bench->qp.attributes.access_flags = RNIC_ACCESS_LOCAL_WRITE;
}

static void post_nothing(struct bench *bench)
{
	bench->is_posted = false;
}

static void post_malformed(struct bench *bench)
{
	bench->posted.invalid = true;
}

static void post_wrong_lkey(struct bench *bench)
{
	bench->posted_sges[1].lkey ^= 1;
}

static void post_wrong_lkey_of_no_bytes(struct bench *bench)
{
	bench->posted_sges[1].lkey ^= 1;
	bench->posted_sges[1].length = 0;
	bench->posted.length = 2000;
}

/* The first SGE lacks the last of the thousand bytes. */
static void post_beyond_region(struct bench *bench)
{
	bench->posted_sges[0].address = IOVA + REGION_BYTES - 999;
}

/* The thousand bytes are there, and no other. */
static void post_unused_beyond_region(struct bench *bench)
{
	bench->posted_sges[0].address = IOVA + REGION_BYTES - 1000;
	bench->posted_sges[1].address = IOVA + REGION_BYTES - 1;
}

static void post_outside_region(struct bench *bench)
{
	bench->posted_sges[1].address = IOVA + REGION_BYTES;
}

static void deny_local_write(struct bench *bench)
{
	bench->mr.access &= ~(uint32_t)RNIC_ACCESS_LOCAL_WRITE;
}

static void post_too_short(struct bench *bench)
{
	bench->posted.length = 999;
}

static void fill_receive(struct bench *bench)
{
	bench->qp.responder.receive.length = MTU;
}

static void occupy_resource(struct bench *bench)
{
	responder_resources_add(&bench->qp.responder.resources)->is_pending = true;
}

static void occupy_resource_by_repetition(struct bench *bench)
{
	occupy_resource(bench);
	bench->qp.responder.resources.slots[0].is_repeat = true;
}

static void shorten_payload(struct bench *bench)
{
	bench->packet.payload_bytes--;
}

static void lengthen_payload(struct bench *bench)
{
	bench->packet.payload_bytes++;
}

static void exceed_mtu(struct bench *bench)
{
	bench->packet.payload_bytes = MTU + 1;
	bench->packet.reth.length = MTU + 1;
}

static void announce_one_packet(struct bench *bench)
{
	bench->packet.reth.length = MTU;
}

static void announce_too_much(struct bench *bench)
{
	bench->packet.reth.length = RNIC_MESSAGE_BYTES_MAX + 1;
}

static void reach_end_of_write(struct bench *bench)
{
	bench->qp.responder.message_bytes = 2 * MTU;
}

static void overflow_message(struct bench *bench)
{
	bench->qp.responder.receive.length = UINT32_MAX;
	bench->qp.responder.message_bytes = RNIC_MESSAGE_BYTES_MAX - MTU + 1;
}

static void change_key(struct bench *bench)
{
	bench->packet.reth.rkey ^= 0x80;
	bench->packet.atomic.rkey ^= 0x80;
	bench->qp.responder.write_rkey ^= 0x80;
}

static void change_key_of_no_bytes(struct bench *bench)
{
	change_key(bench);
	bench->packet.reth.length = 0;
	bench->packet.payload_bytes = 0;
}

static void start_before_region(struct bench *bench)
{
	bench->packet.reth.address = IOVA - 1;
}

static void end_behind_region(struct bench *bench)
{
	bench->packet.reth.address = IOVA + 1;
}

static void wrap_address(struct bench *bench)
{
	bench->packet.reth.address = UINT64_MAX - 3;
}

static void change_pd(struct bench *bench)
{
	bench->mr.pd = &bench->other_pd;
}

static void make_region_local(struct bench *bench)
{
	bench->mr.access = RNIC_ACCESS_LOCAL_WRITE;
}

static void misalign(struct bench *bench)
{
	bench->packet.atomic.address += 4;
	bench->packet.reth.address += 4;
}

static void announce_four_bytes(struct bench *bench)
{
	bench->packet.reth.length = 4;
}

static void flush_nothing(struct bench *bench)
{
	bench->packet.flush_type = 0;
}

static void flush_unknown(struct bench *bench)
{
	bench->packet.flush_type |= 2 << 4;
}

static void flush_persistent(struct bench *bench)
{
	bench->packet.flush_type |= RNIC_FLUSH_PERSISTENT;
}

static void flush_persistent_without_region(struct bench *bench)
{
	flush_persistent(bench);
	bench->qp.attributes.access_flags |= RNIC_ACCESS_FLUSH_PERSISTENT;
}

static const struct {
	const char *what;
	void (*good)(struct bench *);
	void (*spoil)(struct bench *); /* NULL: nothing is wrong */
	enum verdict verdict;
} cases[] = {
	{"SEND ONLY", send_only, NULL, VERDICT_PASS},
	{"SEND FIRST", send_first, NULL, VERDICT_PASS},
	{"SEND MIDDLE", send_middle, NULL, VERDICT_PASS},
	{"SEND LAST", send_last, NULL, VERDICT_PASS},
	{"WRITE ONLY", write_only, NULL, VERDICT_PASS},
	{"WRITE FIRST", write_first, NULL, VERDICT_PASS},
	{"WRITE MIDDLE", write_middle, NULL, VERDICT_PASS},
	{"WRITE LAST IMM", write_last_immediate, NULL, VERDICT_PASS},
	{"READ REQUEST", read_request, NULL, VERDICT_PASS},
	{"FETCH ADD", fetch_add, NULL, VERDICT_PASS},

	{"PSN behind", send_only, come_again, VERDICT_DUPLICATE},
	{"PSN ahead", send_only, come_early, VERDICT_SEQUENCE_GAP},

	{"MIDDLE without FIRST", send_middle, NULL, VERDICT_PASS},
	{"ONLY in open SEND", send_only, open_send, VERDICT_BAD_SEQUENCE},
	{"FIRST in open SEND", send_first, open_send, VERDICT_BAD_SEQUENCE},
	{"READ in open SEND", read_request, open_send, VERDICT_BAD_SEQUENCE},
	{"atomic in open WRITE", fetch_add, open_write, VERDICT_BAD_SEQUENCE},
	{"SEND MIDDLE in open WRITE", send_middle, open_write, VERDICT_BAD_SEQUENCE},
	{"WRITE MIDDLE in open SEND", write_middle, open_send, VERDICT_BAD_SEQUENCE},

	{"WRITE not allowed", write_only, forbid_all, VERDICT_BAD_OPERATION},
	{"READ not allowed", read_request, forbid_all, VERDICT_BAD_OPERATION},
	{"atomic not allowed", fetch_add, forbid_all, VERDICT_BAD_OPERATION},
	{"SEND always allowed", send_only, forbid_all, VERDICT_PASS},
	{"ATOMIC WRITE", atomic_write, NULL, VERDICT_PASS},
	{"ATOMIC WRITE not allowed", atomic_write, forbid_all, VERDICT_BAD_OPERATION},
	{"FLUSH", flush, NULL, VERDICT_PASS},
	{"FLUSH of a region", flush_whole, NULL, VERDICT_PASS},
	{"FLUSH not allowed", flush, forbid_all, VERDICT_BAD_OPERATION},
	{"FLUSH for nothing", flush, flush_nothing, VERDICT_BAD_OPERATION},
	{"FLUSH of unknown extent", flush, flush_unknown, VERDICT_BAD_OPERATION},
	{"persistence not allowed", flush, flush_persistent, VERDICT_BAD_OPERATION},
	{"persistence not granted", flush, flush_persistent_without_region, VERDICT_BAD_RKEY},

	{"no entry for SEND ONLY", send_only, post_nothing, VERDICT_NO_RECEIVE},
	{"no entry for SEND FIRST", send_first, post_nothing, VERDICT_NO_RECEIVE},
	{"no entry for IMM", write_last_immediate, post_nothing, VERDICT_NO_RECEIVE},
	{"no entry for WRITE", write_only, post_nothing, VERDICT_PASS},
	{"malformed entry", send_only, post_malformed, VERDICT_BAD_RECEIVE},
	{"malformed entry for IMM", write_last_immediate, post_malformed, VERDICT_BAD_RECEIVE},
	{"wrong lkey", send_only, post_wrong_lkey, VERDICT_RECEIVE_PROTECTION},
	{"wrong lkey of no bytes", send_only, post_wrong_lkey_of_no_bytes, VERDICT_PASS},
	{"wrong lkey, IMM", write_last_immediate, post_wrong_lkey, VERDICT_PASS},
	{"SGE beyond region", send_only, post_beyond_region, VERDICT_RECEIVE_PROTECTION},
	{"unused bytes beyond region", send_only, post_unused_beyond_region, VERDICT_PASS},
	{"unused SGE outside region", send_only, post_outside_region, VERDICT_RECEIVE_PROTECTION},
	{"region not writable", send_only, deny_local_write, VERDICT_RECEIVE_PROTECTION},
	{"region of another PD", send_only, change_pd, VERDICT_RECEIVE_PROTECTION},
	{"READ without slot", read_request, occupy_resource, VERDICT_TOO_MANY_READS},
	{"atomic without slot", fetch_add, occupy_resource, VERDICT_TOO_MANY_READS},
	{"FLUSH without slot", flush, occupy_resource, VERDICT_TOO_MANY_READS},
	{"ATOMIC WRITE without slot", atomic_write, occupy_resource, VERDICT_TOO_MANY_READS},
	{"slot of a repetition", read_request, occupy_resource_by_repetition, VERDICT_PASS},

	{"short FIRST", send_first, shorten_payload, VERDICT_BAD_LENGTH},
	{"short MIDDLE", send_middle, shorten_payload, VERDICT_BAD_LENGTH},
	{"empty LAST", send_last, shorten_payload, VERDICT_BAD_LENGTH},
	{"ONLY over path MTU", write_only, exceed_mtu, VERDICT_BAD_LENGTH},
	{"LAST over path MTU", write_last_immediate, lengthen_payload, VERDICT_BAD_LENGTH},
	{"ONLY longer than entry", send_only, post_too_short, VERDICT_RECEIVE_TOO_SHORT},
	{"MIDDLE longer than entry", send_middle, fill_receive, VERDICT_RECEIVE_TOO_SHORT},
	{"SEND over 2 GiB", send_middle, overflow_message, VERDICT_BAD_LENGTH},
	{"ONLY shorter than RETH", write_only, shorten_payload, VERDICT_BAD_LENGTH},
	{"ONLY longer than RETH", write_only, lengthen_payload, VERDICT_BAD_LENGTH},
	{"FIRST of one packet", write_first, announce_one_packet, VERDICT_BAD_LENGTH},
	{"MIDDLE at the end", write_middle, reach_end_of_write, VERDICT_BAD_LENGTH},
	{"LAST too early", write_last_immediate, open_write, VERDICT_BAD_LENGTH},
	{"WRITE over 2 GiB", write_first, announce_too_much, VERDICT_BAD_LENGTH},
	{"READ over 2 GiB", read_request, announce_too_much, VERDICT_BAD_LENGTH},

	{"ATOMIC WRITE of 4 bytes", atomic_write, announce_four_bytes, VERDICT_BAD_LENGTH},

	{"rkey of WRITE ONLY", write_only, change_key, VERDICT_BAD_RKEY},
	{"rkey of WRITE FIRST", write_first, change_key, VERDICT_BAD_RKEY},
	{"rkey gone at MIDDLE", write_middle, change_key, VERDICT_BAD_RKEY},
	{"rkey of READ", read_request, change_key, VERDICT_BAD_RKEY},
	{"rkey of atomic", fetch_add, change_key, VERDICT_BAD_RKEY},
	{"rkey of FLUSH", flush, change_key, VERDICT_BAD_RKEY},
	{"rkey of FLUSH of a region", flush_whole, change_key, VERDICT_BAD_RKEY},
	{"rkey of empty FLUSH", flush, change_key_of_no_bytes, VERDICT_BAD_RKEY},
	{"rkey of ATOMIC WRITE", atomic_write, change_key, VERDICT_BAD_RKEY},
	{"FLUSH behind region", flush, start_before_region, VERDICT_BAD_RKEY},
	{"rkey of empty WRITE", write_only, change_key_of_no_bytes, VERDICT_PASS},
	{"rkey of empty READ", read_request, change_key_of_no_bytes, VERDICT_PASS},
	{"range before region", write_only, start_before_region, VERDICT_BAD_RKEY},
	{"range behind region", read_request, end_behind_region, VERDICT_BAD_RKEY},
	{"range that wraps", write_only, wrap_address, VERDICT_BAD_RKEY},
	{"another PD", write_only, change_pd, VERDICT_BAD_RKEY},
	{"no right to write", write_only, make_region_local, VERDICT_BAD_RKEY},
	{"no right to read", read_request, make_region_local, VERDICT_BAD_RKEY},
	{"no right to atomics", fetch_add, make_region_local, VERDICT_BAD_RKEY},
	{"no right to write atomically", atomic_write, make_region_local, VERDICT_BAD_RKEY},
	{"no right to flush", flush, make_region_local, VERDICT_BAD_RKEY},
	{"no right to flush it all", flush_whole, make_region_local, VERDICT_BAD_RKEY},

	{"misaligned atomic", fetch_add, misalign, VERDICT_MISALIGNED_ATOMIC},
	{"misaligned ATOMIC WRITE", atomic_write, misalign, VERDICT_MISALIGNED_ATOMIC},
	{"invalidate of a region", send_invalidate, NULL, VERDICT_BAD_INVALIDATE},
};

static void each_case_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct bench bench;
		struct request request;
		enum verdict verdict;

		bench_start(&bench);
		cases[i].good(&bench);
		if (cases[i].spoil != NULL)
			cases[i].spoil(&bench);
		request = (struct request){&bench.engine, &bench.qp, &bench.packet, NULL, NULL, 0};
		verdict = request_check(&request);
		if (verdict != cases[i].verdict)
			fail_msg("%s: verdict %d, not %d", cases[i].what, verdict,
				 cases[i].verdict);
		bench_stop(&bench);
	}
}

/* Of two faults the verdict names the one that IBTA checks first. */
static void earlier_checks_win(void **state)
{
	static const struct {
		void (*good)(struct bench *);
		void (*spoil[2])(struct bench *);
		enum verdict verdict;
	} pairs[] = {
		{send_only, {open_write, come_again}, VERDICT_DUPLICATE},
		{write_only, {open_send, forbid_all}, VERDICT_BAD_SEQUENCE},
		{read_request, {occupy_resource, forbid_all}, VERDICT_BAD_OPERATION},
		{write_last_immediate, {lengthen_payload, post_nothing}, VERDICT_NO_RECEIVE},
		{write_only, {change_key, lengthen_payload}, VERDICT_BAD_LENGTH},
		{fetch_add, {misalign, change_key}, VERDICT_BAD_RKEY},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(pairs); i++) {
		struct bench bench;
		struct request request;

		bench_start(&bench);
		pairs[i].good(&bench);
		pairs[i].spoil[0](&bench);
		pairs[i].spoil[1](&bench);
		request = (struct request){&bench.engine, &bench.qp, &bench.packet, NULL, NULL, 0};
		assert_int_equal(request_check(&request), pairs[i].verdict);
		bench_stop(&bench);
	}
}

static void the_place_in_the_region_is_found(void **state)
{
	struct bench bench;
	struct request request;

	(void)state;
	bench_start(&bench);
	bench.mr.region_offset = 4096;
	write_middle(&bench);
	request = (struct request){&bench.engine, &bench.qp, &bench.packet, NULL, NULL, 0};
	assert_int_equal(request_check(&request), VERDICT_PASS);
	assert_ptr_equal(request.mr, &bench.mr);
	assert_int_equal(request.region_offset, 4096 + MTU);
	bench_stop(&bench);
}

/* Looking at an entry does not use it up. */
static void checking_twice_is_the_same(void **state)
{
	struct bench bench;
	struct request request;

	(void)state;
	bench_start(&bench);
	send_only(&bench);
	for (int i = 0; i < 2; i++) {
		request = (struct request){&bench.engine, &bench.qp, &bench.packet, NULL, NULL, 0};
		assert_int_equal(request_check(&request), VERDICT_PASS);
	}
	assert_int_equal(bench.qp.recv_queue.taken, 0);
	assert_false(bench.qp.responder.has_receive);
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case_is_found),
		cmocka_unit_test(earlier_checks_win),
		cmocka_unit_test(the_place_in_the_region_is_found),
		cmocka_unit_test(checking_twice_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

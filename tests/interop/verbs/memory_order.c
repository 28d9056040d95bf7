/* SPDX-License-Identifier: MIT */
/*
 * A program polls memory that its RNIC writes: by a WRITE of a peer, and by the response to its own
 * READ. The last byte comes last, an aligned word is old or new, and a completion comes after its
 * data. In memory that the device maps, and in memory that the kernel writes.
 *
 * Runs under rnic-run, by <rnic/rnic.h>. RNIC_TEST_LONG in the environment makes 10^6 rounds of
 * each message.
 */
#include <rnic/rnic.h>

#include "tests/unit/unit_test.h"

#include <time.h>

#define MESSAGE_MAX   65536
#define MEMORY_BYTES  (2 * MESSAGE_MAX)
#define MEMORY_ALIGN  4096
#define SHORT_ROUNDS  2000
#define SHORT_SECONDS 3
#define LONG_ROUNDS   1000000
#define STALL_LOOKS   UINT64_C(4000000000)
/*
 * Messages in which an interrupt may split the kernel's copy within a word; words of 8 bytes too
 * (doc/memory-order.md). Many looks may see one such split.
 */
#define SPLITS_MAX 3

struct side {
	struct rnic_context *context;
	struct rnic_pd *pd;
	struct rnic_cq *cq;
	struct rnic_qp *qp;
	struct rnic_mr *mr;
	uint8_t *memory;
	struct rnic_gid gid;
};

struct shape {
	uint32_t bytes;
	uint32_t offset;
};

struct pair {
	struct side near; /* whose memory is polled */
	struct side peer;
	bool is_mapped;
	uint64_t looks;
	uint64_t late;
	uint64_t torn;
};

static void open_side(struct side *side, bool is_mapped)
{
	const uint32_t access =
		RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ;
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.capacities = {.max_send_wr = 16,
			       .max_recv_wr = 16,
			       .max_send_sge = 1,
			       .max_recv_sge = 1},
	};
	void *memory;

	assert_int_equal(rnic_open(NULL, &side->context), 0);
	assert_int_equal(rnic_query_gid(side->context, 0, &side->gid, NULL), 0);
	assert_int_equal(rnic_alloc_pd(side->context, &side->pd), 0);
	assert_int_equal(rnic_create_cq(side->context, 64, NULL, 0, 0, NULL, &side->cq), 0);
	if (is_mapped)
		assert_int_equal(rnic_alloc(side->context, MEMORY_BYTES, &memory), 0);
	else
		assert_int_equal(posix_memalign(&memory, MEMORY_ALIGN, MEMORY_BYTES), 0);
	side->memory = memory;
	memset(side->memory, 0, MEMORY_BYTES);
	assert_int_equal(rnic_reg_mr(side->pd, side->memory, MEMORY_BYTES, (uintptr_t)side->memory,
				     access, &side->mr),
			 0);
	options.send_cq = options.recv_cq = side->cq;
	assert_int_equal(rnic_create_qp(side->pd, &options, &side->qp), 0);
}

static void close_side(struct side *side, bool is_mapped)
{
	assert_int_equal(rnic_destroy_qp(side->qp), 0);
	assert_int_equal(rnic_dereg_mr(side->mr), 0);
	assert_int_equal(rnic_destroy_cq(side->cq), 0);
	assert_int_equal(rnic_dealloc_pd(side->pd), 0);
	if (is_mapped)
		assert_int_equal(rnic_free(side->context, side->memory), 0);
	else
		free(side->memory);
	rnic_close(side->context);
}

static void connect_to(struct side *side, const struct side *peer)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT,
		.access_flags = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ,
		.port = 1,
		.path_mtu = 5,
		.dest_qpn = rnic_qp_number(peer->qp),
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.path = {.dest_gid = peer->gid, .port = 1, .is_global = 1, .hop_limit = 64},
	};

	assert_int_equal(rnic_modify_qp(side->qp, &attributes,
					RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
						RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS),
			 0);
	attributes.state = RNIC_QP_STATE_RTR;
	assert_int_equal(rnic_modify_qp(side->qp, &attributes,
					RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV |
						RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN |
						RNIC_QP_ATTR_RQ_PSN |
						RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC |
						RNIC_QP_ATTR_MIN_RNR_TIMER),
			 0);
	attributes.state = RNIC_QP_STATE_RTS;
	assert_int_equal(rnic_modify_qp(side->qp, &attributes,
					RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_TIMEOUT |
						RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY |
						RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_MAX_RD_ATOMIC),
			 0);
}

static void expect_completion(struct side *side)
{
	struct rnic_completion completion;
	int count;

	do {
		count = rnic_poll_cq(side->cq, 1, &completion);
	} while (count == 0);
	assert_int_equal(count, 1);
	assert_int_equal(completion.status, RNIC_WC_SUCCESS);
}

static void post(struct side *side, const struct side *other, uint8_t opcode, struct shape shape)
{
	const struct rnic_sge sge = {(uintptr_t)side->memory + shape.offset, shape.bytes,
				     rnic_mr_lkey(side->mr)};
	const struct rnic_send_wr wr = {
		.opcode = opcode,
		.flags = RNIC_SEND_SIGNALED,
		.sge_list = &sge,
		.sge_count = 1,
		.remote_address = (uintptr_t)other->memory + shape.offset,
		.rkey = rnic_mr_rkey(other->mr),
	};
	const struct rnic_send_wr *bad;

	assert_int_equal(rnic_post_send(side->qp, &wr, &bad), 0);
}

static void post_receive(struct side *side)
{
	const struct rnic_recv_wr wr = {.wr_id = 77};
	const struct rnic_recv_wr *bad;

	assert_int_equal(rnic_post_recv(side->qp, &wr, &bad), 0);
}

static uint64_t word_of(uint8_t value)
{
	return UINT64_C(0x0101010101010101) * value;
}

/* Polls the last byte for `value`, and looks at the words meanwhile, which hold `value` or `old`.
 */
static void poll_last_byte(struct pair *pair, struct shape shape, uint8_t value, uint8_t old)
{
	const uint8_t *message = pair->near.memory + shape.offset;
	const uint64_t *words = (const void *)message;
	uint64_t looks = 0;
	bool is_torn = false;

	while (__atomic_load_n(message + shape.bytes - 1, __ATOMIC_ACQUIRE) != value) {
		uint64_t word = __atomic_load_n(&words[looks++ % (shape.bytes / sizeof(*words))],
						__ATOMIC_RELAXED);

		is_torn |= word != word_of(value) && word != word_of(old);
		assert_true(looks < STALL_LOOKS);
	}
	pair->looks += looks;
	pair->torn += is_torn;
}

/* Counts the round when a byte is missing. */
static void look_at_all(struct pair *pair, struct shape shape, uint8_t value)
{
	static uint8_t found[MESSAGE_MAX], wanted[MESSAGE_MAX];

	memcpy(found, pair->near.memory + shape.offset, shape.bytes);
	memset(wanted, value, shape.bytes);
	pair->late += memcmp(found, wanted, shape.bytes) != 0;
}

/* A WRITE of the peer, seen by its last byte. */
static void write_and_poll(struct pair *pair, struct shape shape, uint8_t value, uint8_t old)
{
	post(&pair->peer, &pair->near, RNIC_WR_RDMA_WRITE, shape);
	poll_last_byte(pair, shape, value, old);
	look_at_all(pair, shape, value);
	expect_completion(&pair->peer);
}

/* A WRITE of the peer, seen by the completion of its immediate. */
static void write_and_complete(struct pair *pair, struct shape shape, uint8_t value, uint8_t old)
{
	(void)old;
	post_receive(&pair->near);
	post(&pair->peer, &pair->near, RNIC_WR_RDMA_WRITE_WITH_IMM, shape);
	expect_completion(&pair->near);
	look_at_all(pair, shape, value);
	expect_completion(&pair->peer);
}

/* The response to a READ, seen by its last byte. */
static void read_and_poll(struct pair *pair, struct shape shape, uint8_t value, uint8_t old)
{
	post(&pair->near, &pair->peer, RNIC_WR_RDMA_READ, shape);
	poll_last_byte(pair, shape, value, old);
	look_at_all(pair, shape, value);
	expect_completion(&pair->near);
}

/* The response to a READ, seen by its completion. */
static void read_and_complete(struct pair *pair, struct shape shape, uint8_t value, uint8_t old)
{
	(void)old;
	post(&pair->near, &pair->peer, RNIC_WR_RDMA_READ, shape);
	expect_completion(&pair->near);
	look_at_all(pair, shape, value);
}

static void watch_shape(struct pair *pair, struct shape shape)
{
	static void (*const ways[])(struct pair *, struct shape, uint8_t, uint8_t) = {
		write_and_poll, read_and_poll, write_and_complete, read_and_complete};
	const bool is_long = getenv("RNIC_TEST_LONG") != NULL;
	const uint32_t most = is_long ? LONG_ROUNDS : SHORT_ROUNDS;
	const time_t end = time(NULL) + SHORT_SECONDS;
	uint32_t rounds = 0;

	pair->looks = pair->late = pair->torn = 0;
	memset(pair->near.memory, 0, MEMORY_BYTES);
	for (; rounds < most && (is_long || rounds == 0 || time(NULL) < end); rounds++) {
		uint8_t value = (uint8_t)(rounds % 251 + 1);
		uint8_t old = rounds == 0 ? 0 : (uint8_t)((rounds - 1) % 251 + 1);

		memset(pair->peer.memory + shape.offset, value, shape.bytes);
		ways[rounds % 4](pair, shape, value, old);
	}
	print_message("%s, %5u bytes at %u: %u rounds, late %llu, %llu looks, torn %llu\n",
		      pair->is_mapped ? "mapped" : "kernel", shape.bytes, shape.offset, rounds,
		      (unsigned long long)pair->late, (unsigned long long)pair->looks,
		      (unsigned long long)pair->torn);
	assert_int_equal(pair->late, 0);
	assert_true(pair->torn <= (pair->is_mapped ? 0 : SPLITS_MAX));
}

static void watch_memory(bool is_mapped)
{
	static const struct shape shapes[] = {{8, 0},	 {8, 8},     {64, 8},	{4096, 0},
					      {4096, 8}, {65536, 0}, {65536, 8}};
	struct pair pair = {.is_mapped = is_mapped};

	open_side(&pair.near, is_mapped);
	open_side(&pair.peer, is_mapped);
	connect_to(&pair.near, &pair.peer);
	connect_to(&pair.peer, &pair.near);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		watch_shape(&pair, shapes[i]);
	close_side(&pair.peer, is_mapped);
	close_side(&pair.near, is_mapped);
}

static void memory_of_librnic_is_written_in_order(void **state)
{
	(void)state;
	watch_memory(true);
}

static void memory_of_the_program_is_written_in_order(void **state)
{
	(void)state;
	watch_memory(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_librnic_is_written_in_order),
		cmocka_unit_test(memory_of_the_program_is_written_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

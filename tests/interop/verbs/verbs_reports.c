/* SPDX-License-Identifier: MIT */
/*
 * What public bug reports say about other devices, tried on this one. Each test names its report by
 * the project and its number there.
 */
#include "tests/interop/verbs/qp_steps.h"
#include "tests/interop/verbs/verbs_pair.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRH_BYTES  40
#define IPV4_BYTES 20
#define EVENT_MS   5000
#define THREADS	   4
#define MESSAGES   2000

/* Of later headers: IBV_ACCESS_FLUSH_GLOBAL, IBV_QP_EX_WITH_FLUSH, IBV_WC_FLUSH. */
#define FLUSH_GLOBAL	(1 << 8)
#define FLUSH_OPERATION (1 << 11)
#define WC_FLUSH	8

static struct ibv_sge part(struct pair *pair, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)&pair->bytes[offset], .length = length, .lkey = pair->mr->lkey};
}

static void receive(struct pair *pair, uint32_t end, uint64_t wr_id, struct ibv_sge into)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &into, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(pair->ends[end].qp, &wr, &bad), 0);
}

static void send_datagram(struct pair *pair, uint32_t from, struct ibv_ah *ah, uint64_t wr_id,
			  struct ibv_sge what)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &what,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {.ah = ah,
			  .remote_qpn = pair->ends[1 - from].qp->qp_num,
			  .remote_qkey = PAIR_QKEY},
	};
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(pair->ends[from].qp, &wr, &bad), 0);
}

/* An extended completion queue, and a queue pair whose receives are flushed into it. */
struct flushed {
	struct pair *pair;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
};

static struct flushed flushed_start(uint32_t depth)
{
	struct flushed flushed = {.pair = pair_start(IBV_QPT_RC)};
	struct ibv_cq_init_attr_ex queue = {.cqe = depth};
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 1, .max_recv_wr = depth, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	flushed.cq = ibv_create_cq_ex(flushed.pair->context, &queue);
	assert_non_null(flushed.cq);
	wanted.send_cq = wanted.recv_cq = ibv_cq_ex_to_cq(flushed.cq);
	flushed.qp = ibv_create_qp(flushed.pair->pd, &wanted);
	assert_non_null(flushed.qp);
	assert_int_equal(qp_end_in_error(flushed.qp), 0);
	return flushed;
}

static void flushed_stop(struct flushed *flushed)
{
	assert_int_equal(ibv_destroy_qp(flushed->qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(flushed->cq)), 0);
	pair_stop(flushed->pair);
}

static int flush_one(struct flushed *flushed, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id}, *bad;

	return ibv_post_recv(flushed->qp, &wr, &bad);
}

/* Waits for the first completion of a round. */
static void start_poll(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr none = {0};
	int result;

	do {
		result = ibv_start_poll(cq, &none);
	} while (result == ENOENT);
	assert_int_equal(result, 0);
}

/* rdma-core 1512: the end of a round takes a completion that nobody has read yet. */
static void end_of_a_round_takes_what_was_read(void **state)
{
	struct flushed flushed = flushed_start(8);
	struct ibv_poll_cq_attr none = {0};

	(void)state;
	for (uint64_t wr_id = 1; wr_id <= 20; wr_id++) {
		assert_int_equal(flush_one(&flushed, wr_id), 0);
		start_poll(flushed.cq);
		assert_int_equal(flushed.cq->wr_id, wr_id);
		assert_int_equal(ibv_next_poll(flushed.cq), ENOENT);
		ibv_end_poll(flushed.cq);
		assert_int_equal(ibv_start_poll(flushed.cq, &none), ENOENT);
	}
	flushed_stop(&flushed);
}

struct poller {
	struct ibv_cq_ex *cq;
	atomic_uint *polled;
};

static void *poll_rounds(void *argument)
{
	struct poller *poller = argument;
	struct ibv_poll_cq_attr none = {0};
	int result;

	while (atomic_load(poller->polled) < MESSAGES) {
		result = ibv_start_poll(poller->cq, &none);
		if (result == ENOENT)
			continue;
		do {
			atomic_fetch_add(poller->polled, 1);
			result = ibv_next_poll(poller->cq);
		} while (result == 0);
		ibv_end_poll(poller->cq);
	}
	return NULL;
}

/* rdma-core 1617: the lock of a queue is released twice at the end of a round. */
static void threads_share_an_extended_queue(void **state)
{
	struct flushed flushed = flushed_start(MESSAGES);
	atomic_uint polled = 0;
	struct poller poller = {.cq = flushed.cq, .polled = &polled};
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poll_rounds, &poller), 0);
	for (uint64_t wr_id = 0; wr_id < MESSAGES; wr_id++)
		assert_int_equal(flush_one(&flushed, wr_id), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&polled), MESSAGES);
	flushed_stop(&flushed);
}

/* UCX 10209 and rdma-core 1740: who answers by ibv_create_ah_from_wc() reaches the sender. */
static void an_answer_finds_the_sender(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_UD);
	struct ibv_wc wc;
	struct ibv_ah *back;

	(void)state;
	memset(pair->bytes, 0x60, PAIR_BYTES);
	receive(pair, 1, 1, part(pair, 0, GRH_BYTES + 8));
	receive(pair, 0, 2, part(pair, 512, GRH_BYTES + 8));
	send_datagram(pair, 0, pair->ah, 3, part(pair, 1024, 8));
	pair_expect(pair, 0, 3, IBV_WC_SUCCESS);
	wc = pair_wait(pair, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags & IBV_WC_GRH, IBV_WC_GRH);
	assert_int_equal(pair->bytes[GRH_BYTES - IPV4_BYTES], 0x45);
	back = ibv_create_ah_from_wc(pair->pd, &wc, (struct ibv_grh *)pair->bytes, 1);
	assert_non_null(back);
	send_datagram(pair, 1, back, 4, part(pair, 1024, 8));
	pair_expect(pair, 1, 4, IBV_WC_SUCCESS);
	pair_expect(pair, 0, 2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_ah(back), 0);
	pair_stop(pair);
}

/* rdma-core 1155: a datagram that is too long for its receive must not end the queue pair. */
static void a_datagram_too_long_ends_nothing(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_UD);
	struct ibv_qp_attr attributes;
	struct ibv_qp_init_attr made;

	(void)state;
	receive(pair, 1, 1, part(pair, 0, GRH_BYTES + 8));
	send_datagram(pair, 0, pair->ah, 2, part(pair, 1024, 64));
	send_datagram(pair, 0, pair->ah, 3, part(pair, 1024, 8));
	pair_expect(pair, 0, 2, IBV_WC_SUCCESS);
	pair_expect(pair, 0, 3, IBV_WC_SUCCESS);
	pair_expect(pair, 1, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_query_qp(pair->ends[1].qp, &attributes, IBV_QP_STATE, &made), 0);
	assert_int_equal(attributes.qp_state, IBV_QPS_RTS);
	pair_stop(pair);
}

/* Mooncake 721: RESET again and again, then INIT. */
static void reset_from_reset(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(ibv_modify_qp(pair->ends[0].qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(
		ibv_modify_qp(pair->ends[0].qp, &init,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	pair_stop(pair);
}

/* mxl 516 and libfabric 7243: memory that may only be read is a source of READs and SENDs. */
static void read_only_memory_can_be_read(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *page = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	mr = ibv_reg_mr(pair->pd, page, bytes, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(pair->pd, page, bytes, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_reg_mr(pair->pd, page, bytes, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(munmap(page, bytes), 0);
	pair_stop(pair);
}

/* rpma 1197: a WRITE to a file that is mapped reaches the file. */
static void a_mapped_file_takes_writes(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	FILE *file = tmpfile();
	uint8_t *mapped;
	uint64_t found = 0;
	struct ibv_mr *mr;
	struct ibv_sge local = part(pair, 0, sizeof(found));
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = &local,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	(void)state;
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), PAIR_BYTES), 0);
	mapped = mmap(NULL, PAIR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	mr = ibv_reg_mr(pair->pd, mapped, PAIR_BYTES, PAIR_RIGHTS);
	assert_non_null(mr);
	memset(pair->bytes, 0xa5, sizeof(found));
	wr.wr.rdma.remote_addr = (uintptr_t)mapped + 8;
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(ibv_post_send(pair->ends[0].qp, &wr, &bad), 0);
	pair_expect(pair, 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(pread(fileno(file), &found, sizeof(found), 8), sizeof(found));
	assert_memory_equal(&found, pair->bytes, sizeof(found));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(munmap(mapped, PAIR_BYTES), 0);
	fclose(file);
	pair_stop(pair);
}

/* libfabric 10913: a program reads asynchronous events without waiting for one. */
static void no_event_is_no_wait(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	int flags = fcntl(pair->context->async_fd, F_GETFL);
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(fcntl(pair->context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
	for (;;) {
		if (ibv_get_async_event(pair->context, &event) != 0)
			break;
		ibv_ack_async_event(&event);
	}
	assert_int_equal(errno, EAGAIN);
	pair_stop(pair);
}

/* rdma-core 603: a region of all memory that is refused says why. */
static void a_refused_region_of_all_memory_says_why(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);

	(void)state;
	errno = 0;
	assert_null(ibv_reg_mr(pair->pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE));
	assert_int_not_equal(errno, 0);
	pair_stop(pair);
}

/*
 * brpc 3415 and libfabric 796: a completion that is there before the queue is armed may raise no
 * event, one that comes behind the call always does.
 */
static void what_comes_after_arming_raises_an_event(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(pair->context);
	struct ibv_cq *cq = ibv_create_cq(pair->context, 64, NULL, channel, 0), *raised;
	struct ibv_qp_init_attr wanted = {.send_cq = cq,
					  .recv_cq = cq,
					  .cap = {.max_send_wr = 1, .max_recv_wr = 16},
					  .qp_type = IBV_QPT_RC};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
	struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
	struct ibv_qp *qp = ibv_create_qp(pair->pd, &wanted);
	struct ibv_wc wc;
	void *context;

	(void)state;
	assert_non_null(qp);
	assert_int_equal(qp_end_in_error(qp), 0);
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
	assert_int_equal(poll(&ready, 1, EVENT_MS), 1);
	assert_int_equal(ibv_get_cq_event(channel, &raised, &context), 0);
	ibv_ack_cq_events(raised, 1);
	for (int left = 2; left > 0;)
		left -= ibv_poll_cq(cq, 1, &wc);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	pair_stop(pair);
}

/* Linux masks PSNs for every RoCE device, and hardware keeps three bits of the retry counts. */
static void numbers_beyond_their_field_are_masked(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_qp *qp = pair->ends[0].qp;
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET}, found;
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = pair->ends[1].qp->qp_num,
		.rq_psn = 0x1000005,
		.sq_psn = 0xdeadbeef,
		.timeout = 14,
		.retry_cnt = 15,
		.rnr_retry = 255,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = pair->gid.gid,
				    .sgid_index = (uint8_t)pair->gid.gid_index}},
	};
	struct ibv_qp_init_attr made;

	(void)state;
	assert_int_equal(ibv_modify_qp(qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(ibv_query_qp(qp, &found, IBV_QP_PATH_MTU, &made), 0);
	assert_int_equal(found.path_mtu, IBV_MTU_256);
	assert_int_equal(
		ibv_modify_qp(qp, &attributes,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	attributes.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attributes,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attributes.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attributes,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(ibv_query_qp(qp, &found, IBV_QP_RQ_PSN, &made), 0);
	assert_int_equal(found.rq_psn, 5);
	assert_int_equal(found.sq_psn, 0xadbeef);
	assert_int_equal(found.retry_cnt, 7);
	assert_int_equal(found.rnr_retry, 7);
	pair_stop(pair);
}

/* No RoCE device of Linux migrates paths: what asks for that is refused, and nothing changes. */
static void no_path_migrates(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS,
					 .alt_port_num = 1,
					 .alt_ah_attr = {.is_global = 1, .port_num = 1}};
	struct ibv_device_attr device;

	(void)state;
	assert_int_equal(ibv_query_device(pair->context, &device), 0);
	assert_int_equal(device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG, 0);
	assert_int_equal(
		ibv_modify_qp(pair->ends[0].qp, &attributes, IBV_QP_STATE | IBV_QP_ALT_PATH),
		EINVAL);
	for (int to = IBV_MIG_MIGRATED; to <= IBV_MIG_ARMED; to++) {
		attributes.path_mig_state = (enum ibv_mig_state)to;
		assert_int_equal(ibv_modify_qp(pair->ends[0].qp, &attributes,
					       IBV_QP_STATE | IBV_QP_PATH_MIG_STATE),
				 to == IBV_MIG_MIGRATED ? 0 : EINVAL);
	}
	pair_stop(pair);
}

/* What a program calls that was built with the header of a later rdma-core. */
typedef void (*flush_function)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, size_t length,
			       uint8_t type, uint8_t level);

static void post_flush(struct ibv_qp_ex *qp, uint64_t wr_id, uint32_t rkey, uint64_t address)
{
	flush_function flush;

	memcpy(&flush, (uint8_t *)&qp->wr_atomic_write + sizeof(flush), sizeof(flush));
	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	flush(qp, rkey, address, 8, 1, 0);
	assert_int_equal(ibv_wr_complete(qp), 0);
}

/* A queue pair with the extended operations FLUSH and WRITE, whose peer is end 1 from then on. */
static struct ibv_qp *make_flushing_qp(struct pair *pair)
{
	struct ibv_qp_init_attr_ex wanted = {
		.send_cq = pair->ends[0].cq,
		.recv_cq = pair->ends[0].cq,
		.cap = {.max_send_wr = 4, .max_send_sge = 1},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pair->pd,
		.send_ops_flags = FLUSH_OPERATION | IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(pair->context, &wanted), *peer = pair->ends[1].qp;
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	assert_non_null(qp);
	assert_int_equal(ibv_modify_qp(peer, &reset, IBV_QP_STATE), 0);
	pair_connect(pair, qp, peer->qp_num, 0);
	pair_connect(pair, peer, qp->qp_num, FLUSH_GLOBAL);
	return qp;
}

/* rdma-core 65 posts FLUSH and asks for it by bits that older headers lack. */
static void memory_is_flushed_where_the_region_allows_it(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_device_attr_ex device;
	struct ibv_qp *qp = make_flushing_qp(pair);
	struct ibv_mr *mr =
		ibv_reg_mr(pair->pd, pair->bytes, PAIR_BYTES, PAIR_RIGHTS | FLUSH_GLOBAL);
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(ibv_query_device_ex(pair->context, NULL, &device), 0);
	assert_int_equal(device.device_cap_flags_ex >> 38 & 7, 5); /* not persistent */
	assert_int_equal(device.odp_caps.per_transport_caps.rc_odp_caps, 0xff);
	assert_non_null(mr);
	post_flush(ibv_qp_to_qp_ex(qp), 1, mr->rkey, (uintptr_t)pair->bytes);
	wc = pair_wait(pair, 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, WC_FLUSH);
	post_flush(ibv_qp_to_qp_ex(qp), 2, pair->mr->rkey, (uintptr_t)pair->bytes);
	pair_expect(pair, 0, 2, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_stop(pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_of_a_round_takes_what_was_read),
		cmocka_unit_test(threads_share_an_extended_queue),
		cmocka_unit_test(an_answer_finds_the_sender),
		cmocka_unit_test(a_datagram_too_long_ends_nothing),
		cmocka_unit_test(reset_from_reset),
		cmocka_unit_test(read_only_memory_can_be_read),
		cmocka_unit_test(a_mapped_file_takes_writes),
		cmocka_unit_test(no_event_is_no_wait),
		cmocka_unit_test(a_refused_region_of_all_memory_says_why),
		cmocka_unit_test(what_comes_after_arming_raises_an_event),
		cmocka_unit_test(numbers_beyond_their_field_are_masked),
		cmocka_unit_test(no_path_migrates),
		cmocka_unit_test(memory_is_flushed_where_the_region_allows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

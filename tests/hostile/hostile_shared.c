/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie about shared objects: receive queues, XRC domains and target queue pairs. After
 * each the daemon owns nothing of them and serves the next.
 *
 * usage: hostile_shared RNICD
 */
#include "tests/hostile/hostile_link.h"

#include "lib/nic/base/prng.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SRQ_WR	   8
#define SEND_BYTES 8
#define AFTER_CQ   4 /* steps of a client that has a CQ and no QP */

struct shared_ring {
	struct rnic_handle handle;
	uint32_t number;
	struct rnic_srq_plan plan;
	struct rnic_srq_region *region;
};

static int32_t destroy(const struct hostile_client *client, uint16_t operation,
		       struct rnic_handle handle)
{
	return hostile_answer(client->fd, operation, &handle, sizeof(handle), NULL, 0);
}

static void create_srq(const struct hostile_client *client, struct rnic_handle xrcd,
		       struct shared_ring *ring)
{
	const struct rnic_ctl_create_srq request = {
		.pd = client->pd,
		.xrcd = xrcd,
		.cq = rnic_handle_is_none(xrcd) ? (struct rnic_handle){0} : client->cq,
		.wanted = {.max_wr = SRQ_WR, .max_sge = 4},
	};
	struct rnic_ctl_create_srq_reply answer;
	struct hostile_reply reply;

	hostile_must(client->fd, RNIC_CTL_CREATE_SRQ, &request, sizeof(request), &reply);
	memcpy(&answer, reply.payload, sizeof(answer));
	ring->handle = answer.srq;
	ring->number = answer.number;
	assert_int_equal(rnic_srq_plan(&answer.granted, &ring->plan), 0);
	ring->region = mmap(NULL, ring->plan.region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    reply.fds[0], 0);
	assert_ptr_not_equal(ring->region, MAP_FAILED);
	close(reply.fds[0]);
}

static void unmap(struct shared_ring *ring)
{
	munmap(ring->region, ring->plan.region_bytes);
}

/* A client whose QP, connected to itself, takes receives from an SRQ. */
static void open_with_srq(struct hostile_client *client, struct shared_ring *ring)
{
	hostile_client_open(client, &rnicd, AFTER_CQ);
	create_srq(client, (struct rnic_handle){0}, ring);
	client->srq = ring->handle;
	hostile_client_go_on(client, AFTER_CQ, HOSTILE_STEPS);
}

static void close_and_expect_nothing(struct hostile_client *client)
{
	hostile_client_close(client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Sends itself `count` messages of inline bytes. */
static void send_inline(struct hostile_client *client, uint32_t count)
{
	struct rnic_send_wqe *entries =
		(void *)((uint8_t *)client->queues + client->plan.send.entries_offset);

	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct rnic_send_wqe){
			.wr_id = 1000 + i,
			.opcode = RNIC_WR_SEND,
			.flags = RNIC_SEND_SIGNALED | RNIC_SEND_INLINE,
			.inline_bytes = SEND_BYTES,
		};
	rnic_word_publish(&client->indices->send_producer, count);
	hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client->qp.slot));
}

/* ---- shared receive queues ---- */

static void test_srq_that_claims_too_much(void **state)
{
	static const uint32_t lies[] = {SRQ_WR + 1, 0x80000000u, UINT32_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct hostile_client client;
		struct shared_ring ring;

		open_with_srq(&client, &ring);
		rnic_index_publish(&ring.region->recv_producer, lies[i]);
		send_inline(&client, 1);
		hostile_expect_hang_up(client.fd);
		unmap(&ring);
		close_and_expect_nothing(&client);
	}
}

/* Entries of garbage complete in error; the word that the daemon writes is not read by it. */
static void test_garbage_in_an_srq(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 2);
	for (unsigned round = 0; round < 20; round++) {
		struct hostile_client client;
		struct shared_ring ring;
		uint8_t *bytes;

		open_with_srq(&client, &ring);
		bytes = (uint8_t *)ring.region + ring.plan.recv.entries_offset;
		while (bytes < (uint8_t *)ring.region + ring.plan.region_bytes)
			*bytes++ = (uint8_t)prng_next(&prng);
		rnic_index_publish(&ring.region->srq_consumer, (uint32_t)prng_next(&prng));
		rnic_index_publish(&ring.region->recv_producer, SRQ_WR);
		send_inline(&client, 2);
		/* Both sends and the one entry that was taken. */
		for (uint32_t i = 0; i < 3; i++)
			assert_int_not_equal(hostile_wait_completion(&client, i)->status,
					     RNIC_WC_SUCCESS);
		unmap(&ring);
		close_and_expect_nothing(&client);
	}
}

static void test_impossible_srqs(void **state)
{
	static const struct rnic_srq_attributes sizes[] = {
		{.max_wr = 0, .max_sge = 1},
		{.max_wr = UINT32_MAX, .max_sge = 1},
		{.max_wr = 1, .max_sge = UINT32_MAX},
	};
	struct rnic_ctl_create_srq create = {.wanted = {.max_wr = 1, .max_sge = 1}};
	struct rnic_ctl_modify_srq modify = {.mask = RNIC_SRQ_ATTR_LIMIT};
	struct hostile_client client;
	struct shared_ring ring;

	(void)state;
	open_with_srq(&client, &ring);
	assert_int_equal(
		hostile_answer(client.fd, RNIC_CTL_CREATE_SRQ, &create, sizeof(create), NULL, 0),
		-EINVAL);
	create.pd = client.pd;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		create.wanted = sizes[i];
		assert_int_equal(hostile_answer(client.fd, RNIC_CTL_CREATE_SRQ, &create,
						sizeof(create), NULL, 0),
				 -EINVAL);
	}
	modify.srq = ring.handle;
	modify.attributes.limit = SRQ_WR + 1;
	assert_int_equal(
		hostile_answer(client.fd, RNIC_CTL_MODIFY_SRQ, &modify, sizeof(modify), NULL, 0),
		-EINVAL);
	modify.mask = UINT32_MAX;
	assert_int_equal(
		hostile_answer(client.fd, RNIC_CTL_MODIFY_SRQ, &modify, sizeof(modify), NULL, 0),
		-EINVAL);
	assert_int_equal(destroy(&client, RNIC_CTL_DESTROY_SRQ, ring.handle), -EBUSY);
	assert_int_equal(destroy(&client, RNIC_CTL_DESTROY_QP, client.qp), 0);
	assert_int_equal(destroy(&client, RNIC_CTL_DEALLOC_PD, client.pd), -EBUSY);
	assert_int_equal(destroy(&client, RNIC_CTL_DESTROY_SRQ, ring.handle), 0);
	assert_int_equal(destroy(&client, RNIC_CTL_DESTROY_SRQ, ring.handle), -EINVAL);
	unmap(&ring);
	close_and_expect_nothing(&client);
}

/* Any producer's index, and any number of changes of the size. */
static void test_resized_while_it_lies(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 64, 1000, 8, 32768, 1};
	struct rnic_ctl_modify_srq resize = {.mask = RNIC_SRQ_ATTR_MAX_WR};
	struct rnic_ctl_resize_srq_reply answer;
	struct hostile_client client;
	struct hostile_reply reply;
	struct shared_ring ring;
	struct prng prng;

	(void)state;
	prng_init(&prng, 3);
	open_with_srq(&client, &ring);
	resize.srq = ring.handle;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		rnic_index_publish(&ring.region->recv_producer,
				   i % 2 == 0 ? (uint32_t)prng_next(&prng) : 0);
		resize.attributes.max_wr = sizes[i];
		hostile_must(client.fd, RNIC_CTL_RESIZE_SRQ, &resize, sizeof(resize), &reply);
		memcpy(&answer, reply.payload, sizeof(answer));
		assert_int_equal(answer.granted.max_wr, sizes[i]);
		unmap(&ring);
		assert_int_equal(rnic_srq_plan(&answer.granted, &ring.plan), 0);
		ring.region = mmap(NULL, ring.plan.region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				   reply.fds[0], 0);
		assert_ptr_not_equal(ring.region, MAP_FAILED);
		close(reply.fds[0]);
	}
	resize.mask = RNIC_SRQ_ATTR_LIMIT;
	assert_int_equal(
		hostile_answer(client.fd, RNIC_CTL_RESIZE_SRQ, &resize, sizeof(resize), NULL, 0),
		-EINVAL);
	unmap(&ring);
	close_and_expect_nothing(&client);
}

/* ---- XRC ---- */

static int32_t open_xrcd(const struct hostile_client *client, uint32_t flags, int file_fd,
			 struct rnic_handle *xrcd)
{
	struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_open_xrcd payload;
	} request = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.version = RNIC_CTL_VERSION_MAX,
				.operation = RNIC_CTL_OPEN_XRCD,
				.bytes = sizeof(request),
			},
		.payload = {.flags = flags},
	};
	struct hostile_reply reply;

	assert_true(hostile_send(client->fd, &request, sizeof(request), &file_fd, file_fd >= 0));
	assert_true(hostile_receive(client->fd, &reply));
	if (reply.header.status == 0)
		memcpy(xrcd, reply.payload, sizeof(*xrcd));
	return reply.header.status;
}

static int32_t create_target(const struct hostile_client *client, struct rnic_handle xrcd,
			     struct rnic_ctl_create_qp_reply *answer)
{
	const struct rnic_ctl_create_qp request = {.type = RNIC_QP_TYPE_XRC_TARGET, .xrcd = xrcd};

	return hostile_answer(client->fd, RNIC_CTL_CREATE_QP, &request, sizeof(request), answer,
			      sizeof(*answer));
}

static int32_t open_target(const struct hostile_client *client, struct rnic_handle xrcd,
			   uint32_t qpn, struct rnic_ctl_open_qp_reply *answer)
{
	const struct rnic_ctl_open_qp request = {.xrcd = xrcd, .qpn = qpn};

	return hostile_answer(client->fd, RNIC_CTL_OPEN_QP, &request, sizeof(request), answer,
			      sizeof(*answer));
}

static int make_file(void)
{
	int fd = memfd_create("domain", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

#define OPEN_OR_CREATE (RNIC_XRCD_FILE | RNIC_XRCD_CREATE)

static void test_domains_are_named_by_files(void **state)
{
	const int files[2] = {make_file(), make_file()};
	struct rnic_ctl_create_qp_reply target = {0};
	struct rnic_ctl_open_qp_reply opened;
	struct rnic_handle first, second, other, own;
	struct hostile_client clients[2];

	(void)state;
	hostile_client_open(&clients[0], &rnicd, AFTER_CQ);
	hostile_client_open(&clients[1], &rnicd, AFTER_CQ);
	assert_int_equal(open_xrcd(&clients[0], RNIC_XRCD_FILE, files[0], &first), -EAGAIN);
	assert_int_equal(open_xrcd(&clients[0], OPEN_OR_CREATE, files[0], &first), 0);
	assert_int_equal(
		open_xrcd(&clients[1], OPEN_OR_CREATE | RNIC_XRCD_EXCLUSIVE, files[0], &second),
		-EINVAL);
	assert_int_equal(open_xrcd(&clients[1], RNIC_XRCD_FILE, files[0], &second), 0);
	assert_int_equal(open_xrcd(&clients[1], OPEN_OR_CREATE, files[1], &other), 0);
	assert_int_equal(open_xrcd(&clients[1], 0, -1, &own), 0);
	assert_int_equal(create_target(&clients[0], first, &target), 0);
	/* Neither another domain, nor the number of another queue pair. */
	assert_int_equal(open_target(&clients[1], other, target.qpn, &opened), -EINVAL);
	assert_int_equal(open_target(&clients[1], own, target.qpn, &opened), -EINVAL);
	assert_int_equal(open_target(&clients[1], second, target.qpn ^ 1, &opened), -EINVAL);
	assert_int_equal(open_target(&clients[1], second, target.qpn, &opened), 0);
	assert_int_equal(opened.state, RNIC_QP_STATE_RESET);
	assert_int_equal(destroy(&clients[1], RNIC_CTL_CLOSE_XRCD, second), -EBUSY);
	assert_int_equal(destroy(&clients[1], RNIC_CTL_DESTROY_QP, opened.qp), 0);
	assert_int_equal(destroy(&clients[1], RNIC_CTL_CLOSE_XRCD, second), 0);
	hostile_client_close(&clients[0]);
	close_and_expect_nothing(&clients[1]);
	close(files[0]);
	close(files[1]);
}

/* A client that may not open a file must not get into the domain of clients that may. */
static void test_names_alone_open_no_domain(void **state)
{
	char path[32];
	const int file = make_file();
	struct hostile_client client;
	struct rnic_handle xrcd;
	int name;

	(void)state;
	hostile_client_open(&client, &rnicd, AFTER_CQ);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	name = open(path, O_PATH | O_CLOEXEC);
	assert_true(name >= 0);
	assert_int_equal(open_xrcd(&client, OPEN_OR_CREATE, file, &xrcd), 0);
	assert_int_equal(open_xrcd(&client, RNIC_XRCD_FILE, name, &xrcd), -EINVAL);
	close_and_expect_nothing(&client);
	close(name);
	close(file);
}

/* The daemon ignores rings and indices of a target, with any contents. */
static void test_target_outlives_its_creator(void **state)
{
	const int file = make_file();
	struct rnic_ctl_modify_qp modify = {.mask = RNIC_QP_ATTR_STATE};
	struct rnic_ctl_create_qp_reply target = {0};
	struct rnic_ctl_open_qp_reply opened;
	struct rnic_ctl_query_qp_reply query;
	struct rnic_handle first, second;
	struct hostile_client clients[2];
	struct shared_ring ring;

	(void)state;
	hostile_client_open(&clients[0], &rnicd, AFTER_CQ);
	hostile_client_open(&clients[1], &rnicd, AFTER_CQ);
	assert_int_equal(open_xrcd(&clients[0], OPEN_OR_CREATE, file, &first), 0);
	assert_int_equal(open_xrcd(&clients[1], OPEN_OR_CREATE, file, &second), 0);
	create_srq(&clients[0], first, &ring);
	assert_int_equal(create_target(&clients[0], first, &target), 0);
	assert_int_equal(open_target(&clients[1], second, target.qpn, &opened), 0);
	for (uint32_t kind = RNIC_DOORBELL_SEND; kind <= RNIC_DOORBELL_RECV; kind++)
		hostile_ring(&clients[1], RNIC_DOORBELL(kind, opened.qp.slot));
	atomic_fetch_add(&clients[1].session->doorbells_lost.value, 1);
	hostile_client_close(&clients[0]);
	unmap(&ring);

	modify.qp = opened.qp;
	modify.attributes.state = RNIC_QP_STATE_RESET;
	assert_int_equal(
		hostile_answer(clients[1].fd, RNIC_CTL_MODIFY_QP, &modify, sizeof(modify), NULL, 0),
		0);
	assert_int_equal(hostile_answer(clients[1].fd, RNIC_CTL_QUERY_QP, &opened.qp,
					sizeof(opened.qp), &query, sizeof(query)),
			 0);
	assert_int_equal(query.attributes.state, RNIC_QP_STATE_RESET);
	close_and_expect_nothing(&clients[1]);
	close(file);
}

static void test_impossible_xrc(void **state)
{
	struct rnic_ctl_create_qp qp = {.type = RNIC_QP_TYPE_XRC_INITIATOR};
	struct rnic_ctl_create_srq srq = {.wanted = {.max_wr = 1, .max_sge = 1}};
	struct rnic_ctl_create_qp_reply target = {0};
	struct hostile_client client;
	struct shared_ring ring;
	struct rnic_handle xrcd;

	(void)state;
	hostile_client_open(&client, &rnicd, AFTER_CQ);
	assert_int_equal(open_xrcd(&client, RNIC_XRCD_CREATE, -1, &xrcd), 0);
	create_srq(&client, xrcd, &ring);
	/* Not of a domain, without a CQ, and an SRQ of XRC for a queue pair of its own. */
	assert_int_equal(create_target(&client, (struct rnic_handle){7, 7}, &target), -EINVAL);
	srq.pd = client.pd;
	srq.xrcd = xrcd;
	assert_int_equal(hostile_answer(client.fd, RNIC_CTL_CREATE_SRQ, &srq, sizeof(srq), NULL, 0),
			 -EINVAL);
	qp.pd = client.pd;
	qp.send_cq = qp.recv_cq = client.cq;
	qp.srq = ring.handle;
	assert_int_equal(hostile_answer(client.fd, RNIC_CTL_CREATE_QP, &qp, sizeof(qp), NULL, 0),
			 -EINVAL);
	qp.type = RNIC_QP_TYPE_RC;
	assert_int_equal(hostile_answer(client.fd, RNIC_CTL_CREATE_QP, &qp, sizeof(qp), NULL, 0),
			 -EINVAL);
	assert_int_equal(destroy(&client, RNIC_CTL_CLOSE_XRCD, xrcd), -EBUSY);
	assert_int_equal(destroy(&client, RNIC_CTL_DESTROY_CQ, client.cq), -EBUSY);
	unmap(&ring);
	close_and_expect_nothing(&client);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_srq_that_claims_too_much),
		cmocka_unit_test(test_garbage_in_an_srq),
		cmocka_unit_test(test_impossible_srqs),
		cmocka_unit_test(test_resized_while_it_lies),
		cmocka_unit_test(test_domains_are_named_by_files),
		cmocka_unit_test(test_names_alone_open_no_domain),
		cmocka_unit_test(test_target_outlives_its_creator),
		cmocka_unit_test(test_impossible_xrc),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}

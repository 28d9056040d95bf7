/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie. After each lie the liar is gone or refused, the daemon owns nothing of it, and
 * an honest client that was there all along still works.
 *
 * usage: hostile_client RNICD
 */
#include "tests/hostile/hostile_link.h"
#include "tests/hostile/lingering_socket.h"

#include "lib/nic/base/prng.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A connection takes some at each of its ends. */
#define DESCRIPTORS_EACH 16

static struct hostile_client witness;

static int set_up(void **state)
{
	hostile_start(state);
	hostile_client_open(&witness, &rnicd, HOSTILE_STEPS);
	return 0;
}

static int tear_down(void **state)
{
	hostile_client_close(&witness);
	return hostile_stop(state);
}

/* The liars are forgotten; the honest client's work is done as before. */
static void expect_unharmed(void)
{
	static uint32_t posted;
	struct rnic_send_wqe *entries =
		(void *)((uint8_t *)witness.queues + witness.plan.send.entries_offset);
	const struct rnic_cqe *completion;
	uint32_t slot = posted % witness.plan.send.slots;

	hostile_expect_owned(&rnicd, 1, 1);
	/* A WRITE of no bytes needs no memory, and completes once the other end acknowledged it. */
	entries[slot] = (struct rnic_send_wqe){
		.wr_id = posted,
		.opcode = RNIC_WR_RDMA_WRITE,
		.flags = RNIC_SEND_SIGNALED,
	};
	rnic_word_publish(&witness.indices->send_producer, ++posted);
	hostile_ring(&witness, RNIC_DOORBELL(RNIC_DOORBELL_SEND, witness.qp.slot));
	completion = hostile_wait_completion(&witness, posted - 1);
	assert_int_equal(completion->status, RNIC_WC_SUCCESS);
	assert_int_equal(completion->wr_id, posted - 1);
	atomic_store(&witness.session->cqs[witness.cq.slot].consumer, posted);
}

/* ---- the control protocol ---- */

/* A new connection of one of the two kinds. */
struct liar {
	int control_fd;
	int fd; /* on which to lie */
};

static struct liar open_liar(bool is_device)
{
	struct liar liar = {.control_fd = hostile_connect(&rnicd)};

	liar.fd = is_device ? hostile_hello(liar.control_fd) : liar.control_fd;
	return liar;
}

static void close_liar(const struct liar *liar)
{
	if (liar->fd != liar->control_fd)
		close(liar->fd);
	close(liar->control_fd);
}

/* Sends a lie on a new connection, which the daemon is to end. */
static void lie(bool is_device, const void *message, size_t bytes, const int *fds,
		unsigned fd_count)
{
	const struct liar liar = open_liar(is_device);

	assert_true(hostile_send(liar.fd, message, bytes, fds, fd_count));
	hostile_expect_hang_up(liar.fd);
	close_liar(&liar);
}

#define HEADER_OF(code, length)                                                                    \
	{                                                                                          \
		.magic = RNIC_CTL_MAGIC, .operation = (code),                                      \
		.version = (code) == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX, .bytes = (length), \
	}

static void test_malformed_messages(void **state)
{
	static const struct rnic_ctl_header lies[] = {
		{.magic = 0, .operation = RNIC_CTL_HELLO, .bytes = 24},
		HEADER_OF(RNIC_CTL_HELLO, 24),
		HEADER_OF(RNIC_CTL_HELLO, 0),
		HEADER_OF(RNIC_CTL_HELLO, UINT32_MAX),
		HEADER_OF(RNIC_CTL_OPEN_DEVICE, 24),
		HEADER_OF(RNIC_CTL_OPEN_DEVICE, 0),
		HEADER_OF(RNIC_CTL_OPEN_DEVICE, UINT32_MAX),
		HEADER_OF(RNIC_CTL_ALLOC_PD, 24), /* not yet */
		HEADER_OF(RNIC_CTL_SHOW, 24),
	};
	static const size_t lengths[] = {1, 8, 23, 8192, 9000};
	static const uint8_t zeros[9000];

	(void)state;
	for (unsigned is_device = 0; is_device < 2; is_device++) {
		for (unsigned i = 0; i < COUNT_OF(lies); i++)
			lie(is_device, &lies[i], sizeof(lies[i]), NULL, 0);
		for (unsigned i = 0; i < COUNT_OF(lengths); i++)
			lie(is_device, zeros, lengths[i], NULL, 0);
	}
	expect_unharmed();
}

static void test_unknown_operations_are_refused(void **state)
{
	static const uint16_t operations[] = {0, RNIC_CTL_OPERATION_COUNT, 0x7fff, 0xffff};
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	hostile_client_open(&client, &rnicd, 1);
	for (unsigned i = 0; i < COUNT_OF(operations); i++) {
		assert_true(hostile_call(client.fd, operations[i], NULL, 0, &reply));
		assert_int_equal(reply.header.status, -EOPNOTSUPP);
		assert_true(hostile_call(client.control_fd, operations[i], NULL, 0, &reply));
		assert_int_equal(reply.header.status, -EOPNOTSUPP);
	}
	hostile_client_close(&client);
	expect_unharmed();
}

static void test_hello_lies(void **state)
{
	static const struct {
		struct rnic_ctl_hello hello;
		int status;
	} cases[] = {
		{{.version_min = RNIC_CTL_VERSION_MAX + 1, .version_max = 99}, -EPROTONOSUPPORT},
		{{.version_min = 0, .version_max = 0}, -EPROTONOSUPPORT},
		{{.version_min = 1, .version_max = RNIC_CTL_VERSION_MIN - 1}, -EPROTONOSUPPORT},
		{{.version_min = RNIC_CTL_VERSION_MIN,
		  .version_max = RNIC_CTL_VERSION_MAX,
		  .flags = 1 << 2},
		 -EINVAL},
		{{.version_min = RNIC_CTL_VERSION_MIN,
		  .version_max = RNIC_CTL_VERSION_MAX,
		  .flags = RNIC_HELLO_ADMIN | RNIC_HELLO_DIRECT},
		 -EINVAL},
		{{.version_min = RNIC_CTL_VERSION_MIN,
		  .version_max = RNIC_CTL_VERSION_MAX,
		  .flags = 0x80},
		 -EINVAL},
	};
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		int fd = hostile_connect(&rnicd);

		assert_true(hostile_call(fd, RNIC_CTL_HELLO, &cases[i].hello,
					 sizeof(cases[i].hello), &reply));
		assert_int_equal(reply.header.status, cases[i].status);
		close(fd);
	}
	hostile_client_open(&client, &rnicd, 1);
	assert_false(hostile_call(client.control_fd, RNIC_CTL_HELLO, &cases[0].hello,
				  sizeof(cases[0].hello), &reply));
	hostile_client_close(&client);
	expect_unharmed();
}

static void test_open_device_lies(void **state)
{
	static const struct rnic_ctl_open_device lies[] = {
		{.flags = 0x80},
		{.flags = UINT32_MAX & ~(uint32_t)RNIC_OPEN_MEMORY_FD},
		{.reserved = 1},
	};
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		const struct liar liar = open_liar(true);

		assert_true(hostile_call(liar.fd, RNIC_CTL_OPEN_DEVICE, &lies[i], sizeof(lies[i]),
					 &reply));
		assert_int_equal(reply.header.status, -EINVAL);
		close_liar(&liar);
	}
	hostile_client_open(&client, &rnicd, 1);
	assert_false(
		hostile_call(client.fd, RNIC_CTL_OPEN_DEVICE, &lies[2], sizeof(lies[2]), &reply));
	hostile_client_close(&client);
	expect_unharmed();
}

struct hello_message {
	struct rnic_ctl_header header;
	struct rnic_ctl_hello hello;
};

static struct hello_message make_hello(uint32_t flags)
{
	return (struct hello_message){
		.header = HEADER_OF(RNIC_CTL_HELLO, sizeof(struct hello_message)),
		.hello = {.version_min = RNIC_CTL_VERSION_MIN,
			  .version_max = RNIC_CTL_VERSION_MAX,
			  .flags = flags},
	};
}

struct open_device_message {
	struct rnic_ctl_header header;
	struct rnic_ctl_open_device open_device;
};

static struct open_device_message make_open_device(uint32_t flags)
{
	return (struct open_device_message){
		.header = HEADER_OF(RNIC_CTL_OPEN_DEVICE, sizeof(struct open_device_message)),
		.open_device = {.flags = flags},
	};
}

static void test_wrong_descriptors(void **state)
{
	const struct open_device_message with = make_open_device(RNIC_OPEN_MEMORY_FD);
	const struct open_device_message without = make_open_device(0);
	struct hostile_reply reply;
	struct liar liar;
	int fds[16];

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		fds[i] = STDERR_FILENO;

	/* Announced and missing, there and not announced, and more than any request has. */
	lie(true, &with, sizeof(with), NULL, 0);
	lie(true, &without, sizeof(without), fds, 1);
	lie(true, &without, sizeof(without), fds, COUNT_OF(fds));
	/* A descriptor that is no memory; the connection itself, for one. */
	for (unsigned i = 0; i < 3; i++) {
		liar = open_liar(true);
		if (i > 0)
			fds[0] = i == 1 ? liar.fd : liar.control_fd;
		assert_true(hostile_send(liar.fd, &with, sizeof(with), fds, 1));
		assert_true(hostile_receive(liar.fd, &reply));
		assert_int_equal(reply.header.status, -EINVAL);
		close_liar(&liar);
	}
	expect_unharmed();
}

/* Descriptors that come with a message of no bytes are let go with the connection. */
static void test_descriptors_of_empty_messages_are_closed(void **state)
{
	(void)state;
	for (unsigned is_device = 0; is_device < 2; is_device++) {
		struct pollfd end = {.events = POLLIN};
		int fds[RNIC_CTL_FDS_MAX], pipes[2];

		assert_int_equal(pipe(pipes), 0);
		for (unsigned i = 0; i < COUNT_OF(fds); i++)
			fds[i] = pipes[1];
		lie(is_device, NULL, 0, fds, COUNT_OF(fds));
		close(pipes[1]);
		/* The pipe ends when no process holds its other end any more. */
		end.fd = pipes[0];
		assert_int_equal(poll(&end, 1, 20000), 1);
		assert_true((end.revents & POLLHUP) != 0);
		close(pipes[0]);
	}
	expect_unharmed();
}

/* Sent and received, or sent and never received: no descriptor's last close holds the daemon. */
static void test_descriptors_slow_to_close(void **state)
{
	const struct hello_message hello = make_hello(0);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool is_received = i % 2 == 0, is_device = i >= 2;
		int peer_fd, lingering = make_lingering_socket(&peer_fd);
		const struct liar liar = open_liar(is_device);

		/* The daemon's descriptor is to be the last. */
		hostile_pause(&rnicd);
		if (!is_received)
			assert_true(hostile_send(liar.fd, &hello, 1, NULL, 0));
		assert_true(hostile_send(liar.fd, &hello, sizeof(hello), &lingering, 1));
		close(lingering);
		hostile_continue(&rnicd);
		hostile_expect_hang_up(liar.fd);
		close_liar(&liar);
		expect_unharmed();
		close(peer_fd);
	}
}

static void test_registering_files_that_may_shrink(void **state)
{
	struct hostile_client client;
	int memfd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(memfd, 4096), 0);
	hostile_client_open(&client, &rnicd, 2);
	assert_int_equal(hostile_register(&client, memfd, 0, 4096), -EPERM);
	/* A range beyond the file, once it is sealed. */
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(hostile_register(&client, memfd, 4096, 4096), -EINVAL);
	close(memfd);
	hostile_client_close(&client);
	expect_unharmed();
}

static void test_stale_and_invented_handles(void **state)
{
	static const uint16_t operations[] = {
		RNIC_CTL_DEALLOC_PD, RNIC_CTL_DEREGISTER_MR, RNIC_CTL_DESTROY_CHANNEL,
		RNIC_CTL_DESTROY_CQ, RNIC_CTL_QUERY_QP,	     RNIC_CTL_DESTROY_QP,
		RNIC_CTL_DESTROY_AH, RNIC_CTL_DEALLOC_MW,
	};
	static const struct rnic_handle handles[] = {
		{0, 0}, {0, 2}, {1, 1}, {UINT32_MAX, 1}, {UINT32_MAX, UINT32_MAX}, {0, UINT32_MAX},
	};
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
	for (unsigned i = 0; i < COUNT_OF(operations); i++)
		for (unsigned j = 0; j < COUNT_OF(handles); j++) {
			assert_true(hostile_call(client.fd, operations[i], &handles[j],
						 sizeof(handles[j]), &reply));
			assert_int_equal(reply.header.status, -EINVAL);
		}
	/* Objects in use stay; destroyed objects are gone. */
	assert_true(hostile_call(client.fd, RNIC_CTL_DEALLOC_PD, &client.pd, 8, &reply));
	assert_int_equal(reply.header.status, -EBUSY);
	assert_true(hostile_call(client.fd, RNIC_CTL_DESTROY_CQ, &client.cq, 8, &reply));
	assert_int_equal(reply.header.status, -EBUSY);
	assert_true(hostile_call(client.fd, RNIC_CTL_DESTROY_CHANNEL, &client.channel, 8, &reply));
	assert_int_equal(reply.header.status, -EBUSY);
	hostile_must(client.fd, RNIC_CTL_DESTROY_QP, &client.qp, 8, &reply);
	assert_true(hostile_call(client.fd, RNIC_CTL_DESTROY_QP, &client.qp, 8, &reply));
	assert_int_equal(reply.header.status, -EINVAL);
	hostile_client_close(&client);
	expect_unharmed();
}

static void test_admin_may_only_look(void **state)
{
	const struct hello_message hello = make_hello(RNIC_HELLO_ADMIN);
	struct hostile_reply reply;
	int fd = hostile_connect(&rnicd);

	(void)state;
	assert_true(hostile_send(fd, &hello, sizeof(hello), NULL, 0));
	assert_true(hostile_receive(fd, &reply));
	assert_int_equal(reply.header.status, 0);
	assert_int_equal(reply.fd_count, 0);
	assert_true(hostile_call(fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0, &reply));
	assert_int_equal(reply.header.status, -EPERM);
	close(fd);
	expect_unharmed();
}

/* Asks for a listing over `fd`, which said HELLO, and returns the first row and how many came. */
static uint32_t show(int fd, uint32_t kind, void *row, size_t row_bytes)
{
	const struct rnic_ctl_show request = {.kind = kind};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;

	hostile_must(fd, RNIC_CTL_SHOW, &request, sizeof(request), &reply);
	memcpy(&answer, reply.payload, sizeof(answer));
	assert_int_equal(answer.row_bytes, row_bytes);
	memcpy(row, reply.payload + sizeof(answer), row_bytes);
	return answer.row_count;
}

static void test_other_users_see_no_keys(void **state)
{
	const struct hello_message hello = make_hello(RNIC_HELLO_ADMIN);
	struct hostile_reply reply;
	struct rnic_show_qp qp;
	int ours, theirs;

	(void)state;
	hostile_skip_unless_root();
	ours = hostile_connect(&rnicd);
	theirs = hostile_connect_as_nobody(&rnicd);
	assert_true(hostile_send(ours, &hello, sizeof(hello), NULL, 0));
	assert_true(hostile_receive(ours, &reply));
	assert_true(hostile_send(theirs, &hello, sizeof(hello), NULL, 0));
	assert_true(hostile_receive(theirs, &reply));
	assert_int_equal(show(ours, RNIC_SHOW_QPS, &qp, sizeof(qp)), 1);
	assert_int_equal(qp.qpn, witness.qpn);
	assert_int_equal(show(theirs, RNIC_SHOW_QPS, &qp, sizeof(qp)), 0);
	close(ours);
	close(theirs);
	expect_unharmed();
}

/* By its number, another user's process could be any process: root's, for one. */
static void test_other_users_are_not_reached_by_number(void **state)
{
	const struct open_device_message open_device = make_open_device(RNIC_OPEN_MEMORY_FD);
	struct rnic_ctl_register_mr request = {.mode = RNIC_MEMORY_REMOTE, .length = 1};
	struct hostile_reply reply;
	struct rnic_show_mr mr;
	int memory_fd, control_fd, fd;

	(void)state;
	hostile_skip_unless_root();
	memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	control_fd = hostile_connect_as_nobody(&rnicd);
	fd = hostile_hello(control_fd);
	assert_true(hostile_send(fd, &open_device, sizeof(open_device), &memory_fd, 1));
	assert_true(hostile_receive(fd, &reply));
	assert_int_equal(reply.header.status, 0);
	for (unsigned i = 0; i < reply.fd_count; i++)
		close(reply.fds[i]);
	hostile_must(fd, RNIC_CTL_ALLOC_PD, NULL, 0, &reply);
	memcpy(&request.pd, reply.payload, sizeof(request.pd));
	hostile_must(fd, RNIC_CTL_REGISTER_MR, &request, sizeof(request), &reply);
	assert_int_equal(show(control_fd, RNIC_SHOW_MRS, &mr, sizeof(mr)), 1);
	assert_int_equal(mr.mode, RNIC_MEMORY_PROC_MEM);
	close(memory_fd);
	close(fd);
	close(control_fd);
	expect_unharmed();
}

static void test_replies_not_taken(void **state)
{
	const struct rnic_ctl_header gids = HEADER_OF(RNIC_CTL_QUERY_GIDS, sizeof(gids));
	const struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_show show;
	} show_device = {
		.header = HEADER_OF(RNIC_CTL_SHOW, sizeof(show_device)),
		.show = {.kind = RNIC_SHOW_DEVICE},
	};
	struct hostile_client client;

	(void)state;
	hostile_client_open(&client, &rnicd, 1);
	while (hostile_send(client.fd, &gids, sizeof(gids), NULL, 0))
		continue;
	hostile_client_close(&client);
	expect_unharmed();
	hostile_client_open(&client, &rnicd, 1);
	while (hostile_send(client.control_fd, &show_device, sizeof(show_device), NULL, 0))
		continue;
	hostile_client_close(&client);
	expect_unharmed();
}

static void test_oversized_wishes(void **state)
{
	struct hostile_client client;
	struct hostile_reply reply;
	struct rnic_ctl_create_qp qp = {.type = RNIC_QP_TYPE_RC};
	struct rnic_ctl_create_cq cq = {.entries = UINT32_MAX};

	(void)state;
	hostile_client_open(&client, &rnicd, 4);
	assert_true(hostile_call(client.fd, RNIC_CTL_CREATE_CQ, &cq, sizeof(cq), &reply));
	assert_int_equal(reply.header.status, -EINVAL);
	qp.pd = client.pd;
	qp.send_cq = qp.recv_cq = client.cq;
	for (unsigned i = 0; i < 5; i++) {
		uint32_t *capacities = (uint32_t *)&qp.capacities;

		memset(capacities, 0, sizeof(qp.capacities));
		capacities[i] = UINT32_MAX;
		assert_true(hostile_call(client.fd, RNIC_CTL_CREATE_QP, &qp, sizeof(qp), &reply));
		assert_int_equal(reply.header.status, -EINVAL);
	}
	memset(&qp.capacities, 0, sizeof(qp.capacities));
	qp.type = 77;
	assert_true(hostile_call(client.fd, RNIC_CTL_CREATE_QP, &qp, sizeof(qp), &reply));
	assert_int_equal(reply.header.status, -EOPNOTSUPP);
	hostile_client_close(&client);
	expect_unharmed();
}

/* ---- shared memory ---- */

static void lie_send_producer(struct hostile_client *client)
{
	rnic_word_publish(&client->indices->send_producer, client->plan.send.slots + 1);
	hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client->qp.slot));
}

/* Receives are looked at when the QP is in ERR. */
static void lie_recv_producer(struct hostile_client *client)
{
	const struct rnic_ctl_modify_qp to_error = {
		.qp = client->qp,
		.mask = RNIC_QP_ATTR_STATE,
		.attributes = {.state = RNIC_QP_STATE_ERR},
	};
	struct hostile_reply reply;

	hostile_must(client->fd, RNIC_CTL_MODIFY_QP, &to_error, sizeof(to_error), &reply);
	rnic_word_publish(&client->indices->recv_producer, UINT32_MAX);
	hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_RECV, client->qp.slot));
}

static void lie_doorbell_producer(struct hostile_client *client)
{
	rnic_index_publish(&client->session->doorbell_producer, RNIC_DOORBELL_SLOTS * 2);
	hostile_ring(client, 0);
}

static void lie_doorbell_slot(struct hostile_client *client)
{
	hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, RNIC_SESSION_QPS_MAX));
}

static void lie_doorbell_kind(struct hostile_client *client)
{
	hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_RECV + 1, 0));
}

static void lie_last_doorbell_kind(struct hostile_client *client)
{
	hostile_ring(client, RNIC_DOORBELL(3, 0));
}

/* The index is believed until the ring seems full. */
static void lie_consumer(struct hostile_client *client)
{
	uint32_t posted = 0;

	atomic_store(&client->session->cqs[client->cq.slot].consumer, 0x80000000u);
	while (posted < client->cq_slots + 1) {
		rnic_word_publish(&client->indices->send_producer, ++posted);
		hostile_ring(client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client->qp.slot));
		if (posted <= client->cq_slots)
			hostile_wait_completion(client, posted - 1);
	}
}

static void test_wrong_structure_disconnects(void **state)
{
	static void (*const lies[])(struct hostile_client * client) = {
		lie_send_producer, lie_recv_producer,	   lie_doorbell_producer, lie_doorbell_slot,
		lie_doorbell_kind, lie_last_doorbell_kind, lie_consumer,
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		struct hostile_client client;

		hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
		/* Entries of this kind complete in error, one by one. */
		memset((uint8_t *)client.queues + client.plan.send.entries_offset, 0xff,
		       client.plan.send.slots * sizeof(struct rnic_send_wqe));
		lies[i](&client);
		hostile_expect_hang_up(client.fd);
		hostile_client_close(&client);
		expect_unharmed();
	}
}

/* A client may write anywhere before it has a QP there, and after. The QP begins at 0. */
static void test_indices_of_slots_without_a_qp(void **state)
{
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	hostile_client_open(&client, &rnicd, 4);
	for (unsigned round = 0; round < 3; round++) {
		memset(client.session->qp_lines, 0xff, sizeof(client.session->qp_lines));
		hostile_ring(&client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client.qp.slot));
		atomic_fetch_add(&client.session->doorbells_lost.value, 1);
		hostile_client_go_on(&client, 4, HOSTILE_STEPS);
		*(struct rnic_send_wqe *)client.queues = (struct rnic_send_wqe){
			.opcode = RNIC_WR_RDMA_WRITE,
			.flags = RNIC_SEND_SIGNALED,
		};
		rnic_word_publish(&client.indices->send_producer, 1);
		hostile_ring(&client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client.qp.slot));
		assert_int_equal(hostile_wait_completion(&client, round)->status, RNIC_WC_SUCCESS);
		hostile_must(client.fd, RNIC_CTL_DESTROY_QP, &client.qp, sizeof(client.qp), &reply);
		munmap(client.queues, client.queues_bytes);
	}
	client.queues = NULL;
	hostile_client_close(&client);
	expect_unharmed();
}

static void test_doorbells_for_nobody_are_ignored(void **state)
{
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	hostile_client_open(&client, &rnicd, 5);
	/* As many as the ring holds: more would be a lie about its length. */
	for (uint32_t i = 0; i < RNIC_DOORBELL_SLOTS; i++)
		hostile_ring(&client, RNIC_DOORBELL(i % 2, 1 + i % 1000));
	atomic_fetch_add(&client.session->doorbells_lost.value, 1);
	hostile_must(client.fd, RNIC_CTL_QUERY_PORT, NULL, 0, &reply);
	hostile_client_close(&client);
	expect_unharmed();
}

static void test_garbage_entries_complete_in_error(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 1);
	for (unsigned round = 0; round < 20; round++) {
		struct hostile_client client;
		uint8_t *bytes;

		hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
		bytes = client.queues;
		for (size_t i = 0; i < client.queues_bytes; i++)
			bytes[i] = (uint8_t)prng_next(&prng);
		rnic_word_publish(&client.indices->recv_producer, client.plan.recv.slots);
		rnic_word_publish(&client.indices->send_producer, client.plan.send.slots);
		hostile_ring(&client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client.qp.slot));
		/* The first error flushes all that follows, receives too. */
		for (uint32_t i = 0; i < client.plan.send.slots + client.plan.recv.slots; i++)
			assert_int_not_equal(hostile_wait_completion(&client, i)->status,
					     RNIC_WC_SUCCESS);
		hostile_client_close(&client);
		expect_unharmed();
	}
}

/* Work for a QP in RESET, INIT or RTS, which then goes to ERR, back to RESET, and away. */
static void test_work_in_every_state(void **state)
{
	static const uint32_t next_states[] = {RNIC_QP_STATE_ERR, RNIC_QP_STATE_RESET};

	(void)state;
	for (unsigned steps = 5; steps <= HOSTILE_STEPS; steps++) {
		struct rnic_ctl_modify_qp modify = {.mask = RNIC_QP_ATTR_STATE};
		struct hostile_client client;
		struct hostile_reply reply;

		hostile_client_open(&client, &rnicd, steps);
		modify.qp = client.qp;
		for (unsigned i = 0; i < COUNT_OF(next_states); i++) {
			atomic_fetch_add(&client.indices->send_producer, 8);
			atomic_fetch_add(&client.indices->recv_producer, 8);
			hostile_ring(&client, RNIC_DOORBELL(RNIC_DOORBELL_SEND, client.qp.slot));
			hostile_ring(&client, RNIC_DOORBELL(RNIC_DOORBELL_RECV, client.qp.slot));
			modify.attributes.state = next_states[i];
			/* Refused or not, it is answered. */
			assert_true(hostile_call(client.fd, RNIC_CTL_MODIFY_QP, &modify,
						 sizeof(modify), &reply));
		}
		hostile_must(client.fd, RNIC_CTL_DESTROY_QP, &client.qp, sizeof(client.qp), &reply);
		hostile_client_close(&client);
		expect_unharmed();
	}
}

/* The doorbell's file description is shared: no setting of it may hold the daemon. */
static void test_doorbell_made_blocking_and_full(void **state)
{
	const uint64_t most = UINT64_MAX - 1;
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
	assert_int_equal(fcntl(client.doorbell_fd, F_SETFL, 0), 0);
	assert_int_equal(write(client.doorbell_fd, &most, sizeof(most)), sizeof(most));
	hostile_must(client.fd, RNIC_CTL_QUERY_PORT, NULL, 0, &reply);
	hostile_client_close(&client);
	expect_unharmed();
}

/* ---- coming and going ---- */

static void test_death_at_every_step(void **state)
{
	(void)state;
	for (unsigned steps = 0; steps <= HOSTILE_STEPS; steps++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			struct hostile_client client;

			hostile_client_open(&client, &rnicd, steps);
			if (steps == HOSTILE_STEPS) {
				rnic_word_publish(&client.indices->send_producer, 1);
				hostile_ring(&client,
					     RNIC_DOORBELL(RNIC_DOORBELL_SEND, client.qp.slot));
			}
			raise(SIGKILL);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		expect_unharmed();
	}
}

/* Two hundred, or as many as the limits of the machine let the daemon have. */
static void test_many_connections(void **state)
{
	static struct hostile_client clients[200];
	unsigned count = COUNT_OF(clients);
	struct rlimit files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max / DESCRIPTORS_EACH < count)
		count = (unsigned)(files.rlim_max / DESCRIPTORS_EACH);
	for (unsigned i = 0; i < count; i++)
		hostile_client_open(&clients[i], &rnicd, 2);
	hostile_expect_owned(&rnicd, 1 + count, 1);
	for (unsigned i = 0; i < count; i++)
		hostile_client_close(&clients[i]);
	expect_unharmed();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed_messages),
		cmocka_unit_test(test_unknown_operations_are_refused),
		cmocka_unit_test(test_hello_lies),
		cmocka_unit_test(test_open_device_lies),
		cmocka_unit_test(test_wrong_descriptors),
		cmocka_unit_test(test_descriptors_of_empty_messages_are_closed),
		cmocka_unit_test(test_descriptors_slow_to_close),
		cmocka_unit_test(test_registering_files_that_may_shrink),
		cmocka_unit_test(test_stale_and_invented_handles),
		cmocka_unit_test(test_admin_may_only_look),
		cmocka_unit_test(test_other_users_see_no_keys),
		cmocka_unit_test(test_other_users_are_not_reached_by_number),
		cmocka_unit_test(test_replies_not_taken),
		cmocka_unit_test(test_oversized_wishes),
		cmocka_unit_test(test_wrong_structure_disconnects),
		cmocka_unit_test(test_indices_of_slots_without_a_qp),
		cmocka_unit_test(test_doorbells_for_nobody_are_ignored),
		cmocka_unit_test(test_garbage_entries_complete_in_error),
		cmocka_unit_test(test_work_in_every_state),
		cmocka_unit_test(test_doorbell_made_blocking_and_full),
		cmocka_unit_test(test_death_at_every_step),
		cmocka_unit_test(test_many_connections),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

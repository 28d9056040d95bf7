/* SPDX-License-Identifier: MIT */
/*
 * Clients that want all there is: each kind of thing ends in a refusal, and what a client had is
 * free again when it is gone.
 *
 * usage: hostile_quotas RNICD
 */
#include "tests/hostile/hostile_link.h"
#include "tests/hostile/lingering_socket.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTORS 1024 /* of the daemon, as on many a machine */

static void test_quotas(void **state)
{
	static const uint16_t operations[] = {RNIC_CTL_ALLOC_PD, RNIC_CTL_CREATE_CHANNEL};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(operations); i++) {
		struct hostile_client client;
		struct hostile_reply reply;
		uint32_t made = 0;

		hostile_client_open(&client, &rnicd, 1);
		do {
			assert_true(hostile_call(client.fd, operations[i], NULL, 0, &reply));
			assert_true(made++ < 100000);
		} while (reply.header.status == 0);
		assert_int_equal(reply.header.status, -ENOSPC);
		hostile_client_close(&client);
		hostile_expect_owned(&rnicd, 0, 0);
	}
}

/* A memfd that may be mapped. */
static int make_sealed_memfd(size_t bytes)
{
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

/* The file's descriptor is the daemon's from then on. */
static void ask_to_register(const struct hostile_client *client, int file, size_t bytes)
{
	hostile_ask_to_register(client, file, 0, bytes);
	close(file);
}

static int register_file(const struct hostile_client *client, int file, size_t bytes)
{
	ask_to_register(client, file, bytes);
	return hostile_receive_status(client);
}

/* Neither many memfds nor long ones take all of the daemon's address space. */
static void test_mapped_memory_is_bounded(void **state)
{
	static const size_t lengths[] = {4096, (size_t)1 << 38};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lengths); i++) {
		struct hostile_client client;
		uint32_t made = 0;
		int status;

		hostile_client_open(&client, &rnicd, 2);
		while ((status = register_file(&client, make_sealed_memfd(lengths[i]),
					       lengths[i])) == 0)
			assert_true(++made < 10000);
		assert_int_equal(status, -ENOSPC);
		assert_true(made > 0);
		hostile_client_close(&client);
		hostile_expect_owned(&rnicd, 0, 0);
	}
}

/* As many as are to be had on the connection; the daemon is to say that there are no more. */
static uint32_t take_all(int fd, uint16_t operation, const void *request, size_t bytes)
{
	struct hostile_reply reply;
	uint32_t taken = 0;

	while (hostile_call(fd, operation, request, bytes, &reply) && reply.header.status == 0)
		taken++;
	assert_int_equal(reply.header.status, -ENOSPC);
	return taken;
}

/* A process has only so many mappings: each ring is one, also of a user of many connections. */
static void test_rings_leave_mappings_to_others(void **state)
{
	const struct rnic_ctl_create_cq cq = {.entries = 1};
	const struct rnic_ctl_create_queue_region queues = {.bytes = 4096};
	struct hostile_client greedy[3], other;

	(void)state;
	hostile_skip_unless_root();
	for (unsigned i = 0; i < COUNT_OF(greedy); i++)
		hostile_client_adopt(&greedy[i], hostile_connect_as_nobody(&rnicd), 4);
	for (unsigned i = 0; i < COUNT_OF(greedy); i++) {
		take_all(greedy[i].fd, RNIC_CTL_CREATE_CQ, &cq, sizeof(cq));
		take_all(greedy[i].fd, RNIC_CTL_CREATE_QUEUE_REGION, &queues, sizeof(queues));
	}
	hostile_client_open(&other, &rnicd, HOSTILE_STEPS);
	assert_true(take_all(other.fd, RNIC_CTL_CREATE_CQ, &cq, sizeof(cq)) > 1000);
	hostile_client_close(&other);
	for (unsigned i = 0; i < COUNT_OF(greedy); i++)
		hostile_client_close(&greedy[i]);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* A queue pair that may be in multicast groups; the client has got as far as a CQ. */
static struct rnic_handle create_ud_qp(struct hostile_client *client)
{
	struct rnic_ctl_create_qp wanted = {
		.pd = client->pd,
		.send_cq = client->cq,
		.recv_cq = client->cq,
		.type = RNIC_QP_TYPE_UD,
		.capacities = {1, 1, 1, 1, 0},
	};
	struct rnic_ctl_create_qp_reply made;
	struct hostile_reply reply;

	hostile_place_queues(client, &wanted);
	hostile_must(client->fd, RNIC_CTL_CREATE_QP, &wanted, sizeof(wanted), &reply);
	memcpy(&made, reply.payload, sizeof(made));
	return made.qp;
}

/* Attaches a queue pair to the group 239.0.`network`.`host`; the status of the reply. */
static int attach(const struct hostile_client *client, struct rnic_handle qp, uint8_t network,
		  uint8_t host)
{
	const struct rnic_ctl_mcast request = {
		.qp = qp,
		.group.bytes = {[10] = 0xff, 0xff, 239, 0, network, host},
	};

	return hostile_answer(client->fd, RNIC_CTL_ATTACH_MCAST, &request, sizeof(request), NULL,
			      0);
}

/* Attaches a queue pair of the client to as many new groups as it may be in. */
static unsigned attach_to_all(struct hostile_client *client, uint8_t network)
{
	const struct rnic_handle qp = create_ud_qp(client);
	uint8_t groups = 0;
	int status;

	while ((status = attach(client, qp, network, groups)) == 0)
		groups++;
	assert_int_equal(status, -ENOSPC);
	return groups;
}

/* Each channel is a descriptor of the process that serves it, which has not so many. */
static void test_channels_leave_descriptors_to_others(void **state)
{
	struct hostile_client greedy[3], other;
	uint32_t of_device = 0, of_control = 0;

	(void)state;
	hostile_skip_unless_root();
	for (unsigned i = 0; i < COUNT_OF(greedy); i++)
		hostile_client_adopt(&greedy[i], hostile_connect_as_nobody(&rnicd), 1);
	for (unsigned i = 0; i < COUNT_OF(greedy); i++) {
		of_device += take_all(greedy[i].fd, RNIC_CTL_CREATE_CHANNEL, NULL, 0);
		of_control += take_all(greedy[i].control_fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0);
	}
	assert_in_range(of_device, 200, DESCRIPTORS);
	/* Of the control plane's a user has its sure part, and half of what all have in common. */
	assert_in_range(of_control, 50, DESCRIPTORS / 4);
	hostile_client_open(&other, &rnicd, HOSTILE_STEPS);
	hostile_client_close(&other);
	for (unsigned i = 0; i < COUNT_OF(greedy); i++)
		hostile_client_close(&greedy[i]);
	hostile_expect_owned(&rnicd, 0, 0);
}

/*
 * The daemon closes sent descriptors, however long their owner delays that, and not in the thread
 * that serves.
 */
static void test_slow_descriptors_leave_room(void **state)
{
	struct hostile_client slow, other;
	int peers[8];

	(void)state;
	hostile_client_open(&slow, &rnicd, 2);
	/* The daemon's descriptors are to be the last. */
	hostile_pause(&rnicd);
	for (unsigned i = 0; i < COUNT_OF(peers); i++)
		ask_to_register(&slow, make_lingering_socket(&peers[i]), 1);
	hostile_continue(&rnicd);
	for (unsigned i = 0; i < COUNT_OF(peers); i++)
		assert_int_equal(hostile_receive_status(&slow), -EPERM);
	for (unsigned i = 0; i < 2 * DESCRIPTORS; i++)
		assert_int_equal(register_file(&slow, dup(STDERR_FILENO), 1), -EPERM);
	hostile_client_open(&other, &rnicd, HOSTILE_STEPS);
	hostile_client_close(&other);
	hostile_client_close(&slow);
	for (unsigned i = 0; i < COUNT_OF(peers); i++)
		close(peers[i]);
	hostile_expect_owned(&rnicd, 0, 0);
}

static void test_multicast_groups_are_bounded(void **state)
{
	struct hostile_client client;

	(void)state;
	hostile_client_open(&client, &rnicd, 4);
	/* Half of the device's objects: enough is left for others. */
	assert_int_equal(attach_to_all(&client, 1), 32);
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* By however many connections. */
static void test_multicast_groups_of_a_user_are_bounded(void **state)
{
	struct hostile_client greedy[2], other;

	(void)state;
	hostile_skip_unless_root();
	for (unsigned i = 0; i < COUNT_OF(greedy); i++)
		hostile_client_adopt(&greedy[i], hostile_connect_as_nobody(&rnicd), 4);
	hostile_client_open(&other, &rnicd, 4);
	assert_int_equal(attach_to_all(&greedy[0], 1), 32);
	assert_int_equal(attach_to_all(&greedy[1], 2), 32);
	/* Another user has another device process. */
	assert_int_equal(attach_to_all(&other, 3), 32);
	hostile_client_close(&other);
	for (unsigned i = 0; i < COUNT_OF(greedy); i++)
		hostile_client_close(&greedy[i]);
	hostile_expect_owned(&rnicd, 0, 0);
}

static void test_places_in_a_group_are_bounded(void **state)
{
	struct hostile_client greedy, other;
	unsigned members = 0;
	int status;

	(void)state;
	hostile_skip_unless_root();
	hostile_client_adopt(&greedy, hostile_connect_as_nobody(&rnicd), 4);
	hostile_client_open(&other, &rnicd, 4);
	while ((status = attach(&greedy, create_ud_qp(&greedy), 1, 0)) == 0)
		members++;
	assert_int_equal(status, -ENOSPC);
	assert_int_equal(members, 256);
	assert_int_equal(attach(&other, create_ud_qp(&other), 1, 0), 0);
	hostile_client_close(&greedy);
	hostile_client_close(&other);
	hostile_expect_owned(&rnicd, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotas),
		cmocka_unit_test(test_mapped_memory_is_bounded),
		cmocka_unit_test(test_rings_leave_mappings_to_others),
		cmocka_unit_test(test_channels_leave_descriptors_to_others),
		cmocka_unit_test(test_slow_descriptors_leave_room),
		cmocka_unit_test(test_multicast_groups_are_bounded),
		cmocka_unit_test(test_multicast_groups_of_a_user_are_bounded),
		cmocka_unit_test(test_places_in_a_group_are_bounded),
	};

	const struct rlimit files = {DESCRIPTORS, DESCRIPTORS};

	if (!hostile_arguments(argc, argv))
		return 2;
	if (setrlimit(RLIMIT_NOFILE, &files) != 0)
		return 1;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}

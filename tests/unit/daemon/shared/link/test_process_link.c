/* SPDX-License-Identifier: MIT */
#include "daemon/shared/link/process_link.h"

#include "tests/hostile/lingering_socket.h"
#include "tests/unit/unit_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define WAIT_SECONDS 10

static struct process_receipt receipt;

static unsigned open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(directory);
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

/* Sends a LEAVE with `fd_count` descriptors past process_link_send(), which refuses too many. */
static void send_raw(int link_fd, unsigned fd_count)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(64 * sizeof(int))] = {0};
	struct {
		struct rnic_process_header header;
		struct rnic_process_group group;
	} leave = {.header = {
			   .magic = RNIC_PROCESS_MAGIC,
			   .version = RNIC_PROCESS_VERSION,
			   .operation = RNIC_PROCESS_LEAVE,
			   .bytes = sizeof(leave),
		   }};
	struct iovec part = {.iov_base = &leave, .iov_len = sizeof(leave)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(fd_count * sizeof(int)),
	};
	struct cmsghdr *descriptors = (void *)control;

	descriptors->cmsg_level = SOL_SOCKET;
	descriptors->cmsg_type = SCM_RIGHTS;
	descriptors->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
	for (unsigned i = 0; i < fd_count; i++)
		memcpy(CMSG_DATA(descriptors) + i * sizeof(int), &link_fd, sizeof(int));
	assert_int_equal(sendmsg(link_fd, &message, 0), sizeof(leave));
}

static void test_letters_arrive_in_order(void **state)
{
	const struct rnic_process_rows rows = {.request_id = 7, .kind = 3, .cursor = 9};
	const struct rnic_process_packet packet = {.datagram_bytes = 5, .source_port = 4791};
	const struct process_letter letters[] = {
		{RNIC_PROCESS_ROWS, &rows, sizeof(rows), NULL, 0, NULL, 0},
		{RNIC_PROCESS_PACKET, &packet, sizeof(packet), "hello", 5, NULL, 0},
	};
	int fds[2];

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	assert_int_equal(process_link_receive_plain(fds[1], &receipt), -EAGAIN);
	assert_int_equal(process_link_send(fds[0], &letters[0]), 0);
	assert_int_equal(process_link_send(fds[0], &letters[1]), 0);

	assert_int_equal(process_link_receive_plain(fds[1], &receipt), 0);
	assert_int_equal(receipt.header.operation, RNIC_PROCESS_ROWS);
	assert_memory_equal(receipt.payload, &rows, sizeof(rows));
	assert_int_equal(process_link_receive(fds[1], &receipt), 0);
	assert_int_equal(receipt.header.operation, RNIC_PROCESS_PACKET);
	assert_memory_equal(receipt.payload + sizeof(packet), "hello", 5);
	assert_int_equal(receipt.fd_count, 0);

	close(fds[0]);
	assert_int_equal(process_link_receive(fds[1], &receipt), -EPIPE);
	assert_int_equal(process_link_send(fds[1], &letters[0]), -EPIPE);
	close(fds[1]);
}

static void test_descriptors_travel(void **state)
{
	const struct rnic_process_gid gid = {.index = 1};
	struct process_letter letter = {
		.operation = RNIC_PROCESS_GID, .payload = &gid, .payload_bytes = sizeof(gid)};
	int sent[RNIC_PROCESS_FDS_MAX], fds[2], kept;
	const unsigned before = open_fds();

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	for (int i = 0; i < RNIC_PROCESS_FDS_MAX; i++)
		sent[i] = fds[0];
	letter.fds = sent;
	letter.fd_count = RNIC_PROCESS_FDS_MAX;
	assert_int_equal(process_link_send(fds[0], &letter), 0);
	assert_int_equal(process_link_receive(fds[1], &receipt), 0);
	assert_int_equal(receipt.fd_count, RNIC_PROCESS_FDS_MAX);
	assert_int_equal(fcntl(receipt.fds[8], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(open_fds(), before + 2 + RNIC_PROCESS_FDS_MAX);

	kept = receipt.fds[4];
	receipt.fds[4] = -1;
	process_receipt_drop(&receipt);
	assert_int_equal(open_fds(), before + 3);
	close(kept);

	letter.fd_count++;
	assert_int_equal(process_link_send(fds[0], &letter), -EMSGSIZE);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(open_fds(), before);
}

/* Whatever comes with a message that is refused is closed. */
static void test_unwanted_descriptors(void **state)
{
	static const unsigned counts[] = {1, 9, 10, 11, 64};
	const unsigned before = open_fds();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		int fds[2];

		assert_int_equal(process_link_open(fds), 0);
		send_raw(fds[0], counts[i]);
		assert_int_equal(process_link_receive_plain(fds[1], &receipt), -EPROTO);
		send_raw(fds[0], counts[i]);
		assert_int_equal(process_link_receive(fds[1], &receipt),
				 counts[i] <= RNIC_PROCESS_FDS_MAX ? 0 : -EPROTO);
		process_receipt_drop(&receipt);
		assert_int_equal(open_fds(), before + 2);
		close(fds[0]);
		close(fds[1]);
	}
}

/* A process that may open one more descriptor, and gets two, has none afterwards. */
static void test_no_room_for_descriptors(void **state)
{
	const struct rnic_process_gid gid = {.index = 1};
	const unsigned before = open_fds();
	struct rlimit limit, least;
	int fds[2], next;

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_GID,
		.payload = &gid,
		.payload_bytes = sizeof(gid),
		.fds = fds,
		.fd_count = 2,
	};

	assert_int_equal(process_link_send(fds[0], &letter), 0);
	assert_int_equal(process_link_send(fds[0], &letter), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	next = dup(fds[0]);
	close(next);
	least = (struct rlimit){.rlim_cur = (rlim_t)next + 1, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &least), 0);
	assert_int_equal(process_link_receive(fds[1], &receipt), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(receipt.fd_count, 0);
	assert_int_equal(open_fds(), before + 2);
	assert_int_equal(process_link_receive(fds[1], &receipt), 0);
	assert_int_equal(receipt.fd_count, 2);
	process_receipt_drop(&receipt);
	close(fds[0]);
	close(fds[1]);
}

/* Whoever closes such a descriptor last waits; that is not to be who receives plainly. */
static void test_unwanted_descriptors_stay_in_the_link(void **state)
{
	const struct rnic_process_gid gid = {.index = 1};
	int fds[2], peer, lingering = make_lingering_socket(&peer);
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_GID,
		.payload = &gid,
		.payload_bytes = sizeof(gid),
		.fds = &lingering,
		.fd_count = 1,
	};

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	assert_int_equal(process_link_send(fds[0], &letter), 0);
	close(lingering);
	alarm(WAIT_SECONDS);
	assert_int_equal(process_link_receive_plain(fds[1], &receipt), -EPROTO);
	assert_int_equal(process_link_receive_plain(fds[1], &receipt), -EPROTO);
	alarm(0);
	close(peer);
	close(fds[0]);
	close(fds[1]);
}

static void test_a_full_link(void **state)
{
	static uint8_t datagram[8192];
	const struct rnic_process_packet packet = {.datagram_bytes = sizeof(datagram)};
	struct process_letter letter = {
		RNIC_PROCESS_PACKET, &packet, sizeof(packet), datagram, sizeof(datagram), NULL, 0};
	int fds[2], sent = 0;

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	while (process_link_send(fds[0], &letter) == 0)
		sent++;
	assert_true(sent > 4);
	assert_int_equal(process_link_send(fds[0], &letter), -EAGAIN);
	for (int i = 0; i < sent; i++)
		assert_int_equal(process_link_receive(fds[1], &receipt), 0);
	assert_int_equal(process_link_receive(fds[1], &receipt), -EAGAIN);
	assert_int_equal(process_link_send(fds[0], &letter), 0);

	letter.tail_bytes = RNIC_PROCESS_MESSAGE_BYTES;
	assert_int_equal(process_link_send(fds[0], &letter), -EMSGSIZE);
	letter.tail_bytes = SIZE_MAX;
	assert_int_equal(process_link_send(fds[0], &letter), -EMSGSIZE);
	close(fds[0]);
	close(fds[1]);
}

/* A batch that the kernel merged, of packets of another lane, has room whole, both ways. */
static void test_room_for_a_batch(void **state)
{
	enum { BATCH = 2 * 64 };
	static const uint8_t datagram[1100];
	const struct rnic_process_packet packet = {.datagram_bytes = sizeof(datagram)};
	const struct process_letter letter = {
		RNIC_PROCESS_PACKET, &packet, sizeof(packet), datagram, sizeof(datagram), NULL, 0};
	int fds[2];

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	for (int end = 0; end < 2; end++)
		for (int i = 0; i < BATCH; i++)
			assert_int_equal(process_link_send(fds[end], &letter), 0);
	close(fds[0]);
	close(fds[1]);
}

static void test_strangers(void **state)
{
	static uint8_t bytes[RNIC_PROCESS_MESSAGE_BYTES + 1];
	int fds[2];

	(void)state;
	assert_int_equal(process_link_open(fds), 0);
	assert_int_equal(send(fds[0], bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(process_link_receive(fds[1], &receipt), -EPROTO);
	assert_int_equal(send(fds[0], "x", 1, 0), 1);
	assert_int_equal(process_link_receive(fds[1], &receipt), -EPROTO);
	assert_int_equal(send(fds[0], bytes, 64, 0), 64);
	assert_int_equal(process_link_receive(fds[1], &receipt), -EPROTO);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters_arrive_in_order),
		cmocka_unit_test(test_descriptors_travel),
		cmocka_unit_test(test_unwanted_descriptors),
		cmocka_unit_test(test_no_room_for_descriptors),
		cmocka_unit_test(test_unwanted_descriptors_stay_in_the_link),
		cmocka_unit_test(test_a_full_link),
		cmocka_unit_test(test_room_for_a_batch),
		cmocka_unit_test(test_strangers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/device/link/fake_control_plane.h"

#include "daemon/shared/base/log.h"
#include "lib/wait/awake.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *fake_make_page(const char *name, size_t bytes, int *fd)
{
	void *address;

	*fd = memfd_create(name, MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(ftruncate(*fd, (off_t)bytes), 0);
	address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_true(address != MAP_FAILED);
	return address;
}

static void fake_exec(int link_fd)
{
	static char *const arguments[] = {"rnicd-device", NULL};

	/* dup2() onto the same number would leave close-on-exec set. */
	if (link_fd == PROCESS_LINK_FD)
		fcntl(link_fd, F_SETFD, 0);
	else
		dup2(link_fd, PROCESS_LINK_FD);
	execv(RNICD_DEVICE_PROGRAM, arguments);
	_exit(127);
}

void fake_launch(struct fake_control_plane *control)
{
	int fds[2];

	memset(control, 0, sizeof(*control));
	assert_int_equal(process_link_open(fds), 0);
	control->link_fd = fds[0];
	control->facts_page =
		fake_make_page("facts", sizeof(struct rnic_facts_page), &control->facts_fd);
	control->stats = fake_make_page("statistics page", sizeof(struct rnic_stats_file),
					&control->stats_fd);
	control->start = (struct rnic_process_start){
		.lane = FAKE_LANE,
		.memory_bytes = UINT64_C(1) << 30,
		.uid = getuid(),
		.port = UDP_PORT_SOCKET,
		.segmentation = SEGMENTATION_AUTO,
		.poll = POLL_ADAPTIVE,
		.log_level = LOG_LEVEL_WARNING,
		.netdev_index = 1,
		.device = {.max_mr_bytes = UINT64_C(1) << 40,
			   .max_qp_wr = 64,
			   .max_sge = 4,
			   .max_cqe = 64,
			   .completion_vectors = 1},
		.pkeys.pkeys[0] = 0xffff,
	};
	control->pid = fork();
	assert_true(control->pid >= 0);
	if (control->pid == 0)
		fake_exec(fds[1]);
	close(fds[1]);
}

void fake_send(struct fake_control_plane *control, uint16_t operation, const void *payload,
	       size_t bytes, const int *fds, unsigned fd_count)
{
	const struct process_letter letter = {
		.operation = operation,
		.payload = payload,
		.payload_bytes = bytes,
		.fds = fds,
		.fd_count = fd_count,
	};

	assert_int_equal(process_link_send(control->link_fd, &letter), 0);
}

void fake_send_tail(struct fake_control_plane *control, uint16_t operation, const void *payload,
		    size_t bytes, const void *tail, size_t tail_bytes)
{
	const struct process_letter letter = {
		.operation = operation,
		.payload = payload,
		.payload_bytes = bytes,
		.tail = tail,
		.tail_bytes = tail_bytes,
	};

	assert_int_equal(process_link_send(control->link_fd, &letter), 0);
}

const void *fake_receive(struct fake_control_plane *control, uint16_t operation)
{
	struct pollfd link = {.fd = control->link_fd, .events = POLLIN};

	assert_int_equal(poll(&link, 1, FAKE_WAIT_MS), 1);
	assert_int_equal(process_link_receive_plain(control->link_fd, &control->receipt), 0);
	assert_int_equal(control->receipt.header.operation, operation);
	return control->receipt.payload;
}

int fake_start(struct fake_control_plane *control)
{
	const int fds[] = {control->facts_fd, control->stats_fd};
	const struct rnic_process_ready *ready;

	fake_send(control, RNIC_PROCESS_START, &control->start, sizeof(control->start), fds, 2);
	ready = fake_receive(control, RNIC_PROCESS_READY);
	return ready->status;
}

void fake_run(struct fake_control_plane *control, enum udp_port_kind port)
{
	fake_launch(control);
	control->start.port = port;
	assert_int_equal(fake_start(control), 0);
}

int fake_await_end(struct fake_control_plane *control)
{
	struct pollfd link = {.fd = control->link_fd, .events = 0};
	int status;

	if (control->link_fd >= 0)
		assert_int_equal(poll(&link, 1, FAKE_WAIT_MS), 1);
	assert_int_equal(waitpid(control->pid, &status, 0), control->pid);
	if (control->link_fd >= 0)
		close(control->link_fd);
	munmap(control->facts_page, sizeof(*control->facts_page));
	munmap(control->stats, sizeof(*control->stats));
	close(control->facts_fd);
	close(control->stats_fd);
	return status;
}

int fake_hang_up(struct fake_control_plane *control)
{
	close(control->link_fd);
	control->link_fd = -1;
	return fake_await_end(control);
}

void fake_tell_facts(struct fake_control_plane *control, const struct rnic_gid *gid)
{
	struct rnic_process_facts facts = {
		.sequence = ++control->facts_sequence,
		.path_mtu_bytes = 1024,
		.port = {.state = RNIC_PORT_ACTIVE, .max_mtu = 5, .active_mtu = 3},
	};

	if (gid != NULL) {
		facts.gids.count = 1;
		facts.gids.entries[0].gid = *gid;
	}
	fake_send(control, RNIC_PROCESS_FACTS, &facts, sizeof(facts), NULL, 0);
	atomic_store_explicit(&control->facts_page->sequence, facts.sequence, memory_order_release);
}

void fake_await_stats_facts(struct fake_control_plane *control, uint64_t sequence)
{
	for (int i = 0; i < FAKE_WAIT_MS; i++) {
		if (atomic_load(&control->stats->facts_sequence) >= sequence)
			return;
		poll(NULL, 0, 1);
	}
	fail_msg("the statistics page does not show the facts");
}

/* --- clients --------------------------------------------------------------------------------- */

static int open_memory(void)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

void fake_client_open(struct fake_control_plane *control, struct fake_client *client,
		      uint32_t client_id)
{
	const struct rnic_process_client message = {
		.client_id = client_id,
		.uid = getuid(),
		.pid = (uint32_t)getpid(),
		.program = "fake",
	};
	const struct rnic_ctl_open_device opening = {.flags = RNIC_OPEN_MEMORY_FD};
	int memory_fd;
	const struct rnic_ctl_open_device_reply *reply = (const void *)client->reply;
	int fds[2], passed[2];

	memset(client, 0, sizeof(*client));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	passed[0] = fds[1];
	passed[1] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	fake_send(control, RNIC_PROCESS_CLIENT, &message, sizeof(message), passed,
		  passed[1] >= 0 ? 2 : 1);
	close(fds[1]);
	close(passed[1]);
	client->fd = fds[0];
	memory_fd = open_memory();
	fake_client_ask_with(client, RNIC_CTL_OPEN_DEVICE, &opening, sizeof(opening), memory_fd);
	close(memory_fd);
	assert_int_equal(fake_client_answer(client), 0);
	assert_int_equal(client->reply_fd_count, 4);
	assert_int_equal(reply->client_id, client_id);
}

static void fake_client_drop_fds(struct fake_client *client)
{
	for (unsigned i = 0; i < client->reply_fd_count; i++)
		close(client->reply_fds[i]);
	client->reply_fd_count = 0;
}

void fake_client_close(struct fake_client *client)
{
	fake_client_drop_fds(client);
	close(client->fd);
}

void fake_client_ask_with(struct fake_client *client, uint16_t operation, const void *payload,
			  size_t bytes, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct rnic_ctl_header header = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = operation,
		.request_id = ++client->request_id,
		.bytes = (uint32_t)(sizeof(header) + bytes),
	};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)payload, bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (fd >= 0) {
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	assert_int_equal(sendmsg(client->fd, &message, MSG_NOSIGNAL), header.bytes);
}

void fake_client_ask(struct fake_client *client, uint16_t operation, const void *payload,
		     size_t bytes)
{
	fake_client_ask_with(client, operation, payload, bytes, -1);
}

int fake_client_answer(struct fake_client *client)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
	} control;
	struct rnic_ctl_header header;
	struct iovec parts[] = {{&header, sizeof(header)}, {client->reply, sizeof(client->reply)}};
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct pollfd connection = {.fd = client->fd, .events = POLLIN};

	fake_client_drop_fds(client);
	assert_int_equal(poll(&connection, 1, FAKE_WAIT_MS), 1);
	assert_true(recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC) >= (ssize_t)sizeof(header));
	assert_int_equal(header.request_id, client->request_id);
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part != NULL;
	     part = CMSG_NXTHDR(&message, part)) {
		client->reply_fd_count = (unsigned)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(client->reply_fds, CMSG_DATA(part), client->reply_fd_count * sizeof(int));
	}
	return header.status;
}

int fake_client_call(struct fake_client *client, uint16_t operation, const void *payload,
		     size_t bytes)
{
	fake_client_ask(client, operation, payload, bytes);
	return fake_client_answer(client);
}

void fake_client_await_hang_up(struct fake_client *client)
{
	struct pollfd connection = {.fd = client->fd, .events = 0};

	assert_int_equal(poll(&connection, 1, FAKE_WAIT_MS), 1);
	assert_true((connection.revents & POLLHUP) != 0);
}

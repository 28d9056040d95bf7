/* SPDX-License-Identifier: MIT */
#include "tests/hostile/hostile_link.h"

#include "proto/base/bits.h"
#include "proto/ctl/ctl_check.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 20000

struct hostile_daemon rnicd;

static const char *daemon_program;

bool hostile_arguments(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s RNICD\n", argv[0]);
		return false;
	}
	daemon_program = argv[1];
	return true;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * An address of this process alone, and beside those of the interop tests, whose second byte is
 * below.
 */
static void own_address(char text[INET_ADDRSTRLEN])
{
	const unsigned pid = (unsigned)getpid();

	snprintf(text, INET_ADDRSTRLEN, "127.%u.%u.%u", 251 + (pid >> 16) % 4, (pid >> 8) % 256,
		 pid % 256);
}

void hostile_start_at(const char *address, const char *peer_ports)
{
	char ready_text[16], own[INET_ADDRSTRLEN];
	int ready[2];
	char byte;

	own_address(own);
	if (address == NULL)
		address = own;
	snprintf(rnicd.directory, sizeof(rnicd.directory), "/tmp/rnic-hostile-XXXXXX");
	assert_non_null(mkdtemp(rnicd.directory));
	snprintf(rnicd.path, sizeof(rnicd.path), "%s/rnicd.sock", rnicd.directory);
	assert_int_equal(pipe(ready), 0);
	snprintf(ready_text, sizeof(ready_text), "%d", ready[1]);
	rnicd.pid = fork();
	assert_true(rnicd.pid >= 0);
	if (rnicd.pid == 0) {
		close(ready[0]);
		execl(daemon_program, "rnicd", "--socket", rnicd.path, "--address", address,
		      "--ready-fd", ready_text, "--log-level", "error", "--peer-ports", peer_ports,
		      (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

int hostile_start(void **state)
{
	(void)state;
	hostile_start_at(NULL, "pinned");
	return 0;
}

int hostile_stop(void **state)
{
	int status;

	(void)state;
	assert_int_equal(kill(rnicd.pid, SIGTERM), 0);
	assert_int_equal(waitpid(rnicd.pid, &status, 0), rnicd.pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_not_equal(access(rnicd.path, F_OK), 0);
	assert_int_equal(rmdir(rnicd.directory), 0);
	return 0;
}

/* The daemon is the first to stop, so that it starts no further process. */
static void signal_all(const struct hostile_daemon *daemon, int signal)
{
	char path[64];
	FILE *children;
	int pid;

	assert_int_equal(kill(daemon->pid, signal), 0);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)daemon->pid,
		 (int)daemon->pid);
	children = fopen(path, "re");
	assert_non_null(children);
	while (fscanf(children, "%d", &pid) == 1)
		kill(pid, signal);
	fclose(children);
}

void hostile_pause(const struct hostile_daemon *daemon)
{
	signal_all(daemon, SIGSTOP);
}

void hostile_continue(const struct hostile_daemon *daemon)
{
	signal_all(daemon, SIGCONT);
}

int hostile_connect(const struct hostile_daemon *daemon)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(address.sun_path, daemon->path, sizeof(daemon->path));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void hostile_skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: it takes root to be two users\n");
	skip();
}

int hostile_connect_as(const struct hostile_daemon *daemon, uid_t user)
{
	int fd;

	assert_int_equal(chmod(daemon->directory, 0755), 0);
	assert_int_equal(seteuid(user), 0);
	fd = hostile_connect(daemon);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

int hostile_connect_as_nobody(const struct hostile_daemon *daemon)
{
	return hostile_connect_as(daemon, 65534);
}

bool hostile_send(int fd, const void *message, size_t bytes, const int *fds, unsigned fd_count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
	} control = {.bytes = {0}};
	struct iovec vector = {(void *)message, bytes};
	struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};

	if (fd_count > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		control.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
	}
	return sendmsg(fd, &header, MSG_NOSIGNAL) == (ssize_t)bytes;
}

bool hostile_receive(int fd, struct hostile_reply *reply)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
	} control;
	struct iovec vector = {reply, offsetof(struct hostile_reply, fds)};
	struct msghdr header = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct pollfd waits = {.fd = fd, .events = POLLIN};
	ssize_t bytes;

	assert_int_equal(poll(&waits, 1, WAIT_MS), 1);
	bytes = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	if (bytes <= 0)
		return false;
	assert_true(bytes >= (ssize_t)sizeof(reply->header));
	reply->fd_count = 0;
	if (header.msg_controllen >= CMSG_LEN(sizeof(int))) {
		reply->fd_count = (unsigned)((control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(reply->fds, CMSG_DATA(&control.header), reply->fd_count * sizeof(int));
	}
	return true;
}

bool hostile_request(int fd, uint16_t operation, const void *payload, size_t bytes)
{
	struct {
		struct rnic_ctl_header header;
		uint8_t payload[2048];
	} request = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
				.operation = operation,
				.request_id = 7,
				.bytes = (uint32_t)(sizeof(struct rnic_ctl_header) + bytes),
			},
	};

	assert_true(bytes <= sizeof(request.payload));
	if (bytes > 0)
		memcpy(request.payload, payload, bytes);
	return hostile_send(fd, &request, request.header.bytes, NULL, 0);
}

static bool call_keeping_fds(int fd, uint16_t operation, const void *payload, size_t bytes,
			     struct hostile_reply *reply)
{
	return hostile_request(fd, operation, payload, bytes) && hostile_receive(fd, reply);
}

bool hostile_call(int fd, uint16_t operation, const void *payload, size_t bytes,
		  struct hostile_reply *reply)
{
	if (!call_keeping_fds(fd, operation, payload, bytes, reply))
		return false;
	for (unsigned i = 0; i < reply->fd_count; i++)
		close(reply->fds[i]);
	return true;
}

void hostile_must(int fd, uint16_t operation, const void *payload, size_t bytes,
		  struct hostile_reply *reply)
{
	assert_true(call_keeping_fds(fd, operation, payload, bytes, reply));
	if (reply->header.status != 0)
		print_error("%s: %s\n", rnic_ctl_operation_name(operation),
			    (const char *)reply->payload);
	assert_int_equal(reply->header.status, 0);
}

uint64_t hostile_counter(int admin_fd, const char *name)
{
	struct rnic_ctl_show request = {.kind = RNIC_SHOW_COUNTERS};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;

	do {
		hostile_must(admin_fd, RNIC_CTL_SHOW, &request, sizeof(request), &reply);
		memcpy(&answer, reply.payload, sizeof(answer));
		for (uint32_t i = 0; i < answer.row_count; i++) {
			struct rnic_show_counter row;

			memcpy(&row, reply.payload + sizeof(answer) + i * sizeof(row), sizeof(row));
			if (strcmp(row.name, name) == 0)
				return row.value;
		}
		request.cursor = answer.next;
	} while (answer.next != 0);
	fail_msg("no counter %s", name);
	return 0;
}

int32_t hostile_answer(int fd, uint16_t operation, const void *request, size_t bytes, void *answer,
		       size_t answer_bytes)
{
	struct hostile_reply reply;

	assert_true(hostile_call(fd, operation, request, bytes, &reply));
	if (reply.header.status == 0 && answer_bytes > 0)
		memcpy(answer, reply.payload, answer_bytes);
	return reply.header.status;
}

static void *map_fd(int fd, size_t bytes, int protection)
{
	void *address = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(address, MAP_FAILED);
	close(fd);
	return address;
}

int hostile_hello(int control_fd)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.program = "hostile",
	};
	struct hostile_reply reply;

	hostile_must(control_fd, RNIC_CTL_HELLO, &hello, sizeof(hello), &reply);
	assert_int_equal(reply.fd_count, 1);
	return reply.fds[0];
}

static void step_hello(struct hostile_client *client, struct hostile_reply *reply)
{
	const struct rnic_ctl_open_device open_device = {.flags = 0};

	client->fd = hostile_hello(client->control_fd);
	hostile_must(client->fd, RNIC_CTL_OPEN_DEVICE, &open_device, sizeof(open_device), reply);
	assert_int_equal(reply->fd_count, 4);
	client->session = map_fd(reply->fds[0], sizeof(*client->session), PROT_READ | PROT_WRITE);
	/* Memory that only the daemon writes cannot be mapped for writing. */
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reply->fds[1], 0),
			 MAP_FAILED);
	close(reply->fds[1]);
	client->doorbell_fd = reply->fds[2];
	client->events_fd = reply->fds[3];
}

static void step_cq(struct hostile_client *client, struct hostile_reply *reply)
{
	struct rnic_ctl_create_cq request = {
		.entries = client->cq_entries,
		.channel = client->channel,
	};
	struct rnic_ctl_cq_reply answer;

	hostile_must(client->fd, RNIC_CTL_CREATE_CQ, &request, sizeof(request), reply);
	memcpy(&answer, reply->payload, sizeof(answer));
	client->cq = answer.cq;
	client->cq_slots = answer.slots;
	client->cq_bytes = rnic_cq_region_bytes(answer.slots, 0);
	client->cq_region = map_fd(reply->fds[0], client->cq_bytes, PROT_READ);
}

void hostile_place_queues(struct hostile_client *client, struct rnic_ctl_create_qp *request)
{
	struct rnic_ctl_create_queue_region region;
	struct rnic_qp_capacities granted;
	struct hostile_reply reply;

	rnic_queues_grant(&request->capacities, request->type, !rnic_handle_is_none(request->srq),
			  &granted);
	assert_int_equal(rnic_queues_plan(&granted, &client->plan), 0);
	request->spill_offset = rnic_round_up(client->plan.entries_bytes, RNIC_CACHE_LINE_BYTES);
	region.bytes = rnic_round_up(request->spill_offset + client->plan.spill_bytes,
				     RNIC_QUEUE_PAGE_BYTES);
	hostile_must(client->fd, RNIC_CTL_CREATE_QUEUE_REGION, &region, sizeof(region), &reply);
	memcpy(&request->queue_region, reply.payload, sizeof(request->queue_region));
	if (client->queues != NULL)
		munmap(client->queues, client->queues_bytes);
	client->queues_bytes = region.bytes;
	client->queues = map_fd(reply.fds[0], region.bytes, PROT_READ | PROT_WRITE);
}

static void step_qp(struct hostile_client *client, struct hostile_reply *reply)
{
	struct rnic_ctl_create_qp request = {
		.pd = client->pd,
		.send_cq = client->cq,
		.recv_cq = client->cq,
		.srq = client->srq,
		.type = RNIC_QP_TYPE_RC,
		.capacities = {32, 32, 4, 4, 64},
	};
	struct rnic_ctl_create_qp_reply answer;

	hostile_place_queues(client, &request);
	hostile_must(client->fd, RNIC_CTL_CREATE_QP, &request, sizeof(request), reply);
	memcpy(&answer, reply->payload, sizeof(answer));
	client->qp = answer.qp;
	client->qpn = answer.qpn;
	client->indices = rnic_qp_control_of(client->session, answer.qp.slot);
}

static void modify(struct hostile_client *client, uint32_t mask,
		   const struct rnic_qp_attributes *attributes)
{
	struct rnic_ctl_modify_qp request = {
		.qp = client->qp,
		.mask = mask | RNIC_QP_ATTR_STATE,
		.attributes = *attributes,
	};
	struct hostile_reply reply;

	hostile_must(client->fd, RNIC_CTL_MODIFY_QP, &request, sizeof(request), &reply);
}

static void step_init(struct hostile_client *client)
{
	const struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT,
		.port = 1,
		.access_flags = RNIC_ACCESS_REMOTE_WRITE,
	};

	modify(client, RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS,
	       &attributes);
}

/* Connects the QP to itself. */
static void step_connect(struct hostile_client *client, struct hostile_reply *reply)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_RTR,
		.path_mtu = 3,
		.dest_qpn = client->qpn,
		.min_rnr_timer = 1,
		.path = {.is_global = 1, .port = 1, .hop_limit = 1},
	};
	struct rnic_ctl_gids_reply gids;

	hostile_must(client->fd, RNIC_CTL_QUERY_GIDS, NULL, 0, reply);
	memcpy(&gids, reply->payload, sizeof(gids));
	attributes.path.dest_gid = gids.entries[0].gid;
	modify(client,
	       RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN |
		       RNIC_QP_ATTR_RQ_PSN | RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC |
		       RNIC_QP_ATTR_MIN_RNR_TIMER,
	       &attributes);
	attributes.state = RNIC_QP_STATE_RTS;
	attributes.timeout = 1;
	attributes.retry_count = 1;
	attributes.rnr_retry = 1;
	modify(client,
	       RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY |
		       RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_MAX_RD_ATOMIC,
	       &attributes);
}

void hostile_client_open(struct hostile_client *client, const struct hostile_daemon *daemon,
			 unsigned steps)
{
	hostile_client_adopt(client, hostile_connect(daemon), steps);
}

void hostile_client_adopt(struct hostile_client *client, int control_fd, unsigned steps)
{
	*client = (struct hostile_client){
		.control_fd = control_fd,
		.cq_entries = 64,
		.fd = -1,
		.doorbell_fd = -1,
		.events_fd = -1,
		.channel_fd = -1,
	};
	hostile_client_go_on(client, 0, steps);
}

void hostile_client_go_on(struct hostile_client *client, unsigned done, unsigned steps)
{
	struct hostile_reply reply;

	if (done < 1 && steps > 0)
		step_hello(client, &reply);
	if (done < 2 && steps > 1) {
		hostile_must(client->fd, RNIC_CTL_ALLOC_PD, NULL, 0, &reply);
		memcpy(&client->pd, reply.payload, sizeof(client->pd));
	}
	if (done < 3 && steps > 2) {
		hostile_must(client->fd, RNIC_CTL_CREATE_CHANNEL, NULL, 0, &reply);
		memcpy(&client->channel, reply.payload, sizeof(client->channel));
		client->channel_fd = reply.fds[0];
	}
	if (done < 4 && steps > 3)
		step_cq(client, &reply);
	if (done < 5 && steps > 4)
		step_qp(client, &reply);
	if (done < 6 && steps > 5)
		step_init(client);
	if (done < 7 && steps > 6)
		step_connect(client, &reply);
}

void hostile_client_close(struct hostile_client *client)
{
	const int fds[] = {client->control_fd, client->fd, client->doorbell_fd, client->events_fd,
			   client->channel_fd};

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (client->session != NULL)
		munmap(client->session, sizeof(*client->session));
	if (client->cq_region != NULL)
		munmap((void *)client->cq_region, client->cq_bytes);
	if (client->queues != NULL)
		munmap(client->queues, client->queues_bytes);
}

void hostile_ring(struct hostile_client *client, uint32_t doorbell)
{
	struct rnic_session_region *session = client->session;
	uint32_t producer = rnic_index_load(&session->doorbell_producer);
	const uint64_t one = 1;

	atomic_store(&session->doorbells[producer % RNIC_DOORBELL_SLOTS], doorbell);
	rnic_index_publish(&session->doorbell_producer, producer + 1);
	if (rnic_wake_take(&session->need_wakeup))
		assert_int_equal(write(client->doorbell_fd, &one, sizeof(one)), sizeof(one));
}

void hostile_expect_hang_up(int fd)
{
	struct hostile_reply reply;

	while (hostile_receive(fd, &reply))
		for (unsigned i = 0; i < reply.fd_count; i++)
			close(reply.fds[i]);
}

const struct rnic_cqe *hostile_wait_completion(struct hostile_client *client, uint32_t index)
{
	const uint8_t *region = (const uint8_t *)client->cq_region;
	const struct rnic_cqe *entries = (const void *)(region + RNIC_CQ_ENTRIES_OFFSET);
	uint64_t deadline_ms = now_ms() + WAIT_MS;

	while (rnic_word_load(&client->cq_region->producer) <= index)
		assert_true(now_ms() < deadline_ms);
	return &entries[rnic_ring_slot(index, client->cq_region->slot_zero, client->cq_slots)];
}

int hostile_connect_as_administrator(const struct hostile_daemon *daemon)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_ADMIN,
	};
	const int fd = hostile_connect(daemon);
	struct hostile_reply reply;

	hostile_must(fd, RNIC_CTL_HELLO, &hello, sizeof(hello), &reply);
	return fd;
}

void hostile_wait_owned(const struct hostile_daemon *daemon, uint32_t clients, uint32_t qps,
			struct rnic_show_device *row)
{
	const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};
	uint64_t deadline_ms = now_ms() + WAIT_MS;
	int fd = hostile_connect_as_administrator(daemon);
	struct hostile_reply reply;

	do {
		assert_true(now_ms() < deadline_ms);
		hostile_must(fd, RNIC_CTL_SHOW, &show, sizeof(show), &reply);
		memcpy(row, reply.payload + sizeof(struct rnic_ctl_show_reply), sizeof(*row));
	} while (row->client_count != clients || row->qp_count != qps);
	close(fd);
}

void hostile_expect_owned(const struct hostile_daemon *daemon, uint32_t clients, uint32_t qps)
{
	const uint64_t deadline_ms = now_ms() + WAIT_MS;
	struct rnic_show_device row;

	/* A busy device process brings its numbers up to date now and then. */
	do
		hostile_wait_owned(daemon, clients, qps, &row);
	while (row.pd_count != clients && now_ms() < deadline_ms);
	assert_int_equal(row.pd_count, clients);
	assert_int_equal(row.cq_count, qps);
	assert_int_equal(row.mr_count, 0);
	assert_int_equal(row.mw_count, 0);
}

void hostile_ask_to_register(const struct hostile_client *client, int file, uint64_t offset,
			     uint64_t bytes)
{
	const struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_register_mr request;
	} message = {
		.header = {.magic = RNIC_CTL_MAGIC,
			   .version = RNIC_CTL_VERSION_MAX,
			   .operation = RNIC_CTL_REGISTER_MR,
			   .bytes = sizeof(message)},
		.request = {.pd = client->pd,
			    .access = 1,
			    .mode = RNIC_MEMORY_MAPPED,
			    .length = bytes,
			    .memfd_offset = offset},
	};

	assert_true(hostile_send(client->fd, &message, sizeof(message), &file, 1));
}

int hostile_receive_status(const struct hostile_client *client)
{
	struct hostile_reply reply;

	assert_true(hostile_receive(client->fd, &reply));
	return reply.header.status;
}

int hostile_register(const struct hostile_client *client, int file, uint64_t offset, uint64_t bytes)
{
	hostile_ask_to_register(client, file, offset, bytes);
	return hostile_receive_status(client);
}

/* SPDX-License-Identifier: MIT */
/* The real program rnicd-device, with both kinds of port, under a fake control plane. */
#include "tests/unit/daemon/device/link/fake_control_plane.h"

#include "daemon/shared/base/log.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "proto/wire/opcode.h"
#include "proto/wire/packet.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER_USER 12345

static const struct rnic_gid own_gid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
static const struct rnic_gid group = {{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};

static struct fake_control_plane control;
static struct fake_client client;

static void assert_good_end(int status)
{
	if (WIFSIGNALED(status))
		fail_msg("rnicd-device was killed by signal %d", WTERMSIG(status));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- the start ------------------------------------------------------------------------------- */

static void test_start_of_each_port(void **state)
{
	static const struct {
		enum udp_port_kind kind;
		const char *name;
	} ports[] = {{UDP_PORT_SOCKET, "socket"}, {UDP_PORT_URING, "uring"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		const struct rnic_process_ready *ready = (const void *)control.receipt.payload;

		fake_launch(&control);
		control.start.port = ports[i].kind;
		if (fake_start(&control) == 0) {
			assert_string_equal(ready->udp_port, ports[i].name);
			assert_int_equal(control.stats->magic, RNIC_STATS_MAGIC);
			assert_true(atomic_load(&control.stats->counter_count) > 30);
			assert_string_not_equal(control.stats->counters[0].name, "");
			assert_good_end(fake_hang_up(&control));
		} else {
			/* A machine without io_uring says so. */
			assert_int_equal(ports[i].kind, UDP_PORT_URING);
			assert_string_not_equal(ready->reason, "");
			fake_await_end(&control);
		}
	}
}

static void test_another_first_message_ends_it(void **state)
{
	const struct rnic_process_rows rows = {.request_id = 1};
	int status;

	(void)state;
	fake_launch(&control);
	fake_send(&control, RNIC_PROCESS_ROWS, &rows, sizeof(rows), NULL, 0);
	status = fake_await_end(&control);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void test_hang_up_before_start_ends_it(void **state)
{
	int status;

	(void)state;
	fake_launch(&control);
	status = fake_hang_up(&control);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void test_descriptor_3_must_be_the_link(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = open("/dev/null", O_RDWR);

		dup2(fd, STDERR_FILENO);
		dup2(fd, PROCESS_LINK_FD);
		execl(RNICD_DEVICE_PROGRAM, "rnicd-device", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* Reads the line of /proc/PID/status that begins with `name`, and the numbers behind it. */
static int read_status(pid_t pid, const char *name, unsigned values[4])
{
	char path[64], line[256];
	int count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (count == 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			count = sscanf(line + strlen(name), ": %u %u %u %u", &values[0], &values[1],
				       &values[2], &values[3]);
	fclose(file);
	return count;
}

static uint64_t read_capabilities(pid_t pid, const char *name)
{
	char path[64], line[256];
	uint64_t set = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			set = strtoull(line + strlen(name) + 1, NULL, 16);
	fclose(file);
	return set;
}

/* A device process of root may have CAP_SYS_PTRACE; a container may lack even that. */
static void assert_few_capabilities(pid_t pid, uint64_t most)
{
	assert_int_equal(read_capabilities(pid, "CapEff") & ~most, 0);
	assert_int_equal(read_capabilities(pid, "CapPrm") & ~most, 0);
	assert_int_equal(read_capabilities(pid, "CapInh"), 0);
	assert_int_equal(read_capabilities(pid, "CapAmb"), 0);
}

#ifndef RNIC_SANITIZED
/* A quarter of the budget, and what a process without clients needs. */
static void test_own_memory_is_bounded(void **state)
{
	struct rlimit limit;

	(void)state;
	fake_launch(&control);
	control.start.memory_bytes = 256 << 20;
	assert_int_equal(fake_start(&control), 0);
	assert_int_equal(prlimit(control.pid, RLIMIT_DATA, NULL, &limit), 0);
	assert_int_equal(limit.rlim_cur, (64 + 48) << 20);
	assert_int_equal(limit.rlim_max, (64 + 48) << 20);
	assert_good_end(fake_hang_up(&control));
}
#endif

static void test_rights_are_given_up(void **state)
{
	unsigned values[4];

	(void)state;
	fake_run(&control, UDP_PORT_SOCKET);
	assert_int_equal(read_status(control.pid, "NoNewPrivs", values), 1);
	assert_int_equal(values[0], 1);
	assert_few_capabilities(control.pid, UINT64_C(1) << CAP_SYS_PTRACE);
#ifdef RNIC_CALL_FILTERS
	assert_int_equal(read_status(control.pid, "Seccomp", values), 1);
	assert_int_equal(values[0], 2);
#endif
	assert_good_end(fake_hang_up(&control));
}

static void test_root_becomes_the_user(void **state)
{
	unsigned values[4];

	(void)state;
	if (geteuid() != 0)
		skip();
	fake_launch(&control);
	control.start.uid = OTHER_USER;
	assert_int_equal(fake_start(&control), 0);
	assert_int_equal(read_status(control.pid, "Uid", values), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(values[i], OTHER_USER);
	assert_int_equal(read_status(control.pid, "Gid", values), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(values[i], OTHER_USER);
	assert_true(read_status(control.pid, "Groups", values) <= 0); /* none */
	assert_few_capabilities(control.pid, 0);
	assert_good_end(fake_hang_up(&control));
}

/* --- the end --------------------------------------------------------------------------------- */

static void test_clients_see_the_end_of_the_link(void **state)
{
	(void)state;
	fake_run(&control, UDP_PORT_AUTO);
	fake_client_open(&control, &client, 7);
	assert_good_end(fake_hang_up(&control));
	fake_client_await_hang_up(&client);
	fake_client_close(&client);
}

static void test_sigterm_ends_it(void **state)
{
	(void)state;
	fake_run(&control, UDP_PORT_AUTO);
	fake_client_open(&control, &client, 7);
	assert_int_equal(kill(control.pid, SIGTERM), 0);
	assert_good_end(fake_await_end(&control));
	fake_client_close(&client);
}

/* --- messages -------------------------------------------------------------------------------- */

static void test_request_finds_the_facts_of_its_time(void **state)
{
	const struct rnic_ctl_gids_reply *gids = (const void *)client.reply;

	(void)state;
	fake_run(&control, UDP_PORT_AUTO);
	fake_tell_facts(&control, NULL);
	fake_client_open(&control, &client, 7);
	for (int i = 0; i < 200; i++) {
		const bool has_gid = i % 2 == 0;

		fake_tell_facts(&control, has_gid ? &own_gid : NULL);
		assert_int_equal(fake_client_call(&client, RNIC_CTL_QUERY_GIDS, NULL, 0), 0);
		assert_int_equal(gids->count, has_gid ? 1 : 0);
	}
	fake_await_stats_facts(&control, control.facts_sequence);
	assert_int_equal(atomic_load(&control.stats->session_count), 1);
	fake_client_close(&client);
	assert_good_end(fake_hang_up(&control));
}

static uint64_t card_counter(const char *name)
{
	const uint32_t count = atomic_load(&control.stats->counter_count);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(control.stats->counters[i].name, name) == 0)
			return atomic_load(&control.stats->counters[i].value);
	fail_msg("the statistics page has no counter %s", name);
	return 0;
}

static int open_udp(struct sockaddr_in *address)
{
	socklen_t bytes = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (void *)address, bytes), 0);
	assert_int_equal(getsockname(fd, (void *)address, &bytes), 0);
	return fd;
}

/* Sends datagrams that are no packets to a socket of the lane until the statistics page counts one.
 */
static void assert_receives(const struct sockaddr_in *address)
{
	const uint64_t before = card_counter("undecodable_pkts") + card_counter("icrc_errors");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	for (int i = 0; i < FAKE_WAIT_MS / 10; i++) {
		assert_int_equal(sendto(fd, "no packet at all", 16, 0, (const void *)address,
					sizeof(*address)),
				 16);
		poll(NULL, 0, 10);
		if (card_counter("undecodable_pkts") + card_counter("icrc_errors") > before) {
			close(fd);
			return;
		}
	}
	fail_msg("no datagram reached the device process");
}

/* Sends the GID with the sockets of a lane; the receive socket is at `address`. */
static void send_lane_sockets(const struct rnic_process_gid *gid, struct sockaddr_in *address)
{
	int fds[1 + RNIC_LANE_SEND_SOCKETS];
	struct sockaddr_in other;

	for (size_t at = 0; at < COUNT_OF(fds); at++)
		fds[at] = open_udp(at == 0 ? address : &other);
	fake_send(&control, RNIC_PROCESS_GID, gid, sizeof(*gid), fds, COUNT_OF(fds));
	for (size_t at = 0; at < COUNT_OF(fds); at++)
		close(fds[at]);
}

static void test_address_comes_with_its_sockets(void **state)
{
	static const enum udp_port_kind ports[] = {UDP_PORT_SOCKET, UDP_PORT_AUTO};
	struct rnic_process_gid gid = {.index = 3};
	struct sockaddr_in address;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		fake_run(&control, ports[i]);
		for (int round = 0; round < 3; round++) {
			gid.gid = own_gid;
			send_lane_sockets(&gid, &address);
			assert_receives(&address);
		}
		gid.gid = (struct rnic_gid){{0}};
		fake_send(&control, RNIC_PROCESS_GID, &gid, sizeof(gid), NULL, 0);
		assert_good_end(fake_hang_up(&control));
	}
}

/* Waits until a counter of the statistics page has that value. */
static void await_counter(const char *name, uint64_t value)
{
	for (int i = 0; i < FAKE_WAIT_MS; i++) {
		if (card_counter(name) == value)
			return;
		poll(NULL, 0, 1);
	}
	fail_msg("%s is %llu", name, (unsigned long long)card_counter(name));
}

/* Writes a packet to `dest_qpn`, its ICRC included; returns its length. */
static uint32_t make_packet(uint8_t *bytes, struct rnic_addresses *addresses, uint32_t dest_qpn)
{
	int opcode = rnic_opcode_find(RNIC_SERVICE_UD, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 0);
	const struct rnic_packet packet = {
		.addresses = *addresses,
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.pkey = 0xffff,
		.dest_qpn = dest_qpn,
	};
	uint32_t length = (uint32_t)rnic_packet_encode_headers(&packet, bytes);

	rnic_icrc_write(bytes + length, rnic_icrc_compute(addresses, 0, bytes, length));
	return length + RNIC_ICRC_BYTES;
}

static void test_packet_of_another_lane_goes_back(void **state)
{
	const struct rnic_process_packet *misrouted = (const void *)control.receipt.payload;
	const int dont_fragment = IP_PMTUDISC_PROBE;
	struct rnic_process_gid gid = {.index = 0, .gid = own_gid};
	struct rnic_process_packet packet = {.source = own_gid, .dest = own_gid};
	struct rnic_addresses addresses = {.source = own_gid, .dest = own_gid};
	struct sockaddr_in address, from;
	uint8_t bytes[64];
	uint32_t length;
	int fd;

	(void)state;
	fake_run(&control, UDP_PORT_SOCKET);
	send_lane_sockets(&gid, &address);
	fd = open_udp(&from);
	assert_int_equal(
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment, sizeof(dont_fragment)),
		0);
	addresses.source_port = ntohs(from.sin_port);
	length = make_packet(bytes, &addresses, (FAKE_LANE + 1) << 16 | 5);
	assert_int_equal(sendto(fd, bytes, length, 0, (void *)&address, sizeof(address)), length);
	fake_receive(&control, RNIC_PROCESS_PACKET);
	assert_int_equal(misrouted->datagram_bytes, length);
	assert_memory_equal(control.receipt.payload + sizeof(*misrouted), bytes, length);
	assert_memory_equal(&misrouted->source, &own_gid, sizeof(own_gid));
	await_counter("misrouted_pkts", 1);
	await_counter("dropped_unknown_qp", 0);

	/* What another process received for this lane reaches the engine. */
	packet.source_port = addresses.source_port;
	packet.datagram_bytes = length = make_packet(bytes, &addresses, FAKE_LANE << 16 | 5);
	fake_send_tail(&control, RNIC_PROCESS_PACKET, &packet, sizeof(packet), bytes, length);
	await_counter("dropped_unknown_qp", 1);
	close(fd);
	assert_good_end(fake_hang_up(&control));
}

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % below;
}

/* Sends a message of the right form, whose values are random, without descriptors. */
static void send_random_values(void)
{
	static const uint16_t sizes[RNIC_PROCESS_OPERATION_COUNT] = {
		[RNIC_PROCESS_GID] = sizeof(struct rnic_process_gid),
		[RNIC_PROCESS_CLIENT] = sizeof(struct rnic_process_client),
		[RNIC_PROCESS_ROWS] = sizeof(struct rnic_process_rows),
		[RNIC_PROCESS_PACKET] = sizeof(struct rnic_process_packet),
		[RNIC_PROCESS_JOIN] = sizeof(struct rnic_process_group),
		[RNIC_PROCESS_JOINED] = sizeof(struct rnic_process_group),
		[RNIC_PROCESS_LEAVE] = sizeof(struct rnic_process_group),
	};
	_Alignas(8) uint8_t payload[512];
	struct rnic_process_packet *packet = (void *)payload;
	uint16_t operation;
	uint32_t tail = 0;

	do
		operation = (uint16_t)draw(RNIC_PROCESS_OPERATION_COUNT);
	while (sizes[operation] == 0);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = draw(3) == 0 ? (uint8_t)draw(256) : 0;
	if (operation == RNIC_PROCESS_CLIENT)
		payload[sizeof(struct rnic_process_client) - 1] = 0;
	if (operation == RNIC_PROCESS_PACKET)
		packet->datagram_bytes = tail = draw(256);
	fake_send_tail(&control, operation, payload, sizes[operation], payload + sizes[operation],
		       tail);
}

static void drop_answers(void)
{
	while (process_link_receive(control.link_fd, &control.receipt) == 0)
		process_receipt_drop(&control.receipt);
}

/*
 * Messages that the control plane never sends: the values of some mean nothing, and the client is
 * served on; what has no right form ends the process, in good order. RNIC_GARBAGE_SEED repeats a
 * run.
 */
static void test_garbage_from_the_link(void **state)
{
	const char *seed = getenv("RNIC_GARBAGE_SEED");
	uint8_t bytes[256];

	(void)state;
	random_state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)getpid();
	print_message("RNIC_GARBAGE_SEED=%llu\n", (unsigned long long)random_state);
	for (int round = 0; round < 10; round++) {
		fake_launch(&control);
		control.start.log_level = LOG_LEVEL_ERROR;
		assert_int_equal(fake_start(&control), 0);
		fake_client_open(&control, &client, 7);
		for (int i = 0; i < 500; i++) {
			send_random_values();
			if (i % 10 != 0)
				continue;
			assert_int_equal(fake_client_call(&client, RNIC_CTL_QUERY_PORT, NULL, 0),
					 0);
			drop_answers();
		}
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)draw(256);
		assert_true(write(control.link_fd, bytes, 1 + draw(sizeof(bytes))) > 0);
		assert_good_end(fake_await_end(&control));
		fake_client_close(&client);
	}
}

static void test_rows_by_cursor(void **state)
{
	enum { PDS = 1, MRS = 400 };
	struct rnic_process_rows ask = {.request_id = 3, .kind = RNIC_SHOW_MRS};
	const struct rnic_process_rows_reply *reply = (const void *)control.receipt.payload;
	struct rnic_ctl_register_mr mr = {.mode = RNIC_MEMORY_NULL, .length = 1};
	uint32_t count = 0;

	(void)state;
	fake_run(&control, UDP_PORT_SOCKET);
	fake_client_open(&control, &client, 7);
	assert_int_equal(fake_client_call(&client, RNIC_CTL_ALLOC_PD, NULL, 0), 0);
	memcpy(&mr.pd, client.reply, sizeof(mr.pd));
	for (int i = 0; i < MRS; i++)
		assert_int_equal(fake_client_call(&client, RNIC_CTL_REGISTER_MR, &mr, sizeof(mr)),
				 0);
	do {
		fake_send(&control, RNIC_PROCESS_ROWS, &ask, sizeof(ask), NULL, 0);
		fake_receive(&control, RNIC_PROCESS_ROWS_REPLY);
		assert_int_equal(reply->request_id, 3);
		assert_int_equal(reply->row_bytes, sizeof(struct rnic_show_mr));
		count += reply->row_count;
		ask.cursor = reply->next;
	} while (reply->next != 0);
	assert_int_equal(count, MRS);
	ask = (struct rnic_process_rows){.request_id = 4, .kind = RNIC_SHOW_CM};
	fake_send(&control, RNIC_PROCESS_ROWS, &ask, sizeof(ask), NULL, 0);
	fake_receive(&control, RNIC_PROCESS_ROWS_REPLY);
	assert_int_equal(reply->row_count, 0);
	fake_client_close(&client);
	assert_good_end(fake_hang_up(&control));
}

/* Registers memory in each way, and a domain by a file: all under the filter of system calls. */
static void test_memory_and_files_of_clients(void **state)
{
	static uint8_t own_memory[8192];
	const struct rnic_ctl_open_xrcd domain = {.flags = RNIC_XRCD_FILE | RNIC_XRCD_CREATE};
	struct rnic_ctl_register_mr mr = {.address = (uintptr_t)own_memory, .length = 4096};
	struct rnic_ctl_object object;
	int fd = memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 64 << 20), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	fake_run(&control, UDP_PORT_AUTO);
	fake_client_open(&control, &client, 7);
	assert_int_equal(fake_client_call(&client, RNIC_CTL_ALLOC_PD, NULL, 0), 0);
	memcpy(&mr.pd, client.reply, sizeof(mr.pd));
	for (int round = 0; round < 20; round++) {
		const bool is_mapped = round % 2 == 0;

		mr.mode = is_mapped ? RNIC_MEMORY_MAPPED : RNIC_MEMORY_REMOTE;
		mr.length = is_mapped ? 64 << 20 : sizeof(own_memory);
		fake_client_ask_with(&client, RNIC_CTL_REGISTER_MR, &mr, sizeof(mr),
				     is_mapped ? fd : -1);
		assert_int_equal(fake_client_answer(&client), 0);
		memcpy(&object.handle, client.reply, sizeof(object.handle));
		assert_int_equal(
			fake_client_call(&client, RNIC_CTL_DEREGISTER_MR, &object, sizeof(object)),
			0);
	}
	fake_client_ask_with(&client, RNIC_CTL_OPEN_XRCD, &domain, sizeof(domain), fd);
	assert_int_equal(fake_client_answer(&client), 0);
	fake_client_ask_with(&client, RNIC_CTL_SHARE, NULL, 0, fd);
	assert_int_equal(fake_client_answer(&client), 0);
	close(fd);
	fake_client_close(&client);
	assert_good_end(fake_hang_up(&control));
}

static void test_refused_request_is_a_trouble(void **state)
{
	const struct rnic_ctl_register_mr mr = {.mode = 99};
	const struct rnic_process_trouble *trouble;

	(void)state;
	fake_run(&control, UDP_PORT_SOCKET);
	fake_client_open(&control, &client, 7);
	assert_true(fake_client_call(&client, RNIC_CTL_REGISTER_MR, &mr, sizeof(mr)) < 0);
	trouble = fake_receive(&control, RNIC_PROCESS_TROUBLE);
	assert_int_equal(trouble->client_id, 7);
	assert_non_null(strstr(trouble->subject, "refused"));
	fake_client_close(&client);
	assert_good_end(fake_hang_up(&control));
}

/* Makes a UD queue pair of the client. Returns the request to join `group`. */
static struct rnic_ctl_mcast make_ud_qp(void)
{
	const struct rnic_ctl_create_queue_region region = {.bytes = 4096};
	const struct rnic_ctl_create_cq cq = {.entries = 16};
	struct rnic_ctl_create_qp qp = {
		.type = RNIC_QP_TYPE_UD,
		.capacities = {16, 16, 1, 1, 0},
	};
	const struct rnic_ctl_create_qp_reply *made = (const void *)client.reply;
	struct rnic_ctl_mcast join = {.group = group};

	assert_int_equal(fake_client_call(&client, RNIC_CTL_ALLOC_PD, NULL, 0), 0);
	memcpy(&qp.pd, client.reply, sizeof(qp.pd));
	assert_int_equal(fake_client_call(&client, RNIC_CTL_CREATE_CQ, &cq, sizeof(cq)), 0);
	memcpy(&qp.send_cq, client.reply, sizeof(qp.send_cq));
	qp.recv_cq = qp.send_cq;
	assert_int_equal(
		fake_client_call(&client, RNIC_CTL_CREATE_QUEUE_REGION, &region, sizeof(region)),
		0);
	memcpy(&qp.queue_region, client.reply, sizeof(qp.queue_region));
	assert_int_equal(fake_client_call(&client, RNIC_CTL_CREATE_QP, &qp, sizeof(qp)), 0);
	assert_int_equal(made->qpn >> 16, FAKE_LANE);
	join.qp = made->qp;
	return join;
}

static void test_join_waits_for_the_socket(void **state)
{
	struct rnic_process_group joined = {.group = group};
	const struct rnic_process_group *asked;
	struct rnic_ctl_mcast join;
	int fd;

	(void)state;
	fake_run(&control, UDP_PORT_SOCKET);
	fake_client_open(&control, &client, 7);
	join = make_ud_qp();

	/* The control plane cannot join. */
	fake_client_ask(&client, RNIC_CTL_ATTACH_MCAST, &join, sizeof(join));
	asked = fake_receive(&control, RNIC_PROCESS_JOIN);
	assert_memory_equal(&asked->group, &group, sizeof(group));
	joined.status = -ENODEV;
	fake_send(&control, RNIC_PROCESS_JOINED, &joined, sizeof(joined), NULL, 0);
	assert_int_equal(fake_client_answer(&client), -ENODEV);
	fake_receive(&control, RNIC_PROCESS_TROUBLE);

	fake_client_ask(&client, RNIC_CTL_ATTACH_MCAST, &join, sizeof(join));
	fake_receive(&control, RNIC_PROCESS_JOIN);
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	joined.status = 0;
	fake_send(&control, RNIC_PROCESS_JOINED, &joined, sizeof(joined), &fd, 1);
	close(fd);
	assert_int_equal(fake_client_answer(&client), 0);
	assert_int_equal(fake_client_call(&client, RNIC_CTL_DETACH_MCAST, &join, sizeof(join)), 0);
	fake_receive(&control, RNIC_PROCESS_LEAVE);
	fake_client_close(&client);
	assert_good_end(fake_hang_up(&control));
}

static void expect_gone(uint32_t client_id)
{
	const struct rnic_process_client_gone *gone =
		fake_receive(&control, RNIC_PROCESS_CLIENT_GONE);

	assert_int_equal(gone->client_id, client_id);
}

/* The control plane hears of each end once, whoever ends the client, and its own word is obeyed. */
static void test_each_end_of_a_client_is_told(void **state)
{
	const struct rnic_process_client none = {.client_id = 10, .program = "none"};
	struct rnic_process_client_gone gone = {.client_id = 7};

	(void)state;
	fake_run(&control, UDP_PORT_SOCKET);
	fake_client_open(&control, &client, 7);
	fake_send(&control, RNIC_PROCESS_CLIENT_GONE, &gone, sizeof(gone), NULL, 0);
	fake_client_await_hang_up(&client);
	expect_gone(7);
	fake_client_close(&client);

	fake_client_open(&control, &client, 8);
	fake_client_close(&client); /* hangs up */
	expect_gone(8);

	fake_client_open(&control, &client, 9);
	assert_int_equal(write(client.fd, "nonsense", 8), 8);
	fake_client_await_hang_up(&client);
	expect_gone(9);
	fake_client_close(&client);

	/* A client that cannot be served: its descriptor did not arrive. */
	fake_send(&control, RNIC_PROCESS_CLIENT, &none, sizeof(none), NULL, 0);
	expect_gone(10);

	/* A client that has gone already. */
	fake_send(&control, RNIC_PROCESS_CLIENT_GONE, &gone, sizeof(gone), NULL, 0);
	fake_client_open(&control, &client, 11);
	assert_int_equal(fake_client_call(&client, RNIC_CTL_QUERY_PORT, NULL, 0), 0);
	fake_client_close(&client);
	expect_gone(11);
	assert_good_end(fake_hang_up(&control));
}

/* A control plane that does not read hears of all ends when it reads again. */
static void test_ends_that_find_no_room(void **state)
{
	enum { CLIENTS = 1000 };
	static bool has_gone[CLIENTS];
	const struct rnic_process_client_gone *gone;

	(void)state;
	memset(has_gone, 0, sizeof(has_gone));
	fake_run(&control, UDP_PORT_SOCKET);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		fake_client_open(&control, &client, i);
		fake_client_close(&client);
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		gone = fake_receive(&control, RNIC_PROCESS_CLIENT_GONE);
		assert_in_range(gone->client_id, 0, CLIENTS - 1);
		assert_false(has_gone[gone->client_id]);
		has_gone[gone->client_id] = true;
	}
	assert_good_end(fake_hang_up(&control));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_of_each_port),
		cmocka_unit_test(test_another_first_message_ends_it),
		cmocka_unit_test(test_hang_up_before_start_ends_it),
		cmocka_unit_test(test_descriptor_3_must_be_the_link),
#ifndef RNIC_SANITIZED
		cmocka_unit_test(test_own_memory_is_bounded),
#endif
		cmocka_unit_test(test_rights_are_given_up),
		cmocka_unit_test(test_root_becomes_the_user),
		cmocka_unit_test(test_clients_see_the_end_of_the_link),
		cmocka_unit_test(test_sigterm_ends_it),
		cmocka_unit_test(test_request_finds_the_facts_of_its_time),
		cmocka_unit_test(test_address_comes_with_its_sockets),
		cmocka_unit_test(test_packet_of_another_lane_goes_back),
		cmocka_unit_test(test_garbage_from_the_link),
		cmocka_unit_test(test_rows_by_cursor),
		cmocka_unit_test(test_memory_and_files_of_clients),
		cmocka_unit_test(test_refused_request_is_a_trouble),
		cmocka_unit_test(test_join_waits_for_the_socket),
		cmocka_unit_test(test_each_end_of_a_client_is_told),
		cmocka_unit_test(test_ends_that_find_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

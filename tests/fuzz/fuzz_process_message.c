/* SPDX-License-Identifier: MIT */
/*
 * Messages of a device process that was taken over, as the control plane receives them. An input is
 * a list of messages: an operation, a length, and that many bytes. The operation is given a right
 * header, and zeros to the size of its struct; an operation beyond the last sends the bytes as they
 * are. The control plane asks for rows now and then. After each message the process serves, or the
 * control plane has ended it; nobody else is told of it, and no descriptor stays.
 */
#include "daemon/control/supervisor/device_child.h"
#include "daemon/control/supervisor/device_link.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/link/process_link.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGES_MAX 64

struct input {
	const uint8_t *bytes;
	size_t left;
};

static struct device_common common;
static struct device_child child;
static struct device_facts facts;
static pid_t ended_pid; /* a child that nobody reaps: signals to it go nowhere */
static uint8_t datagram_sum;

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* --- the rest of the control plane ------------------------------------------------------------ */

static void give_lane_back(void *context, uint8_t lane)
{
	(void)context;
	require(lane == RNIC_LANE_FIRST);
}

static int open_sockets(void *context, uint8_t lane, uint32_t index,
			struct device_lane_sockets *sockets, char text[DEVICE_TEXT_BYTES])
{
	(void)context;
	(void)lane;
	(void)index;
	(void)sockets;
	text[0] = '\0';
	return -EAGAIN;
}

static int open_group(void *context, const struct rnic_gid *group)
{
	(void)context;
	return group->bytes[0] == 0xff ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -EINVAL;
}

static void take_packet(void *context, uint8_t from_lane, const struct rnic_process_packet *packet,
			uint8_t *datagram)
{
	(void)context;
	require(from_lane == RNIC_LANE_FIRST);
	for (uint32_t i = 0; i < packet->datagram_bytes; i++)
		datagram_sum ^= datagram[i];
}

static void require_text(const char *text, size_t bytes)
{
	const size_t length = strnlen(text, bytes);

	require(length < bytes);
	for (size_t i = 0; i < length; i++)
		require(text[i] >= ' ' && text[i] <= '~');
}

static void take_trouble(void *context, const struct device_child *process,
			 const struct rnic_process_trouble *trouble)
{
	(void)context;
	require(process == &child);
	require(trouble->undelivered_error <= 0);
	require_text(trouble->subject, sizeof(trouble->subject));
	require_text(trouble->reason, sizeof(trouble->reason));
}

/* A process speaks for the queue pairs of its lane alone. */
static void take_probed(void *context, const struct rnic_process_probe *answer)
{
	(void)context;
	require(rnic_lane_of(answer->qpn) == child.lane);
}

static const struct device_set_host host = {
	.give_lane_back = give_lane_back,
	.open_sockets = open_sockets,
	.open_group = open_group,
	.packet = take_packet,
	.trouble = take_trouble,
	.probed = take_probed,
};

/* --- one process ----------------------------------------------------------------------------- */

static void start_once(void)
{
	if (ended_pid != 0)
		return;
	log_set_level(LOG_LEVEL_ERROR);
	common = (struct device_common){
		.host = &host,
		.facts = &facts,
		.capture_fd = -1,
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
	};
	ended_pid = fork();
	if (ended_pid == 0)
		_exit(0);
	require(ended_pid > 0);
}

/* Returns the process's end of the link. */
static int start_child(bool is_serving)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &child};
	int fds[2];

	require(process_link_open(fds) == 0);
	memset(&child, 0, sizeof(child));
	child = (struct device_child){
		.common = &common,
		.state = is_serving ? DEVICE_CHILD_SERVING : DEVICE_CHILD_STARTING,
		.pid = ended_pid,
		.pid_fd = -1,
		.link_fd = fds[0],
		.lane = RNIC_LANE_FIRST,
		.facts_page.fd = -1,
		.stats_page.fd = -1,
		.outbox = {.answer_fd = -1, .retry_ns = UINT64_MAX, .behind_since_ns = UINT64_MAX},
		/* A thread for each input would leave time for few inputs. */
		.deferred_close = {.is_immediate = true},
	};
	child_log_init(&child.log);
	require(epoll_ctl(common.epoll_fd, EPOLL_CTL_ADD, fds[0], &event) == 0);
	return fds[1];
}

static void end_child(int peer_fd)
{
	/* A hang-up comes last, as when the process dies. */
	close(peer_fd);
	while (device_child_is_alive(&child)) {
		common.now_ns += RNIC_NS_PER_SECOND;
		device_link_receive(&child, true);
	}
	require(child.link_fd < 0 && child.outbox.answer_fd < 0);
	pending_query_clear(&child.rows);
}

/* --- messages -------------------------------------------------------------------------------- */

static size_t struct_bytes(uint8_t operation)
{
	static const uint16_t sizes[RNIC_PROCESS_OPERATION_COUNT] = {
		[RNIC_PROCESS_START] = sizeof(struct rnic_process_start),
		[RNIC_PROCESS_READY] = sizeof(struct rnic_process_ready),
		[RNIC_PROCESS_GID] = sizeof(struct rnic_process_gid),
		[RNIC_PROCESS_FACTS] = sizeof(struct rnic_process_facts),
		[RNIC_PROCESS_CLIENT] = sizeof(struct rnic_process_client),
		[RNIC_PROCESS_ROWS] = sizeof(struct rnic_process_rows),
		[RNIC_PROCESS_ROWS_REPLY] = sizeof(struct rnic_process_rows_reply),
		[RNIC_PROCESS_PACKET] = sizeof(struct rnic_process_packet),
		[RNIC_PROCESS_JOIN] = sizeof(struct rnic_process_group),
		[RNIC_PROCESS_JOINED] = sizeof(struct rnic_process_group),
		[RNIC_PROCESS_LEAVE] = sizeof(struct rnic_process_group),
		[RNIC_PROCESS_TROUBLE] = sizeof(struct rnic_process_trouble),
	};

	return operation < RNIC_PROCESS_OPERATION_COUNT ? sizes[operation] : 0;
}

static uint8_t take_byte(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->bytes++;
}

/* Builds the next message; returns its length. */
static size_t next_message(struct input *input, uint8_t *message)
{
	const uint8_t operation = take_byte(input);
	struct rnic_process_header header = {
		.magic = RNIC_PROCESS_MAGIC,
		.version = RNIC_PROCESS_VERSION,
		.operation = operation,
	};
	size_t count = take_byte(input), bytes;

	count = count * 2 < input->left ? count * 2 : input->left;
	if (operation >= RNIC_PROCESS_OPERATION_COUNT) {
		memcpy(message, input->bytes, count);
		bytes = count;
	} else {
		bytes = struct_bytes(operation) > count ? struct_bytes(operation) : count;
		memset(message + sizeof(header), 0, bytes);
		memcpy(message + sizeof(header), input->bytes, count);
		header.bytes = (uint32_t)(sizeof(header) + bytes);
		memcpy(message, &header, sizeof(header));
		bytes += sizeof(header);
	}
	input->bytes += count;
	input->left -= count;
	return bytes;
}

/* The rows that came are as many as they say. */
static void look_at_rows(void)
{
	struct pending_query *slot = &child.rows;

	if (slot->state == PENDING_QUERY_ANSWERED) {
		for (size_t i = 0; i < (size_t)slot->head.row_count * slot->head.row_bytes; i++)
			datagram_sum ^= ((const uint8_t *)slot->rows)[i];
		pending_query_clear(slot);
	}
	if (slot->state == PENDING_QUERY_FREE)
		pending_query_ask(slot, 1, 0, RNIC_SHOW_QPS, 0, common.now_ns + RNIC_NS_PER_SECOND);
	pending_query_expire(slot, common.now_ns);
}

static void drain(int peer_fd)
{
	struct process_receipt receipt;

	while (process_link_receive(peer_fd, &receipt) == 0)
		process_receipt_drop(&receipt);
}

static void send_message(int peer_fd, const uint8_t *message, size_t bytes)
{
	const bool is_whole = rnic_process_check(message, bytes) == 0;

	if (write(peer_fd, message, bytes) < 0)
		return;
	common.now_ns += RNIC_NS_PER_MS;
	device_link_receive(&child, false);
	/* What is no message at all ends the process. */
	require(is_whole || bytes == 0 || !device_child_is_alive(&child));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t message[RNIC_PROCESS_MESSAGE_BYTES];
	struct input input = {data, size};
	uint8_t kind;
	int peer_fd;

	start_once();
	kind = take_byte(&input);
	common.has_lanes = kind / 4 % 2 != 0;
	peer_fd = start_child(kind % 4 != 0);
	for (int i = 0; i < MESSAGES_MAX && input.left > 0 && device_child_is_alive(&child); i++) {
		const size_t bytes = next_message(&input, message);

		look_at_rows();
		send_message(peer_fd, message, bytes);
		drain(peer_fd);
	}
	end_child(peer_fd);
	return 0;
}

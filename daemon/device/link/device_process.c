/* SPDX-License-Identifier: MIT */
#include "daemon/device/link/device_process.h"

#include "daemon/device/device.h"
#include "daemon/device/link/heap_limit.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/network/unreachable_neighbours.h"
#include "lib/wait/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_WAIT_MS 10000

/* The descriptors of START, in their order. */
enum start_descriptor { START_FACTS_PAGE, START_STATS, START_CAPTURE, START_DESCRIPTORS };

struct start {
	int fds[START_DESCRIPTORS]; /* -1: none */
	char reason[RNIC_PROCESS_TEXT_BYTES];
};

_Static_assert(RNIC_PROCESS_TEXT_BYTES >= DEVICE_REASON_BYTES, "every sentence fits");

/* --- START ------------------------------------------------------------------------------------ */

/* Receives START. Negative errno: -ETIMEDOUT, -EPROTO, or the link is down. */
static int process_receive_start(struct device_process *process, int fd, struct start *start)
{
	struct process_receipt *receipt = &process->link.receipt;
	struct pollfd link = {.fd = fd, .events = POLLIN};
	int result;

	if (poll(&link, 1, START_WAIT_MS) <= 0)
		return -ETIMEDOUT;
	result = process_link_receive(fd, receipt);
	if (result != 0)
		return result;
	if (receipt->header.operation != RNIC_PROCESS_START ||
	    receipt->fd_count > START_DESCRIPTORS) {
		process_receipt_drop(receipt);
		return -EPROTO;
	}
	memcpy(&process->start, receipt->payload, sizeof(process->start));
	for (unsigned i = 0; i < START_DESCRIPTORS; i++)
		start->fds[i] = i < receipt->fd_count ? receipt->fds[i] : -1;
	receipt->fd_count = 0;
	return 0;
}

static int process_map_facts(struct device_process *process, struct start *start)
{
	struct stat status;
	void *address;

	if (fstat(start->fds[START_FACTS_PAGE], &status) != 0)
		return -errno;
	if (status.st_size < (off_t)sizeof(struct rnic_facts_page))
		return -EINVAL;
	address = mmap(NULL, sizeof(struct rnic_facts_page), PROT_READ, MAP_SHARED,
		       start->fds[START_FACTS_PAGE], 0);
	if (address == MAP_FAILED)
		return -errno;
	process->link.facts_page = address;
	return 0;
}

static void process_unmap_pages(struct device_process *process)
{
	if (process->stats.stats != NULL)
		stats_writer_close(&process->stats);
	if (process->link.facts_page != NULL)
		munmap((void *)process->link.facts_page, sizeof(struct rnic_facts_page));
	process->stats.stats = NULL;
	process->link.facts_page = NULL;
}

static int process_map_pages(struct device_process *process, struct start *start)
{
	int result = process_map_facts(process, start);

	if (result == 0)
		result = stats_writer_open(&process->stats, start->fds[START_STATS]);
	if (result != 0)
		snprintf(start->reason, sizeof(start->reason),
			 "the device process cannot map its pages: %s", strerror(-result));
	return result;
}

static int process_open_half(struct device_process *process, struct start *start)
{
	const struct rnic_process_start *message = &process->start;
	const struct device_config config = {
		.attributes = &message->device,
		.host = &process->host,
		.netdev = message->device.netdev,
		.netdev_index = message->netdev_index,
		.path_mtu_bytes = RNIC_PAYLOAD_BYTES_MAX,
		.speed_mbps = message->speed_mbps,
		.has_capture_fd = (message->flags & RNIC_START_CAPTURE) != 0,
		.capture_fd = start->fds[START_CAPTURE],
		.ask_neighbours = unreachable_neighbours_ask,
		.memory_bytes = message->memory_bytes - heap_limit_part(message->memory_bytes),
		.lane = (uint8_t)message->lane,
		.port = process->role.is_program ? UDP_PORT_SOCKET
						 : (enum udp_port_kind)message->port,
		.is_program = process->role.is_program,
		.guard = process->role.guard,
		.segmentation = (enum segmentation_mode)message->segmentation,
		.has_ecn = (message->flags & RNIC_START_ECN) != 0,
		.peer_ports = (enum rnic_peer_ports)message->peer_ports,
		.pkeys = &message->pkeys,
		.random = system_random_source(&process->random),
		.qp_owners = stats_writer_qp_owners(&process->stats),
		.record = &process->stats.file->record,
	};
	int result = system_random_init(&process->random);

	if (result != 0) {
		snprintf(start->reason, sizeof(start->reason),
			 "the kernel gives no random numbers: %s", strerror(-result));
		return result;
	}
	process->device = device_open(&config, clock_now_ns(), &result, start->reason);
	process->link.device = process->device;
	return result;
}

/* The control plane and this program are of one build. A wrong START is a flaw, and said so. */
static int process_check_start(const struct device_process *process, struct start *start)
{
	const struct rnic_process_start *message = &process->start;
	const bool has_capture = (message->flags & RNIC_START_CAPTURE) != 0;

	if (message->lane >= RNIC_LANE_FIRST && message->lane <= RNIC_LANE_LAST &&
	    has_capture == (start->fds[START_CAPTURE] >= 0))
		return 0;
	snprintf(start->reason, sizeof(start->reason),
		 "the device process cannot understand its start (lane %u, capture %d)",
		 message->lane, has_capture);
	return -EINVAL;
}

static int process_start(struct device_process *process, struct start *start)
{
	device_process_take_on *take_on = process->role.take_on;
	int result = process_check_start(process, start);

	if (result == 0 && take_on != NULL)
		result = take_on(&process->start, start->reason, sizeof(start->reason));
	if (result == 0)
		result = process_map_pages(process, start);
	for (unsigned i = START_FACTS_PAGE; i <= START_STATS; i++)
		if (start->fds[i] >= 0)
			close(start->fds[i]);
	if (result == 0)
		result = process_open_half(process, start);
	if (result != 0)
		process_unmap_pages(process);
	return result;
}

int device_process_open(struct device_process *process, int fd,
			const struct device_process_role *role)
{
	struct start start = {.reason = ""};
	int result;

	memset(process, 0, sizeof(*process));
	result = process_receive_start(process, fd, &start);
	if (result != 0)
		return result;
	link_client_init(&process->link, fd, &process->stats);
	link_client_fill_host(&process->link, &process->host);
	process->role = *role;
	result = process_start(process, &start);
	if (result != 0)
		device_process_refuse(process, result, start.reason);
	return result;
}

void device_process_prepare(void)
{
	int result = unreachable_neighbours_prepare();

	if (result != 0)
		log_warning("the kernel cannot be asked for silent neighbours: %s",
			    strerror(-result));
}

int device_process_begin(struct device_process *process)
{
	stats_writer_refresh(&process->stats, process->device, clock_now_ns());
	return link_client_send_ready(&process->link, 0, device_port_name(process->device), "");
}

void device_process_refuse(struct device_process *process, int status, const char *reason)
{
	link_client_send_ready(&process->link, status, "", reason);
}

void device_process_forget(struct device_process *process)
{
	device_forget(process->device);
	link_client_fini(&process->link);
}

void device_process_close(struct device_process *process)
{
	/* The final numbers stand on the statistics page before the client's end is visible. */
	stats_writer_refresh(&process->stats, process->device, clock_now_ns());
	device_close(process->device);
	link_client_fini(&process->link);
	process_unmap_pages(process);
}

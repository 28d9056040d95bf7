/* SPDX-License-Identifier: MIT */
/*
 * The program rnicd-device, taken over by whoever found a flaw in it: the same start, rights and
 * filter of system calls, and then, in a thread of its own, one of the ways to harm others. The
 * name of the folder above the program's own says which (hostile_taken.c).
 */
#include "daemon/device/link/device_process.h"
#include "daemon/shared/link/process_link.h"
#include "daemon/shared/reports/show_rows.h"
#include "lib/nic/base/prng.h"
#include "proto/base/bits.h"
#include "proto/base/lane.h"
#include "proto/ctl/ctl_message.h"
#include "proto/mad/cm_message.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"
#include "tests/hostile/forged_request.h"
#include "tests/hostile/taken_device.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTORS 256

struct device;
struct device_loop;

/* The linker gives us these calls of rnicd_device.c, and the functions that it meant. */
int __wrap_device_process_begin(struct device_process *process);
int __real_device_process_begin(struct device_process *process);
void __wrap_device_loop_run(struct device_loop *loop);
void __real_device_loop_run(struct device_loop *loop);
void __wrap_device_show(const struct device *device, uint32_t kind, struct show_rows *rows);
void __real_device_show(const struct device *device, uint32_t kind, struct show_rows *rows);

static struct device_process *taken;

/* --- packets ---------------------------------------------------------------------------------- */

/* Whether the descriptor receives the packets of the lane; stores the address. */
static bool is_receive_socket(int fd, struct rnic_gid *gid)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address;
	socklen_t bytes = sizeof(address);

	if (getsockname(fd, &address.any, &bytes) != 0)
		return false;
	if (address.any.sa_family == AF_INET)
		*gid = rnic_gid_from_ipv4((const uint8_t *)&address.ipv4.sin_addr);
	else if (address.any.sa_family == AF_INET6)
		*gid = rnic_gid_from_ipv6(address.ipv6.sin6_addr.s6_addr);
	else
		return false;
	return (address.any.sa_family == AF_INET ? address.ipv4.sin_port
						 : address.ipv6.sin6_port) == htons(RNIC_UDP_PORT);
}

/* The first address of the device, as soon as there is one. */
static struct rnic_gid wait_for_address(void)
{
	struct rnic_gid gid;

	for (;;) {
		for (int fd = 0; fd < DESCRIPTORS; fd++)
			if (is_receive_socket(fd, &gid))
				return gid;
		poll(NULL, 0, 1);
	}
}

/* A datagram for the queue pair: a request for a connection, where that is queue pair 1. */
static uint32_t build_datagram(struct rnic_process_packet *head, uint32_t dest_qpn, uint32_t number,
			       uint8_t bytes[RNIC_PACKET_BYTES_MAX])
{
	const struct rnic_cm_message message = {
		.kind = RNIC_CM_REQ, .transaction_id = number, .req = {.local_comm_id = number}};
	const struct rnic_addresses addresses = {
		.source = head->source, .dest = head->dest, .source_port = head->source_port};

	return forged_request_build(&addresses, dest_qpn, &message, bytes);
}

/* Hands in packets for the control plane, and for all lanes: as many as the link takes. */
static void *hand_in_packets(void *nothing)
{
	struct rnic_process_packet head = {.source_port = 50000, .hop_limit = 64};
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	const struct process_letter letter = {.operation = RNIC_PROCESS_PACKET,
					      .payload = &head,
					      .payload_bytes = sizeof(head),
					      .tail = bytes,
					      .tail_bytes = 0};

	(void)nothing;
	head.dest = wait_for_address();
	head.source = head.dest;
	head.source.bytes[13] ^= 0x80; /* nobody, who gets the answers */
	for (uint32_t i = 0;; i++) {
		const uint32_t lane = RNIC_LANE_FIRST + i / 2 % 8;
		const uint32_t dest_qpn =
			i % 2 == 0 ? RNIC_GENERAL_SERVICES_QPN : lane << RNIC_LANE_BITS | i;
		struct process_letter sent = letter;

		head.datagram_bytes = build_datagram(&head, dest_qpn, i, bytes);
		sent.tail_bytes = head.datagram_bytes;
		while (process_link_send(PROCESS_LINK_FD, &sent) == -EAGAIN)
			poll(NULL, 0, 1);
	}
	return NULL;
}

/* --- sockets ---------------------------------------------------------------------------------- */

/* Keeps each receive socket, while the device says that it has closed those of old addresses. */
static void *keep_sockets(void *nothing)
{
	uint64_t kept[DESCRIPTORS];
	uint32_t count = 0;
	struct rnic_gid gid;

	(void)nothing;
	for (;; poll(NULL, 0, 1)) {
		for (int fd = 0; fd < DESCRIPTORS && count < DESCRIPTORS; fd++) {
			struct stat status;
			bool is_kept = !is_receive_socket(fd, &gid) || fstat(fd, &status) != 0;

			for (uint32_t i = 0; !is_kept && i < count; i++)
				is_kept = kept[i] == status.st_ino;
			if (is_kept || fcntl(fd, F_DUPFD_CLOEXEC, 0) < 0)
				continue;
			kept[count++] = status.st_ino;
		}
	}
	return NULL;
}

/* --- counters --------------------------------------------------------------------------------- */

static void *count_too_much(void *nothing)
{
	struct rnic_stats_page *stats = taken->stats.stats;

	(void)nothing;
	for (;; poll(NULL, 0, 1))
		for (uint32_t i = 0; i < RNIC_STATS_COUNTERS_MAX; i++)
			stats->counters[i].value = UINT64_MAX;
	return NULL;
}

/* --- records ---------------------------------------------------------------------------------- */

static bool tells_of_others; /* its rows of queue pairs */

/* Half of the bytes at random make each ring a ring of this lane, with events that there are. */
static void *record_nonsense(void *nothing)
{
	struct rnic_record_region *record = &taken->stats.file->record;
	struct prng prng;

	(void)nothing;
	prng_init(&prng, 45);
	for (;; poll(NULL, 0, 1))
		for (uint32_t i = 0; i < RNIC_RECORD_RINGS; i++) {
			struct rnic_record_ring *ring = &record->rings[i];
			uint8_t *bytes = (uint8_t *)ring;

			for (size_t at = 0; at < sizeof(*ring); at++)
				bytes[at] = (uint8_t)prng_below(&prng, 256);
			for (uint32_t e = 0; e < RNIC_RECORD_RING_ENTRIES; e++)
				ring->entries[e].event %= RNIC_RECORD_EVENT_COUNT + 1;
			if (i % 2 == 0)
				ring->qpn = RNIC_LANE_FIRST << RNIC_LANE_BITS | i;
		}
	return NULL;
}

/* A queue pair has words for terminals, and a second row is that of another lane. */
void __wrap_device_show(const struct device *device, uint32_t kind, struct show_rows *rows)
{
	struct rnic_show_qp own, *other;

	__real_device_show(device, kind, rows);
	if (!tells_of_others || kind != RNIC_SHOW_QPS || rows->count == 0)
		return;
	memcpy(&own, rows->rows, sizeof(own));
	memset(own.last_error, '\033', sizeof(own.last_error));
	memcpy(rows->rows, &own, sizeof(own));
	other = show_rows_add(rows);
	if (other == NULL)
		return;
	own.qpn += RNIC_LANE_QPNS;
	memcpy(other, &own, sizeof(own));
}

/* --- the program ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	void *(*run)(void *nothing);
} ways[] = {
	{TAKEN_PACKETS, hand_in_packets},
	{TAKEN_SOCKETS, keep_sockets},
	{TAKEN_COUNTERS, count_too_much},
	{TAKEN_RECORDS, record_nonsense},
};

int __wrap_device_process_begin(struct device_process *process)
{
	taken = process;
	return __real_device_process_begin(process);
}

void __wrap_device_loop_run(struct device_loop *loop)
{
	char path[4096];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	bool is_taken = false;
	pthread_t thread;

	path[length < 0 ? 0 : length] = '\0';
	tells_of_others = strstr(path, TAKEN_RECORDS) != NULL && getuid() != TAKEN_HONEST_USER;
	for (size_t i = 0; i < RNIC_COUNT_OF(ways) && getuid() != TAKEN_HONEST_USER; i++)
		is_taken |= strstr(path, ways[i].name) != NULL &&
			    pthread_create(&thread, NULL, ways[i].run, NULL) == 0;
	__real_device_loop_run(loop);
	/* The thread goes on to use what would be closed. */
	if (is_taken)
		_exit(0);
}

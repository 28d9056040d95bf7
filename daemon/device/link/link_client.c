/* SPDX-License-Identifier: MIT */
#include "daemon/device/link/link_client.h"

#include "daemon/device/device.h"
#include "daemon/device/link/stats_writer.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/reports/show_rows.h"
#include "lib/nic/port/udp/udp_lane_sockets.h"
#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINK_ROWS_BYTES (PROCESS_PAYLOAD_BYTES_MAX - sizeof(struct rnic_process_rows_reply))

static int link_client_send(struct link_client *link, uint16_t operation, const void *payload,
			    size_t payload_bytes, const void *tail, size_t tail_bytes)
{
	const struct process_letter letter = {
		.operation = operation,
		.payload = payload,
		.payload_bytes = payload_bytes,
		.tail = tail,
		.tail_bytes = tail_bytes,
	};
	int result = process_link_send(link->fd, &letter);

	if (result == -EPIPE)
		link->is_down = true;
	return result;
}

/* --- to the control plane -------------------------------------------------------------------- */

int link_client_send_ready(struct link_client *link, int status, const char *udp_port,
			   const char *reason)
{
	struct rnic_process_ready ready = {.status = status};

	snprintf(ready.udp_port, sizeof(ready.udp_port), "%s", udp_port);
	snprintf(ready.reason, sizeof(ready.reason), "%s", reason);
	return link_client_send(link, RNIC_PROCESS_READY, &ready, sizeof(ready), NULL, 0);
}

static int link_client_send_group(void *context, bool is_join, const struct rnic_gid *group)
{
	const struct rnic_process_group payload = {.group = *group};

	return link_client_send(context, is_join ? RNIC_PROCESS_JOIN : RNIC_PROCESS_LEAVE, &payload,
				sizeof(payload), NULL, 0);
}

/* Tells of the clients that have gone, until the link is full. */
static void link_client_tell_gone(struct link_client *link)
{
	uint32_t told = 0;

	while (told < link->gone_count) {
		const struct rnic_process_client_gone gone = {.client_id = link->gone[told]};

		if (link_client_send(link, RNIC_PROCESS_CLIENT_GONE, &gone, sizeof(gone), NULL,
				     0) == -EAGAIN)
			break;
		told++;
	}
	link->gone_count -= told;
	memmove(link->gone, link->gone + told, link->gone_count * sizeof(link->gone[0]));
}

static void link_client_gone(void *context, uint32_t client_id)
{
	struct link_client *link = context;

	if (link->gone_count < LINK_CLIENT_GONE_MAX)
		link->gone[link->gone_count++] = client_id;
	link_client_tell_gone(link);
}

static void link_client_trouble(void *context, const struct rnic_process_trouble *trouble)
{
	link_client_send(context, RNIC_PROCESS_TROUBLE, trouble, sizeof(*trouble), NULL, 0);
}

/* A packet for another lane goes to the control plane, which knows the lanes. */
static bool link_client_misrouted(void *context, const struct datagram *datagram)
{
	const struct rnic_addresses *addresses = &datagram->addresses;
	const struct rnic_process_packet packet = {
		.source = addresses->source,
		.dest = addresses->dest,
		.source_port = addresses->source_port,
		.traffic_class = addresses->traffic_class,
		.hop_limit = addresses->hop_limit,
		.datagram_bytes = datagram->length,
	};

	return link_client_send(context, RNIC_PROCESS_PACKET, &packet, sizeof(packet),
				datagram->bytes, datagram->length) == 0;
}

/* Sends rows from a cursor on. Negative errno of process_link_send(). */
static int link_client_send_rows(struct link_client *link, const struct rnic_process_rows *request)
{
	static const uint32_t row_bytes[] = {
		[RNIC_SHOW_CLIENTS] = sizeof(struct rnic_show_client),
		[RNIC_SHOW_QPS] = sizeof(struct rnic_show_qp),
		[RNIC_SHOW_MRS] = sizeof(struct rnic_show_mr),
		[RNIC_SHOW_CQS] = sizeof(struct rnic_show_cq),
		[RNIC_SHOW_MWS] = sizeof(struct rnic_show_mw),
		[RNIC_SHOW_SRQS] = sizeof(struct rnic_show_srq),
		[RNIC_SHOW_PDS] = sizeof(struct rnic_show_pd),
		[RNIC_SHOW_PATHS] = sizeof(struct rnic_show_path),
	};
	_Alignas(8) uint8_t bytes[LINK_ROWS_BYTES];
	struct rnic_process_rows_reply reply = {
		.request_id = request->request_id,
		.kind = request->kind,
	};
	struct show_rows rows = {.skip = request->cursor, .rows = bytes};

	if (request->kind < RNIC_COUNT_OF(row_bytes) && row_bytes[request->kind] != 0) {
		rows.row_bytes = row_bytes[request->kind];
		rows.max = (uint32_t)(sizeof(bytes) / rows.row_bytes);
		device_show(link->device, request->kind, &rows);
		reply.row_count = rows.count;
		reply.row_bytes = rows.row_bytes;
		reply.next = rows.has_more ? request->cursor + rows.count : 0;
	}
	return link_client_send(link, RNIC_PROCESS_ROWS_REPLY, &reply, sizeof(reply), bytes,
				(size_t)rows.count * rows.row_bytes);
}

static void link_client_answer_rows(struct link_client *link)
{
	while (link->rows_count > 0 && link_client_send_rows(link, &link->rows[0]) != -EAGAIN) {
		link->rows_count--;
		memmove(&link->rows[0], &link->rows[1], link->rows_count * sizeof(link->rows[0]));
	}
}

static void link_client_answer_order(struct link_client *link)
{
	if (link->has_answer && link_client_send(link, RNIC_PROCESS_ORDER_REPLY, &link->answer,
						 sizeof(link->answer), NULL, 0) != -EAGAIN)
		link->has_answer = false;
}

/* --- from the control plane ------------------------------------------------------------------ */

/* Takes descriptor `i` of the message; -1: there is none. */
static int link_client_take_fd(struct link_client *link, unsigned i)
{
	int fd = -1;

	if (i < link->receipt.fd_count) {
		fd = link->receipt.fds[i];
		link->receipt.fds[i] = -1;
	}
	return fd;
}

/*
 * Takes the sockets of a GID: one to receive, and all that send. Returns false when one is missing;
 * then it has closed the rest.
 */
static bool link_client_take_sockets(struct link_client *link, struct udp_lane_sockets *sockets)
{
	const unsigned count = link->receipt.fd_count;

	sockets->receive_fd = link_client_take_fd(link, 0);
	for (unsigned i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		sockets->send_fds[i] = link_client_take_fd(link, 1 + i);
	if (count == 1 + RNIC_LANE_SEND_SOCKETS)
		return true;
	udp_lane_sockets_close(sockets);
	return false;
}

static void link_client_set_gid(struct link_client *link)
{
	const struct rnic_process_gid *message = (const void *)link->receipt.payload;
	struct udp_lane_sockets sockets;
	char text[PORT_TEXT_BYTES] = "";

	if (message->index >= RNIC_GIDS_MAX)
		return;
	/* A slot that changes its GID is emptied first: the port expects so. */
	device_set_gid(link->device, message->index, NULL, NULL, text);
	if (rnic_gid_is_zero(&message->gid))
		return;
	if (!link_client_take_sockets(link, &sockets))
		log_warning("a new address came without its sockets");
	else if (device_set_gid(link->device, message->index, &message->gid, &sockets, text) != 0)
		log_warning("a new address is not used: %s", text);
}

static void link_client_set_facts(struct link_client *link)
{
	const struct rnic_process_facts *facts = (const void *)link->receipt.payload;

	if (facts->gids.count > RNIC_GIDS_MAX)
		return;
	device_set_facts(link->device, facts);
	if (link->netdev_index != 0 && link->netdev_index != facts->netdev_index)
		group_joins_renew(&link->joins);
	link->netdev_index = facts->netdev_index;
	link->facts_sequence = facts->sequence;
}

static void link_client_add_client(struct link_client *link)
{
	const struct rnic_process_client *message = (const void *)link->receipt.payload;
	struct device_client client = {
		.client_id = message->client_id,
		.uid = message->uid,
		.pid = (pid_t)message->pid,
		.connection_fd = link_client_take_fd(link, 0),
		.pid_fd = link_client_take_fd(link, 1),
	};
	int result;

	memcpy(client.program, message->program, sizeof(client.program));
	result = client.connection_fd < 0 ? -EMFILE : device_add_client(link->device, &client);
	if (result == 0)
		return;
	log_from_client(message->uid, "a client was turned away: %s", strerror(-result));
	link_client_gone(link, client.client_id);
}

static void link_client_end_client(struct link_client *link)
{
	const struct rnic_process_client_gone *message = (const void *)link->receipt.payload;

	device_end_client(link->device, message->client_id);
}

static void link_client_show(struct link_client *link)
{
	const struct rnic_process_rows *message = (const void *)link->receipt.payload;

	/* The control plane does not ask for more at once. */
	if (link->rows_count == LINK_CLIENT_ROWS_MAX)
		return;
	link->rows[link->rows_count++] = *message;
	link_client_answer_rows(link);
}

static void link_client_packet(struct link_client *link)
{
	const struct rnic_process_packet *message = (const void *)link->receipt.payload;
	const struct rnic_addresses addresses = {
		.source = message->source,
		.dest = message->dest,
		.source_port = message->source_port,
		.traffic_class = message->traffic_class,
		.hop_limit = message->hop_limit,
	};

	device_deliver(link->device, &addresses, link->receipt.payload + sizeof(*message),
		       message->datagram_bytes, clock_now_ns());
}

/* A lost answer is asked for again. */
static void link_client_probe(struct link_client *link)
{
	struct rnic_process_probe probe = *(const struct rnic_process_probe *)link->receipt.payload;

	probe.status = device_probe_peer(link->device, probe.qpn, &probe.received_packets);
	link_client_send(link, RNIC_PROCESS_PROBED, &probe, sizeof(probe), NULL, 0);
}

static void link_client_joined(struct link_client *link)
{
	const struct rnic_process_group *message = (const void *)link->receipt.payload;

	const int fd = link_client_take_fd(link, 0);
	int result = 0;

	if (group_joins_answer(&link->joins, &message->group, message->status, fd))
		result = device_renew_group(link->device, &message->group, fd);
	if (result != 0)
		log_warning("a multicast group is lost with the network interface: %s",
			    strerror(-result));
}

static void link_client_carry_out(struct link_client *link)
{
	const struct rnic_process_order *order = (const void *)link->receipt.payload;

	link->answer = (struct rnic_process_order_reply){.request_id = order->request_id};
	link->answer.status = device_carry_out(link->device, order, link->answer.reason);
	link->has_answer = true;
	/* Who sees the answer sees what there was before it. */
	stats_writer_refresh(link->stats, link->device, clock_now_ns());
	link_client_answer_order(link);
}

static void link_client_set_rules(struct link_client *link)
{
	int result =
		device_set_rules(link->device, (const void *)link->receipt.payload, clock_now_ns());

	if (result != 0)
		log_warning("not all rules of faults are loaded: %s", strerror(-result));
}

static void (*const link_client_handlers[RNIC_PROCESS_OPERATION_COUNT])(
	struct link_client *link) = {
	[RNIC_PROCESS_GID] = link_client_set_gid,
	[RNIC_PROCESS_FACTS] = link_client_set_facts,
	[RNIC_PROCESS_CLIENT] = link_client_add_client,
	[RNIC_PROCESS_ROWS] = link_client_show,
	[RNIC_PROCESS_JOINED] = link_client_joined,
	[RNIC_PROCESS_PACKET] = link_client_packet,
	[RNIC_PROCESS_CLIENT_GONE] = link_client_end_client,
	[RNIC_PROCESS_PROBE] = link_client_probe,
	[RNIC_PROCESS_ORDER] = link_client_carry_out,
	[RNIC_PROCESS_RULES] = link_client_set_rules,
};

/* Carries out one message. Returns false when there is none. */
static bool link_client_serve_one(struct link_client *link)
{
	int result = process_link_receive(link->fd, &link->receipt);
	void (*handler)(struct link_client * link);

	if (result == -EAGAIN)
		return false;
	if (result != 0) {
		if (result != -EPIPE)
			log_error("the control plane's message is none: %s", strerror(-result));
		link->is_down = true;
		return false;
	}
	handler = link_client_handlers[link->receipt.header.operation];
	if (handler != NULL)
		handler(link);
	process_receipt_drop(&link->receipt);
	return true;
}

bool link_client_poll(struct link_client *link)
{
	unsigned count = 0;

	while (count < LINK_CLIENT_TURN_MESSAGES && link_client_serve_one(link))
		count++;
	if (count > 0)
		stats_writer_note_change(link->stats);
	return count > 0;
}

void link_client_catch_up(struct link_client *link)
{
	const uint64_t newest =
		atomic_load_explicit(&link->facts_page->sequence, memory_order_acquire);

	/* The control plane sent the message before it wrote the page. */
	while (link->facts_sequence != newest && link_client_serve_one(link))
		stats_writer_note_change(link->stats);
}

static void link_client_catch_up_host(void *context)
{
	link_client_catch_up(context);
}

/* --- the rest -------------------------------------------------------------------------------- */

static int link_client_join_group(void *context, const struct rnic_gid *group, int *fd)
{
	struct link_client *link = context;

	return group_joins_fetch(&link->joins, group, clock_now_ns(), fd);
}

static void link_client_leave_group(void *context, const struct rnic_gid *group)
{
	struct link_client *link = context;

	group_joins_leave(&link->joins, group);
}

void link_client_init(struct link_client *link, int fd, struct stats_writer *stats)
{
	memset(link, 0, sizeof(*link));
	link->fd = fd;
	link->stats = stats;
	group_joins_init(&link->joins, link_client_send_group, link);
}

void link_client_fini(struct link_client *link)
{
	group_joins_fini(&link->joins);
}

void link_client_fill_host(struct link_client *link, struct device_host *host)
{
	*host = (struct device_host){
		.trouble = link_client_trouble,
		.take_misrouted = link_client_misrouted,
		.catch_up = link_client_catch_up_host,
		.join_group = link_client_join_group,
		.leave_group = link_client_leave_group,
		.client_gone = link_client_gone,
		.context = link,
	};
}

void link_client_tick(struct link_client *link, uint64_t now_ns)
{
	link_client_tell_gone(link);
	link_client_answer_rows(link);
	link_client_answer_order(link);
	group_joins_tick(&link->joins, now_ns);
}

uint64_t link_client_next_deadline_ns(const struct link_client *link, uint64_t now_ns)
{
	const bool is_behind = link->rows_count > 0 || link->gone_count > 0 || link->has_answer;
	const uint64_t retry_ns = is_behind ? now_ns + GROUP_JOINS_RETRY_NS : UINT64_MAX;
	const uint64_t joins_ns = group_joins_next_deadline_ns(&link->joins);

	return retry_ns < joins_ns ? retry_ns : joins_ns;
}

/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/device_link.h"

#include "daemon/shared/base/log.h"
#include "daemon/shared/link/process_link.h"
#include "proto/base/causes.h"
#include "proto/base/lane.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "proto/wire/headers.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINK_TURN_MESSAGES   32
#define LINK_WINDOW_NS	     (10 * RNIC_NS_PER_MS)
#define LINK_WINDOW_MESSAGES 1000 /* of the only process, which has the packets of lane 0 too */
#define LINK_WINDOW_OF_LANE  100  /* of a process beside others: more than link_rate_lanes */
#define LINK_RETRY_LEAST_NS  (2 * RNIC_NS_PER_MS) /* between attempts while the link is full */
#define LINK_RETRY_MOST_NS   (500 * RNIC_NS_PER_MS)
#define LINK_BEHIND_NS	     (30 * RNIC_NS_PER_SECOND)

/* --- out ------------------------------------------------------------------------------------- */

int device_link_send(struct device_child *process, const struct process_letter *letter)
{
	int result;

	if (process->state != DEVICE_CHILD_SERVING)
		return -EPIPE;
	result = process_link_send(process->link_fd, letter);
	if (result == 0 || result == -EAGAIN)
		return result;
	device_child_happen(process, DEVICE_CHILD_HANG_UP, NULL);
	return -EPIPE;
}

/* Sends what the process must have. That the link took it ends the back-off. */
static int link_send_state(struct device_child *process, const struct process_letter *letter)
{
	int result = device_link_send(process, letter);

	if (result == 0)
		process->outbox.retry_gap_ns = 0;
	return result;
}

/* Whether sockets can be had later, when there are descriptors or memory again. */
static bool link_is_short(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS;
}

/*
 * Sends an empty slot, or the GID with the lane's sockets. A GID that can have none stays unknown.
 * What is short now delays the GID, the facts and what comes after these.
 */
static int link_send_gid(struct device_child *process, uint32_t index, const struct rnic_gid *gid)
{
	const struct device_set_host *host = process->common->host;
	const struct rnic_process_gid payload = {.index = index, .gid = *gid};
	struct device_lane_sockets sockets;
	struct process_letter letter = {
		.operation = RNIC_PROCESS_GID,
		.payload = &payload,
		.payload_bytes = sizeof(payload),
	};
	char text[DEVICE_TEXT_BYTES];
	int result;

	if (!rnic_gid_is_zero(gid)) {
		result = host->open_sockets(host->context, process->lane, index, &sockets, text);
		if (result != 0 && link_is_short(result))
			return -EAGAIN;
		if (result != 0) {
			log_from_client(process->uid,
					"the device process of user %u does without an address: %s",
					process->uid, text);
			return 0;
		}
		letter.fds = sockets.fds;
		letter.fd_count = RNIC_COUNT_OF(sockets.fds);
	}
	result = link_send_state(process, &letter);
	for (unsigned i = 0; i < letter.fd_count; i++)
		close(sockets.fds[i]);
	if (result == 0) {
		process->outbox.known[index] = *gid;
		process->outbox.stale &= ~(UINT32_C(1) << index);
	}
	return result;
}

/* Empties slots before it fills any: a GID may have moved. */
static int link_send_gids(struct device_child *process)
{
	const struct rnic_gid *wanted = process->common->gids;
	const struct rnic_gid none = {{0}};
	const struct rnic_gid *known = process->outbox.known;
	int result = 0;

	for (uint32_t i = 0; i < RNIC_GIDS_MAX && result == 0; i++)
		if (!rnic_gid_is_zero(&known[i]) &&
		    (!rnic_gid_equal(&known[i], &wanted[i]) ||
		     (process->outbox.stale & UINT32_C(1) << i) != 0))
			result = link_send_gid(process, i, &none);
	for (uint32_t i = 0; i < RNIC_GIDS_MAX && result == 0; i++)
		if (!rnic_gid_equal(&known[i], &wanted[i]))
			result = link_send_gid(process, i, &wanted[i]);
	return result;
}

static int link_send_facts(struct device_child *process)
{
	const struct device_common *common = process->common;
	struct rnic_facts_page *page = process->facts_page.address;
	struct device_outbox *outbox = &process->outbox;
	struct rnic_process_facts facts = {
		.sequence = outbox->sequence + 1,
		.path_mtu_bytes = common->path_mtu_bytes,
		.hop_limit_ipv4 = common->facts->hop_limit_ipv4,
		.hop_limit_ipv6 = common->facts->hop_limit_ipv6,
		.is_cut = common->facts->is_cut,
		.netdev_index = common->start->netdev_index,
		.port = common->facts->port,
		.gids = common->facts->gids,
	};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_FACTS,
		.payload = &facts,
		.payload_bytes = sizeof(facts),
	};
	int result;

	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		if (!rnic_gid_equal(&facts.gids.entries[i].gid, &outbox->known[i]))
			facts.gids.entries[i] = (struct rnic_gid_entry){.gid = {{0}}};
	result = link_send_state(process, &letter);
	if (result != 0)
		return result;
	outbox->sequence++;
	outbox->has_facts = false;
	atomic_store_explicit(&page->sequence, outbox->sequence, memory_order_release);
	return 0;
}

static int link_send_rules(struct device_child *process)
{
	struct device_outbox *outbox = &process->outbox;
	struct rnic_process_rules rules;
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_RULES,
		.payload = &rules,
		.payload_bytes = sizeof(rules),
	};
	int result;

	rule_table_fill(&process->common->rules, process->uid, &rules);
	result = link_send_state(process, &letter);
	if (result != 0)
		return result;
	outbox->has_rules = false;
	outbox->knows_rules = rule_table_concerns(&process->common->rules, process->uid);
	return 0;
}

static void link_forget_answer(struct device_child *process)
{
	struct device_outbox *outbox = &process->outbox;

	if (outbox->answer_fd >= 0)
		close(outbox->answer_fd);
	outbox->answer_fd = -1;
	outbox->has_answer = false;
}

static int link_send_answer(struct device_child *process)
{
	struct device_outbox *outbox = &process->outbox;
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_JOINED,
		.payload = &outbox->answer,
		.payload_bytes = sizeof(outbox->answer),
		.fds = &outbox->answer_fd,
		.fd_count = outbox->answer_fd >= 0,
	};
	int result = link_send_state(process, &letter);

	if (result == 0)
		link_forget_answer(process);
	return result;
}

static int link_send_ends(struct device_child *process)
{
	struct ledger_entry *client;
	int result = 0;

	while (result == 0 && (client = client_ledger_next_ended(&process->held)) != NULL) {
		const struct rnic_process_client_gone gone = {.client_id = client->client_id};
		const struct process_letter letter = {
			.operation = RNIC_PROCESS_CLIENT_GONE,
			.payload = &gone,
			.payload_bytes = sizeof(gone),
		};

		result = link_send_state(process, &letter);
		if (result == 0)
			client_ledger_note_told(&process->held, client);
	}
	return result;
}

static int link_send_all(struct device_child *process)
{
	int result = 0;

	if (process->outbox.has_answer)
		result = link_send_answer(process);
	if (result == 0)
		result = link_send_ends(process);
	if (result == 0 && process->outbox.has_facts)
		result = link_send_gids(process);
	if (result == 0 && process->outbox.has_rules)
		result = link_send_rules(process);
	if (result == 0 && process->outbox.has_facts)
		result = link_send_facts(process);
	return result;
}

/* Tries again soon at first, and more and more rarely. */
static void link_note_full(struct device_child *process)
{
	struct device_outbox *outbox = &process->outbox;

	outbox->retry_gap_ns = outbox->retry_gap_ns == 0 ? LINK_RETRY_LEAST_NS
			       : outbox->retry_gap_ns * 2 < LINK_RETRY_MOST_NS
				       ? outbox->retry_gap_ns * 2
				       : LINK_RETRY_MOST_NS;
	outbox->retry_ns = process->common->now_ns + outbox->retry_gap_ns;
}

bool device_link_may_send(const struct device_child *process)
{
	const uint64_t retry_ns = process->outbox.retry_ns;

	return process->state == DEVICE_CHILD_SERVING &&
	       (retry_ns == UINT64_MAX || process->common->now_ns >= retry_ns);
}

bool device_link_flush(struct device_child *process)
{
	struct device_outbox *outbox = &process->outbox;

	if (!device_link_may_send(process))
		return false;
	if (link_send_all(process) == 0) {
		/* Whoever waits for room may try. */
		if (outbox->retry_ns != UINT64_MAX)
			process->common->has_news = true;
		outbox->retry_ns = UINT64_MAX;
		return true;
	}
	if (process->state == DEVICE_CHILD_SERVING)
		link_note_full(process);
	return false;
}

void device_link_tell_ends(struct device_child *process)
{
	if (process->state == DEVICE_CHILD_SERVING && process->outbox.retry_ns == UINT64_MAX &&
	    link_send_ends(process) == -EAGAIN)
		link_note_full(process);
}

int device_link_send_client(struct device_child *process, const struct served_client *client,
			    int connection_fd)
{
	struct rnic_process_client payload = {
		.client_id = client->client_id,
		.uid = client->uid,
		.pid = (uint32_t)client->pid,
	};
	const int fds[] = {connection_fd, client->pid_fd};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_CLIENT,
		.payload = &payload,
		.payload_bytes = sizeof(payload),
		.fds = fds,
		.fd_count = client->pid_fd >= 0 ? 2 : 1,
	};
	int result;

	if (process->state != DEVICE_CHILD_SERVING)
		return -EPIPE;
	if (!device_link_flush(process))
		return process->state == DEVICE_CHILD_SERVING ? -EAGAIN : -EPIPE;
	snprintf(payload.program, sizeof(payload.program), "%s", client->program);
	result = client_ledger_add(&process->held, client->client_id);
	if (result != 0)
		return result;
	result = link_send_state(process, &letter);
	if (result != 0)
		client_ledger_remove(&process->held, client->client_id);
	if (result == -EAGAIN)
		link_note_full(process);
	return result;
}

/* Whether what the process has not read yet fills less than half of the link. */
static bool link_has_half(const struct device_child *process)
{
	socklen_t bytes = sizeof(int);
	int unread, room;

	return ioctl(process->link_fd, SIOCOUTQ, &unread) == 0 &&
	       getsockopt(process->link_fd, SOL_SOCKET, SO_SNDBUF, &room, &bytes) == 0 &&
	       unread < room / 2;
}

/* Sends what may be lost. Half of the link stays for what may not. */
static int link_try_send(struct device_child *process, const struct process_letter *letter)
{
	if (process->state != DEVICE_CHILD_SERVING)
		return -EPIPE;
	return link_has_half(process) ? device_link_send(process, letter) : -EAGAIN;
}

int device_link_send_packet(struct device_child *process, const struct rnic_process_packet *packet,
			    const uint8_t *datagram)
{
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_PACKET,
		.payload = packet,
		.payload_bytes = sizeof(*packet),
		.tail = datagram,
		.tail_bytes = packet->datagram_bytes,
	};

	return link_try_send(process, &letter);
}

int device_link_send_probe(struct device_child *process, const struct rnic_process_probe *probe)
{
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_PROBE,
		.payload = probe,
		.payload_bytes = sizeof(*probe),
	};

	return link_try_send(process, &letter);
}

void device_link_note_rules(struct device_child *process)
{
	struct device_outbox *outbox = &process->outbox;

	outbox->has_rules |=
		outbox->knows_rules || rule_table_concerns(&process->common->rules, process->uid);
}

void device_link_note_facts(struct device_child *process)
{
	process->outbox.has_facts = true;
}

/*
 * Notes since when the process lacks facts: sent ones, or ones that could not be sent. It has
 * applied the facts with the sequence `applied`.
 */
static bool link_is_behind(struct device_child *process, uint64_t applied)
{
	struct device_outbox *outbox = &process->outbox;
	const uint64_t now_ns = process->common->now_ns;

	if (!outbox->has_facts && applied >= outbox->sequence) {
		outbox->behind_since_ns = UINT64_MAX;
		return false;
	}
	if (outbox->behind_since_ns == UINT64_MAX)
		outbox->behind_since_ns = now_ns;
	return now_ns - outbox->behind_since_ns < LINK_BEHIND_NS;
}

bool device_link_uses_gid(struct device_child *process, uint32_t index)
{
	/* Before the GIDs: those that the process used before it applied the facts do not count. */
	const uint64_t applied = stats_reader_facts_sequence(&process->stats);

	if (process->state != DEVICE_CHILD_SERVING)
		return false;
	if ((stats_reader_gids_used(&process->stats) & UINT32_C(1) << index) != 0)
		return true;
	return !rnic_gid_is_zero(&process->outbox.known[index]) && link_is_behind(process, applied);
}

/* --- in -------------------------------------------------------------------------------------- */

void device_link_clean_text(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* Each takes the payload of one message. False: the message breaks the protocol. */
typedef bool link_handler(struct device_child *process, struct process_receipt *receipt);

static bool link_take_ready(struct device_child *process, struct process_receipt *receipt)
{
	struct rnic_process_ready *ready = (void *)receipt->payload;

	if (process->state != DEVICE_CHILD_STARTING || ready->status > 0)
		return false;
	device_link_clean_text(ready->reason, sizeof(ready->reason));
	device_link_clean_text(ready->udp_port, sizeof(ready->udp_port));
	memcpy(process->udp_port, ready->udp_port, sizeof(process->udp_port));
	if (ready->status != 0) {
		device_child_happen(process, DEVICE_CHILD_UNFIT, ready->reason);
		return true;
	}
	device_child_happen(process, DEVICE_CHILD_READY, NULL);
	device_link_flush(process);
	return true;
}

static bool link_take_rows(struct device_child *process, struct process_receipt *receipt)
{
	const struct rnic_process_rows_reply *head = (const void *)receipt->payload;

	process->common->has_news = true;
	return pending_query_take(&process->rows, head, receipt->payload + sizeof(*head));
}

static bool link_take_order_reply(struct device_child *process, struct process_receipt *receipt)
{
	struct rnic_process_order_reply *answer = (void *)receipt->payload;

	process->common->has_news = true;
	device_link_clean_text(answer->reason, sizeof(answer->reason));
	return pending_order_take(&process->order, answer);
}

/*
 * How many packets a process may hand in: `burst` at once, and then one in each interval. The
 * addresses in a PACKET are what the process claims, so that a process which was taken over reaches
 * queue pairs and connections of others with packets from anywhere.
 *
 * Where lanes are told apart, a packet for another lane is in a batch whose packets have one source
 * port (doc/decisions/lanes-by-bpf.md): peers send to eight lanes from one. No peer sends to lane 0
 * from the port of another lane.
 */
static const struct link_rate {
	uint32_t burst;
	uint64_t interval_ns;
} link_rate_all = {500, RNIC_NS_PER_SECOND / 50000}, /* of the only process */
	link_rate_lanes = {512, RNIC_NS_PER_SECOND / 5000},
  link_rate_zero = {32, RNIC_NS_PER_SECOND / 100};

/* Whether one more packet is within the rate. */
static bool link_spend(struct device_allowance *allowance, const struct link_rate *rate,
		       uint64_t now_ns)
{
	const uint64_t whole_ns = rate->burst * rate->interval_ns;

	if (allowance->used_ns < now_ns)
		allowance->used_ns = now_ns;
	if (allowance->used_ns - now_ns + rate->interval_ns > whole_ns)
		return false;
	allowance->used_ns += rate->interval_ns;
	return true;
}

static bool link_is_for_lane_zero(const struct rnic_process_packet *packet, const uint8_t *datagram)
{
	return packet->datagram_bytes < RNIC_BTH_BYTES ||
	       rnic_lane_of(rnic_bth_dest_qpn(datagram)) == RNIC_LANE_ZERO;
}

static bool link_take_packet(struct device_child *process, struct process_receipt *receipt)
{
	const struct device_set_host *host = process->common->host;
	const struct rnic_process_packet *packet = (const void *)receipt->payload;
	uint8_t *datagram = receipt->payload + sizeof(*packet);
	struct device_allowance *allowance = &process->inbox.packets;
	const struct link_rate *rate = &link_rate_all;

	if (process->common->has_lanes)
		rate = &link_rate_lanes;
	if (process->common->has_lanes && link_is_for_lane_zero(packet, datagram)) {
		allowance = &process->inbox.lane_zero_packets;
		rate = &link_rate_zero;
	}
	if (link_spend(allowance, rate, process->common->now_ns))
		host->packet(host->context, process->lane, packet, datagram);
	else
		process->common->lost_packets++;
	return true;
}

static bool link_take_join(struct device_child *process, struct process_receipt *receipt)
{
	const struct device_set_host *host = process->common->host;
	const struct rnic_process_group *join = (const void *)receipt->payload;
	struct device_outbox *outbox = &process->outbox;
	int fd = host->open_group(host->context, &join->group);

	outbox->answer =
		(struct rnic_process_group){.group = join->group, .status = fd < 0 ? fd : 0};
	outbox->answer_fd = fd < 0 ? -1 : fd;
	outbox->has_answer = true;
	device_link_flush(process);
	return true;
}

/* The membership is the socket's, which the device process holds alone: nothing is left to do. */
static bool link_take_leave(struct device_child *process, struct process_receipt *receipt)
{
	(void)process;
	(void)receipt;
	return true;
}

static bool link_take_trouble(struct device_child *process, struct process_receipt *receipt)
{
	const struct device_set_host *host = process->common->host;
	struct rnic_process_trouble *trouble = (void *)receipt->payload;

	if (trouble->undelivered_error > 0 || rnic_cause_of(trouble->cause) == NULL)
		return false;
	device_link_clean_text(trouble->subject, sizeof(trouble->subject));
	device_link_clean_text(trouble->reason, sizeof(trouble->reason));
	host->trouble(host->context, process, trouble);
	return true;
}

/* A process that names a client that it does not hold breaks the protocol. */
static bool link_take_client_gone(struct device_child *process, struct process_receipt *receipt)
{
	const struct device_set_host *host = process->common->host;
	const struct rnic_process_client_gone *gone = (const void *)receipt->payload;

	if (!client_ledger_remove(&process->held, gone->client_id))
		return false;
	process->common->has_news = true; /* there is room for one more */
	host->client_gone(host->context, process, gone->client_id);
	return true;
}

/* A process speaks for the queue pairs of its own lane alone. */
static bool link_take_probed(struct device_child *process, struct process_receipt *receipt)
{
	const struct device_set_host *host = process->common->host;
	const struct rnic_process_probe *probe = (const void *)receipt->payload;

	if (rnic_lane_of(probe->qpn) != process->lane || probe->status > 0)
		return false;
	host->probed(host->context, probe);
	return true;
}

static link_handler *const link_handlers[RNIC_PROCESS_OPERATION_COUNT] = {
	[RNIC_PROCESS_READY] = link_take_ready,
	[RNIC_PROCESS_ROWS_REPLY] = link_take_rows,
	[RNIC_PROCESS_PACKET] = link_take_packet,
	[RNIC_PROCESS_JOIN] = link_take_join,
	[RNIC_PROCESS_LEAVE] = link_take_leave,
	[RNIC_PROCESS_TROUBLE] = link_take_trouble,
	[RNIC_PROCESS_CLIENT_GONE] = link_take_client_gone,
	[RNIC_PROCESS_PROBED] = link_take_probed,
	[RNIC_PROCESS_ORDER_REPLY] = link_take_order_reply,
};

static bool link_take(struct device_child *process, struct process_receipt *receipt)
{
	const uint16_t operation = receipt->header.operation;

	if (link_handlers[operation] == NULL ||
	    (process->state == DEVICE_CHILD_STARTING && operation != RNIC_PROCESS_READY))
		return false;
	return link_handlers[operation](process, receipt);
}

/* Whether the process may send now; else the link is not watched until device_link_flush(). */
static bool link_may_receive(struct device_child *process)
{
	struct device_inbox *inbox = &process->inbox;
	const uint64_t now_ns = process->common->now_ns;

	if (now_ns - inbox->window_ns >= LINK_WINDOW_NS) {
		inbox->window_ns = now_ns;
		inbox->count = 0;
	}
	return inbox->count <
		       (process->common->has_lanes ? LINK_WINDOW_OF_LANE : LINK_WINDOW_MESSAGES) &&
	       !process->outbox.has_answer;
}

static void link_mute(struct device_child *process, bool is_muted)
{
	struct epoll_event event = {.events = is_muted ? 0 : EPOLLIN, .data.ptr = process};

	if (process->inbox.is_muted == is_muted || process->link_fd < 0)
		return;
	process->inbox.is_muted = is_muted;
	epoll_ctl(process->common->epoll_fd, EPOLL_CTL_MOD, process->link_fd, &event);
}

uint64_t device_link_next_deadline_ns(const struct device_child *process)
{
	return process->inbox.is_muted && !process->outbox.has_answer
		       ? process->inbox.window_ns + LINK_WINDOW_NS
		       : UINT64_MAX;
}

void device_link_receive(struct device_child *process, bool is_hung_up)
{
	struct process_receipt receipt;

	if (is_hung_up)
		link_forget_answer(process);
	for (uint32_t i = 0; i < LINK_TURN_MESSAGES && device_child_is_alive(process); i++) {
		int result;

		if (!link_may_receive(process)) {
			link_mute(process, true);
			return;
		}
		result = process_link_receive_plain(process->link_fd, &receipt);
		if (result == -EAGAIN)
			break;
		process->inbox.count++;
		if (result == 0 && !link_take(process, &receipt))
			result = -EPROTO;
		if (result == -EPROTO)
			device_child_happen(process, DEVICE_CHILD_VIOLATION,
					    "the device process broke the protocol of its link");
		else if (result != 0)
			device_child_happen(process, DEVICE_CHILD_HANG_UP, NULL);
	}
	link_mute(process, false);
}

/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/netlink/nldev_answer.h"

#include "lib/dropin/view/netlink/nldev_fill.h"
#include "proto/base/counter_aliases.h"

#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <stddef.h>
#include <string.h>

#define ANSWER_PAYLOAD_MAX (NLDEV_MESSAGE_BYTES / 2) /* of a request that an error brings back */

struct answer {
	const struct nldev_peer *peer;
	const struct nldev_request *request;
	const uint8_t *asked; /* the request's message; NULL: of a dump that goes on */
	struct nldev_writer writer;
	uint32_t place; /* of the device in peer->devices */
	struct rnic_show_device device;
	_Alignas(8) uint8_t message[NLDEV_MESSAGE_BYTES];
};

/* ---- messages ---- */

static void answer_begin(struct answer *answer, uint16_t type, uint16_t flags)
{
	nldev_begin(&answer->writer, type, flags, answer->request->head.nlmsg_seq,
		    answer->peer->port_id);
}

static int answer_send(struct answer *answer)
{
	nldev_end(&answer->writer);
	return answer->peer->send(answer->peer->context, answer->message, answer->writer.used);
}

/*
 * Sends an error, or with 0 an acknowledgment. As from the kernel, an error brings back the whole
 * request, and a reason only to a program that has asked for reasons. A request that would leave no
 * room for the reason is left out, as if the program had asked for short errors.
 */
static int answer_status(struct answer *answer, int error, const char *reason)
{
	const struct nldev_peer *peer = answer->peer;
	const struct nlmsgerr status = {.error = error, .msg = answer->request->head};
	const size_t payload_bytes = status.msg.nlmsg_len - NLMSG_HDRLEN;
	const bool is_short =
		error == 0 || peer->wants_short_errors || payload_bytes > ANSWER_PAYLOAD_MAX;
	const bool has_reason = reason != NULL && peer->wants_reasons;

	answer_begin(answer, NLMSG_ERROR,
		     (uint16_t)((is_short ? NLM_F_CAPPED : 0) | (has_reason ? NLM_F_ACK_TLVS : 0)));
	nldev_put_raw(&answer->writer, &status, sizeof(status));
	if (!is_short)
		nldev_put_raw(&answer->writer, answer->asked + NLMSG_HDRLEN, payload_bytes);
	if (has_reason)
		nldev_put_text(&answer->writer, NLMSGERR_ATTR_MSG, reason, strlen(reason));
	return answer_send(answer);
}

/* Ends a dump, with 0 or the error that has ended it. */
static int answer_done(struct answer *answer, int error)
{
	answer_begin(answer, NLMSG_DONE, NLM_F_MULTI);
	nldev_put_raw(&answer->writer, &error, sizeof(error));
	return answer_send(answer);
}

/* Begins a message about the device. */
static void answer_begin_device(struct answer *answer)
{
	answer_begin(answer, answer->request->head.nlmsg_type,
		     answer->request->is_dump ? NLM_F_MULTI : 0);
	nldev_fill_name(&answer->writer, &answer->peer->devices->devices[answer->place]);
}

/* ---- the device ---- */

static int answer_read(const struct answer *answer, uint32_t kind, struct admin_page *page)
{
	return answer->peer->read(answer->peer->context, answer->place, kind, page);
}

static int answer_read_device(struct answer *answer)
{
	struct admin_page page = {.cursor = 0};
	int error = answer_read(answer, RNIC_SHOW_DEVICE, &page);

	if (error == 0 && page.count == 0)
		error = -ENODEV;
	if (error == 0)
		admin_page_row(&page, 0, &answer->device, sizeof(answer->device));
	return error;
}

/* Counts the rows of a kind that the device's row does not count. */
static int answer_count(const struct answer *answer, const struct nldev_objects *objects,
			uint64_t *count)
{
	struct admin_page page = {.cursor = 0};
	int error;

	*count = 0;
	do {
		error = answer_read(answer, objects->kind, &page);
		*count += error == 0 ? page.count : 0;
	} while (error == 0 && page.cursor != 0);
	return error;
}

static int answer_count_of(const struct answer *answer, const struct nldev_objects *objects,
			   uint64_t *count)
{
	switch (objects->kind) {
	case RNIC_SHOW_PDS:
		*count = answer->device.pd_count;
		return 0;
	case RNIC_SHOW_CQS:
		*count = answer->device.cq_count;
		return 0;
	case RNIC_SHOW_QPS:
		*count = answer->device.qp_count;
		return 0;
	case RNIC_SHOW_MRS:
		*count = answer->device.mr_count;
		return 0;
	case RNIC_SHOW_SRQS:
		*count = answer->device.srq_count;
		return 0;
	default:
		return answer_count(answer, objects, count);
	}
}

static int answer_fill_resources(struct answer *answer)
{
	const struct nldev_objects *objects;
	size_t table = nldev_nest(&answer->writer, RDMA_NLDEV_ATTR_RES_SUMMARY);
	uint64_t count;

	for (size_t i = 0; (objects = nldev_objects_at(i)) != NULL; i++) {
		int error = answer_count_of(answer, objects, &count);

		if (error != 0)
			return error;
		/* In the kernel's order (enum rdma_restrack_type, Linux 6.1 to 7.2). */
		if (objects->kind == RNIC_SHOW_SRQS)
			nldev_fill_summary(&answer->writer, "ctx", answer->device.client_count);
		nldev_fill_summary(&answer->writer, objects->summary, count);
	}
	nldev_unnest(&answer->writer, table);
	return 0;
}

/* Answers a request for facts of the device, which fit one message. */
static int answer_facts(struct answer *answer)
{
	int error = 0;

	answer_begin_device(answer);
	if (answer->request->command == RDMA_NLDEV_CMD_GET)
		nldev_fill_device(&answer->writer, &answer->device);
	else if (answer->request->command == RDMA_NLDEV_CMD_PORT_GET)
		nldev_fill_port(&answer->writer, &answer->device);
	else
		error = answer_fill_resources(answer);
	return error != 0 ? error : answer_send(answer);
}

/* ---- counters ---- */

static size_t answer_begin_counters(struct answer *answer)
{
	answer_begin_device(answer);
	nldev_put_u32(&answer->writer, RDMA_NLDEV_ATTR_PORT_INDEX, NLDEV_PORT_INDEX);
	return nldev_nest(&answer->writer, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
}

/* A counter that does not fit the message begins another one, with another table. */
static int answer_put_counter(struct answer *answer, const struct rnic_show_counter *counter,
			      size_t *table)
{
	const size_t before = answer->writer.used;
	int error;

	nldev_fill_counter(&answer->writer, counter);
	if (!answer->writer.is_full)
		return 0;
	answer->writer.used = before;
	answer->writer.is_full = false;
	nldev_unnest(&answer->writer, *table);
	error = answer_send(answer);
	*table = answer_begin_counters(answer);
	nldev_fill_counter(&answer->writer, counter);
	return error;
}

static int answer_put_aliases(struct answer *answer, const struct rnic_alias_sums *sums,
			      size_t *table)
{
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < RNIC_COUNTER_ALIASES; i++) {
		struct rnic_show_counter counter = {.value = sums->values[i]};

		if (!sums->is_there[i])
			continue;
		strncpy(counter.name, rnic_counter_alias(i)->name, sizeof(counter.name) - 1);
		error = answer_put_counter(answer, &counter, table);
	}
	return error;
}

static int answer_counters(struct answer *answer)
{
	struct admin_page page = {.cursor = 0};
	struct rnic_alias_sums sums = {.values = {0}};
	size_t table = answer_begin_counters(answer);
	int error;

	do {
		error = answer_read(answer, RNIC_SHOW_COUNTERS, &page);
		for (size_t i = 0; error == 0 && i < page.count; i++) {
			struct rnic_show_counter counter;

			admin_page_row(&page, i, &counter, sizeof(counter));
			counter.name[sizeof(counter.name) - 1] = '\0';
			rnic_alias_sums_add(&sums, counter.name, counter.value);
			error = answer_put_counter(answer, &counter, &table);
		}
	} while (error == 0 && page.cursor != 0);
	if (error == 0)
		error = answer_put_aliases(answer, &sums, &table);
	nldev_unnest(&answer->writer, table);
	return error != 0 ? error : answer_send(answer);
}

/* ---- objects ---- */

static uint32_t answer_client_of(const struct admin_page *page, size_t index)
{
	uint32_t client_id;

	admin_page_row(page, index, &client_id, sizeof(client_id));
	return client_id;
}

/* Looks up the processes of the page's rows: 0 where the client has gone. */
static int answer_find_pids(const struct answer *answer, const struct admin_page *page,
			    uint32_t pids[ADMIN_PAGE_ROWS_MAX])
{
	struct admin_page clients = {.cursor = 0};
	int error;

	memset(pids, 0, ADMIN_PAGE_ROWS_MAX * sizeof(pids[0]));
	do {
		error = answer_read(answer, RNIC_SHOW_CLIENTS, &clients);
		for (size_t i = 0; error == 0 && i < clients.count; i++) {
			struct rnic_show_client client;

			admin_page_row(&clients, i, &client, sizeof(client));
			for (size_t j = 0; j < page->count; j++)
				if (answer_client_of(page, j) == client.client_id)
					pids[j] = client.pid;
		}
	} while (error == 0 && clients.cursor != 0);
	return error;
}

static void answer_fill_entry(struct answer *answer, const struct nldev_objects *objects,
			      const union nldev_row *row, uint32_t pid)
{
	objects->fill(&answer->writer, row);
	nldev_fill_process(&answer->writer, row->client_id, pid);
}

/* Sends the page's rows, in as many messages as they need. */
static int answer_send_rows(struct answer *answer, const struct nldev_objects *objects,
			    const struct admin_page *page, const uint32_t *pids)
{
	size_t next = 0;

	while (next < page->count) {
		const size_t first = next;
		size_t table;
		int error;

		answer_begin_device(answer);
		table = nldev_nest(&answer->writer, objects->table);
		for (; next < page->count; next++) {
			const size_t before = answer->writer.used;
			union nldev_row row;

			admin_page_row(page, next, &row, objects->row_bytes);
			nldev_nest(&answer->writer, objects->entry);
			answer_fill_entry(answer, objects, &row, pids[next]);
			nldev_unnest(&answer->writer, before);
			if (answer->writer.is_full) {
				answer->writer.used = before;
				answer->writer.is_full = false;
				break;
			}
		}
		if (next == first)
			return -EMSGSIZE;
		nldev_unnest(&answer->writer, table);
		error = answer_send(answer);
		if (error != 0)
			return error;
	}
	return 0;
}

/* Sends a page of a dump. Returns a cursor when more pages follow. */
static int64_t answer_page(struct answer *answer, const struct nldev_objects *objects,
			   uint32_t cursor)
{
	struct admin_page page = {.cursor = cursor};
	uint32_t pids[ADMIN_PAGE_ROWS_MAX];
	int error = answer_read(answer, objects->kind, &page);

	if (error == 0 && page.count > 0)
		error = answer_find_pids(answer, &page, pids);
	if (error == 0)
		error = answer_send_rows(answer, objects, &page, pids);
	if (error != 0)
		return error;
	return page.cursor != 0 ? (int64_t)page.cursor : answer_done(answer, 0);
}

/* Sends the object that the request names; -ENOENT: the program may see none. */
static int answer_object(struct answer *answer, const struct nldev_objects *objects)
{
	struct admin_page page = {.cursor = 0};
	uint32_t pids[ADMIN_PAGE_ROWS_MAX];
	int error;

	do {
		error = answer_read(answer, objects->kind, &page);
		for (size_t i = 0; error == 0 && i < page.count; i++) {
			union nldev_row row;

			admin_page_row(&page, i, &row, objects->row_bytes);
			if (objects->number(&row) != answer->request->object)
				continue;
			error = answer_find_pids(answer, &page, pids);
			if (error != 0)
				return error;
			answer_begin_device(answer);
			answer_fill_entry(answer, objects, &row, pids[i]);
			return answer_send(answer);
		}
	} while (error == 0 && page.cursor != 0);
	return error != 0 ? error : -ENOENT;
}

/* ---- requests ---- */

static bool answer_changes_devices(uint16_t command)
{
	return command == RDMA_NLDEV_CMD_SET || command == RDMA_NLDEV_CMD_NEWLINK ||
	       command == RDMA_NLDEV_CMD_DELLINK || command == RDMA_NLDEV_CMD_SYS_SET ||
	       command == RDMA_NLDEV_CMD_STAT_SET || command == RDMA_NLDEV_CMD_STAT_DEL;
}

static bool answer_is_facts(uint16_t command)
{
	return command == RDMA_NLDEV_CMD_GET || command == RDMA_NLDEV_CMD_PORT_GET ||
	       command == RDMA_NLDEV_CMD_RES_GET;
}

/* Whether there is something of the kind that the command asks for. */
static bool answer_is_known(uint16_t command)
{
	return answer_is_facts(command) || nldev_objects_of(command) != NULL ||
	       command == RDMA_NLDEV_CMD_STAT_GET || command == RDMA_NLDEV_CMD_SYS_GET;
}

/* What is true of all devices, and of none in particular. */
static int answer_system(struct answer *answer)
{
	answer_begin(answer, answer->request->head.nlmsg_type, 0);
	nldev_fill_system(&answer->writer);
	return answer_send(answer);
}

/* The request's device, which it names by the index. */
static bool answer_find_device(struct answer *answer)
{
	const struct rnic_device_list *list = answer->peer->devices;

	for (answer->place = 0; answer->place < list->count; answer->place++)
		if (list->devices[answer->place].index == answer->request->device)
			return true;
	return false;
}

/* As the kernel does: a request must name what it asks for, and that must be there. */
static int answer_check(struct answer *answer)
{
	const struct nldev_request *request = answer->request;
	const bool is_of_port = request->command == RDMA_NLDEV_CMD_PORT_GET ||
				request->command == RDMA_NLDEV_CMD_STAT_GET;

	if (request->command == RDMA_NLDEV_CMD_SYS_GET)
		return request->is_dump ? -EINVAL : 0;
	if (request->has_port && request->port != NLDEV_PORT_INDEX)
		return -EINVAL;
	if (request->has_device && !answer_find_device(answer))
		return -EINVAL;
	if (request->is_dump)
		return request->has_device || request->command == RDMA_NLDEV_CMD_GET ||
				       request->command == RDMA_NLDEV_CMD_RES_GET ||
				       request->command == RDMA_NLDEV_CMD_STAT_GET
			       ? 0
			       : -EINVAL;
	if (!request->has_device || (is_of_port && !request->has_port))
		return -EINVAL;
	return nldev_objects_of(request->command) != NULL && !request->has_object ? -EINVAL : 0;
}

/* Sends a message for each device, or for the one that the request names. */
static int answer_dump_facts(struct answer *answer)
{
	const bool is_of_one = answer->request->has_device;
	const uint32_t end = is_of_one ? answer->place + 1 : answer->peer->devices->count;
	int error = 0;

	for (; error == 0 && answer->place < end; answer->place++) {
		error = answer_read_device(answer);
		if (error == 0)
			error = answer_facts(answer);
		/* Of several devices, one may be gone. */
		if (error == -ENODEV && !is_of_one)
			error = 0;
	}
	return error != 0 ? error : answer_done(answer, 0);
}

/* Answers a request that is right. */
static int64_t answer_request(struct answer *answer)
{
	const struct nldev_request *request = answer->request;
	const struct nldev_objects *objects = nldev_objects_of(request->command);
	int error;

	if (request->command == RDMA_NLDEV_CMD_SYS_GET)
		return answer_system(answer);
	if (objects != NULL)
		return request->is_dump ? answer_page(answer, objects, 0)
					: answer_object(answer, objects);
	if (answer_is_facts(request->command) && request->is_dump)
		return answer_dump_facts(answer);
	if (answer_is_facts(request->command)) {
		error = answer_read_device(answer);
		return error != 0 ? error : answer_facts(answer);
	}
	/* A dump is of counters that a program has bound to queue pairs or regions: there are none.
	 */
	if (request->is_dump)
		return request->has_resource ? answer_done(answer, 0) : -EINVAL;
	return request->has_resource ? -EOPNOTSUPP : answer_counters(answer);
}

static const char *answer_reason(const struct nldev_request *request, int64_t error)
{
	if (answer_changes_devices(request->command))
		return "rnicd makes the device of rnic-run, and nothing else changes it: see "
		       "rnicd(8)";
	if (error == -EOPNOTSUPP)
		return "the device of rnic-run has nothing of this kind: see rnic-run(1)";
	return NULL;
}

/* After -ENOBUFS there is no room for a message about it either. */
static int64_t answer_end(struct answer *answer, int64_t result)
{
	const struct nldev_request *request = answer->request;

	if (result > 0 || result == -ENOBUFS)
		return result;
	if (result < 0)
		return answer_status(answer, (int)result, answer_reason(request, result));
	return request->wants_ack && !request->is_dump ? answer_status(answer, 0, NULL) : 0;
}

static void answer_init(struct answer *answer, const struct nldev_peer *peer,
			const struct nldev_request *request, const uint8_t *asked)
{
	answer->peer = peer;
	answer->request = request;
	answer->asked = asked;
	answer->place = 0;
	answer->writer = (struct nldev_writer){
		.bytes = answer->message,
		.room = sizeof(answer->message),
	};
}

int64_t nldev_answer(const struct nldev_peer *peer, const struct nldev_request *request,
		     const uint8_t *asked, int error)
{
	struct answer answer;
	int64_t result = error;

	answer_init(&answer, peer, request, asked);
	/* The kernel acknowledges control messages, and what is no request, and answers nothing. */
	if (!request->is_request)
		return request->wants_ack ? answer_status(&answer, 0, NULL) : 0;
	if (!answer_is_known(request->command))
		result = -EOPNOTSUPP;
	if (result == 0)
		result = answer_check(&answer);
	if (result == 0)
		result = answer_request(&answer);
	return answer_end(&answer, result);
}

int64_t nldev_answer_rest(const struct nldev_peer *peer, const struct nldev_request *request,
			  uint32_t cursor)
{
	const struct nldev_objects *objects = nldev_objects_of(request->command);
	struct answer answer;
	int64_t result;

	answer_init(&answer, peer, request, NULL);
	result = objects == NULL ? -EINVAL : (answer_find_device(&answer) ? 0 : -ENODEV);
	if (result == 0)
		result = answer_page(&answer, objects, cursor);
	return result >= 0 || result == -ENOBUFS ? result : answer_done(&answer, (int)result);
}

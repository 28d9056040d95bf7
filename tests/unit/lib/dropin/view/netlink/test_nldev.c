/* SPDX-License-Identifier: MIT */
/*
 * Requests of programs, right and crafted, and the answers: by a device of this test, whose rows
 * come a few at a time. The writer at the end of its room.
 */
#include "lib/dropin/view/netlink/nldev_answer.h"
#include "lib/dropin/view/netlink/nldev_fill.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#define PORT_ID	  4711
#define SEQUENCE  77
#define QPS	  100
#define PAGE_ROWS 12
#define PDS	  300 /* in one page, but not in one message */
#define FIRST_PD  9000
#define SENT_MAX  256

/* ---- a device ---- */

struct fake {
	uint8_t sent[SENT_MAX][NLDEV_MESSAGE_BYTES];
	size_t bytes[SENT_MAX];
	unsigned count;
	unsigned room;	/* messages that the socket takes */
	uint32_t gone;	/* the device that has gone */
	int read_error; /* of all listings but the device's */
	unsigned reads;
	int growth; /* bytes */
};

static struct fake fake;

/* Each row is longer than this reader knows, or shorter, by fake.growth. */
static void fake_add(struct admin_page *page, const void *row, size_t bytes)
{
	const size_t longer = (size_t)((int64_t)bytes + fake.growth);
	uint8_t *place = page->rows + page->count++ * longer;

	page->row_bytes = (uint32_t)longer;
	assert_true(place + longer <= page->rows + sizeof(page->rows));
	memset(place, 0xee, longer);
	memcpy(place, row, longer < bytes ? longer : bytes);
}

static void fake_list_qps(struct admin_page *page)
{
	const uint32_t first = page->cursor;

	for (uint32_t i = first; i < first + PAGE_ROWS && i < QPS; i++) {
		const struct rnic_show_qp row = {
			.client_id = i % 2 == 0 ? 5 : 6,
			.qpn = 1000 + i,
			.type = RNIC_QP_TYPE_RC,
			.state = RNIC_QP_STATE_RTS,
			.peer_qpn = 2000 + i,
		};

		fake_add(page, &row, sizeof(row));
	}
	page->cursor = first + PAGE_ROWS < QPS ? first + PAGE_ROWS : 0;
}

static int fake_read(void *context, uint32_t place, uint32_t kind, struct admin_page *page)
{
	static const struct rnic_show_device device = {
		.device = {.name = "rnic7", .netdev = "eth3", .firmware = "1.2", .netdev_index = 9},
		.port = {.state = RNIC_PORT_ACTIVE},
		.qp_count = QPS,
	};
	static const struct rnic_show_client clients[] = {{.client_id = 5, .pid = 500}};

	(void)context;
	assert_true(place < 2);
	if (place == fake.gone)
		return -ENODEV;
	page->count = 0;
	fake.reads++;
	if (kind != RNIC_SHOW_DEVICE && fake.read_error != 0)
		return fake.read_error;
	if (kind == RNIC_SHOW_QPS) {
		fake_list_qps(page);
		return 0;
	}
	page->cursor = 0;
	if (kind == RNIC_SHOW_DEVICE)
		fake_add(page, &device, sizeof(device));
	if (kind == RNIC_SHOW_CLIENTS)
		fake_add(page, &clients[0], sizeof(clients[0]));
	if (kind == RNIC_SHOW_PDS)
		for (uint32_t i = 0; i < PDS; i++) {
			struct rnic_show_pd row = {.client_id = 5, .number = FIRST_PD + i};

			fake_add(page, &row, sizeof(row));
		}
	if (kind == RNIC_SHOW_COUNTERS)
		for (uint64_t i = 0; i < 100; i++) {
			struct rnic_show_counter row = {.name = "a_counter_with_a_name",
							.value = i};

			fake_add(page, &row, sizeof(row));
		}
	return 0;
}

static int fake_send(void *context, const void *message, size_t bytes)
{
	(void)context;
	assert_in_range(bytes, NLMSG_HDRLEN, NLDEV_MESSAGE_BYTES);
	if (fake.count == fake.room)
		return -ENOBUFS;
	memcpy(fake.sent[fake.count], message, bytes);
	fake.bytes[fake.count++] = bytes;
	return 0;
}

/* The second device has a name that this program alone has for it. */
static struct rnic_listed_device devices[] = {
	{.index = 0, .attributes = {.name = "rnic7"}},
	{.index = 3, .attributes = {.name = "rnic3"}},
};

static const struct rnic_device_list device_list = {.devices = devices, .count = 2};

static struct nldev_peer peer = {
	.read = fake_read,
	.devices = &device_list,
	.send = fake_send,
	.port_id = PORT_ID,
};

static int set_up(void **state)
{
	(void)state;
	fake.count = 0;
	fake.reads = 0;
	fake.gone = UINT32_MAX;
	fake.read_error = 0;
	fake.growth = 0;
	fake.room = SENT_MAX;
	peer.wants_short_errors = false;
	peer.wants_reasons = true;
	return 0;
}

/* ---- requests ---- */

struct query {
	_Alignas(4) uint8_t bytes[256];
	struct nldev_writer writer;
};

static void query_begin(struct query *query, uint16_t command, uint16_t flags)
{
	query->writer = (struct nldev_writer){.bytes = query->bytes, .room = sizeof(query->bytes)};
	nldev_begin(&query->writer, (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		    NLM_F_REQUEST | flags, SEQUENCE, 0);
}

static void query_begin_port(struct query *query, uint16_t command, uint16_t flags)
{
	query_begin(query, command, flags);
	nldev_put_u32(&query->writer, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	nldev_put_u32(&query->writer, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
}

/* Sends the query, and goes on with a dump. */
static void query_ask(struct query *query)
{
	struct nldev_request request;
	int64_t result;
	int error;

	nldev_end(&query->writer);
	assert_int_equal(nldev_read_request(query->bytes, query->writer.used, &request, &error),
			 query->writer.used);
	result = nldev_answer(&peer, &request, query->bytes, error);
	while (result > 0)
		result = nldev_answer_rest(&peer, &request, (uint32_t)result);
	assert_int_equal(result, 0);
}

/* ---- answers ---- */

static struct nlmsghdr sent_head(unsigned index)
{
	struct nlmsghdr head;

	assert_true(index < fake.count);
	memcpy(&head, fake.sent[index], sizeof(head));
	assert_int_equal(head.nlmsg_len, fake.bytes[index]);
	assert_int_equal(head.nlmsg_seq, SEQUENCE);
	assert_int_equal(head.nlmsg_pid, PORT_ID);
	return head;
}

/* The attribute of a type among `bytes`: its payload; NULL: none. Every length is right. */
static const uint8_t *find_attribute(const uint8_t *bytes, size_t length, uint16_t type,
				     size_t *found_bytes)
{
	const uint8_t *found = NULL;

	*found_bytes = 0;
	while (length >= sizeof(struct nlattr)) {
		struct nlattr head;

		memcpy(&head, bytes, sizeof(head));
		assert_in_range(head.nla_len, NLA_HDRLEN, length);
		if ((head.nla_type & NLA_TYPE_MASK) == type && found == NULL) {
			found = bytes + NLA_HDRLEN;
			*found_bytes = head.nla_len - (size_t)NLA_HDRLEN;
		}
		bytes += NLA_ALIGN(head.nla_len);
		length -= NLA_ALIGN(head.nla_len);
	}
	assert_int_equal(length, 0);
	return found;
}

static const uint8_t *sent_attribute(unsigned index, uint16_t type, size_t *bytes)
{
	return find_attribute(fake.sent[index] + NLMSG_HDRLEN, fake.bytes[index] - NLMSG_HDRLEN,
			      type, bytes);
}

static uint32_t payload_u32(const uint8_t *payload, size_t bytes)
{
	uint32_t value;

	assert_non_null(payload);
	assert_int_equal(bytes, sizeof(value));
	memcpy(&value, payload, sizeof(value));
	return value;
}

static uint32_t sent_u32(unsigned index, uint16_t type)
{
	size_t bytes;
	const uint8_t *found = sent_attribute(index, type, &bytes);

	return payload_u32(found, bytes);
}

static const char *sent_text(unsigned index, uint16_t type)
{
	size_t bytes;

	return (const char *)sent_attribute(index, type, &bytes);
}

/* One object of a dump. */
struct entry {
	const uint8_t *attributes;
	size_t bytes;
};

/* Takes the first entry off the list of `left` bytes; false: the list is empty. */
static bool next_entry(const uint8_t **list, size_t *left, struct entry *entry)
{
	struct nlattr head;

	if (*left == 0)
		return false;
	memcpy(&head, *list, sizeof(head));
	entry->attributes = *list + NLA_HDRLEN;
	entry->bytes = head.nla_len - (size_t)NLA_HDRLEN;
	*list += head.nla_len;
	*left -= head.nla_len;
	return true;
}

static uint32_t entry_u32(const struct entry *entry, uint16_t type)
{
	size_t bytes;
	const uint8_t *found = find_attribute(entry->attributes, entry->bytes, type, &bytes);

	return payload_u32(found, bytes);
}

static int sent_error(unsigned index)
{
	struct nlmsgerr status;

	assert_int_equal(sent_head(index).nlmsg_type, NLMSG_ERROR);
	assert_true(fake.bytes[index] >= NLMSG_HDRLEN + sizeof(status));
	memcpy(&status, fake.sent[index] + NLMSG_HDRLEN, sizeof(status));
	return status.error;
}

/* ---- tests ---- */

static void test_port(void **state)
{
	struct query query;
	size_t bytes;

	(void)state;
	query_begin_port(&query, RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK);
	query_ask(&query);
	assert_int_equal(fake.count, 2);
	assert_int_equal(sent_head(0).nlmsg_flags, 0);
	assert_string_equal(sent_text(0, RDMA_NLDEV_ATTR_DEV_NAME), "rnic7");
	assert_string_equal(sent_text(0, RDMA_NLDEV_ATTR_NDEV_NAME), "eth3");
	assert_int_equal(sent_u32(0, RDMA_NLDEV_ATTR_NDEV_INDEX), 9);
	assert_int_equal(*sent_attribute(0, RDMA_NLDEV_ATTR_PORT_STATE, &bytes), 4);
	assert_int_equal(sent_error(1), 0);
}

/* A dump names all devices that there are, and a request can name any. */
static void test_devices(void **state)
{
	struct query query;

	(void)state;
	query_begin(&query, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	query_ask(&query);
	assert_int_equal(fake.count, 3);
	assert_int_equal(sent_u32(0, RDMA_NLDEV_ATTR_DEV_INDEX), 0);
	assert_int_equal(sent_u32(1, RDMA_NLDEV_ATTR_DEV_INDEX), 3);
	assert_string_equal(sent_text(1, RDMA_NLDEV_ATTR_DEV_NAME), "rnic3");
	assert_int_equal(sent_head(2).nlmsg_type, NLMSG_DONE);
	set_up(NULL);
	fake.gone = 0;
	query_ask(&query);
	assert_int_equal(fake.count, 2);
	assert_int_equal(sent_u32(0, RDMA_NLDEV_ATTR_DEV_INDEX), 3);
	set_up(NULL);
	query_begin(&query, RDMA_NLDEV_CMD_GET, NLM_F_ACK);
	nldev_put_u32(&query.writer, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	query_ask(&query);
	assert_string_equal(sent_text(0, RDMA_NLDEV_ATTR_DEV_NAME), "rnic3");
	assert_int_equal(sent_error(1), 0);
}

/* All queue pairs once, in messages of a bounded size, and then the end. */
static void check_dump(void)
{
	struct query query;
	uint32_t next = 0;

	query_begin_port(&query, RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP | NLM_F_ACK);
	query_ask(&query);
	for (unsigned i = 0; i + 1 < fake.count; i++) {
		size_t left, bytes;
		const uint8_t *list = sent_attribute(i, RDMA_NLDEV_ATTR_RES_QP, &left);
		struct entry entry;

		assert_int_equal(sent_head(i).nlmsg_flags, NLM_F_MULTI);
		assert_non_null(list);
		for (; next_entry(&list, &left, &entry); next++) {
			assert_int_equal(entry_u32(&entry, RDMA_NLDEV_ATTR_RES_LQPN), 1000 + next);
			/* The second client has gone: then the object is the daemon's. */
			if (next % 2 == 0)
				assert_int_equal(entry_u32(&entry, RDMA_NLDEV_ATTR_RES_PID), 500);
			else
				assert_non_null(find_attribute(entry.attributes, entry.bytes,
							       RDMA_NLDEV_ATTR_RES_KERN_NAME,
							       &bytes));
		}
	}
	assert_int_equal(next, QPS);
	assert_int_equal(sent_head(fake.count - 1).nlmsg_type, NLMSG_DONE);
}

static void test_dump(void **state)
{
	(void)state;
	check_dump();
}

/* A daemon of another version has longer rows, or shorter ones. */
static void test_rows_of_another_size(void **state)
{
	static const int growths[] = {24, 8, -8};

	for (size_t i = 0; i < RNIC_COUNT_OF(growths); i++) {
		set_up(state);
		fake.growth = growths[i];
		check_dump();
	}
}

static void test_page_of_many_messages(void **state)
{
	struct query query;
	unsigned entries = 0;

	(void)state;
	query_begin_port(&query, RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP);
	query_ask(&query);
	assert_true(fake.count > 3);
	for (unsigned i = 0; i + 1 < fake.count; i++) {
		size_t left;
		const uint8_t *list = sent_attribute(i, RDMA_NLDEV_ATTR_RES_PD, &left);
		struct entry entry;

		assert_non_null(list);
		for (; next_entry(&list, &left, &entry); entries++)
			assert_int_equal(entry_u32(&entry, RDMA_NLDEV_ATTR_RES_PDN),
					 FIRST_PD + entries);
	}
	assert_int_equal(entries, PDS);
	assert_int_equal(sent_head(fake.count - 1).nlmsg_type, NLMSG_DONE);
}

static void test_one_object(void **state)
{
	struct query query;

	(void)state;
	query_begin_port(&query, RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_ACK);
	nldev_put_u32(&query.writer, RDMA_NLDEV_ATTR_RES_LQPN, 1042);
	query_ask(&query);
	assert_int_equal(fake.count, 2);
	assert_int_equal(sent_u32(0, RDMA_NLDEV_ATTR_RES_RQPN), 2042);
	set_up(NULL);
	query_begin_port(&query, RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_ACK);
	nldev_put_u32(&query.writer, RDMA_NLDEV_ATTR_RES_LQPN, 3);
	query_ask(&query);
	assert_int_equal(fake.count, 1);
	assert_int_equal(sent_error(0), -ENOENT);
}

static void test_counters_of_two_messages(void **state)
{
	struct query query;
	uint64_t next = 0;

	(void)state;
	query_begin_port(&query, RDMA_NLDEV_CMD_STAT_GET, NLM_F_ACK);
	query_ask(&query);
	assert_true(fake.count > 2);
	for (unsigned i = 0; i + 1 < fake.count; i++) {
		size_t left, bytes;
		const uint8_t *entry = sent_attribute(i, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, &left);

		for (; left > 0; next++) {
			struct nlattr head;
			uint64_t value;

			memcpy(&head, entry, sizeof(head));
			memcpy(&value,
			       find_attribute(entry + NLA_HDRLEN, head.nla_len - NLA_HDRLEN,
					      RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, &bytes),
			       sizeof(value));
			assert_int_equal(value, next);
			entry += head.nla_len;
			left -= head.nla_len;
		}
	}
	assert_int_equal(next, 100);
	assert_int_equal(sent_error(fake.count - 1), 0);
}

static void test_refusals(void **state)
{
	static const struct {
		uint16_t command;
		uint16_t flags;
		bool names_device;
		uint32_t device;
		int error;
		bool has_reason;
	} rows[] = {
		{RDMA_NLDEV_CMD_SET, 0, true, 0, -EOPNOTSUPP, true},
		{RDMA_NLDEV_CMD_NEWLINK, 0, false, 0, -EOPNOTSUPP, true},
		{RDMA_NLDEV_CMD_SYS_GET, NLM_F_DUMP, false, 0, -EINVAL, false},
		{RDMA_NLDEV_CMD_RES_CTX_GET, NLM_F_DUMP, true, 0, -EOPNOTSUPP, true},
		{0x3ff, 0, false, 0, -EOPNOTSUPP, true},
		{RDMA_NLDEV_CMD_GET, 0, false, 0, -EINVAL, false},
		{RDMA_NLDEV_CMD_GET, 0, true, 1, -EINVAL, false},
		{RDMA_NLDEV_CMD_PORT_GET, 0, true, 0, -EINVAL, false},
		{RDMA_NLDEV_CMD_RES_QP_GET, 0, true, 0, -EINVAL, false},
		{RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, false, 0, -EINVAL, false},
		{RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP, true, 0, -EINVAL, false},
	};
	struct query query;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		set_up(NULL);
		query_begin(&query, rows[i].command, rows[i].flags);
		if (rows[i].names_device)
			nldev_put_u32(&query.writer, RDMA_NLDEV_ATTR_DEV_INDEX, rows[i].device);
		query_ask(&query);
		assert_int_equal(fake.count, 1);
		assert_int_equal(sent_error(0), rows[i].error);
		assert_int_equal((sent_head(0).nlmsg_flags & NLM_F_ACK_TLVS) != 0,
				 rows[i].has_reason);
	}
}

/*
 * As the kernel: an error brings the request back, unless the program has asked for short errors;
 * it has a reason only where the program has asked for reasons.
 */
static void test_what_an_error_brings(void **state)
{
	struct query query;

	(void)state;
	for (int options = 0; options < 4; options++) {
		const uint8_t *sent = fake.sent[0] + NLMSG_HDRLEN;
		size_t length = sizeof(struct nlmsgerr), bytes;
		const uint8_t *reason;

		set_up(NULL);
		peer.wants_short_errors = (options & 1) != 0;
		peer.wants_reasons = (options & 2) != 0;
		query_begin_port(&query, RDMA_NLDEV_CMD_SET, NLM_F_ACK);
		query_ask(&query);
		assert_int_equal(sent_error(0), -EOPNOTSUPP);
		assert_int_equal(sent_head(0).nlmsg_flags,
				 (peer.wants_short_errors ? NLM_F_CAPPED : 0) |
					 (peer.wants_reasons ? NLM_F_ACK_TLVS : 0));
		if (!peer.wants_short_errors)
			length += query.writer.used - NLMSG_HDRLEN;
		assert_memory_equal(sent + offsetof(struct nlmsgerr, msg), query.bytes,
				    length - offsetof(struct nlmsgerr, msg));
		reason = find_attribute(sent + length, fake.bytes[0] - NLMSG_HDRLEN - length,
					NLMSGERR_ATTR_MSG, &bytes);
		assert_int_equal(reason != NULL, peer.wants_reasons);
	}
}

/* A request that fills the answer is left out of the error, and the reason still fits. */
static void test_error_of_a_long_request(void **state)
{
	static _Alignas(4) uint8_t long_bytes[NLDEV_MESSAGE_BYTES];
	struct nldev_writer writer = {.bytes = long_bytes, .room = sizeof(long_bytes)};
	struct nldev_request request;
	int error;

	(void)state;
	nldev_begin(&writer, (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SET),
		    NLM_F_REQUEST, SEQUENCE, 0);
	while (!writer.is_full)
		nldev_put_u32(&writer, RDMA_NLDEV_ATTR_DEV_DIM, 1);
	nldev_end(&writer);
	assert_int_equal(nldev_read_request(long_bytes, writer.used, &request, &error),
			 writer.used);
	assert_int_equal(nldev_answer(&peer, &request, long_bytes, error), 0);
	assert_int_equal(sent_error(0), -EOPNOTSUPP);
	assert_int_equal(sent_head(0).nlmsg_flags, NLM_F_CAPPED | NLM_F_ACK_TLVS);
}

/* A daemon that ends in the middle of a dump, and a socket that takes no more. */
static void test_failures(void **state)
{
	struct nldev_request request;
	struct query query;
	int error;

	(void)state;
	fake.read_error = -ENODEV;
	query_begin_port(&query, RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP);
	query_ask(&query);
	assert_int_equal(fake.count, 1);
	assert_int_equal(sent_error(0), -ENODEV);
	set_up(NULL);
	fake.room = 1;
	nldev_read_request(query.bytes, query.writer.used, &request, &error);
	assert_int_equal(nldev_answer(&peer, &request, query.bytes, 0), PAGE_ROWS);
	assert_int_equal(nldev_answer_rest(&peer, &request, PAGE_ROWS), -ENOBUFS);
	set_up(NULL);
	fake.read_error = -ENODEV;
	assert_int_equal(nldev_answer_rest(&peer, &request, PAGE_ROWS), 0);
	assert_int_equal(fake.count, 1);
	assert_int_equal(sent_head(0).nlmsg_type, NLMSG_DONE);
	memcpy(&error, fake.sent[0] + NLMSG_HDRLEN, sizeof(error));
	assert_int_equal(error, -ENODEV);
}

/* ---- crafted requests ---- */

/* Cut after every byte: never more is read, and never is a part an answerable whole. */
static void test_truncated(void **state)
{
	struct nldev_request request;
	struct query query;
	uint8_t *copy;
	int error;

	(void)state;
	query_begin_port(&query, RDMA_NLDEV_CMD_PORT_GET, 0);
	nldev_end(&query.writer);
	for (size_t length = 0; length < query.writer.used; length++) {
		copy = malloc(length + 1); /* for the address sanitizer */
		memcpy(copy, query.bytes, length);
		assert_int_equal(nldev_read_request(copy, length, &request, &error), 0);
		if (length >= NLMSG_HDRLEN) {
			const uint32_t shorter = (uint32_t)length;

			memcpy(copy, &shorter, sizeof(shorter));
			assert_int_equal(nldev_read_request(copy, length, &request, &error),
					 NLMSG_ALIGN(length));
			assert_int_equal(error, length % 8 == 0 ? 0 : -EINVAL);
		}
		free(copy);
	}
}

static void test_crafted_attributes(void **state)
{
	static const struct nlattr heads[] = {
		{.nla_len = 0, .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
		{.nla_len = 3, .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
		{.nla_len = 4, .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
		{.nla_len = 7, .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
		{.nla_len = 9, .nla_type = RDMA_NLDEV_ATTR_PORT_INDEX},
		{.nla_len = 0xffff, .nla_type = RDMA_NLDEV_ATTR_DEV_NAME},
		{.nla_len = 0xffff, .nla_type = 0xffff},
	};
	struct nldev_request request;
	struct query query;
	int error;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(heads); i++) {
		query_begin(&query, RDMA_NLDEV_CMD_GET, 0);
		nldev_put_raw(&query.writer, &heads[i], sizeof(heads[i]));
		nldev_put_raw(&query.writer, "12345678", 8);
		nldev_end(&query.writer);
		assert_int_equal(
			nldev_read_request(query.bytes, query.writer.used, &request, &error),
			query.writer.used);
		assert_int_equal(error, -EINVAL);
		assert_int_equal(nldev_answer(&peer, &request, query.bytes, error), 0);
		assert_int_equal(sent_error(fake.count - 1), -EINVAL);
	}
	assert_int_equal(fake.reads, 0);
}

/* Lengths of a head that say less than a head, or more than there is. */
static void test_crafted_heads(void **state)
{
	static const uint32_t lengths[] = {0, 1, NLMSG_HDRLEN - 1, NLMSG_HDRLEN + 1, UINT32_MAX};
	struct nldev_request request;
	struct query query;
	int error;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(lengths); i++) {
		query_begin(&query, RDMA_NLDEV_CMD_GET, 0);
		memcpy(query.bytes, &lengths[i], sizeof(lengths[i]));
		assert_int_equal(nldev_read_request(query.bytes, NLMSG_HDRLEN, &request, &error),
				 0);
	}
}

static void test_no_request(void **state)
{
	struct nldev_request request;
	struct query query;
	int error;

	(void)state;
	query_begin(&query, RDMA_NLDEV_CMD_GET, NLM_F_ACK);
	((struct nlmsghdr *)query.bytes)->nlmsg_flags = 0;
	nldev_end(&query.writer);
	nldev_read_request(query.bytes, query.writer.used, &request, &error);
	assert_int_equal(nldev_answer(&peer, &request, query.bytes, error), 0);
	assert_int_equal(fake.count, 0);
	/* Another client of NETLINK_RDMA: its attributes are not nldev's. */
	query_begin(&query, RDMA_NLDEV_CMD_GET, 0);
	((struct nlmsghdr *)query.bytes)->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_LS, 1);
	nldev_put_raw(&query.writer, "1234", 4);
	query_ask(&query);
	assert_int_equal(sent_error(0), -EOPNOTSUPP);
}

/* ---- the writer ---- */

static void test_no_room(void **state)
{
	_Alignas(4) uint8_t bytes[64];

	(void)state;
	for (size_t room = NLMSG_HDRLEN; room < 60; room++) {
		struct nldev_writer writer = {.bytes = bytes, .room = room};
		size_t nest;

		memset(bytes, 0xee, sizeof(bytes));
		nldev_begin(&writer, 1, 0, 0, 0);
		nest = nldev_nest(&writer, 1);
		nldev_put_u64(&writer, 2, 3);
		nldev_put_text(&writer, 3, "four", 16);
		nldev_unnest(&writer, nest);
		nldev_end(&writer);
		assert_int_equal(writer.is_full, room < NLMSG_HDRLEN + 4 + 12 + 12);
		assert_true(writer.used <= room);
		for (size_t i = room; i < sizeof(bytes); i++)
			assert_int_equal(bytes[i], 0xee);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_port, set_up),
		cmocka_unit_test_setup(test_devices, set_up),
		cmocka_unit_test_setup(test_dump, set_up),
		cmocka_unit_test_setup(test_rows_of_another_size, set_up),
		cmocka_unit_test_setup(test_page_of_many_messages, set_up),
		cmocka_unit_test_setup(test_one_object, set_up),
		cmocka_unit_test_setup(test_counters_of_two_messages, set_up),
		cmocka_unit_test_setup(test_refusals, set_up),
		cmocka_unit_test_setup(test_what_an_error_brings, set_up),
		cmocka_unit_test_setup(test_error_of_a_long_request, set_up),
		cmocka_unit_test_setup(test_failures, set_up),
		cmocka_unit_test_setup(test_truncated, set_up),
		cmocka_unit_test_setup(test_crafted_attributes, set_up),
		cmocka_unit_test_setup(test_crafted_heads, set_up),
		cmocka_unit_test_setup(test_no_request, set_up),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "proto/ctl/ctl_check.h"
#include "proto/ctl/ctl_message.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

struct message {
	struct rnic_ctl_header header;
	uint8_t payload[RNIC_CTL_MESSAGE_BYTES];
};

/* Payloads and descriptors of the plainest message of each operation. */
static const struct {
	uint16_t operation;
	const char *name;
	uint32_t request_bytes;
	uint32_t reply_bytes;
	unsigned reply_fds;
} operations[] = {
	{RNIC_CTL_HELLO, "HELLO", 32, 192, 1},
	{RNIC_CTL_QUERY_PORT, "QUERY_PORT", 0, 20, 0},
	{RNIC_CTL_QUERY_GIDS, "QUERY_GIDS", 0, 776, 0},
	{RNIC_CTL_ALLOC_PD, "ALLOC_PD", 0, 8, 0},
	{RNIC_CTL_DEALLOC_PD, "DEALLOC_PD", 8, 0, 0},
	{RNIC_CTL_REGISTER_MR, "REGISTER_MR", 48, 16, 0},
	{RNIC_CTL_DEREGISTER_MR, "DEREGISTER_MR", 8, 0, 0},
	{RNIC_CTL_CREATE_CHANNEL, "CREATE_CHANNEL", 0, 8, 1},
	{RNIC_CTL_DESTROY_CHANNEL, "DESTROY_CHANNEL", 8, 0, 0},
	{RNIC_CTL_CREATE_CQ, "CREATE_CQ", 24, 16, 1},
	{RNIC_CTL_RESIZE_CQ, "RESIZE_CQ", 16, 16, 1},
	{RNIC_CTL_DESTROY_CQ, "DESTROY_CQ", 8, 0, 0},
	{RNIC_CTL_CREATE_QP, "CREATE_QP", 96, 12, 0},
	{RNIC_CTL_MODIFY_QP, "MODIFY_QP", 132, 0, 0},
	{RNIC_CTL_QUERY_QP, "QUERY_QP", 8, 140, 0},
	{RNIC_CTL_DESTROY_QP, "DESTROY_QP", 8, 0, 0},
	{RNIC_CTL_CREATE_AH, "CREATE_AH", 40, 8, 0},
	{RNIC_CTL_DESTROY_AH, "DESTROY_AH", 8, 0, 0},
	{RNIC_CTL_SHOW, "SHOW", 8, 16, 0},
	{RNIC_CTL_ATTACH_MCAST, "ATTACH_MCAST", 24, 0, 0},
	{RNIC_CTL_DETACH_MCAST, "DETACH_MCAST", 24, 0, 0},
	{RNIC_CTL_REREGISTER_MR, "REREGISTER_MR", 56, 0, 0},
	{RNIC_CTL_QUERY_PKEYS, "QUERY_PKEYS", 0, 32, 0},
	{RNIC_CTL_ALLOC_MW, "ALLOC_MW", 16, 16, 0},
	{RNIC_CTL_DEALLOC_MW, "DEALLOC_MW", 8, 0, 0},
	{RNIC_CTL_CREATE_SRQ, "CREATE_SRQ", 40, 24, 1},
	{RNIC_CTL_MODIFY_SRQ, "MODIFY_SRQ", 24, 0, 0},
	{RNIC_CTL_QUERY_SRQ, "QUERY_SRQ", 8, 12, 0},
	{RNIC_CTL_DESTROY_SRQ, "DESTROY_SRQ", 8, 0, 0},
	{RNIC_CTL_OPEN_XRCD, "OPEN_XRCD", 8, 8, 0},
	{RNIC_CTL_CLOSE_XRCD, "CLOSE_XRCD", 8, 0, 0},
	{RNIC_CTL_OPEN_QP, "OPEN_QP", 16, 16, 0},
	{RNIC_CTL_CM_CREATE_CHANNEL, "CM_CREATE_CHANNEL", 0, 8, 1},
	{RNIC_CTL_CM_DESTROY_CHANNEL, "CM_DESTROY_CHANNEL", 8, 0, 0},
	{RNIC_CTL_CM_SEND_EVENTS, "CM_SEND_EVENTS", 16, 0, 0},
	{RNIC_CTL_CM_CREATE_ID, "CM_CREATE_ID", 16, 8, 0},
	{RNIC_CTL_CM_DESTROY_ID, "CM_DESTROY_ID", 16, 0, 0},
	{RNIC_CTL_CM_MIGRATE, "CM_MIGRATE", 24, 0, 0},
	{RNIC_CTL_CM_SET_OPTION, "CM_SET_OPTION", 16, 0, 0},
	{RNIC_CTL_CM_QUERY, "CM_QUERY", 8, 88, 0},
	{RNIC_CTL_CM_BIND, "CM_BIND", 32, 88, 0},
	{RNIC_CTL_CM_RESOLVE_ADDRESS, "CM_RESOLVE_ADDRESS", 64, 0, 0},
	{RNIC_CTL_CM_RESOLVE_ROUTE, "CM_RESOLVE_ROUTE", 16, 0, 0},
	{RNIC_CTL_CM_LISTEN, "CM_LISTEN", 16, 88, 0},
	{RNIC_CTL_CM_CONNECT, "CM_CONNECT", 300, 0, 0},
	{RNIC_CTL_CM_ACCEPT, "CM_ACCEPT", 300, 0, 0},
	{RNIC_CTL_CM_REJECT, "CM_REJECT", 300, 0, 0},
	{RNIC_CTL_CM_ESTABLISH, "CM_ESTABLISH", 8, 0, 0},
	{RNIC_CTL_CM_DISCONNECT, "CM_DISCONNECT", 8, 0, 0},
	{RNIC_CTL_CM_NOTIFY, "CM_NOTIFY", 16, 0, 0},
	{RNIC_CTL_CM_QP_ATTRIBUTES, "CM_QP_ATTRIBUTES", 16, 120, 0},
	{RNIC_CTL_CM_JOIN_MCAST, "CM_JOIN_MCAST", 40, 0, 0},
	{RNIC_CTL_CM_LEAVE_MCAST, "CM_LEAVE_MCAST", 40, 0, 0},
	{RNIC_CTL_RESIZE_SRQ, "RESIZE_SRQ", 24, 12, 1},
	{RNIC_CTL_SHARE, "SHARE", 0, 0, 0},
	{RNIC_CTL_IMPORT, "IMPORT", 0, 0, 0},
	{RNIC_CTL_IMPORT_PD, "IMPORT_PD", 8, 8, 0},
	{RNIC_CTL_IMPORT_MR, "IMPORT_MR", 16, 16, 0},
	{RNIC_CTL_OPEN_DEVICE, "OPEN_DEVICE", 8, 8, 4},
	{RNIC_CTL_CREATE_QUEUE_REGION, "CREATE_QUEUE_REGION", 8, 8, 1},
	{RNIC_CTL_DESTROY_QUEUE_REGION, "DESTROY_QUEUE_REGION", 8, 0, 0},
	{RNIC_CTL_WATCH_MEMORY, "WATCH_MEMORY", 8, 0, 0},
	{RNIC_CTL_CONDITION, "CONDITION", 1040, 160, 0},
	{RNIC_CTL_VERB_RULES, "VERB_RULES", 0, 24, 2},
};

_Static_assert(RNIC_COUNT_OF(operations) + 1 == RNIC_CTL_OPERATION_COUNT, "every operation once");

/* The fields of a request that is all zeroes. */
static unsigned request_fds(size_t i)
{
	return operations[i].operation == RNIC_CTL_SHARE ||
	       operations[i].operation == RNIC_CTL_IMPORT;
}

static struct message request_of(size_t i)
{
	return (struct message){.header = {
					.magic = RNIC_CTL_MAGIC,
					.version = operations[i].operation == RNIC_CTL_HELLO
							   ? 0
							   : RNIC_CTL_VERSION_MAX,
					.operation = operations[i].operation,
					.request_id = 77,
					.bytes = 24 + operations[i].request_bytes,
				}};
}

static struct message reply_of(size_t i)
{
	return (struct message){.header = {
					.magic = RNIC_CTL_MAGIC,
					.version = RNIC_CTL_VERSION_MAX,
					.operation = operations[i].operation,
					.request_id = 77,
					.bytes = 24 + operations[i].reply_bytes,
				}};
}

static int check_request(const struct message *message, unsigned fds)
{
	return rnic_ctl_check_request(message, message->header.bytes, fds);
}

static int check_reply(const struct message *message, size_t i, unsigned fds)
{
	return rnic_ctl_check_reply(message, message->header.bytes, fds, operations[i].operation,
				    77);
}

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++)
		assert_string_equal(rnic_ctl_operation_name(operations[i].operation),
				    operations[i].name);
	assert_string_equal(rnic_ctl_operation_name(0), "unknown");
	assert_string_equal(rnic_ctl_operation_name(RNIC_CTL_OPERATION_COUNT), "unknown");
	assert_string_equal(rnic_ctl_operation_name(UINT32_MAX), "unknown");
}

static void test_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		struct message request = request_of(i);
		struct message reply = reply_of(i);

		assert_int_equal(check_request(&request, request_fds(i)), 0);
		assert_int_equal(check_reply(&reply, i, operations[i].reply_fds), 0);
	}
}

static void test_lengths(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		const uint32_t full = 24 + operations[i].request_bytes;
		const unsigned fds = request_fds(i);

		for (uint32_t bytes = 0; bytes < full + 64; bytes++) {
			struct message request = request_of(i);

			/* The header tells the truth about a wrong length, then lies about the
			 * right one. */
			request.header.bytes = bytes;
			assert_int_equal(rnic_ctl_check_request(&request, bytes, fds),
					 bytes == full ? 0 : -EPROTO);
			assert_int_equal(rnic_ctl_check_request(&request, full, fds),
					 bytes == full ? 0 : -EPROTO);
		}
	}
}

static void test_request_refuses(void **state)
{
	struct message request;

	(void)state;
	request = request_of(4);
	request.header.magic++;
	assert_int_equal(check_request(&request, 0), -EPROTO);

	request = request_of(4);
	request.header.version = RNIC_CTL_VERSION_MAX + 1;
	assert_int_equal(check_request(&request, 0), -EPROTO);

	request = request_of(4);
	request.header.version = RNIC_CTL_VERSION_MIN - 1;
	assert_int_equal(check_request(&request, 0), -EPROTO);

	request = request_of(0);
	request.header.version = RNIC_CTL_VERSION_MAX;
	assert_int_equal(check_request(&request, 0), -EPROTO);

	request = request_of(4);
	request.header.status = -1;
	assert_int_equal(check_request(&request, 0), -EPROTO);

	request = request_of(4);
	request.header.reserved = 1;
	assert_int_equal(check_request(&request, 0), -EPROTO);

	request = request_of(4);
	request.header.operation = 0;
	assert_int_equal(check_request(&request, 0), -EOPNOTSUPP);
	request.header.operation = RNIC_CTL_OPERATION_COUNT;
	assert_int_equal(check_request(&request, 0), -EOPNOTSUPP);
	request.header.operation = UINT16_MAX;
	assert_int_equal(check_request(&request, 0), -EOPNOTSUPP);
}

static void test_request_descriptors(void **state)
{
	struct rnic_ctl_open_device open_device = {.flags = RNIC_OPEN_MEMORY_FD};
	struct rnic_ctl_register_mr mapped = {.mode = RNIC_MEMORY_MAPPED};
	struct rnic_ctl_watch_memory watch = {.has_descriptor = 1};
	struct message request;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		request = request_of(i);
		assert_int_equal(check_request(&request, request_fds(i) + 1), -EPROTO);
		assert_int_equal(check_request(&request, UINT32_MAX), -EPROTO);
	}
	request = request_of(RNIC_CTL_OPEN_DEVICE - RNIC_CTL_HELLO);
	memcpy(request.payload, &open_device, sizeof(open_device));
	assert_int_equal(check_request(&request, 1), 0);
	assert_int_equal(check_request(&request, 0), -EPROTO);
	assert_int_equal(check_request(&request, 2), -EPROTO);

	request = request_of(5);
	memcpy(request.payload, &mapped, sizeof(mapped));
	assert_int_equal(check_request(&request, 1), 0);
	assert_int_equal(check_request(&request, 0), -EPROTO);

	request = request_of(RNIC_CTL_WATCH_MEMORY - RNIC_CTL_HELLO);
	memcpy(request.payload, &watch, sizeof(watch));
	assert_int_equal(check_request(&request, 1), 0);
	assert_int_equal(check_request(&request, 0), -EPROTO);
}

static void test_reply_must_match(void **state)
{
	struct message reply;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		const unsigned fds = operations[i].reply_fds;

		reply = reply_of(i);
		reply.header.operation++;
		assert_int_equal(check_reply(&reply, i, fds), -EPROTO);
		reply = reply_of(i);
		reply.header.request_id++;
		assert_int_equal(check_reply(&reply, i, fds), -EPROTO);
		reply = reply_of(i);
		reply.header.version = 0;
		assert_int_equal(check_reply(&reply, i, fds), -EPROTO);
		reply = reply_of(i);
		reply.header.bytes++;
		assert_int_equal(check_reply(&reply, i, fds), -EPROTO);
		reply = reply_of(i);
		assert_int_equal(check_reply(&reply, i, fds + 1), -EPROTO);
	}
	/* Only an administrator's HELLO comes back without descriptors. */
	reply = reply_of(0);
	assert_int_equal(check_reply(&reply, 0, 0), 0);
	assert_int_equal(check_reply(&reply, 0, 3), -EPROTO);
	reply = reply_of(9);
	assert_int_equal(check_reply(&reply, 9, 0), -EPROTO);
	assert_int_equal(rnic_ctl_check_reply(&reply, reply.header.bytes, 0, 0, 77), -EPROTO);
}

static void test_refusals(void **state)
{
	struct message reply = reply_of(12);

	(void)state;
	reply.header.status = -EINVAL;
	reply.header.bytes = 24 + RNIC_CTL_TEXT_BYTES;
	memcpy(reply.payload, "a queue holds at most 32768 entries", 36);
	assert_int_equal(check_reply(&reply, 12, 0), 0);
	assert_int_equal(check_reply(&reply, 12, 1), -EPROTO);

	/* A daemon of another version must be able to say so. */
	reply.header.version = 9;
	assert_int_equal(check_reply(&reply, 12, 0), 0);

	reply.header.status = 22;
	assert_int_equal(check_reply(&reply, 12, 0), -EPROTO);
	reply.header.status = -4096;
	assert_int_equal(check_reply(&reply, 12, 0), -EPROTO);
	reply.header.status = INT32_MIN;
	assert_int_equal(check_reply(&reply, 12, 0), -EPROTO);

	reply.header.status = -EINVAL;
	memset(reply.payload, 'x', RNIC_CTL_TEXT_BYTES);
	assert_int_equal(check_reply(&reply, 12, 0), -EPROTO);
	reply.header.bytes--;
	reply.payload[0] = 0;
	assert_int_equal(check_reply(&reply, 12, 0), -EPROTO);
}

static void test_connections(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		const char *name = operations[i].name;
		const bool is_control = strcmp(name, "HELLO") == 0 || strcmp(name, "SHOW") == 0 ||
					strcmp(name, "CONDITION") == 0 ||
					strcmp(name, "VERB_RULES") == 0 ||
					strncmp(name, "CM_", 3) == 0;

		assert_int_equal(rnic_ctl_operation_connection(operations[i].operation),
				 is_control ? RNIC_CTL_CONTROL_CONNECTION
					    : RNIC_CTL_DEVICE_CONNECTION);
	}
	assert_int_equal(rnic_ctl_operation_connection(0), RNIC_CTL_DEVICE_CONNECTION);
	assert_int_equal(rnic_ctl_operation_connection(UINT32_MAX), RNIC_CTL_DEVICE_CONNECTION);
}

static void test_rows(void **state)
{
	static const struct {
		uint32_t row_count, row_bytes, follow;
		int result;
	} cases[] = {
		{0, 0, 0, 0},
		{0, 56, 0, 0},
		{3, 56, 168, 0},
		{3, 56, 167, -EPROTO},
		{3, 56, 169, -EPROTO},
		{1, 0, 56, -EPROTO},
		{0x80000000, 2, 0, -EPROTO},
		{UINT32_MAX, UINT32_MAX, 1, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_ctl_show_reply show = {.row_count = cases[i].row_count,
						   .row_bytes = cases[i].row_bytes};
		struct message reply = reply_of(18);

		memcpy(reply.payload, &show, sizeof(show));
		reply.header.bytes += cases[i].follow;
		assert_int_equal(check_reply(&reply, 18, 0), cases[i].result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_well_formed),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_request_refuses),
		cmocka_unit_test(test_request_descriptors),
		cmocka_unit_test(test_reply_must_match),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

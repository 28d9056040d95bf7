/* SPDX-License-Identifier: MIT */
/* The RPC with impossible options, and without a daemon. */
#include "tests/unit/unit_test.h"

#include <rnic/rpc.h>

#define GIB (UINT64_C(1) << 30)

static int no_daemon(void **state)
{
	(void)state;
	return setenv("RNIC_SOCKET", "/nonexistent/rnicd.sock", 1);
}

static void test_clients(void **state)
{
	static const struct {
		struct rnic_rpc_options options;
		const char *host;
		uint16_t port;
		int error;
	} rows[] = {
		{{.max_message_bytes = GIB}, "127.0.0.1", 1, -ENOENT},
		{{.transport = RNIC_RPC_RC}, "127.0.0.1", 1, -ENOENT},
		{{.max_message_bytes = GIB + 1}, "127.0.0.1", 1, -EINVAL},
		{{.transport = RNIC_RPC_RC + 1}, "127.0.0.1", 1, -EINVAL},
		{{.log = NULL}, "127.0.0.1", 0, -EINVAL},
		{{.log = NULL}, NULL, 1, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rnic_rpc_client *client = NULL;

		assert_int_equal(rnic_rpc_create_client(&rows[i].options, rows[i].host,
							rows[i].port, &client),
				 rows[i].error);
		assert_null(client);
	}
}

static void test_servers(void **state)
{
	struct rnic_rpc_options options = {.max_message_bytes = GIB};
	struct rnic_rpc_server *server = NULL;

	(void)state;
	assert_int_equal(rnic_rpc_create_server(NULL, 0, &server), -ENOENT);
	assert_int_equal(rnic_rpc_create_server(&options, 0, &server), -ENOENT);
	options.max_message_bytes++;
	assert_int_equal(rnic_rpc_create_server(&options, 0, &server), -EINVAL);
	assert_null(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_servers),
	};

	return cmocka_run_group_tests(tests, no_daemon, NULL);
}

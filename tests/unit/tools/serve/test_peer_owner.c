/* SPDX-License-Identifier: MIT */
#include "tools/serve/peer_owner.h"

#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* As the kernel has it: the server's end of the same connection stands there, too. */
static char table[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
	"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        "
	"0 1\n"
	"   1: 0100007F:1F90 0100007F:A3B2 01 00000000:00000000 00:00000000 00000000     0        "
	"0 2\n"
	"   2: 0100007F:A3B2 0100007F:1F91 01 00000000:00000000 00:00000000 00000000    33        "
	"0 3\n"
	"damaged\n"
	"   3: 0100007F:A3B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        "
	"0 4\n";

static int find(uint16_t peer_port, uint16_t port, uid_t *uid)
{
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(peer_port)};
	FILE *file = fmemopen(table, strlen(table), "r");
	int error;

	assert_non_null(file);
	inet_pton(AF_INET, "127.0.0.1", &peer.sin_addr);
	error = peer_owner_find(file, &peer, port, uid);
	fclose(file);
	return error;
}

static void test_found(void **state)
{
	uid_t uid = 7;

	(void)state;
	assert_int_equal(find(0xa3b2, 0x1f90, &uid), 0);
	assert_int_equal(uid, 1000);
	assert_int_equal(find(0xa3b2, 0x1f91, &uid), 0);
	assert_int_equal(uid, 33);
}

static void test_absent(void **state)
{
	uid_t uid = 7;

	(void)state;
	assert_int_equal(find(0xa3b3, 0x1f90, &uid), -ENOENT);
	assert_int_equal(find(0xa3b2, 0x1f92, &uid), -ENOENT);
	assert_int_equal(uid, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_absent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

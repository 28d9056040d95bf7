/* SPDX-License-Identifier: MIT */
/* In which order the machine's sockets are asked; tests/interop/host/machine_socket.sh asks them.
 */
#include "tools/support/machine_socket.h"

#include "tests/unit/unit_test.h"

#include <stdio.h>

#define NAMES_MAX 8

/* Puts the names in `text` into order, and writes those to ask into `ordered`. */
static void order(const char *text, const char *netdev, bool is_named, char ordered[256])
{
	char names[NAMES_MAX][RNIC_SOCKET_PATH_BYTES];
	size_t count = 0, used = 0;
	int read_bytes;

	for (; sscanf(text, "%99s%n", names[count], &read_bytes) == 1; text += read_bytes)
		count++;
	count = machine_socket_order(names, count, netdev, is_named);
	ordered[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(ordered + used, 256 - used, "%s%s", i == 0 ? "" : " ",
					 names[i]);
}

static void test_order(void **state)
{
	static const struct {
		const char *names, *netdev;
		bool is_named;
		const char *ordered;
	} rows[] = {
		/* The interface of the default route first, the rest by name. */
		{"lo.sock eth1.sock eth0.sock", "eth1", false, "eth1.sock eth0.sock lo.sock"},
		{"lo.sock eth1.sock eth0.sock", "lo", false, "lo.sock eth0.sock eth1.sock"},
		{"eth0.sock", "eth0", false, "eth0.sock"},
		/* No default route, or one of an interface without a daemon. */
		{"lo.sock eth0.sock", "", false, "eth0.sock lo.sock"},
		{"lo.sock eth0.sock", "eth7", false, "eth0.sock lo.sock"},
		/* A name that begins as the interface's is another one's. */
		{"eth10.sock eth1.sock eth.sock", "eth1", false, "eth1.sock eth.sock eth10.sock"},
		/* The user names the interface: no other will do. */
		{"lo.sock eth1.sock eth0.sock", "eth1", true, "eth1.sock"},
		{"lo.sock eth1.sock rnicd.sock", "eth1", true, "eth1.sock rnicd.sock"},
		{"lo.sock rnicd.sock a.sock", "eth1", true, "rnicd.sock"},
		{"lo.sock eth0.sock", "eth1", true, ""},
		/* The user names an address that no interface has. */
		{"lo.sock eth0.sock rnicd.sock", "", true, "rnicd.sock"},
		{"", "eth0", false, ""},
	};
	char ordered[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		order(rows[i].names, rows[i].netdev, rows[i].is_named, ordered);
		assert_string_equal(ordered, rows[i].ordered);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

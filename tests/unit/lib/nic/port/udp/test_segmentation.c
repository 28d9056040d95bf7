/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/segmentation.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <sys/socket.h>
#include <unistd.h>

#define TITLE "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
#define SOCKET(proto, running)                                                                     \
	"000000009c067a69 3      3    " proto "   1     " running " 0 0 20751\n"

static void test_captured(void **state)
{
	static const struct {
		const char *text;
		bool is_captured;
	} cases[] = {
		{"", false},
		{TITLE, false},
		{TITLE SOCKET("0003", "1"), true},
		{TITLE SOCKET("0003", "0"), false}, /* opened, bound to nothing */
		{TITLE SOCKET("88cc", "1"), false}, /* a daemon of the link layer */
		{TITLE SOCKET("0800", "1"), false}, /* a DHCP client that asks for IPv4 only */
		{TITLE SOCKET("88cc", "1") SOCKET("0003", "1"), true},
		{TITLE SOCKET("88cc", "1") SOCKET("0800", "1"), false},
		{TITLE "nonsense\n\n", false},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(segmentation_is_captured(cases[i].text), cases[i].is_captured);
}

static void test_fixed_modes(void **state)
{
	struct segmentation on, off;

	(void)state;
	segmentation_open(&on, SEGMENTATION_ON, 0);
	segmentation_open(&off, SEGMENTATION_OFF, 0);
	assert_true(segmentation_is_on(&on, UINT64_C(1) << 40));
	assert_false(segmentation_is_on(&off, UINT64_C(1) << 40));
	segmentation_close(&on);
	segmentation_close(&off);
}

/* Noticed 200 ms after it began, at the latest, and before anything is sent when it was there
 * first. */
static void test_real_capture(void **state)
{
	struct segmentation before, after;
	int capture = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

	(void)state;
	if (capture < 0) {
		print_message("skipped: raw packet sockets need a privilege\n");
		skip();
	}
	segmentation_open(&after, SEGMENTATION_AUTO, 1000);
	assert_false(segmentation_is_on(&after, 1000));
	close(capture);

	segmentation_open(&before, SEGMENTATION_AUTO, 1000);
	if (!segmentation_is_on(&before, 1000)) {
		print_message("skipped: another program captures\n");
		segmentation_close(&before);
		segmentation_close(&after);
		skip();
	}
	assert_false(segmentation_is_on(&after, 200000999));
	assert_true(segmentation_is_on(&after, 200001000));
	capture = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	assert_true(segmentation_is_on(&before, 200000999));
	assert_false(segmentation_is_on(&before, 200001000));
	close(capture);
	segmentation_close(&before);
	segmentation_close(&after);
}

/* One destination for a while, and no more of them than there is room for. */
static void test_avoided(void **state)
{
	const uint64_t while_ns = UINT64_C(10000000000);
	struct segmentation segmentation;
	struct rnic_gid dests[SEGMENTATION_DETOURS_MAX + 2] = {0};

	(void)state;
	segmentation_open(&segmentation, SEGMENTATION_ON, 0);
	for (uint8_t i = 0; i < RNIC_COUNT_OF(dests); i++)
		dests[i].bytes[15] = i;
	assert_false(segmentation_is_avoided(&segmentation, &dests[0], 0));
	segmentation_avoid(&segmentation, &dests[0], 1000);
	assert_true(segmentation_is_avoided(&segmentation, &dests[0], 999 + while_ns));
	assert_false(segmentation_is_avoided(&segmentation, &dests[1], 1000));
	assert_false(segmentation_is_avoided(&segmentation, &dests[0], 1000 + while_ns));

	segmentation_avoid(&segmentation, &dests[0], 5000);
	assert_true(segmentation_is_avoided(&segmentation, &dests[0], 1000 + while_ns));
	for (uint32_t i = 1; i <= SEGMENTATION_DETOURS_MAX; i++) {
		assert_true(segmentation_is_avoided(&segmentation, &dests[0], 6000));
		segmentation_avoid(&segmentation, &dests[i], 6000);
	}
	assert_false(segmentation_is_avoided(&segmentation, &dests[0], 6000));
	for (uint32_t i = 1; i <= SEGMENTATION_DETOURS_MAX; i++)
		assert_true(segmentation_is_avoided(&segmentation, &dests[i], 6000));
	assert_true(segmentation_is_on(&segmentation, 6000));
	segmentation_close(&segmentation);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_fixed_modes),
		cmocka_unit_test(test_real_capture),
		cmocka_unit_test(test_avoided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

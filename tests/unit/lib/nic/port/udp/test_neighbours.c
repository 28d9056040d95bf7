/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/neighbours.h"

#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <errno.h>

#define NETDEV 7

static struct rnic_gid neighbour(uint8_t host)
{
	return rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, host});
}

/* The fake of a kernel: neighbours 1 to `fake_silent` do not answer. */
static uint32_t fake_silent;
static int fake_error; /* negative: the kernel cannot be asked */

static int fake_ask(uint32_t netdev_index, struct rnic_gid *silent, uint32_t max)
{
	assert_int_equal(netdev_index, NETDEV);
	assert_true(fake_silent <= max);
	for (uint32_t i = 0; i < fake_silent; i++)
		silent[i] = neighbour((uint8_t)(i + 1));
	return fake_error != 0 ? fake_error : (int)fake_silent;
}

static void test_who_is_known(void **state)
{
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, fake_ask, NETDEV);
	for (uint32_t host = 1; host <= NEIGHBOURS_MAX + 1; host++) {
		struct rnic_gid gid = neighbour((uint8_t)host);

		assert_false(neighbours_has(&neighbours, &gid));
		neighbours_add(&neighbours, &gid, 0);
		assert_int_equal(neighbours_has(&neighbours, &gid), host <= NEIGHBOURS_MAX);
	}
	assert_int_equal(neighbours.count, NEIGHBOURS_MAX);
}

/* Now and then one packet goes. */
static void test_who_is_held(void **state)
{
	const struct rnic_gid gid = neighbour(1), other = neighbour(2);
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, fake_ask, NETDEV);
	assert_false(neighbours_try_hold(&neighbours, &gid, 1000));
	neighbours_add(&neighbours, &gid, 1000);
	neighbours_add(&neighbours, &gid, 2000); /* once more changes nothing */
	assert_int_equal(neighbours.count, 1);
	assert_false(neighbours_try_hold(&neighbours, &other, 1000));
	for (uint64_t at_ns = 1000; at_ns < UINT64_C(3000000000); at_ns += NEIGHBOURS_TRY_NS) {
		assert_true(neighbours_try_hold(&neighbours, &gid, at_ns));
		assert_true(neighbours_try_hold(&neighbours, &gid, at_ns + NEIGHBOURS_TRY_NS - 1));
		assert_false(neighbours_try_hold(&neighbours, &gid, at_ns + NEIGHBOURS_TRY_NS));
	}
}

/* A neighbour that the kernel does not name any more is silent no more. */
static void test_look(void **state)
{
	const struct rnic_gid gid = neighbour(1);
	struct neighbours neighbours;

	(void)state;
	fake_silent = 0;
	neighbours_init(&neighbours, fake_ask, NETDEV);
	neighbours_add(&neighbours, &gid, 0);
	neighbours_look(&neighbours, 1000);
	assert_false(neighbours_has(&neighbours, &gid));
	neighbours_add(&neighbours, &gid, 0);
	neighbours_look(&neighbours, 999 + NEIGHBOURS_LOOK_NS);
	assert_true(neighbours_has(&neighbours, &gid));
	neighbours_look(&neighbours, 1000 + NEIGHBOURS_LOOK_NS);
	assert_false(neighbours_has(&neighbours, &gid));
}

/* A neighbour that stays silent keeps its turn; a new one gets a turn of its own. */
static void test_look_again(void **state)
{
	const struct rnic_gid old = neighbour(1), new = neighbour(2);
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, fake_ask, NETDEV);
	fake_silent = 1;
	neighbours_look(&neighbours, 0);
	fake_silent = 2;
	neighbours_look(&neighbours, NEIGHBOURS_LOOK_NS);
	assert_false(neighbours_try_hold(&neighbours, &old, NEIGHBOURS_TRY_NS));
	assert_true(neighbours_try_hold(&neighbours, &new, NEIGHBOURS_TRY_NS));
}

/* Without a descriptor for the question, packets to silent neighbours stay held. */
static void test_kernel_cannot_be_asked(void **state)
{
	const struct rnic_gid gid = neighbour(1);
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, fake_ask, NETDEV);
	neighbours_add(&neighbours, &gid, 0);
	fake_error = -EMFILE;
	neighbours_look(&neighbours, 0);
	fake_error = 0;
	assert_true(neighbours_has(&neighbours, &gid));
}

static void test_nobody_to_ask(void **state)
{
	const struct rnic_gid gid = neighbour(1);
	struct neighbours neighbours;

	(void)state;
	neighbours_init(&neighbours, NULL, NETDEV);
	neighbours_look(&neighbours, 1000);
	assert_false(neighbours_has(&neighbours, &gid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_known),
		cmocka_unit_test(test_who_is_held),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_look_again),
		cmocka_unit_test(test_kernel_cannot_be_asked),
		cmocka_unit_test(test_nobody_to_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

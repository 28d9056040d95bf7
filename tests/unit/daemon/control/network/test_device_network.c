/* SPDX-License-Identifier: MIT */
/* How long a start waits for a port that the kernel still closes. */
#include "daemon/control/network/device_network.h"

#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <time.h>

#define WAIT_NS (2 * RNIC_NS_PER_SECOND)

/* A clock that sleeps and attempts move, and a port that is taken. */
static struct {
	uint64_t now_ns;
	uint64_t last_ns;    /* when the last attempt began */
	uint64_t attempt_ns; /* of one attempt */
	uint32_t attempts;
	uint32_t index; /* of the last one */
	int result;	/* of all */
} world;

/* --- instead of the C library's --------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){.tv_sec = (time_t)(world.now_ns / RNIC_NS_PER_SECOND),
				 .tv_nsec = (long)(world.now_ns % RNIC_NS_PER_SECOND)};
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	world.now_ns += (uint64_t)time->tv_sec * RNIC_NS_PER_SECOND + (uint64_t)time->tv_nsec;
	return 0;
}

/* --- the tests -------------------------------------------------------------------------------- */

static int try_gid(void *context, uint32_t index, const struct rnic_gid *gid,
		   char text[PORT_TEXT_BYTES])
{
	(void)context;
	(void)gid;
	(void)text;
	world.last_ns = world.now_ns;
	world.now_ns += world.attempt_ns;
	world.attempts++;
	world.index = index;
	return world.result;
}

#define BEGIN_NS RNIC_NS_PER_SECOND

/* Begins with one address, whose port is never free. */
static void begin_in_vain(uint64_t attempt_ns, int result)
{
	static struct device_network network;
	char reason[PORT_TEXT_BYTES];

	network = (struct device_network){.user.set_gid = try_gid};
	network.gids.slots[1].is_usable = true;
	world.now_ns = BEGIN_NS;
	world.attempt_ns = attempt_ns;
	world.attempts = 0;
	world.result = result;
	assert_int_equal(device_network_begin(&network, reason), result);
	assert_int_equal(world.index, 1);
}

/* Two seconds, however long one attempt takes; a port that is free then is taken. */
static void test_a_taken_port_is_waited_for(void **state)
{
	static const uint64_t attempts_ns[] = {0, RNIC_NS_PER_MS, 600 * RNIC_NS_PER_MS,
					       5 * RNIC_NS_PER_SECOND};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(attempts_ns); i++) {
		begin_in_vain(attempts_ns[i], -EBUSY);
		assert_in_range(world.last_ns - BEGIN_NS, WAIT_NS,
				WAIT_NS + attempts_ns[i] + RNIC_NS_PER_SECOND / 10);
		assert_true(world.attempts > 1);
	}
}

/* Who has the port is there to stay. */
static void test_a_known_holder_is_not_waited_for(void **state)
{
	(void)state;
	begin_in_vain(RNIC_NS_PER_MS, -EADDRINUSE);
	assert_int_equal(world.now_ns - BEGIN_NS, RNIC_NS_PER_MS);
	assert_int_equal(world.attempts, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_taken_port_is_waited_for),
		cmocka_unit_test(test_a_known_holder_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Wall-clock times of completions, while the test sets both clocks. */
#include "tests/unit/lib/client/native/fake_session.h"

#include "lib/dropin/verbs/ibv_objects.h"
#include "tests/unit/unit_test.h"

#include <time.h>

#define MS	INT64_C(1000000)
#define SECOND	(1000 * MS)
#define ENTRIES 8

static struct rnic_verbs_cq cq;
static int64_t monotonic_ns = 1000 * SECOND, apart_ns = 5000 * SECOND;
static int64_t lost_ns; /* between the next two looks at a clock */

/* Instead of the C library's. Each look takes some nanoseconds. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t shown_ns = monotonic_ns + (clock == CLOCK_REALTIME ? apart_ns : 0);

	*now = (struct timespec){shown_ns / SECOND, shown_ns % SECOND};
	monotonic_ns += 25 + lost_ns;
	lost_ns = 0;
	return 0;
}

struct ibv_cq *rnic_verbs_create_cq(struct ibv_context *context, int entries, void *cq_context,
				    struct ibv_comp_channel *channel, int vector, uint32_t flags)
{
	assert_int_equal(flags, RNIC_CQ_TIMESTAMPS);
	(void)entries;
	(void)cq_context;
	(void)channel;
	(void)vector;
	cq.cq.context = context;
	pthread_mutex_init(&cq.cq.mutex, NULL);
	return &cq.cq;
}

static int set_up(void **state)
{
	const struct rnic_qp_capacities capacities = {4, 4, 1, 1, 0};
	struct ibv_cq_init_attr_ex wanted = {
		.cqe = ENTRIES,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct fake_session *fake = fake_session_create(&capacities, ENTRIES);

	cq = (struct rnic_verbs_cq){.native = &fake->cq};
	assert_ptr_equal(rnic_verbs_create_cq_ex(NULL, &wanted), &cq.cq_ex);
	*state = fake;
	return 0;
}

static int tear_down(void **state)
{
	pthread_mutex_destroy(&cq.cq.mutex);
	fake_session_destroy(*state);
	return 0;
}

/* Completes a request at the time that the monotonic clock shows, and reads its wall clock. */
static int64_t wall_of_completion(struct fake_session *fake)
{
	static uint32_t retired;
	const struct rnic_cqe entry = {
		.qpn = FAKE_QPN,
		.qp_slot = FAKE_QP_SLOT,
		.retired = ++retired & RNIC_CQE_24_BITS,
	};
	struct ibv_poll_cq_attr attributes = {0};
	uint64_t wall_ns;

	atomic_store(&fake->qp.send.retired, retired - 1);
	fake_session_complete(fake, &entry, (uint64_t)monotonic_ns);
	assert_int_equal(ibv_start_poll(&cq.cq_ex, &attributes), 0);
	wall_ns = ibv_wc_read_completion_wallclock_ns(&cq.cq_ex);
	assert_true(ibv_wc_read_completion_wallclock_ns(&cq.cq_ex) == wall_ns);
	ibv_end_poll(&cq.cq_ex);
	return (int64_t)wall_ns;
}

static void assert_shows_wall_clock(struct fake_session *fake)
{
	const int64_t right_ns = monotonic_ns + apart_ns;
	const int64_t shown_ns = wall_of_completion(fake);

	assert_in_range(shown_ns, right_ns - 1000, right_ns);
}

/* The thread loses its core between its looks at the clocks, before or after the wall clock's. */
static void test_time_never_runs_backwards(void **state)
{
	int64_t last_ns = 0, shown_ns;

	for (int i = 0; i < 100; i++) {
		lost_ns = i % 3 == 1 ? 7 * MS : 0;
		shown_ns = wall_of_completion(*state);
		assert_true(shown_ns > last_ns);
		last_ns = shown_ns;
		monotonic_ns += i % 5 == 0 ? 1 : MS;
	}
	assert_shows_wall_clock(*state);
}

static void test_clock_that_is_set_is_followed(void **state)
{
	assert_shows_wall_clock(*state);
	apart_ns += 3600 * SECOND;
	assert_shows_wall_clock(*state);
	apart_ns -= 7200 * SECOND;
	assert_shows_wall_clock(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_time_never_runs_backwards, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clock_that_is_set_is_followed, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

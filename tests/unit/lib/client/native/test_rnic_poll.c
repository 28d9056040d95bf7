/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/client/native/fake_session.h"

#include "proto/ctl/direct_device.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CQ_ENTRIES	     8
#define POLLS_BEFORE_A_SLEEP 4097 /* the one before looks whether the daemon lives */

static const struct rnic_qp_capacities capacities = {
	.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};

static int yields, sleeps;
static long now_us, yield_us;

static void complete_after_yields(void);

/* These three instead of the C library's. Time passes as on a machine that nobody else uses. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now_us++;
	*now = (struct timespec){.tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000};
	return 0;
}

int sched_yield(void)
{
	yields++;
	now_us += yield_us;
	complete_after_yields();
	return 0;
}

long syscall(long number, ...)
{
	va_list arguments;
	_Atomic uint32_t *word;

	assert_int_equal(number, SYS_futex);
	va_start(arguments, number);
	word = va_arg(arguments, void *);
	assert_int_equal(va_arg(arguments, int), FUTEX_WAIT);
	sleeps += *word == (uint32_t)va_arg(arguments, int);
	va_end(arguments);
	return 0;
}

static int set_up(void **state)
{
	*state = fake_session_create(&capacities, CQ_ENTRIES);
	rnic_poll_begin_anew();
	yields = sleeps = 0;
	yield_us = 0;
	now_us += 1000;
	return 0;
}

static int tear_down(void **state)
{
	fake_session_destroy(*state);
	return 0;
}

static struct rnic_cqe completion(uint64_t wr_id, uint8_t flags, uint32_t retired)
{
	return (struct rnic_cqe){
		.wr_id = wr_id,
		.byte_count = 100 + (uint32_t)wr_id,
		.qpn = FAKE_QPN,
		.qp_slot = FAKE_QP_SLOT,
		.flags = flags & 0xfu,
		.retired = retired & RNIC_CQE_24_BITS,
	};
}

static void complete(struct fake_session *fake, uint64_t wr_id, uint8_t flags, uint32_t retired)
{
	const struct rnic_cqe entry = completion(wr_id, flags, retired);

	fake_session_complete(fake, &entry, 0);
}

static void test_poll(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_completion taken[CQ_ENTRIES];

	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 0);
	for (uint64_t i = 0; i < 5; i++)
		complete(fake, i, 0, (uint32_t)i + 1);
	assert_int_equal(rnic_poll_cq(&fake->cq, 0, taken), 0);
	assert_int_equal(rnic_poll_cq(&fake->cq, 3, taken), 3);
	assert_int_equal(taken[2].wr_id, 2);
	assert_int_equal(taken[2].byte_count, 102);
	assert_ptr_equal(taken[2].qp, &fake->qp);
	assert_int_equal(fake->cq.control->consumer, 3);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 2);
	assert_int_equal(taken[1].wr_id, 4);
	assert_int_equal(fake->cq.control->consumer, 5);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 0);
}

/* The daemon moves `slot_zero` while the queue is empty. */
static void test_a_queue_that_begins_anew(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_completion taken[CQ_ENTRIES];

	for (uint64_t i = 0; i < 3; i++)
		complete(fake, i, 0, (uint32_t)i + 1);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 3);
	atomic_store(&fake->cq_region->slot_zero, 3);
	fake->completions[3].wr_id = 99;
	complete(fake, 3, 0, 4);
	assert_int_equal(fake->completions[0].wr_id, 3);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 1);
	assert_int_equal(taken[0].wr_id, 3);
}

static void test_credits(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_completion taken[CQ_ENTRIES];

	complete(fake, 1, 0, 3);
	complete(fake, 2, RNIC_COMPLETION_RECV, 2);
	complete(fake, 3, RNIC_COMPLETION_RECV | RNIC_COMPLETION_SRQ, 9);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 3);
	assert_int_equal(fake->qp.send.retired, 3);
	assert_int_equal(fake->qp.recv.retired, 2);

	/* From before a RESET: dropped, and counts never go back. */
	atomic_store(&fake->qp.send.retired, 20);
	complete(fake, 4, 0, 4);
	complete(fake, 5, 0, 20);
	complete(fake, 6, 0, 21);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 1);
	assert_int_equal(taken[0].wr_id, 6);
	assert_int_equal(fake->qp.send.retired, 21);
}

/* An entry has 24 bits of the count. */
static void test_credits_wrap(void **state)
{
	static const struct {
		uint32_t known, told, retired;
	} cases[] = {
		{UINT32_MAX, 1, 1},
		{0xffffff, 0x1000000, 0x1000000},
		{0x1fffffe, 0x2000002, 0x2000002},
		{0x2000001, 0x2000000, 0x2000001}, /* from before a RESET */
		{0x2000001, 0x2000001 - 4, 0x2000001},
		{0x2000001, 0x2000001 + 5, 0x2000001}, /* more than the queue has */
	};
	struct fake_session *fake = *state;
	struct rnic_completion taken[CQ_ENTRIES];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		atomic_store(&fake->qp.send.retired, cases[i].known);
		complete(fake, i, 0, cases[i].told);
		assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken),
				 cases[i].retired != cases[i].known);
		assert_int_equal(fake->qp.send.retired, cases[i].retired);
	}
}

static void test_times(void **state)
{
	struct fake_session *fake = *state;
	const struct rnic_cqe entries[] = {completion(1, 0, 1), completion(2, 0, 2)};
	struct rnic_completion taken;

	fake_session_complete(fake, &entries[0], 77);
	fake_session_complete(fake, &entries[1], 78);
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, &taken), 1);
	assert_int_equal(taken.timestamp_ns, 77);
	fake->cq.times_ns = NULL; /* a queue without RNIC_CQ_TIMESTAMPS */
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, &taken), 1);
	assert_int_equal(taken.timestamp_ns, 0);
}

/* An error has its reason where a success has its length. */
static void test_error(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cqe entry = completion(1, 0, 1);
	struct rnic_completion taken;

	entry.status = RNIC_WC_REM_ACCESS_ERR;
	entry.vendor_error = 42;
	fake_session_complete(fake, &entry, 0);
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, &taken), 1);
	assert_int_equal(taken.status, RNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(taken.vendor_error, 42);
	assert_int_equal(taken.byte_count, 0);
}

/* A completion of XRC belongs to the SRQ; the QP may be another process's. */
static void test_xrc(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_srq srq = {.context = &fake->context, .number = 0x77, .cq = &fake->cq};
	struct rnic_srq *srqs[RNIC_SESSION_SRQS_MAX] = {[4] = &srq};
	struct rnic_cqe entry =
		completion(1, RNIC_COMPLETION_RECV | RNIC_COMPLETION_SRQ | RNIC_COMPLETION_XRC, 0);
	struct rnic_completion taken[CQ_ENTRIES];

	fake->context.srqs = srqs;
	entry.qpn = 0xabcdef;
	entry.qp_slot = 4;
	entry.source_qpn = 0x77;
	fake_session_complete(fake, &entry, 0);
	entry.source_qpn = 0x78; /* of one that was destroyed */
	fake_session_complete(fake, &entry, 0);
	entry.qp_slot = 5;
	fake_session_complete(fake, &entry, 0);
	entry.qp_slot = UINT16_MAX;
	fake_session_complete(fake, &entry, 0);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 1);
	assert_ptr_equal(taken[0].srq, &srq);
	assert_null(taken[0].qp);
	assert_int_equal(taken[0].qpn, 0xabcdef);
	fake->context.srqs = NULL;
}

/* A client that asks to be woken polls once more and then sleeps: that poll must not yield. */
static void test_armed_queue_is_polled_at_once(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_channel channel = {.context = &fake->context};
	struct rnic_completion taken[CQ_ENTRIES];

	fake->cq.channel = &channel;
	for (int i = 0; i < 10; i++) {
		yields = 0;
		assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 0);
	}
	assert_int_equal(yields, 1);
	yields = 0;
	assert_int_equal(rnic_req_notify_cq(&fake->cq, true), 0);
	assert_int_equal(rnic_poll_cq(&fake->cq, CQ_ENTRIES, taken), 0);
	assert_int_equal(yields, 0);
}

static void on_empty_poll(struct rnic_cq *cq, int times)
{
	struct rnic_completion taken;

	for (int i = 0; i < times; i++)
		assert_int_equal(rnic_poll_cq(cq, 1, &taken), 0);
}

static void turn_of_an_idle_device(struct rnic_direct *device)
{
	(void)device;
}

static void put_device_into_program(struct fake_session *fake)
{
	static const struct rnic_direct_device calls = {.poll = turn_of_an_idle_device};
	static char device;

	fake->context.direct_calls = &calls;
	fake->context.direct = (struct rnic_direct *)&device;
}

/* Each poll looks at the clock once, and a microsecond passes. */
static void test_thread_alone_on_its_core_looks_for_arrivals_instead(void **state)
{
	struct fake_session *fake = *state;

	put_device_into_program(fake);
	on_empty_poll(&fake->cq, 100);
	assert_in_range(yields, 10, 20);
}

static void test_thread_among_others_yields_at_each_poll(void **state)
{
	struct fake_session *fake = *state;

	put_device_into_program(fake);
	yield_us = 2;
	on_empty_poll(&fake->cq, 100);
	assert_int_equal(yields, 100 - 3);
}

static void test_client_of_a_device_process_yields_at_each_poll(void **state)
{
	struct fake_session *fake = *state;

	on_empty_poll(&fake->cq, 100);
	assert_int_equal(yields, 100 - 3);
}

/* A sleep would last longer than the answer to a message takes. */
static void test_client_stays_awake_until_it_has_polled_for_long(void **state)
{
	struct fake_session *fake = *state;

	on_empty_poll(&fake->cq, POLLS_BEFORE_A_SLEEP - 1);
	assert_int_equal(sleeps, 0);
	assert_false(fake->session.poll_waits.value);
}

/* What the daemon does after an entry of whatever queue. */
static bool wakes_somebody(struct fake_session *fake)
{
	return rnic_wake_take(&fake->session.poll_waits);
}

static void test_idle_queue_beside_a_busy_one_costs_nothing(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cq *idle = fake_session_second_cq(fake);
	struct rnic_completion taken;

	for (uint32_t i = 0; i < 3 * POLLS_BEFORE_A_SLEEP; i++) {
		complete(fake, i, 0, i + 1);
		on_empty_poll(idle, 1);
		assert_int_equal(rnic_poll_cq(&fake->cq, 1, &taken), 1);
	}
	assert_int_equal(yields, 0);
	assert_int_equal(sleeps, 0);
}

static void test_thread_sleeps_when_all_its_queues_are_empty(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cq *other = fake_session_second_cq(fake);

	on_empty_poll(&fake->cq, POLLS_BEFORE_A_SLEEP);
	assert_true(fake->session.poll_waits.value);
	on_empty_poll(other, 1);
	assert_int_equal(sleeps, 0);
	on_empty_poll(&fake->cq, 1);
	assert_int_equal(sleeps, 1);
	assert_false(fake->session.poll_waits.value);
}

/* The entry lies in a queue that the thread has just polled. */
static void test_entry_of_another_queue_ends_the_sleep(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cq *other = fake_session_second_cq(fake);

	on_empty_poll(other, POLLS_BEFORE_A_SLEEP);
	on_empty_poll(&fake->cq, 1);
	complete(fake, 1, 0, 1);
	assert_true(wakes_somebody(fake));
	on_empty_poll(other, 1);
	assert_int_equal(sleeps, 0);
}

static void test_queue_that_is_polled_no_more_keeps_nobody_awake(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cq *left = fake_session_second_cq(fake);

	on_empty_poll(left, POLLS_BEFORE_A_SLEEP);
	on_empty_poll(&fake->cq, 2 * POLLS_BEFORE_A_SLEEP);
	assert_true(sleeps > POLLS_BEFORE_A_SLEEP / 4);
}

static void test_destroyed_qp_is_skipped(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cqe other_number = completion(1, 0, 1);
	struct rnic_cqe empty_slot = completion(2, 0, 1);
	struct rnic_cqe wild_slot = completion(3, 0, 1);
	struct rnic_completion taken[CQ_ENTRIES];

	other_number.qpn++;
	empty_slot.qp_slot++;
	wild_slot.qp_slot = UINT16_MAX;
	fake_session_complete(fake, &other_number, 0);
	fake_session_complete(fake, &empty_slot, 0);
	fake_session_complete(fake, &wild_slot, 0);
	complete(fake, 4, 0, 1);
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, taken), 1);
	assert_int_equal(taken[0].wr_id, 4);
	assert_int_equal(fake->cq.control->consumer, 4);

	fake_session_complete(fake, &empty_slot, 0);
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, taken), 0);
	assert_int_equal(fake->cq.control->consumer, 5);
}

static void test_daemon_that_lies(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_completion taken;

	rnic_word_publish(&fake->cq_region->producer, CQ_ENTRIES + 1);
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, &taken), -EIO);
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, &taken), -EIO);
}

static void test_arming(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_channel channel = {.context = &fake->context};

	assert_int_equal(rnic_req_notify_cq(&fake->cq, false), -EINVAL);
	fake->cq.channel = &channel;
	assert_int_equal(rnic_req_notify_cq(&fake->cq, true), 0);
	assert_int_equal(fake->cq.control->armed, RNIC_CQ_ARMED_SOLICITED);
	assert_int_equal(rnic_req_notify_cq(&fake->cq, false), 0);
	assert_int_equal(fake->cq.control->armed, RNIC_CQ_ARMED_ANY);
	assert_int_equal(rnic_req_notify_cq(&fake->cq, true), 0);
	assert_int_equal(fake->cq.control->armed, RNIC_CQ_ARMED_ANY);
}

/* --- awake for an entry ----------------------------------------------------------------------- */

/* When the yields so far are that many, an entry comes. */
static int yields_until_entry;
static struct fake_session *entry_of;

static void complete_after_yields(void)
{
	if (entry_of != NULL && yields == yields_until_entry)
		complete(entry_of, 7, 0, 1);
}

static void test_an_entry_that_is_there_is_not_waited_for(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cq *const cqs[] = {&fake->cq};

	complete(fake, 1, 0, 1);
	assert_int_equal(rnic_await_entry(cqs, 1), 1);
	assert_int_equal(yields, 0);
}

static void test_an_entry_that_comes_soon_is_met_awake(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cq *const cqs[] = {&fake->cq};
	struct rnic_completion taken;

	entry_of = fake;
	yields_until_entry = 3;
	assert_int_equal(rnic_await_entry(cqs, 1), 1);
	entry_of = NULL;
	assert_int_equal(yields, 3);
	assert_int_equal(rnic_poll_cq(&fake->cq, 1, &taken), 1);
	assert_int_equal(taken.wr_id, 7);
}

static void test_no_entry_is_waited_for_long(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_cq *const cqs[] = {&fake->cq};

	assert_int_equal(rnic_await_entry(cqs, 1), 0);
	assert_in_range(yields, 25, 50);
	assert_int_equal(sleeps, 0);
	assert_int_equal(rnic_await_entry(NULL, 1), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_poll, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_queue_that_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_credits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_credits_wrap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_xrc, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_armed_queue_is_polled_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_thread_alone_on_its_core_looks_for_arrivals_instead, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_thread_among_others_yields_at_each_poll,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_client_of_a_device_process_yields_at_each_poll,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_client_stays_awake_until_it_has_polled_for_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_queue_beside_a_busy_one_costs_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_thread_sleeps_when_all_its_queues_are_empty,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_entry_of_another_queue_ends_the_sleep, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_queue_that_is_polled_no_more_keeps_nobody_awake, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_destroyed_qp_is_skipped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_daemon_that_lies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_arming, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_entry_that_is_there_is_not_waited_for,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_entry_that_comes_soon_is_met_awake, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_no_entry_is_waited_for_long, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

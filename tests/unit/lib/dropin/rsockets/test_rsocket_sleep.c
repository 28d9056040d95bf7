/* SPDX-License-Identifier: MIT */
/* Threads cancelled while they wait for an rsocket: the others go on. */
#include "lib/dropin/rsockets/rsocket_objects.h"
#include "tests/unit/unit_test.h"

#include <unistd.h>

int64_t rnic_rsocket_polling_ns(void)
{
	return 0;
}

static void nothing(struct rnic_rsocket *rs)
{
	(void)rs;
}

/* As kinds do that look for news in descriptors. */
static void pass_cancellation_point(struct rnic_rsocket *rs)
{
	(void)rs;
	pthread_testcancel();
}

static int watch_nothing(struct rnic_rsocket *rs, struct pollfd *watched)
{
	(void)rs;
	(void)watched;
	return 0;
}

static struct ibv_context *no_device(const struct rnic_rsocket *rs)
{
	(void)rs;
	return NULL;
}

static bool never(const struct rnic_rsocket *rs)
{
	(void)rs;
	return false;
}

static const struct rnic_rsocket_kind kind = {
	.progress = pass_cancellation_point,
	.watch = watch_nothing,
	.device = no_device,
	.woke = nothing,
};

static void *wait_when_cancelled(void *argument)
{
	struct rnic_rsocket *rs = argument;

	pthread_cancel(pthread_self());
	rnic_rsocket_lock(rs);
	rnic_rsocket_await(rs, never, RNIC_RSOCKET_FOREVER);
	rnic_rsocket_unlock(rs);
	return NULL;
}

static int free_descriptor(void)
{
	const int fd = dup(STDIN_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void test_cancelled_while_asleep(void **state)
{
	static const struct rnic_rsocket_options options;
	struct rnic_rsocket rs = {.sleepers = NULL};
	const int fd = free_descriptor();
	pthread_t waiter;
	void *result;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	print_message("skipped: the address sanitizer mistakes the stack of a cancelled thread\n");
	skip();
#endif
	rnic_rsocket_init(&rs, &kind, AF_INET, &options);
	assert_int_equal(pthread_create(&waiter, NULL, wait_when_cancelled, &rs), 0);
	assert_int_equal(pthread_join(waiter, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_null(rs.sleepers);
	assert_int_equal(pthread_mutex_trylock(&rs.lock), 0);
	pthread_mutex_unlock(&rs.lock);
	assert_int_equal(free_descriptor(), fd);
	rnic_rsocket_fini(&rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_while_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

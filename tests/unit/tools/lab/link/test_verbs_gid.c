/* SPDX-License-Identifier: MIT */
#include "tools/lab/link/verbs_gid.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>

static union ibv_gid gid(const char *text)
{
	union ibv_gid result;

	assert_int_equal(inet_pton(AF_INET6, text, result.raw), 1);
	return result;
}

/* Each list goes from the best to the worst for the address that TCP uses. */
static void expect_order(const struct sockaddr *local, const char *const *texts, size_t count)
{
	int before = 100;

	for (size_t i = 0; i < count; i++) {
		union ibv_gid candidate = gid(texts[i]);
		int score = verbs_gid_score(&candidate, IBV_GID_TYPE_ROCE_V2, local);

		assert_true(score < before);
		before = score;
	}
}

static void test_ipv4(void **state)
{
	static const char *const best_first[] = {"::ffff:10.0.0.1", "::ffff:10.0.0.2", "fd77::1",
						 "::"};
	struct sockaddr_in local = {.sin_family = AF_INET};

	(void)state;
	assert_int_equal(inet_pton(AF_INET, "10.0.0.1", &local.sin_addr), 1);
	expect_order((struct sockaddr *)&local, best_first, RNIC_COUNT_OF(best_first));
}

static void test_ipv6(void **state)
{
	static const char *const best_first[] = {"fd77::1", "fd77::2", "fe80::1", "::"};
	struct sockaddr_in6 local = {.sin6_family = AF_INET6};

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "fd77::1", &local.sin6_addr), 1);
	expect_order((struct sockaddr *)&local, best_first, RNIC_COUNT_OF(best_first));
}

/* RoCEv1 reaches no host that RoCEv2 does not reach. */
static void test_types(void **state)
{
	union ibv_gid candidate = gid("fd77::1");

	(void)state;
	assert_true(verbs_gid_score(&candidate, IBV_GID_TYPE_ROCE_V1, NULL) <
		    verbs_gid_score(&candidate, IBV_GID_TYPE_ROCE_V2, NULL));
	assert_true(verbs_gid_score(&candidate, IBV_GID_TYPE_IB, NULL) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * A client registers many regions, and computes from their keys the keys that the next client gets.
 * That works with a generator for simulations, and must not work with the daemon.
 *
 * usage: hostile_keys RNICD
 */
#include "tests/hostile/hostile_link.h"
#include "tests/hostile/key_predictor.h"

#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#define KEYS	    1000
#define UP_TO_PD    2 /* steps of a client */
#define LOCAL_WRITE 1

/* The keys of `count` regions without memory, in the order of their draws. */
static void draw_keys(struct hostile_client *client, uint32_t *keys, uint32_t count)
{
	const struct rnic_ctl_register_mr request = {
		.pd = client->pd,
		.access = LOCAL_WRITE,
		.mode = RNIC_MEMORY_NULL,
		.length = UINT64_MAX,
	};
	struct rnic_ctl_register_mr_reply answer;
	struct hostile_reply reply;

	for (uint32_t i = 0; i < count; i++) {
		hostile_must(client->fd, RNIC_CTL_REGISTER_MR, &request, sizeof(request), &reply);
		memcpy(&answer, reply.payload, sizeof(answer));
		keys[i] = answer.rkey;
	}
}

static uint32_t count_hits(const uint32_t *predicted, const uint32_t *drawn)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < KEYS; i++)
		hits += predicted[i] == drawn[i];
	return hits;
}

/* The attack itself works. */
static void test_keys_of_a_simulation_are_predicted(void **state)
{
	static uint32_t drawn[2 * KEYS], predicted[2 * KEYS];
	uint64_t found[4];
	struct prng prng;

	(void)state;
	prng_init(&prng, 18);
	key_predictor_draw(prng.state, drawn, 2 * KEYS);
	assert_true(key_predictor_solve(drawn, KEYS, found));
	key_predictor_draw(found, predicted, 2 * KEYS);
	assert_int_equal(count_hits(predicted + KEYS, drawn + KEYS), KEYS);
}

static void test_keys_of_the_daemon_are_not(void **state)
{
	static uint32_t own[KEYS], next[KEYS], predicted[2 * KEYS];
	struct hostile_client attacker, victim;
	uint64_t found[4];

	(void)state;
	hostile_client_open(&attacker, &rnicd, UP_TO_PD);
	hostile_client_open(&victim, &rnicd, UP_TO_PD);
	draw_keys(&attacker, own, KEYS);
	draw_keys(&victim, next, KEYS);
	assert_false(key_predictor_solve(own, KEYS, found));
	key_predictor_draw(found, predicted, 2 * KEYS);
	assert_int_equal(count_hits(predicted + KEYS, next), 0);
	hostile_client_close(&victim);
	hostile_client_close(&attacker);
	hostile_expect_owned(&rnicd, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_of_a_simulation_are_predicted),
		cmocka_unit_test(test_keys_of_the_daemon_are_not),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}

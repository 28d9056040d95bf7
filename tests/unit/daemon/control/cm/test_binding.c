/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "daemon/control/cm/cm_state.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <time.h>

/* Addresses in the tables below. */
enum where { ANY, ANY4, A, B, SIX, WHERE_COUNT };

static struct rnic_gid gid_of(enum where where)
{
	static const uint8_t ipv4[WHERE_COUNT][4] = {
		[ANY4] = {0, 0, 0, 0}, [A] = {192, 0, 2, 1}, [B] = {192, 0, 2, 9}};
	struct rnic_gid six = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};

	if (where == ANY)
		return (struct rnic_gid){0};
	return where == SIX ? six : rnic_gid_from_ipv4(ipv4[where]);
}

static int bind_to(struct cm_fixture *fixture, enum where where, uint16_t port, bool may_reuse,
		   bool is_ipv6_only, struct cm_binding **binding)
{
	const struct cm_bind bind = {
		.port_space = RNIC_PORT_SPACE_TCP,
		.address = {gid_of(where), port},
		.may_reuse = may_reuse,
		.is_ipv6_only = is_ipv6_only,
	};

	return cm_bind(fixture->cm, &bind, binding);
}

static const struct {
	enum where first;
	bool first_v6_only;
	enum where second;
	bool second_v6_only;
	int result;
} conflicts[] = {
	{A, false, A, false, -EADDRINUSE},
	{A, false, B, false, 0},
	{A, false, SIX, false, 0},
	{A, false, ANY4, false, -EADDRINUSE},
	{ANY4, false, A, false, -EADDRINUSE},
	{ANY4, false, ANY4, false, -EADDRINUSE},
	{ANY4, false, SIX, false, 0},
	{ANY4, false, ANY, false, -EADDRINUSE},
	{ANY4, false, ANY, true, 0},
	{ANY, true, ANY4, false, 0},
	{ANY, true, A, false, 0},
	{ANY, false, A, false, -EADDRINUSE},
	{ANY, false, SIX, false, -EADDRINUSE},
	{ANY, true, SIX, false, -EADDRINUSE},
	{ANY, true, ANY, true, -EADDRINUSE},
	{SIX, false, SIX, false, -EADDRINUSE},
};

static void test_conflicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(conflicts); i++) {
		for (int reuse = 0; reuse < 4; reuse++) {
			int result = reuse == 3 ? 0 : conflicts[i].result;
			struct cm_binding *first, *second = NULL;
			struct cm_fixture fixture;

			fixture_init(&fixture, 1);
			assert_int_equal(bind_to(&fixture, conflicts[i].first, 7000, reuse & 1,
						 conflicts[i].first_v6_only, &first),
					 0);
			assert_int_equal(bind_to(&fixture, conflicts[i].second, 7000, reuse & 2,
						 conflicts[i].second_v6_only, &second),
					 result);
			assert_int_equal(second == NULL, result != 0);
			cm_unbind(fixture.cm, second);
			cm_unbind(fixture.cm, first);
			fixture_fini(&fixture);
		}
	}
}

static void test_other_ports_and_port_spaces(void **state)
{
	struct cm_bind bind = {.port_space = RNIC_PORT_SPACE_TCP, .address = {{{0}}, 7000}};
	struct cm_binding *bindings[3];
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1);
	assert_int_equal(cm_bind(fixture.cm, &bind, &bindings[0]), 0);
	bind.address.port = 7000 + BINDING_CHAINS;
	assert_int_equal(cm_bind(fixture.cm, &bind, &bindings[1]), 0);
	bind.address.port = 7000;
	bind.port_space = RNIC_PORT_SPACE_UDP;
	assert_int_equal(cm_bind(fixture.cm, &bind, &bindings[2]), 0);
	bind.port_space = 0x0107;
	assert_int_equal(cm_bind(fixture.cm, &bind, &bindings[2]), -EINVAL);
	for (int i = 0; i < 3; i++)
		cm_unbind(fixture.cm, bindings[i]);
	fixture_fini(&fixture);
}

static void test_quota(void **state)
{
	struct cm_binding *bindings[17];
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1);
	for (uint16_t i = 0; i < 16; i++)
		assert_int_equal(bind_to(&fixture, A, 7000 + i, false, false, &bindings[i]), 0);
	assert_int_equal(bind_to(&fixture, A, 8000, false, false, &bindings[16]), -ENOSPC);
	for (uint16_t i = 0; i < 16; i++)
		cm_unbind(fixture.cm, bindings[i]);
	fixture_fini(&fixture);
}

/* The manager chooses ephemeral ports that no other binding holds at any address. */
static void test_port_0(void **state)
{
	struct cm_binding *bindings[16];
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1);
	for (int i = 0; i < 16; i++) {
		uint16_t port;

		assert_int_equal(
			bind_to(&fixture, i % 2 == 0 ? A : B, 0, true, false, &bindings[i]), 0);
		port = cm_binding_address(bindings[i])->port;
		assert_in_range(port, 32768, 60999);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(cm_binding_address(bindings[j])->port, port);
	}
	for (int i = 0; i < 16; i++)
		cm_unbind(fixture.cm, bindings[i]);
	fixture_fini(&fixture);
}

/* Only one of the bindings that share an address listens. */
static void test_listening(void **state)
{
	struct cm_binding *first, *second;
	struct cm_binding_info info;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1);
	assert_int_equal(bind_to(&fixture, A, 7000, true, false, &first), 0);
	assert_int_equal(bind_to(&fixture, ANY, 7000, true, false, &second), 0);
	assert_int_equal(cm_listen(first, 5), 0);
	assert_int_equal(cm_listen(first, 5), -EINVAL);
	assert_int_equal(cm_listen(second, 0), -EADDRINUSE);
	cm_describe_binding(first, &info);
	assert_true(info.is_listening);
	assert_int_equal(info.backlog, 5);
	cm_unbind(fixture.cm, first);
	assert_int_equal(cm_listen(second, 1 << 20), 0);
	cm_describe_binding(second, &info);
	assert_int_equal(info.backlog, CM_DEFAULT_BACKLOG);
	assert_ptr_equal(cm_next_binding(fixture.cm, NULL), second);
	assert_null(cm_next_binding(fixture.cm, second));
	cm_unbind(fixture.cm, second);
	fixture_fini(&fixture);
}

static void test_the_most_specific_listens(void **state)
{
	static const enum where wheres[] = {ANY, ANY4, A};
	static const struct {
		enum where asked;
		int found[3]; /* the result with one, two and three bindings; -1: no binding */
	} cases[] = {{A, {0, 1, 2}}, {B, {0, 1, 1}}, {SIX, {0, 0, 0}}};
	struct cm_binding *bindings[3];
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(bind_to(&fixture, wheres[i], 7000, true, false, &bindings[i]), 0);
		binding_begin_listening(bindings[i]);
		for (size_t j = 0; j < RNIC_COUNT_OF(cases); j++) {
			struct rnic_gid gid = gid_of(cases[j].asked);

			assert_ptr_equal(binding_find_listener(&fixture.cm->bindings,
							       RNIC_PORT_SPACE_TCP, 7000, &gid),
					 bindings[cases[j].found[i]]);
			assert_null(binding_find_listener(&fixture.cm->bindings,
							  RNIC_PORT_SPACE_TCP, 7001, &gid));
			assert_null(binding_find_listener(&fixture.cm->bindings,
							  RNIC_PORT_SPACE_UDP, 7000, &gid));
		}
	}
	for (int i = 0; i < 3; i++)
		cm_unbind(fixture.cm, bindings[i]);
	fixture_fini(&fixture);
}

/* In any order of release, the manager gives each port once and finds the only free port. */
static void test_all_ports(void **state)
{
	static struct cm_binding *bindings[EPHEMERAL_COUNT];
	static bool is_given[EPHEMERAL_COUNT];
	struct cm_binding *refused;
	struct cm_fixture fixture;
	uint16_t freed;

	(void)state;
	fixture_init(&fixture, 1);
	fixture.cm->config.max_bindings = EPHEMERAL_COUNT + 1;
	for (uint32_t i = 0; i < EPHEMERAL_COUNT; i++) {
		uint32_t place;

		assert_int_equal(bind_to(&fixture, ANY, 0, false, false, &bindings[i]), 0);
		place = cm_binding_address(bindings[i])->port - (uint32_t)EPHEMERAL_FIRST;
		assert_true(place < EPHEMERAL_COUNT && !is_given[place]);
		is_given[place] = true;
	}
	assert_int_equal(bind_to(&fixture, ANY, 0, false, false, &refused), -EADDRNOTAVAIL);
	freed = cm_binding_address(bindings[7])->port;
	cm_unbind(fixture.cm, bindings[7]);
	assert_int_equal(bind_to(&fixture, ANY, 0, false, false, &bindings[7]), 0);
	assert_int_equal(cm_binding_address(bindings[7])->port, freed);
	for (uint32_t i = 0; i < EPHEMERAL_COUNT; i++)
		cm_unbind(fixture.cm, bindings[i]);
	fixture_fini(&fixture);
}

static uint64_t thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The time of some searches for the listener of port 7000, and of binds to port 7001. */
static uint64_t time_of_searches(struct cm_fixture *fixture, const struct cm_binding *listener)
{
	const struct rnic_gid gid = gid_of(A);
	const uint64_t began_ns = thread_ns();

	for (int i = 0; i < 1000; i++) {
		struct cm_binding *binding;

		assert_ptr_equal(binding_find_listener(&fixture->cm->bindings, RNIC_PORT_SPACE_TCP,
						       7000, &gid),
				 listener);
		assert_int_equal(bind_to(fixture, A, 7001, true, false, &binding), 0);
		cm_unbind(fixture->cm, binding);
	}
	return thread_ns() - began_ns;
}

/* Thousands of bindings of one port are in nobody's way, whatever the port is. */
static void test_pile(void **state)
{
	enum { PILE = 20000 };
	static struct cm_binding *pile[2 * PILE];
	struct cm_binding *listener;
	struct cm_fixture fixture;
	uint64_t without_ns;

	(void)state;
	fixture_init(&fixture, 1);
	fixture.cm->config.max_bindings = 2 * PILE + 2;
	assert_int_equal(bind_to(&fixture, A, 7000, true, false, &listener), 0);
	assert_int_equal(cm_listen(listener, 0), 0);
	without_ns = time_of_searches(&fixture, listener);
	for (uint16_t i = 0; i < 2 * PILE; i++)
		assert_int_equal(
			bind_to(&fixture, B, 7000 + i % 2 + BINDING_CHAINS, true, false, &pile[i]),
			0);
	assert_in_range(time_of_searches(&fixture, listener), 0, 20 * without_ns);
	for (uint16_t i = 0; i < 2 * PILE; i++)
		cm_unbind(fixture.cm, pile[i]);
	cm_unbind(fixture.cm, listener);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_other_ports_and_port_spaces),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_port_0),
		cmocka_unit_test(test_all_ports),
		cmocka_unit_test(test_listening),
		cmocka_unit_test(test_the_most_specific_listens),
		cmocka_unit_test(test_pile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

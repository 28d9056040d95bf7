/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/netdev_state.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

static struct netlink_fact link_fact(uint32_t netdev_index, bool is_running, uint32_t mtu_bytes)
{
	return (struct netlink_fact){.kind = NETLINK_LINK,
				     .netdev_index = netdev_index,
				     .is_running = is_running,
				     .mtu_bytes = mtu_bytes};
}

static struct netlink_fact address_fact(enum netlink_fact_kind kind, const char *address,
					bool is_duplicate)
{
	return (struct netlink_fact){.kind = kind,
				     .netdev_index = 7,
				     .gid = fixture_gid(address),
				     .is_duplicate = is_duplicate};
}

static bool apply(struct netdev_state *state, struct netlink_fact fact)
{
	return netdev_state_apply(state, &fact);
}

static bool has(const struct netdev_state *state, uint32_t i, const char *address)
{
	struct rnic_gid gid = fixture_gid(address);

	return i < state->address_count && rnic_gid_equal(&state->addresses[i].gid, &gid);
}

static void test_link(void **unused)
{
	struct netdev_state state;

	(void)unused;
	netdev_state_init(&state, "if7", 7);
	assert_false(state.is_running);
	assert_true(apply(&state, link_fact(7, true, 1500)));
	assert_false(apply(&state, link_fact(7, true, 1500)));
	assert_false(apply(&state, link_fact(8, false, 9000)));
	assert_true(apply(&state, link_fact(7, true, 9000)));
	assert_true(apply(&state, link_fact(7, false, 0)));
	assert_false(state.is_running);
	assert_int_equal(state.mtu_bytes, 9000);
}

static void test_addresses(void **unused)
{
	struct netdev_state state;

	(void)unused;
	netdev_state_init(&state, "if7", 7);
	assert_true(apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.1", false)));
	assert_false(apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.1", false)));
	assert_true(apply(&state, address_fact(NETLINK_ADDRESS, "fe80::1", true)));
	assert_true(apply(&state, address_fact(NETLINK_ADDRESS, "fe80::1", false)));
	assert_false(state.addresses[1].is_duplicate);
	assert_false(apply(&state, address_fact(NETLINK_ADDRESS_GONE, "192.0.2.2", false)));
	assert_true(apply(&state, address_fact(NETLINK_ADDRESS_GONE, "192.0.2.1", false)));
	assert_int_equal(state.address_count, 1);
	assert_true(has(&state, 0, "fe80::1"));
}

/* A link with this MAC address, whose kernel makes the link-local address of it, or does not. */
static struct netlink_fact ethernet_fact(bool is_running, bool has_mac_id)
{
	return (struct netlink_fact){.kind = NETLINK_LINK,
				     .netdev_index = 7,
				     .is_running = is_running,
				     .mtu_bytes = 1500,
				     .has_mac_id = has_mac_id,
				     .mac = {0x02, 0xfc, 0x00, 0x12, 0x34, 0x56}};
}

/* What the list holds behind the addresses that the interface has; "": nothing. */
static const char *coming(const struct netdev_state *state, char text[RNIC_GID_TEXT_BYTES])
{
	struct gid_address list[NETDEV_LIST_MAX];
	uint32_t count = netdev_state_list(state, list);

	text[0] = '\0';
	if (count == state->address_count)
		return text;
	assert_int_equal(count, state->address_count + 1);
	assert_false(list[count - 1].is_duplicate);
	return rnic_gid_text(&list[count - 1].gid, text);
}

#define MADE "fe80::fc:ff:fe12:3456"

/* The link-local address is in the list before the link is up, and leaves no gap. */
static void test_coming(void **unused)
{
	static const struct netlink_fact none = {.kind = NETLINK_DUMP_END};
	const struct netlink_fact made = address_fact(NETLINK_ADDRESS, MADE, false),
				  other = address_fact(NETLINK_ADDRESS, "fe80::5", false),
				  gone = address_fact(NETLINK_ADDRESS_GONE, MADE, false),
				  other_gone = address_fact(NETLINK_ADDRESS_GONE, "fe80::5", false);
	const struct {
		struct netlink_fact fact;
		bool has_changed;
		const char *coming;
	} steps[] = {
		/* Somebody removed the address before the daemon began. */
		{ethernet_fact(true, true), true, ""},
		{ethernet_fact(false, true), true, MADE},
		{ethernet_fact(false, true), false, MADE},
		{ethernet_fact(false, false), true, ""},
		{ethernet_fact(false, true), true, MADE},
		/* The link is up before the address is known, and later the other way round. */
		{ethernet_fact(true, true), true, MADE},
		{made, true, ""},
		{gone, true, ""},
		{ethernet_fact(false, true), true, MADE},
		{made, true, ""},
		{ethernet_fact(true, true), true, ""},
		{gone, true, ""},
		/* Another link-local address is as good. */
		{ethernet_fact(false, true), true, MADE},
		{other, true, ""},
		{other_gone, true, MADE},
		{{.kind = NETLINK_LINK_GONE, .netdev_index = 7}, true, ""},
		{none, false, ""},
	};
	struct netdev_state state;
	char text[RNIC_GID_TEXT_BYTES];

	(void)unused;
	netdev_state_init(&state, "if7", 7);
	for (size_t i = 0; i < RNIC_COUNT_OF(steps); i++) {
		assert_int_equal(apply(&state, steps[i].fact), steps[i].has_changed);
		assert_string_equal(coming(&state, text), steps[i].coming);
	}
}

static void test_dump(void **unused)
{
	struct netdev_state state;

	(void)unused;
	netdev_state_init(&state, "if7", 7);
	apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.1", false));
	apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.2", false));
	apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.3", false));
	netdev_state_begin_dump(&state);
	assert_false(apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.2", false)));
	assert_true(apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.4", false)));
	assert_true(netdev_state_end_dump(&state));
	assert_int_equal(state.address_count, 2);
	assert_true(has(&state, 0, "192.0.2.2") && has(&state, 1, "192.0.2.4"));
	netdev_state_begin_dump(&state);
	apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.2", false));
	apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.4", false));
	assert_false(netdev_state_end_dump(&state));
}

static void test_gone(void **unused)
{
	struct netlink_fact gone = {.kind = NETLINK_LINK_GONE, .netdev_index = 7};
	struct netdev_state state;

	(void)unused;
	netdev_state_init(&state, "if7", 7);
	apply(&state, link_fact(7, true, 1500));
	apply(&state, address_fact(NETLINK_ADDRESS, "192.0.2.1", false));
	assert_true(apply(&state, gone));
	assert_true(state.is_gone && !state.is_running);
	assert_int_equal(state.address_count, 0);
	assert_false(apply(&state, link_fact(7, true, 1500)));
}

static void name(struct netlink_fact *link, const char *netdev)
{
	snprintf(link->netdev, sizeof(link->netdev), "%s", netdev);
}

/* As the kernel gives an interface that was made anew another index, and udev its name later. */
static void test_return(void **unused)
{
	const struct netlink_fact gone = {.kind = NETLINK_LINK_GONE, .netdev_index = 7};
	struct netlink_fact link = link_fact(9, false, 9000);
	struct netlink_fact address = address_fact(NETLINK_ADDRESS, "192.0.2.1", false);
	struct netdev_state state;

	(void)unused;
	netdev_state_init(&state, "if7", 7);
	apply(&state, address);
	apply(&state, gone);
	address.netdev_index = 9;
	name(&link, "veth5");
	assert_false(apply(&state, link) || apply(&state, address));
	assert_true(state.is_gone);
	name(&link, "if7");
	assert_true(apply(&state, link));
	assert_false(state.is_gone || state.is_running);
	assert_int_equal(state.mtu_bytes, 9000);
	assert_int_equal(state.address_count, 0);
	link.is_running = true;
	assert_true(apply(&state, link) && apply(&state, address));
	assert_true(state.is_running && has(&state, 0, "192.0.2.1"));

	/* While the interface is there, its index counts, not its name. */
	name(&link, "other");
	assert_false(apply(&state, link));
	link.netdev_index = 10;
	name(&link, "if7");
	link.is_running = false;
	assert_false(apply(&state, link));
	assert_true(state.is_running);
}

static void test_bounded(void **unused)
{
	struct netdev_state state;

	(void)unused;
	netdev_state_init(&state, "if7", 7);
	for (uint32_t i = 0; i < NETDEV_ADDRESSES_MAX + 8; i++) {
		struct netlink_fact fact = address_fact(NETLINK_ADDRESS, "2001:db8::", false);

		fact.gid.bytes[14] = (uint8_t)(i >> 8);
		fact.gid.bytes[15] = (uint8_t)i;
		assert_int_equal(apply(&state, fact), i < NETDEV_ADDRESSES_MAX);
	}
	assert_int_equal(state.address_count, NETDEV_ADDRESSES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link),   cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_coming), cmocka_unit_test(test_dump),
		cmocka_unit_test(test_gone),   cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

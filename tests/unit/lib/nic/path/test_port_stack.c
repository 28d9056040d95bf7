/* SPDX-License-Identifier: MIT */
/* Two stacks as two device processes have them: lanes of one address, one capture. */
#include "lib/nic/path/port_stack.h"

#include "lib/nic/path/stack_counters.h"
#include "lib/nic/port/conditions/fault.h"
#include "proto/base/bits.h"
#include "proto/base/maxima.h"
#include "proto/wire/icrc.h"
#include "tests/unit/lib/nic/port/pcapng_reader.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/lib/nic/port/udp/udp_lane_fixture.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LANES	     2
#define BYTES	     1036
#define QPN_OF(lane) ((uint32_t)(lane) << 16 | 7)

static struct port_stack_config config_of(uint8_t lane)
{
	return (struct port_stack_config){
		.lane = lane,
		.port = UDP_PORT_AUTO,
		.segmentation = SEGMENTATION_ON,
	};
}

static void give(struct port_stack *stack, const struct udp_lane_fixture *lanes, uint8_t lane)
{
	const struct udp_lane_sockets sockets = udp_lane_fixture_sockets(lanes, lane);
	char text[PORT_TEXT_BYTES];

	assert_int_equal(stack->top->ops->set_gid(stack->top, 0, &lanes->gid, &sockets, text), 0);
}

/* Sends one datagram to the lane itself, which stays inside, and one to the other lane. */
static void send_both(struct port_stack *stack, const struct udp_lane_fixture *lanes, uint8_t own,
		      uint8_t other)
{
	struct datagram datagrams[2];

	for (uint32_t i = 0; i < 2; i++) {
		datagrams[i] = fixture_datagram(i, &lanes->gid, &lanes->gid, BYTES);
		udp_lane_fixture_set_qpn(&datagrams[i], QPN_OF(i == 0 ? own : other));
	}
	fixture_transmit(stack->top, datagrams, 2);
	assert_int_equal(stack->loopback->counters.sent_datagrams, 1);
	assert_int_equal(stack->udp->counters.sent_datagrams, 1);
}

static void receive_both(struct port_stack *stack, struct fixture_inbox *inbox, uint8_t lane)
{
	inbox->count = 0;
	fixture_receive(stack->top, inbox, 2, 8);
	assert_int_equal(inbox->count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct datagram *datagram = &inbox->datagrams[i];

		assert_int_equal(rnic_bth_dest_qpn(datagram->bytes), QPN_OF(lane));
		assert_int_not_equal(rnic_icrc_check(&datagram->addresses, datagram->bytes,
						     datagram->length, NULL),
				     RNIC_ICRC_BAD);
	}
}

/* All packets of both are in the file: what stays inside once, as received. */
static void check_capture(struct reader *reader, int fd)
{
	uint32_t outbound = 0;

	reader_read(reader, fd);
	assert_string_equal(reader->interface, "rnic0");
	assert_int_equal(reader->packet_count, 6);
	for (uint32_t i = 0; i < reader->packet_count; i++) {
		outbound += reader->packets[i].is_outbound;
		assert_string_equal(reader->packets[i].comment, "");
	}
	assert_int_equal(outbound, 2);
}

static void test_two_lanes(void **state)
{
	static const uint8_t numbers[LANES] = {0x80, 0x81};
	const struct rnic_gid gid = fixture_own_gid(75);
	struct fixture_inbox *inbox = calloc(1, sizeof(*inbox));
	struct reader *reader = calloc(1, sizeof(*reader));
	struct udp_lane_fixture lanes;
	struct port_stack stacks[LANES];
	char path[] = "/tmp/rnic-stack-XXXXXX", text[PORT_TEXT_BYTES];
	int fd = mkstemp(path), shared;

	(void)state;
	assert_true(fd >= 0 && inbox != NULL && reader != NULL);
	assert_int_equal(capture_create_file(&shared, path, "rnic0", text), 0);
	assert_true(udp_lane_fixture_open(&lanes, &gid, RNIC_UDP_PORT));
	for (uint32_t i = 0; i < LANES; i++) {
		struct port_stack_config config = config_of(numbers[i]);

		config.has_capture_fd = true;
		config.capture_fd = fcntl(shared, F_DUPFD_CLOEXEC, 0);
		assert_int_equal(port_stack_open(&stacks[i], &config, fixture_now_ns(), text), 0);
		assert_non_null(stacks[i].capture);
		give(&stacks[i], &lanes, numbers[i]);
	}
	close(shared);
	for (uint32_t i = 0; i < LANES; i++)
		send_both(&stacks[i], &lanes, numbers[i], numbers[1 - i]);
	for (uint32_t i = 0; i < LANES; i++)
		receive_both(&stacks[i], inbox, numbers[i]);
	for (uint32_t i = 0; i < LANES; i++)
		port_stack_close(&stacks[i]);
	check_capture(reader, fd);
	udp_lane_fixture_close(&lanes);
	unlink(path);
	close(fd);
	free(reader);
	free(inbox);
}

/* Puts a rule into slot 1, as rule 7; NULL empties the slot. */
static void set_rule(struct port_stack *stack, const char *text)
{
	assert_int_equal(
		port_stack_set_rule(stack, 1, text != NULL ? 7 : 0, text, 1, fixture_now_ns()), 0);
}

/* The stack of a whole device opens its own sockets. */
static void test_without_lanes(void **state)
{
	struct rnic_gid gids[RNIC_GIDS_MAX] = {fixture_own_gid(76)};
	struct port_stack_config config = config_of(RNIC_LANE_NONE);
	struct fixture_inbox *inbox = calloc(1, sizeof(*inbox));
	struct datagram datagram = fixture_datagram(0, &gids[0], &gids[0], BYTES);
	struct port_stack stack;
	char text[PORT_TEXT_BYTES];

	(void)state;
	assert_non_null(inbox);
	config.gids = gids;
	assert_int_equal(port_stack_open(&stack, &config, fixture_now_ns(), text), 0);
	assert_null(stack.capture);
	set_rule(&stack, "drop=50%");
	while (stack.loopback->counters.sent_datagrams == 0)
		fixture_transmit(stack.top, &datagram, 1);
	fixture_receive(stack.top, inbox, 1, 8);
	assert_int_equal(stack.udp->counters.sent_datagrams, 0);
	port_stack_close(&stack);
	free(inbox);
}

/* What is sent while the link is cut is lost, and what comes then is gone when the link is whole.
 */
static void test_cut(void **state)
{
	struct rnic_gid gids[RNIC_GIDS_MAX] = {fixture_own_gid(77)};
	struct port_stack_config config = config_of(RNIC_LANE_NONE);
	struct fixture_inbox *inbox = calloc(1, sizeof(*inbox));
	struct datagram datagram = fixture_datagram(0, &gids[0], &gids[0], BYTES);
	struct datagram arrived[8];
	struct port_stack stack;
	struct port *whole;
	char text[PORT_TEXT_BYTES];

	(void)state;
	assert_non_null(inbox);
	config.gids = gids;
	assert_int_equal(port_stack_open(&stack, &config, fixture_now_ns(), text), 0);
	whole = stack.top;
	fixture_transmit(stack.top, &datagram, 1);
	port_stack_set_cut(&stack, true);
	port_stack_set_cut(&stack, true);
	fixture_transmit(stack.top, &datagram, 1);
	assert_int_equal(stack.loopback->counters.sent_datagrams, 1);
	assert_int_equal(stack.top->ops->receive(stack.top, arrived, 8, fixture_now_ns()), 0);
	port_stack_set_cut(&stack, false);
	assert_ptr_equal(stack.top, whole);
	assert_int_equal(stack.top->ops->receive(stack.top, arrived, 8, fixture_now_ns()), 0);
	fixture_transmit(stack.top, &datagram, 1);
	fixture_receive(stack.top, inbox, 1, 8);
	port_stack_set_cut(&stack, true);
	port_stack_close(&stack);
	free(inbox);
}

/* Rules lie below the cut, and a stack without rules is as it was. */
static void test_rules(void **state)
{
	struct rnic_gid gids[RNIC_GIDS_MAX] = {fixture_own_gid(78)};
	struct port_stack_config config = config_of(RNIC_LANE_NONE);
	struct datagram datagram = fixture_datagram(0, &gids[0], &gids[0], BYTES);
	struct port_stack stack;
	struct port *whole;
	uint64_t hits;
	uint32_t id;
	char text[PORT_TEXT_BYTES];

	(void)state;
	config.gids = gids;
	assert_int_equal(port_stack_open(&stack, &config, fixture_now_ns(), text), 0);
	whole = stack.top;
	set_rule(&stack, NULL);
	assert_int_equal(port_stack_set_rule(&stack, 1, 7, "lose", 1, fixture_now_ns()), -EINVAL);
	assert_ptr_equal(stack.top, whole);
	set_rule(&stack, "drop");
	assert_ptr_equal(stack.top, stack.fault);
	assert_ptr_equal(port_stack_sender(&stack), stack.fault);
	assert_ptr_equal(port_stack_receiver(&stack), whole);
	fixture_transmit(stack.top, &datagram, 1);
	stack_rule_read(&stack, 1, &id, &hits);
	assert_int_equal(id, 7);
	assert_int_equal(hits, 1);
	port_stack_set_cut(&stack, true);
	fixture_transmit(stack.top, &datagram, 1);
	stack_rule_read(&stack, 1, &id, &hits);
	assert_int_equal(hits, 1);
	set_rule(&stack, NULL);
	assert_null(stack.fault);
	set_rule(&stack, "delay=60s");
	port_stack_set_cut(&stack, false);
	fixture_transmit(stack.top, &datagram, 1);
	assert_int_equal(stack.loopback->counters.sent_datagrams, 0);
	/* What is held keeps the port in the way of what is sent. */
	assert_int_equal(port_stack_set_rule(&stack, 1, 8, "rx:drop", 1, fixture_now_ns()), 0);
	assert_ptr_equal(port_stack_receiver(&stack), stack.fault);
	assert_ptr_equal(port_stack_sender(&stack), stack.fault);
	set_rule(&stack, NULL);
	assert_int_equal(stack.loopback->counters.sent_datagrams, 1);
	set_rule(&stack, "rx:drop");
	assert_ptr_equal(port_stack_sender(&stack), whole);
	set_rule(&stack, NULL);
	assert_ptr_equal(port_stack_receiver(&stack), whole);
	assert_ptr_equal(stack.top, whole);
	stack_rule_read(&stack, 1, &id, &hits);
	assert_int_equal(id, 0);
	port_stack_close(&stack);
}

/* Whatever fails, nothing stays open, the capture neither. */
static void test_failures(void **state)
{
	struct rnic_gid gids[RNIC_GIDS_MAX] = {fixture_gid("203.0.113.1")};
	struct port_stack_config config = config_of(0x80);
	struct port_stack stack;
	char text[PORT_TEXT_BYTES];

	(void)state;
	config.has_capture_fd = true;
	config.gids = gids;
	config.capture_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_true(port_stack_open(&stack, &config, fixture_now_ns(), text) < 0);
	assert_string_not_equal(text, "");
	assert_int_equal(fcntl(config.capture_fd, F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_lanes), cmocka_unit_test(test_without_lanes),
		cmocka_unit_test(test_cut),	  cmocka_unit_test(test_rules),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

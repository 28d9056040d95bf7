/* SPDX-License-Identifier: MIT */
/*
 * Connecting to a host that has several addresses, and the steps of a queue pair, over a connection
 * manager and a device that are fakes.
 */
#include "lib/apis/dial/dial.h"
#include "tests/unit/unit_test.h"

#include <poll.h>

/* A device that has IPv4 addresses only, and hosts that answer at them. */
static struct {
	const uint8_t *families; /* of the host's addresses; ends with 0 */
	struct rnic_cm_event event;
	bool has_event;
	uint32_t ids; /* that are not destroyed */
	struct step {
		uint32_t state;
		uint32_t mask;
		uint8_t timeout;
	} steps[4];
	uint32_t step_count;
	uint32_t refused_step; /* counted from 1; 0: none */
} world;

static struct rnic_cm_id *const an_id = (struct rnic_cm_id *)&world;
static struct rnic_cm_channel *const a_channel = (struct rnic_cm_channel *)&world;
static struct rnic_qp *const a_qp = (struct rnic_qp *)&world;

static void raise_event(enum rnic_cm_event_type type, int status)
{
	assert_false(world.has_event);
	world.event = (struct rnic_cm_event){.type = type, .status = status, .id = an_id};
	world.has_event = true;
}

uint64_t rnic_dial_now_ns(void)
{
	return 0;
}

int rnic_dial_poll_timeout_ms(uint64_t deadline_ns)
{
	(void)deadline_ns;
	return 0;
}

int rnic_dial_resolve(const char *host, uint16_t port, uint32_t max_count,
		      struct rnic_endpoint *endpoints)
{
	uint32_t count = 0;

	(void)host;
	while (count < max_count && world.families[count] != 0) {
		endpoints[count] =
			(struct rnic_endpoint){.family = world.families[count], .port = port};
		count++;
	}
	return (int)count;
}

int rnic_wait(struct rnic_context *context, struct pollfd *descriptors, unsigned count,
	      int timeout_ms)
{
	(void)context;
	(void)descriptors;
	(void)count;
	(void)timeout_ms;
	fail_msg("%s", "it waits for what never comes");
	return 0;
}

int rnic_cm_channel_fd(const struct rnic_cm_channel *channel)
{
	(void)channel;
	return -1;
}

int rnic_cm_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	(void)channel;
	if (!world.has_event)
		return -EAGAIN;
	*event = world.event;
	world.has_event = false;
	return 0;
}

void rnic_cm_ack_event(const struct rnic_cm_event *event)
{
	(void)event;
}

int rnic_cm_create_id(struct rnic_cm_channel *channel, enum rnic_port_space port_space,
		      enum rnic_qp_type qp_type, void *user, struct rnic_cm_id **id)
{
	(void)channel;
	(void)port_space;
	(void)qp_type;
	(void)user;
	world.ids++;
	*id = an_id;
	return 0;
}

int rnic_cm_destroy_id(struct rnic_cm_id *id)
{
	assert_ptr_equal(id, an_id);
	world.ids--;
	return 0;
}

int rnic_cm_resolve_address(struct rnic_cm_id *id, const struct rnic_endpoint *source,
			    const struct rnic_endpoint *destination, uint32_t timeout_ms)
{
	(void)id;
	(void)source;
	(void)timeout_ms;
	if (destination->family == 4)
		raise_event(RNIC_CM_ADDR_RESOLVED, 0);
	else
		raise_event(RNIC_CM_ADDR_ERROR, -ENODEV);
	return 0;
}

int rnic_cm_resolve_route(struct rnic_cm_id *id, uint32_t timeout_ms)
{
	(void)id;
	(void)timeout_ms;
	raise_event(RNIC_CM_ROUTE_RESOLVED, 0);
	return 0;
}

int rnic_cm_connect(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters)
{
	(void)id;
	(void)parameters;
	raise_event(RNIC_CM_CONNECT_RESPONSE, 0);
	return 0;
}

int rnic_cm_establish(struct rnic_cm_id *id)
{
	(void)id;
	return 0;
}

int rnic_cm_connection_attributes(struct rnic_cm_id *id, struct rnic_qp_attributes *attributes,
				  uint32_t *receive_mask, uint32_t *send_mask)
{
	(void)id;
	memset(attributes, 0, sizeof(*attributes));
	*receive_mask = 0;
	*send_mask = 0;
	return 0;
}

int rnic_modify_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes, uint32_t mask)
{
	assert_ptr_equal(qp, a_qp);
	assert_true(world.step_count < sizeof(world.steps) / sizeof(world.steps[0]));
	world.steps[world.step_count++] =
		(struct step){attributes->state, mask, attributes->timeout};
	return world.step_count == world.refused_step ? -EINVAL : 0;
}

int rnic_connect_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes,
		    uint32_t receive_mask, uint32_t send_mask)
{
	(void)qp;
	(void)attributes;
	(void)receive_mask;
	(void)send_mask;
	return 0;
}

static int dial(const uint8_t *families)
{
	const struct rnic_cm_parameters parameters = {.qpn = 1};
	const struct rnic_dial_attempt attempt = {a_channel, a_qp, &parameters, RNIC_DIAL_FOREVER};
	struct rnic_cm_parameters answer;
	struct rnic_cm_id *id;

	memset(&world, 0, sizeof(world));
	world.families = families;
	return rnic_dial_connect(&attempt, "host", 7000, &id, &answer);
}

static void test_the_address_that_can_be_reached_is_found(void **state)
{
	(void)state;
	assert_int_equal(dial((const uint8_t[]){6, 4, 0}), 0);
	assert_int_equal(world.ids, 1);
}

/* -ENODEV would mean that the daemon is gone. */
static void test_no_address_can_be_reached(void **state)
{
	(void)state;
	assert_int_equal(dial((const uint8_t[]){6, 6, 0}), -ENETUNREACH);
	assert_int_equal(world.ids, 0);
}

/* The timeout is an attribute of the step from SQD to SQD alone. */
static void test_a_new_timeout_takes_the_steps_of_the_state_diagram(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	assert_int_equal(rnic_dial_set_ack_timeout(a_qp, 12), 0);
	assert_int_equal(world.step_count, 3);
	assert_int_equal(world.steps[0].state, RNIC_QP_STATE_SQD);
	assert_int_equal(world.steps[0].mask, RNIC_QP_ATTR_STATE);
	assert_int_equal(world.steps[1].state, RNIC_QP_STATE_SQD);
	assert_int_equal(world.steps[1].mask, RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_TIMEOUT);
	assert_int_equal(world.steps[1].timeout, 12);
	assert_int_equal(world.steps[2].state, RNIC_QP_STATE_RTS);
	assert_int_equal(world.steps[2].mask, RNIC_QP_ATTR_STATE);
}

static void test_a_refused_step_is_the_last(void **state)
{
	(void)state;
	for (uint32_t step = 1; step <= 3; step++) {
		memset(&world, 0, sizeof(world));
		world.refused_step = step;
		assert_int_equal(rnic_dial_set_ack_timeout(a_qp, 12), -EINVAL);
		assert_int_equal(world.step_count, step);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_address_that_can_be_reached_is_found),
		cmocka_unit_test(test_no_address_can_be_reached),
		cmocka_unit_test(test_a_new_timeout_takes_the_steps_of_the_state_diagram),
		cmocka_unit_test(test_a_refused_step_is_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

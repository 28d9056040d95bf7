/* SPDX-License-Identifier: MIT */
/*
 * Where an identifier is when there are several devices. The test plays their daemons, and which
 * device has an address.
 */
#include "lib/dropin/rdmacm/rdma_sources.h"
#include "tests/unit/unit_test.h"

#include "proto/wire/gid.h"

#include <sys/eventfd.h>
#include <unistd.h>

#define PLAYED_DEVICES 3
#define FREE_PORT      1000

struct rnic_context {
	bool is_lost;
	int loss_fd;
};

struct rnic_cm_channel {
	uint32_t device;
	int fd;
};

struct rnic_cm_id {
	struct rnic_cm_channel *channel;
	uint16_t port;
	bool has_open_event;
	bool has_ended;
};

static struct {
	struct rnic_context contexts[PLAYED_DEVICES];
	struct rnic_cma_device devices[PLAYED_DEVICES];
	uint32_t chosen;	   /* the device that has, or leads to, the address; or none */
	uint16_t taken_port;	   /* is another's on the last device */
	int requests;		   /* to any daemon */
	int ids, channels;	   /* that there are */
	int migrations_until_fail; /* 0: none fails */
} world;

/* --- what is played -------------------------------------------------------------------------- */

static int answer(uint32_t device)
{
	world.requests++;
	return world.contexts[device].is_lost ? -ETIMEDOUT : 0;
}

static int play_check(struct rnic_context *context)
{
	return context->is_lost ? -ETIMEDOUT : 0;
}

static int play_loss_fd(const struct rnic_context *context)
{
	return context->loss_fd;
}

static int play_create_channel(struct rnic_context *context, struct rnic_cm_channel **created)
{
	const uint32_t device = (uint32_t)(context - world.contexts);
	struct rnic_cm_channel *channel = calloc(1, sizeof(*channel));

	assert_non_null(channel);
	assert_int_equal(answer(device), 0);
	channel->device = device;
	channel->fd = eventfd(0, EFD_CLOEXEC);
	world.channels++;
	*created = channel;
	return 0;
}

static int play_destroy_channel(struct rnic_cm_channel *channel)
{
	close(channel->fd);
	free(channel);
	world.channels--;
	return 0;
}

static int play_channel_fd(const struct rnic_cm_channel *channel)
{
	return channel->fd;
}

static int play_create_id(struct rnic_cm_channel *channel, enum rnic_port_space port_space,
			  enum rnic_qp_type qp_type, void *user, struct rnic_cm_id **created)
{
	struct rnic_cm_id *id;
	int error = answer(channel->device);

	(void)port_space;
	(void)qp_type;
	(void)user;
	if (error != 0)
		return error;
	id = calloc(1, sizeof(*id));
	assert_non_null(id);
	id->channel = channel;
	world.ids++;
	*created = id;
	return 0;
}

static int play_end_id(struct rnic_cm_id *id)
{
	id->has_ended = true;
	return 0;
}

static bool play_has_open_events(struct rnic_cm_id *id)
{
	return id->has_open_event;
}

/* The real one would wait for ever: the test is who acknowledges. */
static int play_destroy_id(struct rnic_cm_id *id)
{
	assert_false(id->has_open_event);
	free(id);
	world.ids--;
	return 0;
}

static int play_bind(struct rnic_cm_id *id, const struct rnic_endpoint *local,
		     struct rnic_cm_endpoints *where)
{
	int error = answer(id->channel->device);

	assert_false(id->has_ended);
	if (error != 0)
		return error;
	if (id->channel->device == PLAYED_DEVICES - 1 && local->port != 0 &&
	    local->port == world.taken_port)
		return -EADDRINUSE;
	id->port = local->port != 0 ? local->port : FREE_PORT;
	if (where != NULL)
		*where = (struct rnic_cm_endpoints){.local.port = id->port};
	return 0;
}

static int play_migrate(struct rnic_cm_id *id, struct rnic_cm_channel *channel)
{
	int error = answer(channel->device);

	assert_int_equal(id->channel->device, channel->device);
	if (error == 0 && world.migrations_until_fail > 0 && --world.migrations_until_fail == 0)
		error = -ENOMEM;
	if (error == 0)
		id->channel = channel;
	return error;
}

static int play_set_option(struct rnic_cm_id *id, enum rnic_cm_option option, uint32_t value)
{
	(void)option;
	(void)value;
	return answer(id->channel->device);
}

const struct rnic_native_table rnic_native = {
	.context_check = play_check,
	.context_loss_fd = play_loss_fd,
	.cm_create_channel = play_create_channel,
	.cm_destroy_channel = play_destroy_channel,
	.cm_channel_fd = play_channel_fd,
	.cm_create_id = play_create_id,
	.cm_end_id = play_end_id,
	.cm_has_open_events = play_has_open_events,
	.cm_destroy_id = play_destroy_id,
	.cm_bind = play_bind,
	.cm_migrate = play_migrate,
	.cm_set_option = play_set_option,
};

int rnic_cma_devices_get(struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX], uint32_t *count)
{
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++)
		devices[i] = &world.devices[i];
	*count = PLAYED_DEVICES;
	return 0;
}

static struct rnic_cma_source *chosen_of(struct rnic_cma_channel *channel)
{
	return world.chosen < PLAYED_DEVICES ? &channel->sources[world.chosen] : NULL;
}

struct rnic_cma_source *rnic_cma_owner(struct rnic_cma_channel *channel,
				       const struct rnic_endpoint *address)
{
	(void)address;
	return chosen_of(channel);
}

struct rnic_cma_source *rnic_cma_way_to(struct rnic_cma_channel *channel,
					const struct rnic_endpoint *destination)
{
	(void)destination;
	return chosen_of(channel);
}

/* --- the scenarios --------------------------------------------------------------------------- */

static const struct rnic_endpoint any = {.family = 4}, peer = {.family = 4, .address.bytes = {1}};

static void channel_begin(struct rnic_cma_channel *channel)
{
	*channel = (struct rnic_cma_channel){.lock = PTHREAD_MUTEX_INITIALIZER};
	assert_int_equal(rnic_cma_sources_open(channel), 0);
}

static void id_begin(struct rnic_cma_id *id, struct rnic_cma_channel *channel)
{
	*id = (struct rnic_cma_id){.public.channel = &channel->public};
	assert_int_equal(rnic_cma_begin(id), 0);
}

static void id_end(struct rnic_cma_id *id)
{
	assert_int_equal(rnic_cma_end(id), 0);
	rnic_cma_free_natives(id);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++) {
		world.contexts[i].loss_fd = eventfd(0, EFD_CLOEXEC);
		world.devices[i].native = &world.contexts[i];
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++)
		close(world.contexts[i].loss_fd);
	assert_int_equal(world.ids, 0);
	assert_int_equal(world.channels, 0);
	return 0;
}

/* Only the daemon of the device that an address leads to is asked. */
static void test_one_daemon_is_asked(void **state)
{
	struct rnic_cma_channel channel;
	struct rnic_cma_id id;

	(void)state;
	channel_begin(&channel);
	id_begin(&id, &channel);
	assert_int_equal(rnic_cma_set_option(&id, RNIC_CM_OPTION_TOS, 4), 0);
	assert_int_equal(world.requests, 0);
	world.chosen = 1;
	assert_int_equal(rnic_cma_choose_device(&id, NULL, &peer), 0);
	assert_ptr_equal(id.device, &world.devices[1]);
	assert_int_equal(world.channels, 1);
	id_end(&id);
	rnic_cma_sources_close(&channel);
}

/* The caller of the second try is the one who has the event of the first. */
static void test_moves_beside_an_open_event(void **state)
{
	struct rnic_cma_channel channel;
	struct rnic_cma_id id;
	struct rnic_cm_id *first, *second;

	(void)state;
	channel_begin(&channel);
	id_begin(&id, &channel);
	assert_int_equal(rnic_cma_choose_device(&id, NULL, &peer), 0);
	first = id.native;
	first->has_open_event = true;
	world.chosen = 1;
	assert_int_equal(rnic_cma_choose_device(&id, NULL, &peer), 0);
	second = id.native;
	assert_true(first->has_ended);
	assert_false(second->has_ended);
	assert_int_equal(world.ids, 2);
	/* Once its event is acknowledged, the first one goes with the next move. */
	first->has_open_event = false;
	world.chosen = 2;
	assert_int_equal(rnic_cma_choose_device(&id, NULL, &peer), 0);
	assert_int_equal(world.ids, 1);
	id_end(&id);
	rnic_cma_sources_close(&channel);
}

/* Another device has the port: the identifier is bound nowhere then, and can be bound again. */
static void test_bound_everywhere_or_nowhere(void **state)
{
	const struct rnic_endpoint wanted = {.family = 4, .port = 7};
	struct rnic_cm_endpoints where;
	struct rnic_cma_channel channel;
	struct rnic_cma_id id;

	(void)state;
	channel_begin(&channel);
	id_begin(&id, &channel);
	world.taken_port = 7;
	assert_int_equal(rnic_cma_bind(&id, &wanted, &where), -EADDRINUSE);
	assert_int_equal(world.ids, 1);
	assert_int_equal(id.native->port, 0);
	world.taken_port = 0;
	assert_int_equal(rnic_cma_bind(&id, &wanted, &where), 0);
	assert_int_equal(world.ids, PLAYED_DEVICES);
	id_end(&id);
	rnic_cma_sources_close(&channel);
}

/* A device that does not answer in time is lost as one that ended is. */
static void test_lost_first_device(void **state)
{
	struct rnic_cm_endpoints where;
	struct rnic_cma_channel channel;
	struct rnic_cma_id id;

	(void)state;
	world.contexts[0].is_lost = true;
	channel_begin(&channel);
	id_begin(&id, &channel);
	assert_int_equal(rnic_cma_bind(&id, &any, &where), 0);
	assert_ptr_equal(id.device, &world.devices[1]);
	assert_int_equal(world.ids, PLAYED_DEVICES - 1);
	id_end(&id);
	rnic_cma_sources_close(&channel);
}

static uint32_t count_at(const struct rnic_cma_id *id, const struct rnic_cma_channel *channel)
{
	uint32_t count = id->native->channel == channel->sources[0].native;

	for (const struct rnic_cma_place *place = id->elsewhere; place != NULL; place = place->next)
		for (uint32_t i = 1; i < PLAYED_DEVICES; i++)
			count += place->native->channel == channel->sources[i].native;
	return count;
}

/* Whichever device refuses, the identifier then reports to the old channel by all. */
static void test_migrates_with_all_or_none(void **state)
{
	struct rnic_cm_endpoints where;
	struct rnic_cma_channel old, new;
	struct rnic_cma_id id;

	(void)state;
	channel_begin(&old);
	channel_begin(&new);
	id_begin(&id, &old);
	assert_int_equal(rnic_cma_bind(&id, &any, &where), 0);
	for (int i = 1; i <= PLAYED_DEVICES; i++) {
		world.migrations_until_fail = i;
		assert_int_equal(rnic_cma_report_to(&id, &new), -ENOMEM);
		assert_int_equal(count_at(&id, &old), PLAYED_DEVICES);
	}
	world.contexts[1].is_lost = true;
	assert_int_equal(rnic_cma_report_to(&id, &new), 0);
	assert_int_equal(count_at(&id, &new), PLAYED_DEVICES - 1);
	id_end(&id);
	rnic_cma_sources_close(&old);
	rnic_cma_sources_close(&new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_daemon_is_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_moves_beside_an_open_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bound_everywhere_or_nowhere, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_lost_first_device, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_migrates_with_all_or_none, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

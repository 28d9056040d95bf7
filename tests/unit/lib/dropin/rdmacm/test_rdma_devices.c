/* SPDX-License-Identifier: MIT */
/* The list of devices. The test plays libibverbs, which asks the daemons. */
#include "lib/dropin/rdmacm/rdma_objects.h"
#include "tests/unit/unit_test.h"

#include <semaphore.h>
#include <unistd.h>

#define PLAYED_DEVICES 3
#define SEARCHES_MAX   16

struct played_device {
	struct ibv_device device; /* first, so that its address is that of the whole */
	struct ibv_context context;
	int index;
	__be64 guid;
	bool is_absent;
	bool is_lost;
};

static struct {
	struct played_device devices[PLAYED_DEVICES];
	int lists; /* that were asked for */
	uint64_t now_ns, list_takes_ns;
	sem_t is_asked, may_answer;
	bool is_slow; /* the next list */
} world;

/* --- what is played -------------------------------------------------------------------------- */

static struct played_device *played_of(const struct ibv_device *device)
{
	return (struct played_device *)device;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(PLAYED_DEVICES + 1, sizeof(*list));
	uint32_t count = 0;

	(void)num_devices;
	assert_non_null(list);
	world.lists++;
	world.now_ns += world.list_takes_ns;
	if (world.is_slow) {
		world.is_slow = false;
		sem_post(&world.is_asked);
		sem_wait(&world.may_answer);
	}
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++)
		if (!world.devices[i].is_absent)
			list[count++] = &world.devices[i].device;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	played_of(device)->context.device = device;
	return &played_of(device)->context;
}

int ibv_close_device(struct ibv_context *context)
{
	(void)context;
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	(void)context;
	*attributes = (struct ibv_device_attr){.phys_port_cnt = 1};
	return 0;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return played_of(device)->guid;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return played_of(device)->index;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	(void)context;
	return NULL;
}

static struct rnic_context *play_context(struct ibv_context *context)
{
	return (struct rnic_context *)played_of(context->device);
}

static int play_check(struct rnic_context *native)
{
	return ((struct played_device *)native)->is_lost ? -ENODEV : 0;
}

uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return world.now_ns;
}

static void play_fork_list_add(struct rnic_fork_entry *entry)
{
	(void)entry;
}

const struct rnic_native_table rnic_native = {
	.bytes = sizeof(rnic_native),
	.context = play_context,
	.context_check = play_check,
	.fork_list_add = play_fork_list_add,
};

/* --- the scenarios --------------------------------------------------------------------------- */

static int start(void **state)
{
	struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX];
	uint32_t count;

	(void)state;
	/* The devices of an earlier test are gone. */
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++)
		world.devices[i] = (struct played_device){.is_absent = true, .is_lost = true};
	assert_int_equal(rnic_cma_devices_get(devices, &count), -ENODEV);
	for (uint32_t i = 0; i < PLAYED_DEVICES; i++)
		world.devices[i] = (struct played_device){.index = (int)i, .guid = 0x10 + i};
	world.lists = 0;
	world.list_takes_ns = 0;
	sem_init(&world.is_asked, 0, 0);
	sem_init(&world.may_answer, 0, 0);
	return 0;
}

static void expect_devices(uint32_t expected)
{
	/* The process keeps devices for ever; a checker of leaks is to find them. */
	static struct rnic_cma_device *all[SEARCHES_MAX][RNIC_CMA_DEVICES_MAX];
	static uint32_t used;
	struct rnic_cma_device **devices = all[used++ % SEARCHES_MAX];
	uint32_t count = 0;

	assert_int_equal(rnic_cma_devices_get(devices, &count), 0);
	assert_int_equal(count, expected);
	for (uint32_t i = 1; i < count; i++)
		assert_true(ibv_get_device_index(devices[i - 1]->verbs->device) <
			    ibv_get_device_index(devices[i]->verbs->device));
}

static void test_one_guid(void **state)
{
	(void)state;
	world.devices[2].guid = world.devices[0].guid;
	expect_devices(PLAYED_DEVICES);
	expect_devices(PLAYED_DEVICES);
	assert_int_equal(world.lists, 1);
}

/* One that was lost comes back in its place. */
static void test_lost_and_back(void **state)
{
	(void)state;
	expect_devices(PLAYED_DEVICES);
	world.devices[1].is_lost = world.devices[1].is_absent = true;
	expect_devices(PLAYED_DEVICES - 1);
	world.devices[1].is_lost = world.devices[1].is_absent = false;
	expect_devices(PLAYED_DEVICES);
}

/* A lost device's daemon hangs: who wants the others is not kept by each search for it. */
static void test_searches_that_take_long(void **state)
{
	int count;

	(void)state;
	expect_devices(PLAYED_DEVICES);
	world.devices[1].is_lost = world.devices[1].is_absent = true;
	world.list_takes_ns = 30;
	expect_devices(PLAYED_DEVICES - 1);
	assert_int_equal(world.lists, 2);
	expect_devices(PLAYED_DEVICES - 1);
	assert_int_equal(world.lists, 2);
	rdma_free_devices(rdma_get_devices(&count));
	assert_int_equal(world.lists, 3);
	world.now_ns += 300;
	expect_devices(PLAYED_DEVICES - 1);
	assert_int_equal(world.lists, 4);
	/* Without any device a search comes first. */
	world.devices[0].is_lost = world.devices[2].is_lost = true;
	world.devices[0].is_absent = true;
	world.devices[1].is_lost = world.devices[1].is_absent = false;
	world.devices[2].is_absent = true;
	expect_devices(1);
	assert_int_equal(world.lists, 5);
}

static void *count_all(void *context)
{
	rdma_free_devices(rdma_get_devices(context));
	return NULL;
}

/* A daemon is slow to answer one thread, and others have the devices meanwhile. */
static void test_beside_a_search(void **state)
{
	pthread_t searcher;
	int count = 0;

	(void)state;
	expect_devices(PLAYED_DEVICES);
	world.is_slow = true;
	assert_int_equal(pthread_create(&searcher, NULL, count_all, &count), 0);
	sem_wait(&world.is_asked);
	expect_devices(PLAYED_DEVICES);
	assert_int_equal(count, 0);
	sem_post(&world.may_answer);
	assert_int_equal(pthread_join(searcher, NULL), 0);
	assert_int_equal(count, PLAYED_DEVICES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_guid, start),
		cmocka_unit_test_setup(test_lost_and_back, start),
		cmocka_unit_test_setup(test_searches_that_take_long, start),
		cmocka_unit_test_setup(test_beside_a_search, start),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * The groups of an identifier when several threads join, leave and take events. The test plays the
 * daemon and libibverbs; the acts of another thread happen while the daemon is asked.
 */
#include "lib/dropin/rdmacm/rdma_translate.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>

#define ROUNDS 2000

static struct {
	int join_result;
	void (*meanwhile)(struct rnic_cma_id *id);
	struct rnic_cma_id *id;
	int attached; /* groups that the queue pair is in */
} world;

/* --- what is played -------------------------------------------------------------------------- */

static int play_join_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group,
			   bool is_send_only)
{
	const int result = world.join_result;
	void (*meanwhile)(struct rnic_cma_id *) = world.meanwhile;

	(void)id;
	(void)group;
	(void)is_send_only;
	if (meanwhile != NULL) {
		world.meanwhile = NULL;
		world.join_result = 0;
		meanwhile(world.id);
	}
	return result;
}

static int play_leave_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group)
{
	(void)id;
	(void)group;
	return 0;
}

static int play_query(struct rnic_cm_id *id, struct rnic_cm_endpoints *endpoints)
{
	(void)id;
	(void)endpoints;
	return -ENODEV;
}

const struct rnic_native_table rnic_native = {
	.cm_join_mcast = play_join_mcast,
	.cm_leave_mcast = play_leave_mcast,
	.cm_query = play_query,
};

int rnic_cma_take_place(struct rnic_cma_id *id, const struct rnic_cm_endpoints *where)
{
	(void)id;
	(void)where;
	return -ENODEV;
}

int rnic_cma_complete(struct rnic_cma_id *id)
{
	(void)id;
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	world.attached++;
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	world.attached--;
	return 0;
}

/* --- the scenarios --------------------------------------------------------------------------- */

static struct sockaddr *group_address(const char *text)
{
	static _Thread_local struct sockaddr_in address;

	address = (struct sockaddr_in){.sin_family = AF_INET};
	assert_int_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
	return (struct sockaddr *)&address;
}

static struct rnic_gid group_gid(const char *text)
{
	struct rnic_endpoint endpoint;

	assert_int_equal(rnic_cma_endpoint(group_address(text), &endpoint), 0);
	return endpoint.address;
}

static int join(struct rnic_cma_id *id, const char *text)
{
	return rdma_join_multicast(&id->public, group_address(text), NULL);
}

static int leave(struct rnic_cma_id *id, const char *text)
{
	return rdma_leave_multicast(&id->public, group_address(text));
}

static void id_init(struct rnic_cma_id *id)
{
	static struct ibv_context verbs;

	*id = (struct rnic_cma_id){.public.verbs = &verbs};
	pthread_mutex_init(&id->groups_lock, NULL);
	world.id = id;
	world.meanwhile = NULL;
	world.join_result = 0;
	world.attached = 0;
}

static void join_another(struct rnic_cma_id *id)
{
	assert_int_equal(join(id, "239.0.0.2"), 0);
}

static void leave_the_same(struct rnic_cma_id *id)
{
	assert_int_equal(leave(id, "239.0.0.1"), 0);
}

/* One thread is refused while another joins: the latter stays joined. */
static void test_refused_beside_another(void **state)
{
	struct rnic_cma_id id;

	(void)state;
	id_init(&id);
	world.meanwhile = join_another;
	world.join_result = -ENOSPC;
	assert_int_equal(join(&id, "239.0.0.1"), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(leave(&id, "239.0.0.1"), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_int_equal(leave(&id, "239.0.0.2"), 0);
	assert_null(id.groups);
}

/* One thread is refused while another leaves the same group: it is freed once. */
static void test_refused_and_left(void **state)
{
	struct rnic_cma_id id;

	(void)state;
	id_init(&id);
	world.meanwhile = leave_the_same;
	world.join_result = -ENOSPC;
	assert_int_equal(join(&id, "239.0.0.1"), -1);
	assert_null(id.groups);
}

/* The event of a join comes when the queue pair is gone, or the group was left. */
static void test_attaching(void **state)
{
	struct rnic_gid group = group_gid("239.0.0.1");
	struct rnic_cma_id id;
	struct ibv_qp qp;

	(void)state;
	id_init(&id);
	id.public.qp = &qp;
	assert_int_equal(join(&id, "239.0.0.1"), 0);
	assert_int_equal(rnic_cma_multicast_attach(&id, &group), 0);
	assert_int_equal(rnic_cma_multicast_attach(&id, &group), 0);
	assert_int_equal(world.attached, 1);
	assert_ptr_equal(rnic_cma_multicast_take_qp(&id), &qp);
	assert_int_equal(world.attached, 0);
	assert_int_equal(rnic_cma_multicast_attach(&id, &group), 0);
	assert_int_equal(world.attached, 0);
	assert_int_equal(leave(&id, "239.0.0.1"), 0);
	assert_int_equal(rnic_cma_multicast_attach(&id, &group), -EINVAL);
}

static void *come_and_go(void *argument)
{
	struct rnic_cma_id *id = argument;
	int failures = 0;

	for (int i = 0; i < ROUNDS; i++)
		failures += join(id, "239.0.0.1") != 0 || leave(id, "239.0.0.1") != 0;
	return failures == 0 ? NULL : argument;
}

static void test_threads(void **state)
{
	struct rnic_cma_id id;
	pthread_t threads[2];

	(void)state;
	id_init(&id);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &id), 0);
	for (int i = 0; i < 2; i++) {
		void *failure;

		assert_int_equal(pthread_join(threads[i], &failure), 0);
		assert_null(failure);
	}
	assert_null(id.groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_beside_another),
		cmocka_unit_test(test_refused_and_left),
		cmocka_unit_test(test_attaching),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * How a datagram socket learns its peers. The test plays the daemon and libibverbs; the acts of
 * another thread happen while the daemon resolves the route.
 */
#include "lib/dropin/rsockets/rsocket_datagram.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <unistd.h>

static struct {
	int resolve_error;
	bool was_locked; /* while the way was looked for */
	void (*meanwhile)(struct rnic_rsocket_datagram *datagram);
	struct rnic_rsocket_datagram *datagram;
	struct ibv_sa_path_rec path;
	int ids; /* that there are */
	int ahs;
} world;

/* --- what is played -------------------------------------------------------------------------- */

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	static struct ibv_context verbs;

	(void)channel;
	(void)context;
	(void)ps;
	*id = calloc(1, sizeof(**id));
	assert_non_null(*id);
	(*id)->verbs = &verbs;
	(*id)->port_num = 1;
	(*id)->route.path_rec = &world.path;
	world.ids++;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	world.ids--;
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *destination,
		      int timeout_ms)
{
	void (*meanwhile)(struct rnic_rsocket_datagram *) = world.meanwhile;
	pthread_mutex_t *lock = &world.datagram->rs.lock;

	(void)source;
	(void)timeout_ms;
	world.was_locked = pthread_mutex_trylock(lock) != 0;
	if (!world.was_locked) {
		world.meanwhile = NULL;
		if (meanwhile != NULL)
			meanwhile(world.datagram);
		pthread_mutex_unlock(lock);
	}
	id->route.addr.src_sin = *(struct sockaddr_in *)destination;
	errno = world.resolve_error;
	return world.resolve_error == 0 ? 0 : -1;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	(void)id;
	(void)timeout_ms;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	(void)context;
	(void)port_num;
	((struct ibv_port_attr *)port_attr)->gid_tbl_len = 1;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	(void)context;
	(void)port_num;
	(void)index;
	*gid = (union ibv_gid){.raw = {0}};
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static struct ibv_ah ah;

	(void)pd;
	(void)attr;
	world.ahs++;
	return &ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	world.ahs--;
	return 0;
}

int rnic_rsocket_ud_create(struct rnic_rsocket_datagram *datagram, struct rdma_cm_id *id)
{
	datagram->id = id;
	return 0;
}

/* --- the scenarios --------------------------------------------------------------------------- */

static int begin(void **state)
{
	struct rnic_rsocket_datagram *datagram = calloc(1, sizeof(*datagram));

	assert_non_null(datagram);
	memset(&world, 0, sizeof(world));
	world.datagram = datagram;
	datagram->rs.domain = AF_INET;
	datagram->rs.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(datagram->rs.fd >= 0);
	pthread_mutex_init(&datagram->rs.lock, NULL);
	pthread_mutex_lock(&datagram->rs.lock);
	*state = datagram;
	return 0;
}

static int finish(void **state)
{
	struct rnic_rsocket_datagram *datagram = *state;

	rnic_rsocket_forget_peers(datagram);
	assert_int_equal(world.ahs, 0);
	assert_int_equal(world.ids, datagram->id != NULL);
	free(datagram->id);
	pthread_mutex_unlock(&datagram->rs.lock);
	pthread_mutex_destroy(&datagram->rs.lock);
	close(datagram->rs.fd);
	free(datagram);
	return 0;
}

static struct sockaddr_storage address_of(const char *text, uint16_t port)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address;

	ipv4->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, text, &ipv4->sin_addr), 1);
	return address;
}

static struct rnic_rsocket_peer *find(struct rnic_rsocket_datagram *datagram, const char *text)
{
	const struct sockaddr_storage address = address_of(text, 7);
	struct rnic_rsocket_peer *peer;

	assert_int_equal(rnic_rsocket_find_peer(datagram, &address, &peer), 0);
	return peer;
}

/* A peer that takes long to resolve delays no other. */
static void test_found_without_the_lock(void **state)
{
	struct rnic_rsocket_datagram *datagram = *state;
	struct rnic_rsocket_peer *first = find(datagram, "192.0.2.1");

	assert_false(world.was_locked);
	assert_int_equal(pthread_mutex_trylock(&datagram->rs.lock), EBUSY);
	assert_ptr_not_equal(find(datagram, "192.0.2.2"), first);
	assert_ptr_equal(find(datagram, "192.0.2.1"), first);
	assert_int_equal(datagram->peer_count, 2);
	assert_int_equal(world.ids, 1);
}

static void find_the_same(struct rnic_rsocket_datagram *datagram)
{
	find(datagram, "192.0.2.1")->qpn = 17;
}

static void test_found_by_two(void **state)
{
	struct rnic_rsocket_datagram *datagram = *state;

	world.meanwhile = find_the_same;
	assert_int_equal(find(datagram, "192.0.2.1")->qpn, 17);
	assert_int_equal(datagram->peer_count, 1);
	assert_int_equal(world.ahs, 1);
}

static void connect_elsewhere(struct rnic_rsocket_datagram *datagram)
{
	datagram->connected = address_of("192.0.2.9", 9);
}

/* Who is looked for may be named by the socket itself, which another thread connects anew. */
static void test_connected_meanwhile(void **state)
{
	struct rnic_rsocket_datagram *datagram = *state;
	const struct sockaddr_storage wanted = address_of("192.0.2.1", 7);
	struct rnic_rsocket_peer *peer;

	datagram->connected = wanted;
	world.meanwhile = connect_elsewhere;
	assert_int_equal(rnic_rsocket_find_peer(datagram, &datagram->connected, &peer), 0);
	assert_true(rnic_rsocket_is_same(&peer->address, &wanted));
}

static void test_no_way(void **state)
{
	struct rnic_rsocket_datagram *datagram = *state;
	const struct sockaddr_storage address = address_of("192.0.2.1", 7);
	struct rnic_rsocket_peer *peer;

	world.resolve_error = EHOSTUNREACH;
	assert_int_equal(rnic_rsocket_find_peer(datagram, &address, &peer), -EHOSTUNREACH);
	assert_int_equal(pthread_mutex_trylock(&datagram->rs.lock), EBUSY);
	assert_int_equal(datagram->peer_count, 0);
	assert_null(datagram->id);
}

/* A label is believed when the packet came from its address, or from where the way to it leads. */
static void test_who_speaks(void **state)
{
	struct rnic_rsocket_datagram *datagram = *state;
	const struct sockaddr_storage device = address_of("192.0.2.1", 7);
	const struct sockaddr_storage loopback = address_of("127.0.0.1", 7);
	const struct sockaddr_storage other_port = address_of("127.0.0.1", 8);
	const struct sockaddr_storage stranger = address_of("192.0.2.66", 7);
	const struct rnic_gid gid = {.bytes = {[10] = 0xff, 0xff, 192, 0, 2, 1}};

	assert_true(rnic_rsocket_is_from(datagram, &device, &gid));
	assert_false(rnic_rsocket_is_from(datagram, &stranger, &gid));
	assert_false(rnic_rsocket_is_from(datagram, &loopback, &gid));
	memcpy(world.path.dgid.raw, gid.bytes, sizeof(gid.bytes));
	find(datagram, "127.0.0.1");
	assert_true(rnic_rsocket_is_from(datagram, &loopback, &gid));
	assert_false(rnic_rsocket_is_from(datagram, &other_port, &gid));
	memset(&world.path.dgid, 0, sizeof(world.path.dgid));
	find(datagram, "192.0.2.66");
	assert_false(rnic_rsocket_is_from(datagram, &stranger, &gid));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_found_without_the_lock),
		TEST(test_found_by_two),
		TEST(test_connected_meanwhile),
		TEST(test_no_way),
		TEST(test_who_speaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

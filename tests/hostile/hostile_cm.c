/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie to the connection manager: about identifiers that they were not told of yet,
 * about taking what happens, and about whose queue pairs they connect. After each the daemon owns
 * nothing of them and serves the next.
 *
 * usage: hostile_cm RNICD
 */
#include "tests/hostile/cm_client.h"
#include "tests/hostile/direct_program.h"
#include "tests/hostile/hostile_link.h"

#include "proto/ctl/ctl_cm.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS	  20000
#define ASKED_MAX 1000000

#define EPHEMERAL_PORTS 28232
#define FEW		100
#define FIRST_USER	31001
#define GREEDY		3 /* users who take all that they get */

/*
 * A listener with a request that it did not take, of which `spare` is where the new identifier is:
 * a handle that was free last.
 */
static struct rnic_handle listener_with_request(struct cm_client *server, struct cm_client *peer,
						struct rnic_handle *spare)
{
	struct rnic_handle listener;

	cm_client_open(server);
	cm_client_open(peer);
	*spare = cm_client_create_id(server, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	listener = cm_client_listen(server);
	assert_int_equal(cm_client_destroy_id(server, *spare), 0);
	spare->generation++;
	cm_client_connect(peer);
	cm_client_wait(server);
	return listener;
}

static void expect_service(void)
{
	struct cm_client client;

	hostile_expect_owned(&rnicd, 0, 0);
	cm_client_open(&client);
	cm_client_listen(&client);
	cm_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* The identifier of the request lies before its listener, and both end with the client. */
static void test_end_with_a_request(void **state)
{
	struct cm_client server, peer;
	struct rnic_handle spare;

	(void)state;
	listener_with_request(&server, &peer, &spare);
	cm_client_close(&server);
	cm_client_close(&peer);
	expect_service();
}

/*
 * A client may guess an identifier that it was not told of yet, and destroy it before the listener
 * that has it.
 */
static void test_guessed_identifier(void **state)
{
	struct cm_client server, peer;
	struct rnic_handle listener, spare;

	(void)state;
	listener = listener_with_request(&server, &peer, &spare);
	assert_int_equal(cm_client_destroy_id(&server, spare), 0);
	assert_int_equal(cm_client_claim_taken(&server, 1), 0);
	assert_int_equal(cm_client_destroy_id(&server, listener), 0);
	cm_client_close(&server);
	cm_client_close(&peer);
	expect_service();
}

/* Events that no client takes are bounded, whichever requests cause them. */
static void test_events_are_bounded(void **state)
{
	struct cm_client client;
	struct rnic_handle id;
	uint32_t asked = 0;
	int32_t status;

	(void)state;
	cm_client_open(&client);
	id = cm_client_create_id(&client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	while ((status = cm_client_resolve(&client, id)) == 0)
		assert_true(++asked < ASKED_MAX);
	assert_int_equal(status, -ENOSPC);
	/* Room comes with each that is taken. */
	assert_int_equal(cm_client_claim_taken(&client, 1), 0);
	assert_int_equal(cm_client_resolve(&client, id), 0);
	cm_client_close(&client);
	expect_service();
}

/* Asks for events that the client does not take until the daemon refuses. */
static void pile_up_events(const struct cm_client *client)
{
	uint32_t asked = 0;

	for (;;) {
		struct rnic_handle id =
			cm_client_create_id(client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
		uint32_t before = asked;

		while (cm_client_resolve(client, id) == 0)
			assert_true(++asked < ASKED_MAX);
		if (asked == before)
			break;
	}
}

/* Nor do many identifiers help. */
static void test_events_of_a_client_are_bounded(void **state)
{
	struct cm_client client;

	(void)state;
	cm_client_open(&client);
	pile_up_events(&client);
	cm_client_close(&client);
	expect_service();
}

/* Takes the next event of a channel: which identifier it is about, and how often that has moved. */
static struct rnic_handle take_event(int channel_fd, uint32_t *moves)
{
	struct rnic_ctl_cm_event event;

	assert_int_equal(recv(channel_fd, &event, sizeof(event), 0), sizeof(event));
	*moves = event.moves;
	return event.id;
}

/*
 * An identifier moves to another channel, and its events that were not taken with it: to the new
 * channel anew, while those on the old one are void.
 */
static void test_events_move_with_their_identifier(void **state)
{
	struct rnic_ctl_cm_migrate migrate = {.taken = 1};
	struct rnic_ctl_cm_channel_reply second;
	struct hostile_reply reply;
	struct cm_client client;
	struct rnic_handle id;
	uint32_t moves;

	(void)state;
	cm_client_open(&client);
	hostile_must(client.base.control_fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0, &reply);
	memcpy(&second, reply.payload, sizeof(second));
	id = cm_client_create_id(&client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(cm_client_resolve(&client, id), 0);
	take_event(client.channel_fd, &moves);
	migrate.id = id;
	migrate.channel = second.channel;
	for (unsigned i = 0; i < 2; i++) /* the second one moves nothing */
		assert_int_equal(
			cm_client_ask(&client, RNIC_CTL_CM_MIGRATE, &migrate, sizeof(migrate)), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(take_event(reply.fds[0], &moves).slot, id.slot);
		assert_int_equal(moves, 1);
		assert_int_equal(take_event(client.channel_fd, &moves).slot, id.slot);
		assert_int_equal(moves, 0);
	}
	assert_int_equal(recv(reply.fds[0], &moves, sizeof(moves), MSG_DONTWAIT), -1);
	close(reply.fds[0]);
	cm_client_close(&client);
	expect_service();
}

/* --- whose queue pairs ------------------------------------------------------------------------ */

/* Another program of this user, with a queue pair, until its end. */
struct program {
	pid_t pid;
	uint32_t qpn;
};

static void program_start(struct program *program)
{
	struct hostile_client client;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	program->pid = fork();
	assert_true(program->pid >= 0);
	if (program->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		hostile_client_open(&client, &rnicd, CM_CLIENT_QP_STEPS);
		if (write(pipes[1], &client.qpn, sizeof(client.qpn)) != sizeof(client.qpn))
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &program->qpn, sizeof(program->qpn)), sizeof(uint32_t));
	close(pipes[0]);
}

static void program_end(const struct program *program)
{
	kill(program->pid, SIGKILL);
	assert_int_equal(waitpid(program->pid, NULL, 0), program->pid);
}

/* The identifier of a request that came to the listener. */
static struct rnic_handle take_request(const struct cm_client *server)
{
	uint32_t moves;

	cm_client_wait(server);
	return take_event(server->channel_fd, &moves);
}

static uint32_t destroyed_qpn(struct cm_client *client)
{
	struct rnic_ctl_object request;
	const uint32_t qpn = client->base.qpn;

	request.handle = client->base.qp;
	assert_int_equal(hostile_answer(client->base.fd, RNIC_CTL_DESTROY_QP, &request,
					sizeof(request), NULL, 0),
			 0);
	hostile_client_go_on(&client->base, CM_CLIENT_QP_STEPS - 1, CM_CLIENT_QP_STEPS);
	return qpn;
}

/* None of these numbers is taken, and afterwards the own one is. */
static void expect_own_only(const struct cm_client *client, uint16_t operation,
			    struct rnic_handle id, const uint32_t *others, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(cm_client_name_qp(client, operation, id, others[i]), -EINVAL);
	assert_int_equal(cm_client_name_qp(client, operation, id, client->base.qpn), 0);
}

/*
 * A number in a REQ ends the connection that the peer has with its owner, and a number in a REP
 * draws packets to its owner.
 */
static void test_queue_pairs_of_others(void **state)
{
	struct cm_client server, client, again;
	struct program program;
	struct rnic_handle id;

	(void)state;
	program_start(&program);
	cm_client_open(&server);
	cm_client_open(&client);
	hostile_client_go_on(&server.base, 1, CM_CLIENT_QP_STEPS);
	hostile_client_go_on(&client.base, 1, CM_CLIENT_QP_STEPS);
	cm_client_listen(&server);
	id = cm_client_make_resolved(&client);
	{
		const uint32_t dead = destroyed_qpn(&client);
		const uint32_t own = client.base.qpn;
		const uint32_t others[] = {program.qpn,
					   0,
					   1,
					   dead,
					   own ^ UINT32_C(1) << 16,
					   own | UINT32_C(1) << 24,
					   UINT32_C(0xffffff),
					   UINT32_MAX};

		expect_own_only(&client, RNIC_CTL_CM_CONNECT, id, others, COUNT_OF(others));
		expect_own_only(&server, RNIC_CTL_CM_ACCEPT, take_request(&server), others,
				COUNT_OF(others));
	}
	/* A program may open the device twice. */
	cm_client_open(&again);
	assert_int_equal(cm_client_name_qp(&again, RNIC_CTL_CM_CONNECT,
					   cm_client_make_resolved(&again), client.base.qpn),
			 0);
	cm_client_close(&again);
	cm_client_close(&client);
	cm_client_close(&server);
	program_end(&program);
	expect_service();
}

static void test_queue_pairs_of_other_users(void **state)
{
	struct hostile_client owner;
	struct cm_client client;

	(void)state;
	hostile_skip_unless_root();
	hostile_client_open(&owner, &rnicd, CM_CLIENT_QP_STEPS);
	hostile_client_adopt(&client.base, hostile_connect_as_nobody(&rnicd), CM_CLIENT_QP_STEPS);
	cm_client_open_channel(&client);
	expect_own_only(&client, RNIC_CTL_CM_CONNECT, cm_client_make_resolved(&client), &owner.qpn,
			1);
	cm_client_close(&client);
	hostile_client_close(&owner);
	expect_service();
}

#ifdef RNIC_WITH_DIRECT
/* A program with the device inside says itself which queue pairs it has, but only of its lane. */
static void test_queue_pairs_of_a_direct_program(void **state)
{
	struct cm_client owner, client = {.base.fd = -1};
	struct rnic_endpoint listener;
	struct lane_program program;
	struct rnic_stats_file *file;
	struct rnic_handle id;

	(void)state;
	cm_client_open(&owner);
	hostile_client_go_on(&owner.base, 1, CM_CLIENT_QP_STEPS);
	listener = cm_client_own_address(&owner);
	lane_program_open(&program);
	client.base.control_fd = program.direct.control_fd;
	client.base.qpn = program.lane << RNIC_LANE_BITS | owner.base.qpn % RNIC_LANE_QPNS;
	cm_client_open_channel(&client);
	id = cm_client_make_resolved_to(&client, &listener);
	assert_int_equal(cm_client_name_qp(&client, RNIC_CTL_CM_CONNECT, id, client.base.qpn),
			 -EINVAL);
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, program.stats_fd, 0);
	assert_ptr_not_equal(file, MAP_FAILED);
	for (uint32_t i = 0; i < RNIC_LANE_QPNS; i++)
		file->qp_owners[i] = program.direct.client_id;
	expect_own_only(&client, RNIC_CTL_CM_CONNECT, id, &owner.base.qpn, 1);
	munmap(file, sizeof(*file));
	close(client.channel_fd);
	lane_program_close(&program);
	cm_client_close(&owner);
	expect_service();
}
#endif

/* --- connections without a client ------------------------------------------------------------- */

/* The connections that an administrator is shown, with and without a client. */
static unsigned count_shown(int admin_fd)
{
	const struct rnic_ctl_show request = {.kind = RNIC_SHOW_CM};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;

	hostile_must(admin_fd, RNIC_CTL_SHOW, &request, sizeof(request), &reply);
	memcpy(&answer, reply.payload, sizeof(answer));
	return answer.row_count;
}

static int administrator_of(int fd)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_ADMIN,
	};
	struct hostile_reply reply;

	hostile_must(fd, RNIC_CTL_HELLO, &hello, sizeof(hello), &reply);
	return fd;
}

/* What a client leaves behind has addresses and ports, which concern its user alone. */
static void test_connections_left_behind(void **state)
{
	struct cm_client server, peer;
	struct rnic_handle spare;
	int own_fd, other_fd;

	(void)state;
	hostile_skip_unless_root();
	own_fd = administrator_of(hostile_connect(&rnicd));
	other_fd = administrator_of(hostile_connect_as_nobody(&rnicd));
	listener_with_request(&server, &peer, &spare);
	cm_client_close(&peer);
	cm_client_close(&server);
	hostile_expect_owned(&rnicd, 0, 0);
	assert_true(count_shown(own_fd) > 0);
	assert_int_equal(count_shown(other_fd), 0);
	close(own_fd);
	close(other_fd);
	expect_service();
}

#define SOCKET_EVENTS_MAX 64

/*
 * A client that leaves its events in the socket and says that it has taken all. The daemon ends the
 * client when the little room of the socket is full.
 */
static void test_claims_of_taken_events(void **state)
{
	struct rnic_ctl_cm_resolve_address request = {.reserved = 0};
	struct rnic_ctl_cm_send_events claim = {.taken = 0};
	struct hostile_reply reply;
	struct cm_client client;

	(void)state;
	cm_client_open(&client);
	claim.channel = client.channel;
	request.destination = cm_client_own_address(&client);
	request.id = cm_client_create_id(&client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	while (hostile_call(client.base.control_fd, RNIC_CTL_CM_RESOLVE_ADDRESS, &request,
			    sizeof(request), &reply) &&
	       hostile_call(client.base.control_fd, RNIC_CTL_CM_SEND_EVENTS, &claim, sizeof(claim),
			    &reply))
		assert_true(++claim.taken < SOCKET_EVENTS_MAX);
	cm_client_close(&client);
	expect_service();
}

#define CROWD 100

/* More connections with a request than the daemon looks at in one turn. */
static void gather_crowd(int crowd[CROWD])
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_ADMIN,
	};

	for (int i = 0; i < CROWD; i++) {
		crowd[i] = hostile_connect(&rnicd);
		assert_true(hostile_request(crowd[i], RNIC_CTL_HELLO, &hello, sizeof(hello)));
	}
}

/*
 * A program ends with a request under way, and the next one takes its port at once. The daemon
 * finds both among many others, and first frees a client with hundreds of events.
 */
static void test_the_port_of_an_ended_listener_is_free(void **state)
{
	struct cm_client slow, listening, next;
	int crowd[CROWD];
	struct rnic_ctl_cm_bind bind;
	struct hostile_reply reply;

	(void)state;
	cm_client_open(&slow);
	pile_up_events(&slow);
	cm_client_open(&listening);
	cm_client_listen(&listening);
	cm_client_open(&next);
	bind = (struct rnic_ctl_cm_bind){
		.id = cm_client_create_id(&next, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC),
		.local = cm_client_own_address(&next),
	};
	hostile_pause(&rnicd);
	cm_client_close(&slow);
	gather_crowd(crowd);
	assert_true(
		hostile_request(listening.base.control_fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0));
	cm_client_close(&listening);
	assert_true(hostile_request(next.base.control_fd, RNIC_CTL_CM_BIND, &bind, sizeof(bind)));
	hostile_continue(&rnicd);
	assert_true(hostile_receive(next.base.control_fd, &reply));
	assert_int_equal(reply.header.status, 0);
	for (int i = 0; i < CROWD; i++)
		close(crowd[i]);
	cm_client_close(&next);
	expect_service();
}

/* The device has no IPv6 address. -ENODEV would say that the daemon is gone. */
static void test_joining_a_group_of_another_family(void **state)
{
	const struct rnic_endpoint any = {.family = 4, .address.bytes = {[10] = 0xff, [11] = 0xff}};
	const struct rnic_endpoint group = {.family = 6, .address.bytes = {0xff, 0x12, [15] = 9}};
	struct rnic_ctl_cm_multicast join = {.group = group};
	struct rnic_ctl_cm_bind bind = {.local = any};
	struct cm_client client;

	(void)state;
	cm_client_open(&client);
	join.id = bind.id = cm_client_create_id(&client, RNIC_PORT_SPACE_UDP, RNIC_QP_TYPE_UD);
	assert_int_equal(cm_client_ask(&client, RNIC_CTL_CM_BIND, &bind, sizeof(bind)), 0);
	assert_int_equal(cm_client_ask(&client, RNIC_CTL_CM_JOIN_MCAST, &join, sizeof(join)),
			 -EADDRNOTAVAIL);
	cm_client_close(&client);
	expect_service();
}

/* Binds a new identifier to a port of the daemon's choice; returns the daemon's status. */
static int32_t take_port(const struct cm_client *client)
{
	const struct rnic_endpoint any = {.family = 4, .address.bytes = {[10] = 0xff, [11] = 0xff}};
	const struct rnic_ctl_cm_bind bind = {
		.id = cm_client_create_id(client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC),
		.local = any,
	};

	return cm_client_ask(client, RNIC_CTL_CM_BIND, &bind, sizeof(bind));
}

static uint32_t take_all_ports(const struct cm_client *client)
{
	uint32_t count = 0;

	while (take_port(client) == 0)
		count++;
	return count;
}

/* Three users take all ports that they get. Another user, and root, find enough. */
static void test_ports_are_shared(void **state)
{
	struct cm_client greedy[GREEDY], late;
	uint32_t count, before = EPHEMERAL_PORTS / 4 + 1;

	(void)state;
	hostile_skip_unless_root();
	for (uint32_t i = 0; i < GREEDY; i++) {
		cm_client_open_as(&greedy[i], FIRST_USER + i);
		count = take_all_ports(&greedy[i]);
		assert_in_range(count, before / 4, before);
		before = count;
	}
	cm_client_open_as(&late, FIRST_USER + GREEDY);
	for (uint32_t i = 0; i < FEW; i++)
		assert_int_equal(take_port(&late), 0);
	cm_client_close(&late);
	cm_client_open(&late);
	for (uint32_t i = 0; i < FEW; i++)
		assert_int_equal(take_port(&late), 0);
	cm_client_close(&late);
	for (uint32_t i = 0; i < GREEDY; i++)
		cm_client_close(&greedy[i]);
	expect_service();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_with_a_request),
		cmocka_unit_test(test_guessed_identifier),
		cmocka_unit_test(test_events_are_bounded),
		cmocka_unit_test(test_events_of_a_client_are_bounded),
		cmocka_unit_test(test_events_move_with_their_identifier),
		cmocka_unit_test(test_queue_pairs_of_others),
		cmocka_unit_test(test_queue_pairs_of_other_users),
#ifdef RNIC_WITH_DIRECT
		cmocka_unit_test(test_queue_pairs_of_a_direct_program),
#endif
		cmocka_unit_test(test_connections_left_behind),
		cmocka_unit_test(test_claims_of_taken_events),
		cmocka_unit_test(test_the_port_of_an_ended_listener_is_free),
		cmocka_unit_test(test_joining_a_group_of_another_family),
		cmocka_unit_test(test_ports_are_shared),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}

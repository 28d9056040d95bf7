/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/troubles.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/device/queues/session_queues.h"
#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/bits.h"
#include "proto/base/causes.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The engine's and the session's objects as far as troubles look at them. */
struct fixture {
	struct family family;
	struct client client;
	struct device_connection connection;
	struct session session;
	struct session_qp session_qp;
	struct qp qp;
	struct engine engine;
};

static struct fixture fixture;

static int set_up(void **state)
{
	memset(&fixture, 0, sizeof(fixture));
	family_init(&fixture.family, NULL, NULL);
	fixture.family.clients.now_ns = 5;
	fixture.client = (struct client){
		.set = &fixture.family.clients,
		.peer.client_id = 3,
		.peer.pid = 77,
		.peer.uid = 1000,
		.device = &fixture.family.child,
		.peer.program = "ib_write_bw",
	};
	fixture.session.set = &fixture.family.device.sessions;
	fixture.session.connection = &fixture.connection;
	fixture.connection = (struct device_connection){
		.set = &fixture.family.device.connections,
		.peer.client_id = 3,
	};
	list_add_tail(&fixture.family.clients.peers.all, &fixture.client.peer.node);
	list_add_tail(&fixture.family.clients.by_id[3], &fixture.client.id_node);
	fixture.session_qp.session = &fixture.session;
	fixture.qp.user = &fixture.session_qp;
	fixture.qp.qpn = 0x1234;
	fixture.qp.engine = &fixture.engine;
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	list_remove(&fixture.client.peer.node);
	list_remove(&fixture.client.id_node);
	family_fini(&fixture.family);
	return 0;
}

static const struct trouble *nth(uint32_t n)
{
	return trouble_nth(&fixture.family.clients.trouble_log, n);
}

static void test_a_queue_pair(void **state)
{
	struct qp *qp = &fixture.qp;

	(void)state;
	assert_null(nth(0));
	qp->last_error = VERDICT_BAD_QKEY;
	qp_trouble_note(&fixture.family.device.sessions, qp);
	assert_string_equal(nth(0)->subject, "queue pair 0x001234");
	assert_string_equal(nth(0)->program, "ib_write_bw");
	assert_int_equal(nth(0)->pid, 77);
	assert_int_equal(nth(0)->uid, 1000);
	assert_non_null(strstr(nth(0)->reason, "Q_Key"));
	assert_int_equal(nth(0)->cause, RNIC_CAUSE_BAD_QKEY);

	qp->last_error = VERDICT_RETRY_EXCEEDED;
	qp->attributes.dest_qpn = 0x56;
	qp->attributes.path.dest_gid =
		(struct rnic_gid){{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 7}};
	qp_trouble_note(&fixture.family.device.sessions, qp);
	assert_string_equal(nth(0)->subject, "queue pair 0x001234 to 0x000056 of 192.0.2.7");
	assert_non_null(strstr(nth(0)->reason, "did not answer"));
	assert_null(strstr(nth(0)->reason, "device's own"));
	assert_non_null(strstr(nth(1)->reason, "Q_Key"));

	fixture.engine.gids[3] = qp->attributes.path.dest_gid;
	qp_trouble_note(&fixture.family.device.sessions, qp);
	assert_non_null(strstr(nth(0)->reason, "which is this device's own (ah_attr.grh.dgid)"));
}

/* Nobody has the target of XRC open. */
static void test_a_queue_pair_of_nobody(void **state)
{
	struct shared_target target = {.qp = &fixture.qp};
	struct xrcd xrcd;

	(void)state;
	list_init(&target.handles);
	fixture.qp.user = &target;
	fixture.qp.xrcd = &xrcd;
	fixture.qp.last_error = VERDICT_BAD_RKEY;
	qp_trouble_note(&fixture.family.device.sessions, &fixture.qp);
	assert_null(nth(0));
}

static void test_a_request(void **state)
{
	(void)state;
	trouble_of_request(&fixture.client, RNIC_CTL_MODIFY_QP, -EINVAL, "there is no such GID");
	assert_string_equal(nth(0)->subject, "MODIFY_QP refused");
	assert_string_equal(nth(0)->reason, "there is no such GID");
	assert_int_equal(nth(0)->cause, RNIC_CAUSE_REFUSED);
	trouble_of_request(&fixture.client, RNIC_CTL_REGISTER_MR, -ENOMEM, "");
	assert_string_equal(nth(0)->reason, strerror(ENOMEM));
}

static void test_what_is_no_fault(void **state)
{
	(void)state;
	trouble_of_request(&fixture.client, RNIC_CTL_CM_SEND_EVENTS, -EAGAIN, "");
	fixture.client.is_admin = true;
	trouble_of_request(&fixture.client, RNIC_CTL_SHOW, -EINVAL, "there is no listing 99");
	assert_null(nth(0));
}

static void test_a_connection(void **state)
{
	struct client_cm_id id = {
		.client = &fixture.client,
		.peer = {.gid = {{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 7}},
			 .port = 7174},
		.failure = RNIC_CM_REJECTED,
		.failure_status = 8,
	};

	(void)state;
	cm_identifier_note_trouble(&id);
	assert_string_equal(nth(0)->subject, "connection to 192.0.2.7 port 7174");
	assert_non_null(strstr(nth(0)->reason, "nobody listens at that port of the peer"));
	id.failure = RNIC_CM_DISCONNECTED;
	cm_identifier_note_trouble(&id);
	assert_null(nth(1));
}

/* The cause is that of the failure, whatever its sentence says. */
static void test_causes_of_connections(void **state)
{
	static const struct {
		enum rnic_cm_event_type failure;
		int status;
		bool is_datagram;
		enum rnic_cause cause;
	} cases[] = {
		{RNIC_CM_ADDR_ERROR, -ETIMEDOUT, false, RNIC_CAUSE_UNREACHABLE},
		{RNIC_CM_ADDR_ERROR, -ENETUNREACH, false, RNIC_CAUSE_UNREACHABLE},
		{RNIC_CM_UNREACHABLE, -ETIMEDOUT, false, RNIC_CAUSE_CM_UNANSWERED},
		{RNIC_CM_REJECTED, 4, false, RNIC_CAUSE_CM_UNANSWERED},
		{RNIC_CM_REJECTED, 8, false, RNIC_CAUSE_CM_NO_LISTENER},
		{RNIC_CM_REJECTED, 10, false, RNIC_CAUSE_CM_STALE},
		{RNIC_CM_REJECTED, 28, false, RNIC_CAUSE_CM_REFUSED},
		{RNIC_CM_REJECTED, 26, false, RNIC_CAUSE_CM_REJECTED},
		{RNIC_CM_REJECTED, 1, true, RNIC_CAUSE_CM_NO_LISTENER},
		{RNIC_CM_REJECTED, 2, true, RNIC_CAUSE_CM_REFUSED},
		{RNIC_CM_REJECTED, 3, true, RNIC_CAUSE_CM_REJECTED},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct client_cm_id id = {
			.client = &fixture.client,
			.peer = {.port = (uint16_t)(i + 1)},
			.failure = (uint8_t)cases[i].failure,
			.failure_status = cases[i].status,
			.qp_type = cases[i].is_datagram ? RNIC_QP_TYPE_UD : RNIC_QP_TYPE_RC,
		};

		cm_identifier_note_trouble(&id);
		assert_int_equal(nth(0)->cause, cases[i].cause);
	}
}

static void test_the_network(void **state)
{
	struct port port = {
		.refusal = {.dest = {{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 7}},
			    .bytes = 4164,
			    .error = -EMSGSIZE},
	};

	(void)state;
	fixture.family.device.ports.udp = &port;
	device_report(&fixture.family.device);
	assert_string_equal(nth(0)->subject, "packets to 192.0.2.7");
	assert_non_null(
		strstr(nth(0)->reason, "4164 bytes: Message too long; the path carries less"));
	assert_int_equal(nth(0)->cause, RNIC_CAUSE_UNREACHABLE);
	assert_false(nth(0)->is_of_all);
}

static void trouble_from_network(const struct rnic_gid *dest, const struct rnic_gid *from,
				 int error, uint32_t mtu_bytes)
{
	struct port_report report = {
		.dest = *dest,
		.from = *from,
		.error = error,
		.mtu_bytes = mtu_bytes,
	};
	struct port port = {.report_count = 1};

	port.reports[0] = report;
	fixture.family.device.ports.udp = &port;
	device_report(&fixture.family.device);
	assert_int_equal(port.report_count, 0);
	trouble_of_delivery(&fixture.family.clients, &report);
}

static struct rnic_gid ipv4(uint8_t host)
{
	return rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, host});
}

/* The session's queue pair has its peer at 192.0.2.7, we are 192.0.2.1. */
static void set_up_peer(void)
{
	struct fixture *f = &fixture;
	static struct peer_window window;

	f->qp.peer_window = &window;
	f->qp.attributes.path.dest_gid = ipv4(7);
	f->session_qp.qp = &f->qp;
	handle_table_init(&f->session.qps, 8);
	handle_table_init(&f->session.ahs, 8);
	handle_table_init(&f->client.cm_ids, 8);
	assert_int_equal(handle_table_add(&f->session.qps, &f->session_qp, &f->session_qp.handle),
			 0);
	list_add_tail(&f->family.device.sessions.sessions, &f->session.node);
	f->family.facts.gids = (struct rnic_ctl_gids_reply){
		.count = 1,
		.entries = {{.gid = ipv4(1)}},
	};
	f->family.device.facts.gids = f->family.facts.gids;
}

static void tear_down_peer(void)
{
	handle_table_remove(&fixture.session.qps, fixture.session_qp.handle);
	handle_table_fini(&fixture.session.qps);
	handle_table_fini(&fixture.session.ahs);
	handle_table_fini(&fixture.client.cm_ids);
	list_remove(&fixture.session.node);
}

static void test_what_the_network_says(void **state)
{
	static const struct {
		int error;
		uint8_t from;
		const char *reason;
	} cases[] = {
		{-ECONNREFUSED, 7,
		 "the host answers that nothing listens on UDP port 4791; is rnicd running there?"},
		{-ECONNREFUSED, 9,
		 "192.0.2.9 answers that nothing listens on UDP port 4791; is rnicd running "
		 "there?"},
		{-EHOSTUNREACH, 9, "192.0.2.9 says that the host is not reachable; is it up?"},
		{-EHOSTUNREACH, 1,
		 "nobody on the network answers for that address (ARP or neighbour discovery); is "
		 "the host up?"},
		{-ENETUNREACH, 9, "192.0.2.9 says that there is no route"},
		{-EACCES, 9, "192.0.2.9 says that a firewall forbids them"},
		{-EMSGSIZE, 9,
		 "192.0.2.9 passes on no more than 1400 bytes; the MTU of the interface must be as "
		 "low"},
		{-ETIME, 9, "192.0.2.9 says that their hop limit was used up"},
		{-EPROTO, 9, "192.0.2.9 says: Protocol error"},
	};
	const struct rnic_gid dest = ipv4(7), stranger = ipv4(8);

	(void)state;
	set_up_peer();
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct rnic_gid from = ipv4(cases[i].from);

		trouble_from_network(&dest, &from, cases[i].error, 1400);
		assert_int_equal(nth(0)->undelivered_error, cases[i].error);
		assert_string_equal(nth(0)->subject, "packets to 192.0.2.7");
		assert_string_equal(nth(0)->reason, cases[i].reason);
		assert_int_equal(nth(0)->cause, RNIC_CAUSE_UNREACHABLE);
		assert_false(nth(0)->is_of_all);
	}
	/* Nothing of ours goes there. */
	fixture.family.clients.now_ns = 6;
	trouble_from_network(&stranger, &stranger, -ECONNREFUSED, 0);
	assert_int_equal(nth(0)->at_ns, 5);
	/* Of one kind the latest counts. */
	assert_non_null(nth(6));
	assert_null(nth(7));
	tear_down_peer();
}

/* Packets of both programs of the daemon that something on the way changes. */
static void test_what_changes_on_the_way(void **state)
{
	struct icrc_check *check = &fixture.family.device.path.receive.icrc;
	struct port port = {0};

	(void)state;
	fixture.family.device.ports.udp = &port;
	check->accused = (struct icrc_suspect){.source = ipv4(9), .bad = 64};
	check->has_accused = true;
	device_report(&fixture.family.device);
	assert_string_equal(nth(0)->subject, "packets from 192.0.2.9");
	assert_string_equal(nth(0)->reason,
			    "the ICRC of 64 in a row was wrong: something on the way changes "
			    "addresses or contents (NAT, a proxy), which RoCE does not survive");
	assert_int_equal(nth(0)->cause, RNIC_CAUSE_CHANGED_ON_WAY);
	/* More of the same are one trouble. */
	check->accused.bad = 512;
	check->has_accused = true;
	device_report(&fixture.family.device);
	assert_non_null(strstr(nth(0)->reason, "512 in a row"));
	assert_null(nth(1));
}

/* A sender of invented messages fills neither log nor list with them. */
static void test_what_is_invented(void **state)
{
	const struct rnic_gid dest = ipv4(7);
	struct rnic_gid from = ipv4(9);

	(void)state;
	set_up_peer();
	for (uint32_t i = 0; i < 1000; i++) {
		from.bytes[13] = (uint8_t)i;
		trouble_from_network(&dest, &from, -EMSGSIZE, 600 + i);
	}
	assert_non_null(strstr(nth(0)->reason, "no more than 1599 bytes"));
	assert_null(nth(1));
	for (int error = 1; error <= 100; error++)
		trouble_from_network(&dest, &from, -error, 0);
	assert_non_null(nth(TROUBLE_LOG_DELIVERIES_MAX - 1));
	assert_null(nth(TROUBLE_LOG_DELIVERIES_MAX));
	fixture.family.clients.now_ns += UINT64_C(60000000000);
	trouble_from_network(&dest, &from, -100, 0);
	assert_non_null(nth(TROUBLE_LOG_DELIVERIES_MAX));
	tear_down_peer();
}

/* Whether a message about packets to `dest` is noted. */
static bool is_believed(const struct rnic_gid *dest)
{
	const uint32_t before = fixture.family.clients.trouble_log.count;

	trouble_from_network(dest, dest, -ECONNREFUSED, 0);
	return fixture.family.clients.trouble_log.count > before;
}

/* An address handle and a connection are peers, too. */
static void test_whose_peers_are_believed(void **state)
{
	struct session_ah ah = {.ah.path.dest_gid = ipv4(20)};
	struct client_cm_id id = {.peer.gid = ipv4(21)};
	const struct rnic_gid ah_dest = ipv4(20), id_dest = ipv4(21);

	(void)state;
	set_up_peer();
	assert_int_equal(handle_table_add(&fixture.session.ahs, &ah, &ah.handle), 0);
	assert_int_equal(handle_table_add(&fixture.client.cm_ids, &id, &id.handle), 0);
	assert_true(is_believed(&ah_dest));
	assert_false(is_believed(&id_dest));
	id.has_peer = true;
	assert_true(is_believed(&id_dest));
	handle_table_remove(&fixture.session.ahs, ah.handle);
	handle_table_remove(&fixture.client.cm_ids, id.handle);
	tear_down_peer();
}

static void test_the_same_again_is_one(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		fixture.family.clients.now_ns = 10 + i;
		trouble_of_request(&fixture.client, RNIC_CTL_MODIFY_QP, -EINVAL, "no");
	}
	assert_int_equal(nth(0)->at_ns, 12);
	assert_null(nth(1));
}

/* Troubles that take turns are one each, the latest first. */
static void test_the_same_again_after_others(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 30; i++) {
		fixture.family.clients.now_ns = 10 + i;
		fixture.client.peer.pid = (pid_t)(i % 3);
		trouble_of_request(&fixture.client, RNIC_CTL_MODIFY_QP, -EINVAL, "no");
	}
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(nth(i)->pid, 2 - i);
		assert_int_equal(nth(i)->at_ns, 39 - i);
	}
	assert_null(nth(3));
}

static void test_the_oldest_gives_way(void **state)
{
	const uint32_t count = TROUBLE_LOG_MAX + 5;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		fixture.client.peer.pid = (pid_t)i;
		trouble_of_request(&fixture.client, RNIC_CTL_MODIFY_QP, -EINVAL, "no");
	}
	for (uint32_t i = 0; i < TROUBLE_LOG_MAX; i++)
		assert_int_equal(nth(i)->pid, count - 1 - i);
	assert_null(nth(TROUBLE_LOG_MAX));
}

/* The many troubles of one program do not hide the trouble of another, which may be their cause. */
static void test_many_of_one_program(void **state)
{
	uint32_t of_many = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		fixture.client.peer.pid = (pid_t)i;
		trouble_of_request(&fixture.client, RNIC_CTL_MODIFY_QP, -EINVAL, "no");
	}
	fixture.client.peer.pid = 77;
	for (uint32_t i = 0; i < 100; i++) {
		fixture.qp.qpn = i;
		fixture.qp.last_error = VERDICT_RETRY_EXCEEDED;
		qp_trouble_note(&fixture.family.device.sessions, &fixture.qp);
	}
	assert_string_equal(nth(0)->subject, "queue pair 0x000063");
	assert_string_equal(nth(1)->subject, "queue pair 0x000062");
	while (nth(of_many)->pid == 77)
		of_many++;
	assert_in_range(of_many, TROUBLE_LOG_MAX / 2, TROUBLE_LOG_MAX - 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(nth(of_many + i)->pid, 3 - i);
}

/* After three troubles of a user come 1,000 of the users from `first` on: the three are kept. */
static void check_many_of_users(uid_t first, uint32_t users)
{
	uint32_t found = 0;

	fixture.client.peer.uid = 1002;
	for (uint32_t i = 0; i < 3; i++) {
		fixture.client.peer.pid = (pid_t)i;
		trouble_of_request(&fixture.client, RNIC_CTL_MODIFY_QP, -EINVAL, "no");
	}
	for (uint32_t i = 0; i < 1000; i++) {
		fixture.client.peer.uid = first + i % users;
		fixture.client.peer.pid = (pid_t)(100 + i % 7);
		fixture.qp.qpn = i;
		fixture.qp.last_error = VERDICT_RETRY_EXCEEDED;
		qp_trouble_note(&fixture.family.device.sessions, &fixture.qp);
	}
	for (uint32_t i = 0; nth(i) != NULL; i++)
		found += nth(i)->uid == 1002;
	assert_int_equal(found, 3);
	assert_int_equal(nth(TROUBLE_LOG_MAX - 1)->uid, 1002);
}

/* Nor do the many programs of one user, nor those of two users. */
static void test_many_of_users(void **state)
{
	(void)state;
	check_many_of_users(1000, 2);
}

/* Nor those of one person with thousands of user ids. */
static void test_many_of_one_owner(void **state)
{
	char path[] = "/tmp/test_troubles.XXXXXX";
	const int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "anna:100000:65536\n") > 0);
	close(fd);
	subordinate_ids_init(&fixture.family.clients.subordinates, path);
	check_many_of_users(100000, 1000);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_queue_pair, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_queue_pair_of_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_fault, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_connection, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_causes_of_connections, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_network, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_the_network_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_changes_on_the_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_invented, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_whose_peers_are_believed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_same_again_is_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_same_again_after_others, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_oldest_gives_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_of_one_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_of_users, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_of_one_owner, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/client.h"

#include "tests/unit/daemon/device/session/client_fixture.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLIENTS_OF_USER 2
#define LOG_BYTES	1024

/* Users who are not root, nor the user of the test. */
static uid_t stranger(uint32_t number)
{
	return geteuid() + 1000 + number;
}

static struct family family;

static int set_up(void **state)
{
	(void)state;
	memset(&family, 0, sizeof(family));
	family_init(&family, NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	family_fini(&family);
	return 0;
}

/* Charges `times` calls of a user, and stores what the log says meanwhile. */
static void charge(uid_t uid, uint64_t cpu_ns, unsigned times, char log[LOG_BYTES])
{
	const int log_fd = memfd_create("log", MFD_CLOEXEC);
	const int stderr_fd = dup(STDERR_FILENO);
	ssize_t bytes;

	assert_true(log_fd >= 0 && stderr_fd >= 0);
	assert_int_equal(dup2(log_fd, STDERR_FILENO), STDERR_FILENO);
	for (unsigned i = 0; i < times; i++)
		client_set_charge(&family.clients, uid, cpu_ns);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	bytes = pread(log_fd, log, LOG_BYTES - 1, 0);
	assert_true(bytes >= 0);
	log[bytes] = '\0';
	close(log_fd);
}

/* All clients of this user end, and no others. One line says so, though one client ends already. */
static void long_calls_end_a_users_clients(void **state)
{
	struct client *clients[CLIENTS_OF_USER], *other;
	char expected[64], log[LOG_BYTES];

	(void)state;
	for (unsigned i = 0; i < CLIENTS_OF_USER; i++)
		clients[i] = client_fixture_connect(&family, stranger(0), NULL);
	other = client_fixture_connect(&family, stranger(1), NULL);
	served_peer_end(&clients[0]->peer);
	charge(stranger(0), LIMIT_CALL_NS, THROTTLED_USERS_FORGIVEN, log);
	assert_string_equal(log, "");
	assert_false(clients[1]->peer.requests.is_broken);
	charge(stranger(0), LIMIT_CALL_NS, 2, log);
	snprintf(expected, sizeof(expected), "all clients of user %u were disconnected",
		 (unsigned)stranger(0));
	assert_non_null(strstr(log, expected));
	assert_ptr_equal(strchr(log, '\n'), log + strlen(log) - 1);
	for (unsigned i = 0; i < CLIENTS_OF_USER; i++)
		assert_true(clients[i]->peer.requests.is_broken &&
			    clients[i]->peer.requests.is_costly);
	assert_false(other->peer.requests.is_broken || other->peer.requests.is_costly);
	family_reap(&family);
	assert_int_equal(family.clients.peers.count, 1);
	assert_true(throttled_users_are_shut_out(&family.clients.throttled_users, stranger(0),
						 family.clients.now_ns));
}

/* So it is with a user whose newcomers are all turned away. */
static void a_user_without_clients_is_shut_out(void **state)
{
	char log[LOG_BYTES];

	(void)state;
	charge(stranger(0), LIMIT_CALL_NS, THROTTLED_USERS_FORGIVEN + 1, log);
	assert_non_null(strstr(log, "gets no connection"));
	assert_true(throttled_users_are_shut_out(&family.clients.throttled_users, stranger(0),
						 family.clients.now_ns));
}

/* The subordinate ids of one owner are one user, who does not go on with the next id. */
static void ids_of_one_owner_are_shut_out(void **state)
{
	char path[] = "/tmp/test_client.XXXXXX", log[LOG_BYTES];
	struct client *sibling, *other;
	const int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "anna:%u:2\n", (unsigned)stranger(0)) > 0);
	close(fd);
	subordinate_ids_init(&family.clients.subordinates, path);
	sibling = client_fixture_connect(&family, stranger(0), NULL);
	other = client_fixture_connect(&family, stranger(2), NULL);
	charge(stranger(1), LIMIT_CALL_NS, THROTTLED_USERS_FORGIVEN + 1, log);
	assert_non_null(strstr(log, "and other ids of the same owner were disconnected"));
	assert_true(sibling->peer.requests.is_broken);
	assert_false(other->peer.requests.is_broken);
	assert_true(client_set_shuts_out(&family.clients, stranger(0)));
	assert_false(client_set_shuts_out(&family.clients, stranger(2)));
	unlink(path);
}

static void short_calls_and_owners_cost_nothing(void **state)
{
	const struct {
		uid_t uid;
		uint64_t cpu_ns;
	} cases[] = {
		{stranger(0), LIMIT_CALL_NS - 1},
		{0, 10 * LIMIT_CALL_NS},
		{geteuid(), 10 * LIMIT_CALL_NS},
	};
	char log[LOG_BYTES];

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		charge(cases[i].uid, cases[i].cpu_ns, 10, log);
		assert_string_equal(log, "");
		assert_false(throttled_users_are_shut_out(&family.clients.throttled_users,
							  cases[i].uid, family.clients.now_ns));
	}
}

/* However many clients came between, and whatever slots a device process claims. */
static void objects_have_numbers_of_their_own(void **state)
{
	static const uint32_t slots[] = {0, 1, RNIC_SESSION_CQS_MAX - 1};
	const struct client *first = client_fixture_connect(&family, stranger(0), NULL);
	struct client *second;
	uint32_t number;

	(void)state;
	family.clients.next_client_id = first->peer.client_id + 65536;
	second = client_fixture_connect(&family, stranger(0), NULL);
	for (unsigned i = 0; i < COUNT_OF(slots) * COUNT_OF(slots); i++) {
		const uint32_t of_first = slots[i / COUNT_OF(slots)];
		const uint32_t of_second = slots[i % COUNT_OF(slots)];

		assert_int_not_equal(client_object_number(first, of_first),
				     client_object_number(second, of_second));
	}
	assert_int_not_equal(client_object_number(first, UINT32_MAX),
			     client_object_number(second, UINT32_MAX));
	/* A client that comes next has other numbers than the one that has gone. */
	number = client_object_number(second, 0);
	served_peer_end(&second->peer);
	family_reap(&family);
	second = client_fixture_connect(&family, stranger(0), NULL);
	assert_int_not_equal(client_object_number(second, 0), number);
}

static const struct user_quota *account_of(uid_t uid)
{
	return client_fixture_connect(&family, uid, NULL)->peer.account.user;
}

/* The subordinate user ids of one person share what one user may have. */
static void subordinate_ids_are_one_user(void **state)
{
	char path[] = "/tmp/test_client.XXXXXX";
	const struct user_quota *account;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "anna:%u:10\n", (unsigned)stranger(10)) > 0);
	close(fd);
	subordinate_ids_init(&family.clients.subordinates, path);
	account = account_of(stranger(10));
	assert_ptr_equal(account_of(stranger(19)), account);
	assert_ptr_not_equal(account_of(stranger(20)), account);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(long_calls_end_a_users_clients, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_user_without_clients_is_shut_out, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ids_of_one_owner_are_shut_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(short_calls_and_owners_cost_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(objects_have_numbers_of_their_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(subordinate_ids_are_one_user, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

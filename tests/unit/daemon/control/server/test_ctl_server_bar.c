/* SPDX-License-Identifier: MIT */
/*
 * Whom the control socket bars, and when it admits them again. The users are played; the list is
 * that of the socket's file, unless a test plays the file's answer.
 */
#include "daemon/control/server/ctl_server.h"
#include "daemon/control/server/peer_user.h"
#include "daemon/control/server/socket_acl.h"
#include "daemon/shared/served_peer/request_turn.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIST	  "system.posix_acl_access"
#define ATTACKER  31001
#define OTHER	  31002
#define BYSTANDER 31003 /* is connected, so that nobody is alone */
#define LOG_BYTES 65536

/* What an overdrawn user owes until the kernel lets the user in. */
#define BARRED_NS (2 * LIMIT_CONNECTION_BURST_NS * LIMIT_CONNECTION_PARTS)

static struct family family;
static struct ctl_server server;
static char folder[64];
static struct sockaddr_un address;
static int manager_fd; /* the socket of a service manager */
static uint64_t clock_ns;
static uid_t peer_uid; /* as whom this process connects */
static bool is_played;
static int answer; /* of the file that is played */
static unsigned bar_count;
static int stderr_fd; /* standard error, which may be a log meanwhile */

/* The linker puts these functions before the real ones. */
uint64_t __wrap_clock_now_ns(void);
int __wrap_peer_user_of(int fd, uint64_t rights, pid_t *pid, uid_t *uid);
int __real_socket_acl_bar(const char *path, uid_t uid);
int __wrap_socket_acl_bar(const char *path, uid_t uid);

uint64_t __wrap_clock_now_ns(void)
{
	return clock_ns;
}

int __wrap_peer_user_of(int fd, uint64_t rights, pid_t *pid, uid_t *uid)
{
	(void)fd;
	(void)rights;
	*pid = getpid();
	*uid = peer_uid;
	return 0;
}

int __wrap_socket_acl_bar(const char *path, uid_t uid)
{
	bar_count++;
	return is_played ? answer : __real_socket_acl_bar(path, uid);
}

static void open_server(int taken_fd)
{
	const struct ctl_server_config config = {
		.path = address.sun_path,
		.mode = 0666,
		.taken_fd = taken_fd,
	};
	char reason[SOCKET_PATH_REASON_BYTES];

	assert_int_equal(ctl_server_open(&server, &family.clients, &config, reason), 0);
}

static void close_server(void)
{
	if (family.clients.peers.server.listener == NULL)
		return;
	family.clients.peers.server.listener = NULL;
	ctl_server_close(&server);
}

static int set_up(void **state)
{
	(void)state;
	memset(&family, 0, sizeof(family));
	family_init(&family, NULL, NULL);
	client_fixture_connect(&family, BYSTANDER, NULL);
	snprintf(folder, sizeof(folder), "/tmp/rnic-ctl-server-bar-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/rnicd.sock", folder);
	manager_fd = -1;
	clock_ns = 0;
	is_played = false;
	answer = 0;
	bar_count = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dup2(stderr_fd, STDERR_FILENO);
	close_server();
	family_fini(&family);
	if (manager_fd >= 0)
		unlink(address.sun_path);
	return rmdir(folder);
}

/* A socket that a service manager opened. */
static void open_manager(void)
{
	manager_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(manager_fd >= 0);
	assert_int_equal(bind(manager_fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(manager_fd, 16), 0);
	assert_int_equal(chmod(address.sun_path, 0660), 0);
}

/* Each connection is turned away, or its client ends at once. At most ten come in a second. */
static void connect_as(uid_t uid, unsigned times)
{
	peer_uid = uid;
	while (times-- > 0) {
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)),
				 0);
		request_turn_run(&family.clients.peers.server);
		close(fd);
		clock_ns += RNIC_NS_PER_SECOND / 10;
	}
}

/* The user has used up the share, and each further connection is turned away. */
static void overdraw(uid_t uid)
{
	connect_as(uid, 1);
	client_set_pay(&family.clients, uid, 4 * LIMIT_CONNECTION_BURST_NS);
	assert_true(client_set_is_refused(&family.clients, uid));
}

/* The entry of the user in the list of the socket's file: its rights; -1: there is none. */
static int rights_of(uid_t uid)
{
	struct {
		struct posix_acl_xattr_header header;
		struct posix_acl_xattr_entry entries[16];
	} list;
	const ssize_t bytes = getxattr(address.sun_path, LIST, &list, sizeof(list));
	const size_t count =
		bytes > 0 ? ((size_t)bytes - sizeof(list.header)) / sizeof(list.entries[0]) : 0;

	for (size_t i = 0; i < count; i++)
		if (le16toh(list.entries[i].e_tag) == ACL_USER &&
		    le32toh(list.entries[i].e_id) == uid)
			return le16toh(list.entries[i].e_perm);
	return -1;
}

/* Names the user in the list, as an administrator does. */
static void give_rights(uid_t uid, uint16_t rights)
{
	const struct {
		struct posix_acl_xattr_header header;
		struct posix_acl_xattr_entry entries[5];
	} list = {
		{htole32(POSIX_ACL_XATTR_VERSION)},
		{
			{htole16(ACL_USER_OBJ), htole16(6), htole32(UINT32_MAX)},
			{htole16(ACL_USER), htole16(rights), htole32(uid)},
			{htole16(ACL_GROUP_OBJ), htole16(6), htole32(UINT32_MAX)},
			{htole16(ACL_MASK), htole16(6), htole32(UINT32_MAX)},
			{htole16(ACL_OTHER), htole16(6), htole32(UINT32_MAX)},
		},
	};

	assert_int_equal(setxattr(address.sun_path, LIST, &list, sizeof(list), 0), 0);
}

/* The list matters here, not the calls. */
static void require_lists(void)
{
	int result;

	open_manager();
	result = __real_socket_acl_bar(address.sun_path, OTHER);
	close(manager_fd);
	assert_int_equal(unlink(address.sun_path), 0);
	manager_fd = -1;
	if (result == -EOPNOTSUPP) {
		print_message("skipped: the file system of /tmp has no access control lists\n");
		skip();
	}
	assert_int_equal(result, 0);
}

/* How many lines the log has with these words, of what `act` does. */
static unsigned lines_with(const char *words, void (*act)(void))
{
	static char log[LOG_BYTES];
	const int log_fd = memfd_create("log", MFD_CLOEXEC);
	unsigned count = 0;
	ssize_t bytes;

	assert_true(log_fd >= 0);
	dup2(log_fd, STDERR_FILENO);
	act();
	dup2(stderr_fd, STDERR_FILENO);
	bytes = pread(log_fd, log, sizeof(log) - 1, 0);
	assert_true(bytes >= 0 && bytes < LOG_BYTES - 1);
	log[bytes] = '\0';
	close(log_fd);
	for (const char *at = log; (at = strstr(at, words)) != NULL; at++)
		count++;
	return count;
}

static void attack(void)
{
	overdraw(ATTACKER);
	connect_as(ATTACKER, LIMIT_TURNED_AWAY);
}

static void wait_until_admitted(void)
{
	family.clients.now_ns += BARRED_NS;
	ctl_server_follow(&server, family.clients.now_ns);
}

static void test_who_goes_on_is_barred_for_a_while(void **state)
{
	(void)state;
	require_lists();
	open_server(-1);
	overdraw(ATTACKER);
	connect_as(ATTACKER, LIMIT_TURNED_AWAY - 1);
	assert_int_equal(rights_of(ATTACKER), -1);
	assert_true(ctl_server_next_deadline_ns(&server) == UINT64_MAX);
	connect_as(ATTACKER, 1);
	assert_int_equal(rights_of(ATTACKER), ACL_EXECUTE);
	assert_true(ctl_server_next_deadline_ns(&server) != UINT64_MAX);
	family.clients.now_ns += BARRED_NS - 1;
	ctl_server_follow(&server, family.clients.now_ns);
	assert_int_equal(rights_of(ATTACKER), ACL_EXECUTE);
	family.clients.now_ns += 1 + BARRED_USERS_REVIEW_NS;
	ctl_server_follow(&server, family.clients.now_ns);
	assert_int_equal(rights_of(ATTACKER), -1);
	assert_true(ctl_server_next_deadline_ns(&server) == UINT64_MAX);
}

static void attack_three_times(void)
{
	for (unsigned i = 0; i < 3; i++) {
		attack();
		wait_until_admitted();
	}
}

static void attack_a_while_later(void)
{
	family.clients.now_ns += BARRED_USERS_LINE_NS;
	attack();
}

/* A user who is barred and admitted by turns fills no log. */
static void test_lines_are_few(void **state)
{
	static const char words[] = "the kernel refuses connections of user 31001 for a while";

	(void)state;
	is_played = true;
	open_server(-1);
	assert_int_equal(lines_with(words, attack_three_times), 1);
	assert_int_equal(bar_count, 3);
	assert_int_equal(lines_with(words, attack_a_while_later), 1);
}

static void test_an_entry_that_was_removed_by_hand_comes_back(void **state)
{
	(void)state;
	require_lists();
	open_server(-1);
	attack();
	assert_int_equal(rights_of(ATTACKER), ACL_EXECUTE);
	assert_int_equal(removexattr(address.sun_path, LIST), 0);
	connect_as(ATTACKER, LIMIT_TURNED_AWAY);
	assert_int_equal(rights_of(ATTACKER), ACL_EXECUTE);
	assert_int_equal(server.barred.count, 1);
}

/* No entry names these alone, or the kernel does not ask the list about them. */
static void test_whom_no_list_names(void **state)
{
	const uid_t users[] = {PEER_USER_CONTAINED, OTHER};

	(void)state;
	is_played = true;
	open_server(-1);
	server.unmapped = OTHER; /* as in a user namespace */
	for (unsigned i = 0; i < COUNT_OF(users); i++) {
		overdraw(users[i]);
		connect_as(users[i], 2 * LIMIT_TURNED_AWAY);
	}
	assert_int_equal(bar_count, 0);
	attack();
	assert_int_equal(bar_count, 1);
}

/* A file that takes no entry is asked again after a pause, whoever attacks. */
static void test_the_pause_of_a_file_ends(void **state)
{
	(void)state;
	is_played = true;
	answer = -EROFS;
	open_server(-1);
	overdraw(OTHER);
	assert_int_equal(lines_with("cannot refuse connections of user 31001", attack), 1);
	assert_int_equal(bar_count, 1);
	connect_as(OTHER, LIMIT_TURNED_AWAY);
	assert_int_equal(bar_count, 1);
	answer = 0;
	family.clients.now_ns += RNIC_NS_PER_SECOND;
	connect_as(OTHER, LIMIT_TURNED_AWAY);
	assert_int_equal(bar_count, 2);
	assert_int_equal(server.barred.count, 1);
}

/* The next user is barred at once. */
static void check_no_pause(const char *words)
{
	const unsigned before = bar_count;

	assert_int_equal(lines_with(words, attack), 1);
	answer = 0;
	server.barred.count = 0;
	overdraw(OTHER);
	connect_as(OTHER, LIMIT_TURNED_AWAY);
	assert_int_equal(server.barred.count, 1);
	assert_true(bar_count > before);
}

static void test_a_user_whom_the_list_names_stops_no_bar(void **state)
{
	(void)state;
	is_played = true;
	answer = -EEXIST;
	open_server(-1);
	check_no_pause(
		"the user owns the socket's file, or its access control list lets the user in");
}

static void test_a_full_table_stops_no_bar(void **state)
{
	(void)state;
	is_played = true;
	open_server(-1);
	server.barred.count = BARRED_USERS_MAX;
	check_no_pause("it refuses as many users already");
}

/* Users who are shut out (throttled_users.h) have no quota any more, and go on as well. */
static void test_who_is_shut_out_goes_on(void **state)
{
	(void)state;
	is_played = true;
	open_server(-1);
	for (unsigned i = 0; i <= THROTTLED_USERS_FORGIVEN; i++)
		client_set_charge(&family.clients, ATTACKER, LIMIT_CALL_NS);
	assert_true(client_set_shuts_out(&family.clients, ATTACKER));
	connect_as(ATTACKER, LIMIT_TURNED_AWAY - 1);
	assert_int_equal(bar_count, 0);
	connect_as(ATTACKER, 1);
	assert_int_equal(bar_count, 1);
	assert_int_equal(server.barred.count, 1);
	wait_until_admitted();
	assert_int_equal(server.barred.count, 1);
	family.clients.now_ns = THROTTLED_USERS_FIRST_S * RNIC_NS_PER_SECOND;
	ctl_server_follow(&server, family.clients.now_ns);
	assert_int_equal(server.barred.count, 0);
}

/* A daemon that was killed has left this behind. */
static void test_a_leftover_entry_goes_at_adoption(void **state)
{
	(void)state;
	require_lists();
	open_manager();
	assert_int_equal(__real_socket_acl_bar(address.sun_path, ATTACKER), 0);
	assert_int_equal(rights_of(ATTACKER), ACL_EXECUTE);
	open_server(manager_fd);
	assert_int_equal(rights_of(ATTACKER), -1);
	assert_true(getxattr(address.sun_path, LIST, NULL, 0) < 0);
}

/* A folder's default list has made this: nobody was barred. */
static void test_other_entries_stay_at_adoption(void **state)
{
	const uint16_t cases[] = {ACL_EXECUTE, ACL_READ | ACL_EXECUTE};

	(void)state;
	require_lists();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		open_manager();
		give_rights(ATTACKER, cases[i]);
		open_server(manager_fd);
		close_server();
		assert_int_equal(rights_of(ATTACKER), cases[i]);
		assert_int_equal(unlink(address.sun_path), 0);
		manager_fd = -1;
	}
}

/* The file of a service manager's socket stays, with what others have written into its list. */
static void test_the_end_admits_who_is_barred(void **state)
{
	(void)state;
	require_lists();
	open_manager();
	open_server(manager_fd);
	give_rights(OTHER, ACL_EXECUTE);
	attack();
	assert_int_equal(rights_of(ATTACKER), ACL_EXECUTE);
	close_server();
	assert_int_equal(rights_of(ATTACKER), -1);
	assert_int_equal(rights_of(OTHER), 0); /* "x" is for entries of ours alone */
	assert_int_equal(rights_of(geteuid()), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_who_goes_on_is_barred_for_a_while, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_lines_are_few, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_entry_that_was_removed_by_hand_comes_back,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_whom_no_list_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_pause_of_a_file_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_user_whom_the_list_names_stops_no_bar,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_full_table_stops_no_bar, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_is_shut_out_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_leftover_entry_goes_at_adoption, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_other_entries_stay_at_adoption, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_end_admits_who_is_barred, set_up,
						tear_down),
	};

	stderr_fd = dup(STDERR_FILENO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/socket_path.h"

#include "daemon/shared/base/identity.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* What a stranger does between bind() and the next call of the daemon; NULL: nothing. */
static void (*stranger)(const char *path);

/* The linker puts this function before the real one. */
int __real_bind(int fd, const struct sockaddr *address, socklen_t bytes);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t bytes);

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t bytes)
{
	int result = __real_bind(fd, address, bytes);

	if (stranger != NULL)
		stranger(((const struct sockaddr_un *)address)->sun_path);
	return result;
}

static char directory[] = "/tmp/rnic-place-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/rnicd.sock", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

static void test_stale_socket_is_replaced(void **state)
{
	struct socket_path first, second;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd;

	(void)state;
	fd = socket_path_listen(path, 0666, &first, reason);
	assert_true(fd >= 0);
	close(fd);
	fd = socket_path_listen(path, 0666, &second, reason);
	assert_true(fd >= 0);
	/* The end of the first daemon does not remove the socket of the second. */
	if (first.inode != second.inode) {
		socket_path_remove(&first);
		assert_int_equal(access(path, F_OK), 0);
	}
	socket_path_remove(&second);
	assert_int_not_equal(access(path, F_OK), 0);
	close(fd);
}

static void test_live_socket_is_refused(void **state)
{
	struct socket_path place, other;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd = socket_path_listen(path, 0666, &place, reason);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(socket_path_listen(path, 0666, &other, reason), -EADDRINUSE);
	assert_non_null(strstr(reason, path));
	socket_path_remove(&place);
	close(fd);
}

static mode_t mode_of(const char *file)
{
	struct stat status;

	assert_int_equal(stat(file, &status), 0);
	return status.st_mode & 07777;
}

static void test_permissions_are_those_asked_for(void **state)
{
	static const mode_t modes[] = {0666, 0660, 0600};
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];

	(void)state;
	umask(077);
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		int fd = socket_path_listen(path, modes[i], &place, reason);

		assert_true(fd >= 0);
		assert_int_equal(mode_of(path), modes[i]);
		socket_path_remove(&place);
		close(fd);
	}
	assert_int_equal(umask(022), 077);
}

static char victim[80];

static void lead_to_victim(const char *socket_path)
{
	assert_int_equal(unlink(socket_path), 0);
	assert_int_equal(symlink(victim, socket_path), 0);
}

/* Whoever can write in the directory puts a link in the place of the socket. */
static void test_no_link_is_followed(void **state)
{
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd;

	(void)state;
	snprintf(victim, sizeof(victim), "%s/victim", directory);
	close(open(victim, O_CREAT | O_WRONLY, 0600));
	stranger = lead_to_victim;
	fd = socket_path_listen(path, 0666, &place, reason);
	stranger = NULL;
	assert_int_equal(mode_of(victim), 0600);
	if (fd >= 0)
		close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(victim), 0);
}

/* What a second daemon on the socket hears before it looks for a free port. */
static void test_what_is_said_early(void **state)
{
	const struct identity own = identity_own();
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd;

	(void)state;
	assert_int_equal(socket_path_check(path, &own, reason), 0);
	fd = socket_path_listen(path, 0666, &place, reason);
	assert_true(fd >= 0);
	assert_int_equal(socket_path_check(path, &own, reason), -EADDRINUSE);
	assert_non_null(strstr(reason, path));
	close(fd);
	/* Nothing is removed yet. */
	assert_int_equal(socket_path_check(path, &own, reason), 0);
	assert_int_equal(access(path, F_OK), 0);
	socket_path_remove(&place);
}

/* Root makes the directory of another user, and takes none that is somebody else's. */
static void test_a_directory_for_another_user(void **state)
{
	const struct identity other = {.uid = 31001, .gid = 31002};
	char inside[80], reason[SOCKET_PATH_REASON_BYTES];
	struct stat status;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root gives directories to other users\n");
		skip();
	}
	snprintf(inside, sizeof(inside), "%s/given/rnicd.sock", directory);
	assert_int_equal(socket_path_prepare(inside, &other, reason), 0);
	*strrchr(inside, '/') = '\0';
	assert_int_equal(stat(inside, &status), 0);
	assert_int_equal(status.st_uid, other.uid);
	assert_int_equal(status.st_gid, other.gid);
	snprintf(inside, sizeof(inside), "%s/given/rnicd.sock", directory);
	assert_int_equal(socket_path_prepare(inside, &other, reason), 0);
	assert_int_equal(socket_path_prepare(path, &other, reason), -EPERM);
	assert_non_null(strstr(reason, directory));
	*strrchr(inside, '/') = '\0';
	assert_int_equal(rmdir(inside), 0);
}

static void test_other_files_are_kept(void **state)
{
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(socket_path_listen(path, 0666, &place, reason), -EADDRINUSE);
	assert_int_equal(unlink(path), 0);
}

static void test_paths_that_cannot_be(void **state)
{
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];
	char longest[200];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(socket_path_listen(longest, 0666, &place, reason), -ENAMETOOLONG);
	assert_int_equal(socket_path_listen("/nonexistent/rnicd.sock", 0666, &place, reason),
			 -ENOENT);
	assert_non_null(strstr(reason, "/nonexistent"));
}

static void test_default_follows_the_environment(void **state)
{
	char found[SOCKET_PATH_PATH_BYTES], reason[SOCKET_PATH_REASON_BYTES];

	(void)state;
	setenv("RNIC_SOCKET", "/chosen.sock", 1);
	assert_int_equal(socket_path_default(found, reason), 0);
	assert_string_equal(found, "/chosen.sock");
	setenv("RNIC_SOCKET", "/a.sock:/b.sock", 1);
	assert_int_equal(socket_path_default(found, reason), -EINVAL);
	assert_non_null(strstr(reason, "give --socket"));
}

/* A socket of `type` at `path`, as a service manager makes it. */
static int make_socket(int type, bool listens)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	if (listens)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void test_socket_of_a_service_manager(void **state)
{
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];
	int fd = make_socket(SOCK_SEQPACKET, true);

	(void)state;
	assert_int_equal(socket_path_adopt(fd, path, &place, reason), 0);
	assert_string_equal(place.path, path);
	assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	/* The file is not the daemon's to remove. */
	socket_path_remove(&place);
	assert_int_equal(unlink(path), 0);
	close(fd);
}

static void test_no_socket_of_a_service_manager(void **state)
{
	static const struct {
		int type;
		bool listens;
		const char *path;
	} cases[] = {
		{SOCK_STREAM, true, path},
		{SOCK_SEQPACKET, false, path},
		{SOCK_SEQPACKET, true, "/run/other.sock"},
	};
	struct socket_path place;
	char reason[SOCKET_PATH_REASON_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int fd = make_socket(cases[i].type, cases[i].listens);

		assert_int_equal(socket_path_adopt(fd, cases[i].path, &place, reason), -EINVAL);
		assert_non_null(strstr(reason, cases[i].path));
		assert_int_equal(unlink(path), 0);
		close(fd);
	}
	assert_int_equal(socket_path_adopt(STDERR_FILENO, path, &place, reason), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stale_socket_is_replaced),
		cmocka_unit_test(test_live_socket_is_refused),
		cmocka_unit_test(test_permissions_are_those_asked_for),
		cmocka_unit_test(test_no_link_is_followed),
		cmocka_unit_test(test_what_is_said_early),
		cmocka_unit_test(test_a_directory_for_another_user),
		cmocka_unit_test(test_other_files_are_kept),
		cmocka_unit_test(test_paths_that_cannot_be),
		cmocka_unit_test(test_default_follows_the_environment),
		cmocka_unit_test(test_socket_of_a_service_manager),
		cmocka_unit_test(test_no_socket_of_a_service_manager),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}

/* SPDX-License-Identifier: MIT */
/* From RNIC_SOCKET and --socket to the sockets of a program. */
#include "lib/client/native/socket_list.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static char folder[] = "/tmp/rnic-socket-list-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void put_file(const char *name, bool is_there)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (is_there)
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	else
		unlink(path);
}

static void expect_path(const struct rnic_socket_list *list, uint32_t index, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_string_equal(list->paths[index], path);
}

static void test_several(void **state)
{
	struct rnic_socket_list list = {0};

	(void)state;
	setenv("RNIC_SOCKET", "/a:b/c::/a:/d:", 1);
	assert_int_equal(rnic_socket_list_read(&list), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.paths[0], "/a");
	assert_string_equal(list.paths[1], "b/c");
	assert_string_equal(list.paths[2], "/d");
	assert_int_equal(list.found, 0);
	setenv("RNIC_SOCKET", ":", 1);
	assert_int_equal(rnic_socket_list_read(&list), -ENOENT);
}

/* The order is that of the names: the directory gives its entries in an order of its own. */
static void test_directory(void **state)
{
	static const char *const names[] = {"b.sock", "c.sock", "a.sock"};
	static const char *const others[] = {"a.sock.log", ".sock", ".hidden.sock", "d.socket"};
	struct rnic_socket_list list = {0};

	(void)state;
	assert_int_equal(rnic_socket_list_add(&list, folder), 0);
	assert_int_equal(list.count, 0);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		put_file(names[i], true);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		put_file(others[i], true);
	assert_int_equal(rnic_socket_list_add(&list, "/first"), 0);
	assert_int_equal(rnic_socket_list_add(&list, folder), 0);
	assert_int_equal(list.count, 4);
	expect_path(&list, 1, "a.sock");
	expect_path(&list, 2, "b.sock");
	expect_path(&list, 3, "c.sock");
	assert_int_equal(list.found, 0xe);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		put_file(names[i], false);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		put_file(others[i], false);
}

static void listed_are(struct rnic_socket_list *list, const char *text)
{
	list->count = list->found = 0;
	assert_int_equal(rnic_socket_list_add(list, text), 0);
}

/* A directory's sockets come and go; those that stay keep their places. */
static void test_places(void **state)
{
	struct rnic_socket_list places = {0}, listed;

	(void)state;
	listed_are(&listed, "/a:/c:/d");
	rnic_socket_list_keep_places(&places, &listed);
	listed_are(&listed, "/b:/d");
	rnic_socket_list_keep_places(&places, &listed);
	assert_int_equal(places.count, 4);
	assert_string_equal(places.paths[2], "/d");
	assert_string_equal(places.paths[3], "/b");
	listed_are(&listed, "/a:/b");
	rnic_socket_list_keep_places(&places, &listed);
	assert_string_equal(places.paths[0], "/a");
	assert_int_equal(places.count, 4);
	/* The program names other sockets. */
	listed_are(&listed, "/x");
	rnic_socket_list_keep_places(&places, &listed);
	assert_int_equal(places.count, 1);
	assert_string_equal(places.paths[0], "/x");
}

static void test_places_run_out(void **state)
{
	struct rnic_socket_list places = {0}, listed;
	char text[32];

	(void)state;
	for (unsigned i = 0; i <= RNIC_SOCKETS_MAX; i++) {
		snprintf(text, sizeof(text), "/stays:/goes%u", i);
		listed_are(&listed, text);
		rnic_socket_list_keep_places(&places, &listed);
	}
	assert_int_equal(places.count, RNIC_SOCKETS_MAX);
	assert_string_equal(places.paths[0], "/stays");
	assert_true(rnic_socket_list_has(&places, text + strlen("/stays:")));
}

static void test_limits(void **state)
{
	char text[RNIC_SOCKETS_MAX * 8 + 16], too_long[RNIC_SOCKET_PATH_BYTES + 1];
	struct rnic_socket_list list = {0};
	size_t used = 0;

	(void)state;
	for (unsigned i = 0; i < RNIC_SOCKETS_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "/s%u:", i);
	assert_int_equal(rnic_socket_list_add(&list, text), 0);
	assert_int_equal(list.count, RNIC_SOCKETS_MAX);
	assert_int_equal(rnic_socket_list_add(&list, "/s0"), 0);
	assert_int_equal(rnic_socket_list_add(&list, "/more"), -E2BIG);
	list.count = 0;
	memset(too_long, 'x', sizeof(too_long));
	too_long[RNIC_SOCKET_PATH_BYTES] = '\0';
	assert_int_equal(rnic_socket_list_add(&list, too_long), -ENAMETOOLONG);
	too_long[RNIC_SOCKET_PATH_BYTES - 1] = '\0';
	assert_int_equal(rnic_socket_list_add(&list, too_long), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several), cmocka_unit_test(test_directory),
		cmocka_unit_test(test_places),	cmocka_unit_test(test_places_run_out),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

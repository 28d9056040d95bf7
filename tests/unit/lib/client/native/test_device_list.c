/* SPDX-License-Identifier: MIT */
/* Distinct names for the devices of daemons that do not know of each other. */
#include "lib/client/native/device_list.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

/* A daemon and the name that its device is to have; "" for a daemon that does not answer. */
struct named_daemon {
	const char *own_name;
	const char *expected;
};

static void expect_names(const struct named_daemon *daemons, uint32_t count)
{
	struct rnic_listed_device devices[8] = {0};
	struct rnic_device_list list = {.devices = devices};

	for (uint32_t i = 0; i < count; i++) {
		struct rnic_listed_device *device = &devices[list.count];

		if (daemons[i].own_name[0] == '\0')
			continue;
		device->index = i;
		snprintf(device->attributes.name, sizeof(device->attributes.name), "%s",
			 daemons[i].own_name);
		rnic_device_list_choose_name(&list, device);
		assert_string_equal(device->attributes.name, daemons[i].expected);
		list.count++;
	}
}

static void test_unnamed(void **state)
{
	static const struct named_daemon all[] = {
		{"rnic0", "rnic0"}, {"rnic0", "rnic1"}, {"rnic0", "rnic2"}};
	/* Names do not move when a daemon has ended. */
	static const struct named_daemon some[] = {
		{"", ""}, {"rnic0", "rnic1"}, {"rnic0", "rnic2"}};

	(void)state;
	expect_names(all, COUNT_OF(all));
	expect_names(some, COUNT_OF(some));
}

static void test_named(void **state)
{
	static const struct named_daemon daemons[] = {{"left", "left"},	  {"rnic3", "rnic3"},
						      {"left", "rnic2"},  {"rnic0", "rnic35"},
						      {"right", "right"}, {"rnic0", "rnic5"}};

	(void)state;
	expect_names(daemons, COUNT_OF(daemons));
}

/* A daemon may say what it likes; the names become names of files. */
static void test_no_file_names(void **state)
{
	static const struct named_daemon daemons[] = {
		{"../../x", "rnic0"}, {".", "rnic1"}, {"a/b", "rnic2"}, {"a.b", "a.b"}};

	(void)state;
	expect_names(daemons, COUNT_OF(daemons));
}

/* ---- one process that looks again and again ---- */

#define PLAYED_MAX 8

static struct {
	const char *socket; /* NULL: no more of them */
	const char *own_name;
} played[PLAYED_MAX];

/* The linker puts these functions before those of the library. */
int __wrap_rnic_socket_list_read(struct rnic_socket_list *list);
int __wrap_rnic_query_device_at(const char *socket_path, struct rnic_device_attributes *attributes);

int __wrap_rnic_socket_list_read(struct rnic_socket_list *list)
{
	list->count = list->found = 0;
	for (uint32_t i = 0; i < PLAYED_MAX && played[i].socket != NULL; i++)
		assert_int_equal(rnic_socket_list_add(list, played[i].socket), 0);
	return list->count > 0 ? 0 : -ENOENT;
}

int __wrap_rnic_query_device_at(const char *socket_path, struct rnic_device_attributes *attributes)
{
	for (uint32_t i = 0; i < PLAYED_MAX && played[i].socket != NULL; i++) {
		if (strcmp(played[i].socket, socket_path) != 0)
			continue;
		memset(attributes, 0, sizeof(*attributes));
		snprintf(attributes->name, sizeof(attributes->name), "%s", played[i].own_name);
		return 0;
	}
	return -ENOENT;
}

/* `text`: "SOCKET=NAME ...", in the order of the list. */
static void expect_list(const char *text)
{
	struct rnic_device_list list;
	char told[256] = "";

	assert_int_equal(rnic_device_list_read(&list), 0);
	for (uint32_t i = 0; i < list.count; i++)
		snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s=%s",
			 i > 0 ? " " : "", list.devices[i].socket_path,
			 list.devices[i].attributes.name);
	assert_string_equal(told, text);
	free(list.devices);
}

static void play(uint32_t place, const char *socket, const char *own_name)
{
	played[place].socket = socket;
	played[place].own_name = own_name;
}

static void test_names_stay(void **state)
{
	(void)state;
	memset(played, 0, sizeof(played));
	play(0, "/a", "rnic0");
	play(1, "/c", "rnic0");
	play(2, "/d", "left");
	play(3, "/e", "left");
	expect_list("/a=rnic0 /c=rnic1 /d=left /e=rnic3");
	/* The first two go, and a new one stands before those that stay. */
	play(0, "/b", "rnic0");
	play(1, "/e", "left");
	play(2, NULL, NULL);
	expect_list("/e=rnic3 /b=rnic4");
	/* One of another name has another name. */
	play(1, "/e", "right");
	expect_list("/e=right /b=rnic4");
	/* A new one may call itself as another one is called. */
	play(0, "/a", "rnic4");
	play(1, "/b", "rnic0");
	play(2, "/e", "right");
	expect_list("/a=rnic0 /e=right /b=rnic4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unnamed),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_no_file_names),
		cmocka_unit_test(test_names_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/handle_directory.h"
#include "tests/unit/unit_test.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 5000

struct object {
	struct rnic_handle handle; /* the first, so that one is the other */
	bool is_ended;
};

static struct object objects[MANY];

static void end(struct rnic_handle *handle)
{
	((struct object *)handle)->is_ended = true;
}

static int add(size_t which, enum rnic_handle_kind kind, int number)
{
	objects[which] = (struct object){0};
	return rnic_handle_add(&objects[which].handle, kind, number, end);
}

static void destroy(enum rnic_handle_kind kind, int number)
{
	struct rnic_handle *handle = rnic_handle_remove(kind, number);

	assert_non_null(handle);
	rnic_handle_release(handle);
}

static void test_an_object_ends_with_its_last_user(void **state)
{
	const int number = add(0, RNIC_HANDLE_QP, 77);
	struct rnic_handle *held = rnic_handle_hold(RNIC_HANDLE_QP, 77);

	(void)state;
	assert_int_equal(number, 77);
	assert_ptr_equal(held, &objects[0]);
	destroy(RNIC_HANDLE_QP, 77);
	assert_null(rnic_handle_hold(RNIC_HANDLE_QP, 77));
	assert_null(rnic_handle_remove(RNIC_HANDLE_QP, 77));
	assert_false(objects[0].is_ended);
	rnic_handle_release(held);
	assert_true(objects[0].is_ended);
}

static void test_kinds_have_numbers_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(add(0, RNIC_HANDLE_QP, 5), 5);
	assert_int_equal(add(1, RNIC_HANDLE_QP, 5), -EEXIST);
	assert_int_equal(add(1, RNIC_HANDLE_REGION, 5), 5);
	assert_null(rnic_handle_hold(RNIC_HANDLE_LISTENER, 5));
	destroy(RNIC_HANDLE_QP, 5);
	destroy(RNIC_HANDLE_REGION, 5);
	assert_true(objects[1].is_ended);
}

static void test_no_number_comes_again_soon(void **state)
{
	const int first = add(0, RNIC_HANDLE_LISTENER, -1);

	(void)state;
	assert_true(first >= 0);
	destroy(RNIC_HANDLE_LISTENER, first);
	for (int i = 1; i < MANY; i++)
		assert_int_equal(add((size_t)i, RNIC_HANDLE_LISTENER, -1), first + i);
	for (int i = 1; i < MANY; i++)
		destroy(RNIC_HANDLE_LISTENER, first + i);
}

static void test_unknown_numbers_are_nobody(void **state)
{
	static const int numbers[] = {-1, INT_MIN, INT_MAX, 0, 1024};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_null(rnic_handle_hold(RNIC_HANDLE_QP, numbers[i]));
	rnic_handle_release(NULL);
}

static void test_a_child_begins_without(void **state)
{
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(add(0, RNIC_HANDLE_QP, 9), 9);
	child = fork();
	if (child == 0)
		_exit(rnic_handle_hold(RNIC_HANDLE_QP, 9) == NULL &&
				      add(1, RNIC_HANDLE_QP, 9) == 9 && !objects[0].is_ended
			      ? 0
			      : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	destroy(RNIC_HANDLE_QP, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_object_ends_with_its_last_user),
		cmocka_unit_test(test_kinds_have_numbers_of_their_own),
		cmocka_unit_test(test_no_number_comes_again_soon),
		cmocka_unit_test(test_unknown_numbers_are_nobody),
		cmocka_unit_test(test_a_child_begins_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

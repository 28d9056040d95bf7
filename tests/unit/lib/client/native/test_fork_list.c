/* SPDX-License-Identifier: MIT */
/* The effect of fork() on the entries of the list. */
#include "lib/client/native/fork_list.h"

#include "tests/unit/unit_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	int before, in_parent, in_child;
} calls;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	calls.before++;
}

static void give_back_in_parent(void)
{
	calls.in_parent++;
	pthread_mutex_unlock(&lock);
}

static void give_back_in_child(void)
{
	calls.in_child++;
	pthread_mutex_unlock(&lock);
}

static struct rnic_fork_entry locked = {
	.before = take_lock,
	.in_parent = give_back_in_parent,
	.in_child = give_back_in_child,
};
static struct rnic_fork_entry empty;

/* Runs in the child, where both sides of the test are looked at: 0 when all is as it should be. */
static int look_in_child(void)
{
	/* The list itself is open again, and so is the lock. */
	rnic_fork_list_add(&locked);
	return calls.before == 1 && calls.in_parent == 0 && calls.in_child == 1 &&
			       pthread_mutex_trylock(&lock) == 0
		       ? 0
		       : 1;
}

static void every_entry_is_called_once(void **state)
{
	pid_t child;
	int status;

	(void)state;
	rnic_fork_list_add(&empty);
	rnic_fork_list_add(&locked);
	rnic_fork_list_add(&locked);
	child = fork();
	if (child == 0)
		_exit(look_in_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(calls.before, 1);
	assert_int_equal(calls.in_parent, 1);
	assert_int_equal(calls.in_child, 0);
	assert_int_equal(pthread_mutex_trylock(&lock), 0);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_is_called_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

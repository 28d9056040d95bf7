/* SPDX-License-Identifier: MIT */
/*
 * Clients that misuse CONDITION, by which rnicctl makes things happen: broken messages, kinds that
 * there are not, the objects of others, full tables of rules, and many requests in a short time.
 *
 * usage: hostile_conditions RNICD
 */
#include "tests/hostile/hostile_link.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY	   65534
#define FLOOD	   10000
#define ASKED	   50	/* by root, while somebody floods */
#define PATIENCE_S 20	/* for them all: a processor may be shared with much else */
#define RULES_MAX  64	/* of all */
#define USERS	   20	/* more than fit */
#define FIRST_USER 2001 /* of those who load rules */

static int connect_as(uid_t user)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_ADMIN,
	};
	const int fd = hostile_connect_as(&rnicd, user);
	struct hostile_reply reply;

	hostile_must(fd, RNIC_CTL_HELLO, &hello, sizeof(hello), &reply);
	return fd;
}

static int32_t ask_about(int fd, uint32_t condition, uint32_t client_id, uint32_t number,
			 const char *text)
{
	struct rnic_ctl_condition request = {
		.condition = condition,
		.client_id = client_id,
		.number = number,
	};

	snprintf(request.text, sizeof(request.text), "%s", text);
	return hostile_answer(fd, RNIC_CTL_CONDITION, &request, sizeof(request), NULL, 0);
}

static int32_t ask(int fd, uint32_t condition, uint32_t number, const char *text)
{
	return ask_about(fd, condition, 0, number, text);
}

/* A request that is too short or too long ends the connection. */
static void test_wrong_lengths(void **state)
{
	static const uint8_t payload[sizeof(struct rnic_ctl_condition) + 1];
	static const size_t lengths[] = {
		0,
		4,
		sizeof(struct rnic_ctl_condition) - 1,
		sizeof(payload),
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		const int fd = hostile_connect_as_administrator(&rnicd);

		hostile_request(fd, RNIC_CTL_CONDITION, payload, lengths[i]);
		hostile_expect_hang_up(fd);
		close(fd);
	}
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Kinds that there are not, and texts that are no rules, are refused; the connection goes on. */
static void test_wrong_values(void **state)
{
	static const uint32_t kinds[] = {0, RNIC_CONDITION_COUNT, INT32_MAX, UINT32_MAX};
	static const char *const texts[] = {
		"",	     "drop,lose", ",",		"=",	"drop=",
		"drop=101%", "drop=-1",	  "drop=1e999", "%n%s", "delay=99999999999999999999s",
		"\xff\xfe",
	};
	const int fd = hostile_connect_as_administrator(&rnicd);
	struct rnic_ctl_condition endless = {.condition = RNIC_CONDITION_FAULT_ADD};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		assert_int_equal(ask(fd, kinds[i], 0, ""), -EINVAL);
	for (size_t i = 1; i < COUNT_OF(texts); i++)
		assert_int_equal(ask(fd, RNIC_CONDITION_FAULT_ADD, UINT32_MAX, texts[i]), -EINVAL);
	memset(endless.text, 'd', sizeof(endless.text));
	assert_int_equal(hostile_answer(fd, RNIC_CTL_CONDITION, &endless, sizeof(endless), NULL, 0),
			 -EINVAL);
	for (uint32_t kind = RNIC_CONDITION_QP_FATAL; kind <= RNIC_CONDITION_SRQ_ERR; kind++)
		assert_int_equal(ask_about(fd, kind, UINT32_MAX, UINT32_MAX, ""), -ENOENT);
	assert_int_equal(ask(fd, RNIC_CONDITION_FAULT_DELETE, 0, ""), -ENOENT);
	assert_int_equal(ask(fd, RNIC_CONDITION_FAULT_DELETE, UINT32_MAX, ""), -ENOENT);
	assert_int_equal(ask(fd, RNIC_CONDITION_LINK, 0, ""), 0);
	close(fd);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* A user changes nothing of the device, of another user's objects, and of root's rules. */
static void test_what_is_not_ones_own(void **state)
{
	struct hostile_client victim;
	struct rnic_show_device device;
	int fd, root;
	uint32_t rule;

	(void)state;
	hostile_skip_unless_root();
	hostile_client_open(&victim, &rnicd, HOSTILE_STEPS);
	fd = connect_as(NOBODY);
	root = hostile_connect_as_administrator(&rnicd);
	assert_int_equal(ask(root, RNIC_CONDITION_FAULT_ADD, 1, "drop=0%"), 0);
	for (uint32_t kind = RNIC_CONDITION_LINK_DOWN; kind <= RNIC_CONDITION_DEVICE_FATAL; kind++)
		assert_int_equal(ask(fd, kind, 0, ""), -EPERM);
	assert_int_equal(ask(fd, RNIC_CONDITION_QP_FATAL, victim.qpn, ""), -EPERM);
	assert_int_equal(ask(fd, RNIC_CONDITION_QP_ERROR, victim.qpn, ""), -EPERM);
	/* Whatever the number of the victim's client is: nothing of it can be had. */
	for (uint32_t client_id = 0; client_id < 4096; client_id++) {
		assert_true(ask_about(fd, RNIC_CONDITION_CQ_ERR, client_id, 0, "") < 0);
		assert_true(ask_about(fd, RNIC_CONDITION_SRQ_ERR, client_id, 0, "") < 0);
	}
	for (rule = 1; ask(fd, RNIC_CONDITION_FAULT_DELETE, rule, "") != -EPERM; rule++)
		assert_true(rule < 1000);
	assert_int_equal(ask(fd, RNIC_CONDITION_FAULT_CLEAR, 0, ""), 0);
	assert_int_equal(ask(root, RNIC_CONDITION_FAULT_DELETE, rule, ""), 0);
	hostile_wait_owned(&rnicd, 1, 1, &device);
	close(root);
	close(fd);
	hostile_client_close(&victim);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* However many users load rules, each has its share at most, and root can load some. */
static void test_full_table(void **state)
{
	int fds[USERS];
	uint32_t loaded = 0;
	int root;

	(void)state;
	hostile_skip_unless_root();
	root = hostile_connect_as_administrator(&rnicd);
	for (uint32_t i = 0; i < USERS; i++) {
		uint32_t own = 0;
		int32_t status;

		fds[i] = connect_as(FIRST_USER + i);
		while ((status = ask(fds[i], RNIC_CONDITION_FAULT_ADD, 1, "drop=0%")) == 0)
			assert_true(++own < RULES_MAX);
		assert_int_equal(status, -EDQUOT);
		loaded += own;
	}
	assert_true(loaded > 0 && loaded < RULES_MAX);
	assert_int_equal(ask(root, RNIC_CONDITION_FAULT_ADD, 1, "drop=0%"), 0);
	assert_int_equal(ask(root, RNIC_CONDITION_FAULT_CLEAR, 0, ""), 0);
	for (uint32_t i = 0; i < USERS; i++)
		close(fds[i]);
	close(root);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Requests of all kinds, one in two about rules. Never returns. */
static void flood(int fd)
{
	for (uint32_t i = 0; i < FLOOD; i++)
		ask(fd,
		    i % 2 == 0 ? RNIC_CONDITION_FAULT_ADD + i / 2 % 3
			       : i / 2 % RNIC_CONDITION_FAULT_ADD,
		    i, "drop=0%");
	_exit(0);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The time that root's requests take, of which the device process of a program must answer some. */
static double ask_as_root(int root)
{
	const double began = seconds_now();

	for (uint32_t i = 0; i < ASKED; i++) {
		assert_int_equal(ask(root, RNIC_CONDITION_LINK, 0, ""), 0);
		assert_int_equal(ask(root, RNIC_CONDITION_PORT_ACTIVE, 0, ""), 0);
		assert_int_equal(ask(root, RNIC_CONDITION_FAULT_CLEAR, 0, ""), 0);
	}
	return seconds_now() - began;
}

/* Somebody asks 10,000 times without a pause, and root is served all the time. */
static void test_flood(void **state)
{
	struct hostile_client victim;
	double alone, longest = 0;
	int fd, root, status;
	pid_t child;

	(void)state;
	hostile_skip_unless_root();
	hostile_client_open(&victim, &rnicd, HOSTILE_STEPS);
	root = hostile_connect_as_administrator(&rnicd);
	fd = connect_as(NOBODY);
	alone = ask_as_root(root);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		flood(fd);
	close(fd);
	do {
		const double took = ask_as_root(root);

		longest = took > longest ? took : longest;
	} while (waitpid(child, &status, WNOHANG) == 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	print_message("# %d requests of root: %.3f s, beside %d of a user %.3f s at most\n",
		      3 * ASKED, alone, FLOOD, longest);
	assert_true(longest < PATIENCE_S);
	close(root);
	hostile_client_close(&victim);
	hostile_expect_owned(&rnicd, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_lengths),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_what_is_not_ones_own),
		cmocka_unit_test(test_full_table),
		cmocka_unit_test(test_flood),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}

/* SPDX-License-Identifier: MIT */
#include "tools/serve/request_guard.h"

#include "tests/unit/unit_test.h"

#include <string.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

static const struct request_guard guard = {.port = 8080, .token = TOKEN};

static const struct guarded_request good = {
	.method = "GET",
	.path = "/" TOKEN "/state",
	.host = "127.0.0.1:8080",
};

static void expect_verdict(struct guarded_request request, enum request_verdict wanted)
{
	const char *name;

	assert_int_equal(request_guard_judge(&guard, &request, &name), wanted);
}

static void test_own_page(void **state)
{
	struct guarded_request request = good;
	const char *name;

	(void)state;
	assert_int_equal(request_guard_judge(&guard, &request, &name), REQUEST_PASSES);
	assert_string_equal(name, "state");
	request.path = "/" TOKEN "/";
	assert_int_equal(request_guard_judge(&guard, &request, &name), REQUEST_PASSES);
	assert_string_equal(name, "");
	request.method = "HEAD";
	request.host = "localhost:8080";
	request.origin = "http://localhost:8080";
	request.fetch_site = "same-origin";
	expect_verdict(request, REQUEST_PASSES);
	request.fetch_site = "none";
	expect_verdict(request, REQUEST_PASSES);
}

static void test_methods(void **state)
{
	static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "get", ""};
	struct guarded_request request = good;

	(void)state;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		request.method = methods[i];
		expect_verdict(request, REQUEST_WRITES);
	}
}

static void test_other_hosts(void **state)
{
	static const char *const hosts[] = {
		NULL,
		"",
		"127.0.0.1",
		"127.0.0.1:80",
		"127.0.0.1:80800",
		"127.0.0.2:8080",
		"evil.example:8080",
		"localhost:8080.evil",
		"0.0.0.0:8080",
		"[::1]:8080",
		" 127.0.0.1:8080",
		"127.0.0.1:8080 ",
	};
	struct guarded_request request = good;

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		request.host = hosts[i];
		expect_verdict(request, REQUEST_OTHER_HOST);
	}
}

static void test_other_pages(void **state)
{
	static const char *const origins[] = {
		"",
		"null",
		"http://evil.example",
		"https://127.0.0.1:8080",
		"http://127.0.0.1:8081",
		"http://127.0.0.1:8080.evil.example",
	};
	static const char *const sites[] = {"", "cross-site", "same-site", "None"};
	struct guarded_request request = good;

	(void)state;
	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		request.origin = origins[i];
		expect_verdict(request, REQUEST_OTHER_PAGE);
	}
	request.origin = NULL;
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		request.fetch_site = sites[i];
		expect_verdict(request, REQUEST_OTHER_PAGE);
	}
}

static void test_tokens(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"/state",
		"/" TOKEN,
		"//" TOKEN "/state",
		"/0123456789abcdef0123456789abcdee/state",
		"/1123456789abcdef0123456789abcdef/state",
		"/" TOKEN "0/state",
		"/0123456789ABCDEF0123456789ABCDEF/state",
	};
	struct guarded_request request = good;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		request.path = paths[i];
		expect_verdict(request, REQUEST_WRONG_TOKEN);
	}
}

static void test_token_is_drawn(void **state)
{
	struct request_guard one, two;

	(void)state;
	assert_int_equal(request_guard_init(&one, 80), 0);
	assert_int_equal(request_guard_init(&two, 80), 0);
	assert_int_equal(strlen(one.token), REQUEST_TOKEN_BYTES - 1);
	assert_int_equal(strspn(one.token, "0123456789abcdef"), REQUEST_TOKEN_BYTES - 1);
	assert_string_not_equal(one.token, two.token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_page),    cmocka_unit_test(test_methods),
		cmocka_unit_test(test_other_hosts), cmocka_unit_test(test_other_pages),
		cmocka_unit_test(test_tokens),	    cmocka_unit_test(test_token_is_drawn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "tools/serve/request_guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int request_guard_init(struct request_guard *guard, uint16_t port)
{
	uint8_t bytes[(REQUEST_TOKEN_BYTES - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -errno;
	guard->port = port;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(guard->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Whether `text` is PREFIX and one of the two names of this host that lead to the page. */
static bool is_own(const struct request_guard *guard, const char *text, const char *prefix)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char own[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(own, sizeof(own), "%s%s:%u", prefix, names[i], guard->port);
		if (strcmp(text, own) == 0)
			return true;
	}
	return false;
}

/* Takes the same time wherever the first difference is. */
static bool has_token(const struct request_guard *guard, const char *path)
{
	const size_t count = REQUEST_TOKEN_BYTES - 1;
	uint8_t difference = 0;

	if (strnlen(path, count + 2) < count + 2 || path[0] != '/' || path[count + 1] != '/')
		return false;
	for (size_t i = 0; i < count; i++)
		difference |= (uint8_t)(path[i + 1] ^ guard->token[i]);
	return difference == 0;
}

static bool is_of_other_page(const struct request_guard *guard,
			     const struct guarded_request *request)
{
	const char *site = request->fetch_site;

	if (request->origin && !is_own(guard, request->origin, "http://"))
		return true;
	/* "none": the user typed the address. */
	return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

enum request_verdict request_guard_judge(const struct request_guard *guard,
					 const struct guarded_request *request, const char **name)
{
	if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
		return REQUEST_WRITES;
	if (!request->host || !is_own(guard, request->host, ""))
		return REQUEST_OTHER_HOST;
	if (is_of_other_page(guard, request))
		return REQUEST_OTHER_PAGE;
	if (!has_token(guard, request->path))
		return REQUEST_WRONG_TOKEN;
	*name = request->path + REQUEST_TOKEN_BYTES + 1;
	return REQUEST_PASSES;
}

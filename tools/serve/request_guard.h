/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a request to the page is one of its user's own browser. Other users of the host
 * and other pages in the same browser can reach the port, too: the first lack the token, the second
 * cannot leave out where they come from.
 */
#ifndef TOOLS_SERVE_REQUEST_GUARD_H
#define TOOLS_SERVE_REQUEST_GUARD_H

#include <stdint.h>

enum { REQUEST_TOKEN_BYTES = 32 + 1 }; /* 128 bits in hexadecimal, and the final zero */

struct request_guard {
	uint16_t port;
	char token[REQUEST_TOKEN_BYTES];
};

/* Headers that the request lacks are NULL. */
struct guarded_request {
	const char *method;
	const char *path;
	const char *host;
	const char *origin;
	const char *fetch_site; /* Sec-Fetch-Site */
};

enum request_verdict {
	REQUEST_PASSES,
	REQUEST_WRITES,	     /* a method other than GET and HEAD */
	REQUEST_OTHER_HOST,  /* a name of another page's that leads here: DNS rebinding */
	REQUEST_OTHER_PAGE,  /* another page sent it */
	REQUEST_WRONG_TOKEN, /* says nothing of what exists */
};

/* Negative errno of getrandom(). */
int request_guard_init(struct request_guard *guard, uint16_t port);

/* With REQUEST_PASSES, *name is the rest of the path, behind the token and its slash. */
enum request_verdict request_guard_judge(const struct request_guard *guard,
					 const struct guarded_request *request, const char **name);

#endif

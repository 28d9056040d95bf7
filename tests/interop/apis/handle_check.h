/* SPDX-License-Identifier: MIT */
/*
 * What the programs that judge <rnic/rdma.h> have in common: checks that end the program with 1 and
 * say where and why, completions that are waited for at most a minute, and talk between processes.
 */
#ifndef TESTS_INTEROP_APIS_HANDLE_CHECK_H
#define TESTS_INTEROP_APIS_HANDLE_CHECK_H

#include <rnic/rdma.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS	   60000
#define ALL_RIGHTS (RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_REMOTE_READ)

static inline int check_at(int line, const char *what, int result, int is_right)
{
	if (is_right)
		return result;
	fprintf(stderr, "line %d: %s: %d (%s); last refusal: %s\n", line, what, result,
		strerror(errno), rnic_refusal_reason());
	exit(1);
}

static inline int check_refused_at(int line, const char *what, int result, int expected)
{
	return check_at(line, what, result, result == -1 && errno == expected);
}

/* The call succeeds; its value. */
#define REQUIRE(call) require_at(__LINE__, #call, (call))

/* The call fails with that errno. */
#define REFUSED(expected, call) check_refused_at(__LINE__, #call, (call), (expected))

#define REQUIRE_TRUE(what) check_at(__LINE__, #what, 0, (what))

static inline int require_at(int line, const char *what, int result)
{
	return check_at(line, what, result, result >= 0);
}

/* The next completion is of this request and has this status. */
static inline struct rdma_wc check_completion_at(int line, int qp, int wr_id, int status)
{
	struct rdma_wc wc = {.wr_id = -1, .status = -1};
	int count = rdma_wait_cq(qp, &wc, 1, WAIT_MS);

	if (count == 1 && wc.wr_id == wr_id && wc.status == status)
		return wc;
	fprintf(stderr, "line %d: %d (%s), request %d and status %d, not %d and %d\n", line, count,
		count < 0 ? strerror(errno) : "", wc.wr_id, wc.status, wr_id, status);
	exit(1);
}

#define COMPLETES(status, qp, wr_id) check_completion_at(__LINE__, (qp), (wr_id), (status))

/* Numbers between a process and its child, by pipes. */
static inline void tell(int fd, int number)
{
	REQUIRE_TRUE(write(fd, &number, sizeof(number)) == sizeof(number));
}

static inline int hear(int fd)
{
	int number;

	REQUIRE_TRUE(read(fd, &number, sizeof(number)) == sizeof(number));
	return number;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A ping-pong of 8 B between two programs, each of which polls two completion queues:
 *
 *     queues_bench serve WAY PORT                 prints "ready"; ends when its client says so
 *     queues_bench call WAY HOST PORT SECONDS     prints a line of JSON
 *
 * WAY is handle (<rnic/rdma.h>), context (<rnic/connection.h>) or verbs (libibverbs). The times are
 * half round trips, as perftest's are.
 */
#include "tests/bench/queues_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMES_MAX (1 << 20)

void queues_require(bool is_well, const char *what)
{
	if (is_well)
		return;
	fprintf(stderr, "queues_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

void queues_say_ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int queues_bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void serve(const struct queues_way *way, uint16_t port)
{
	way->serve(port);
	while (!way->receive())
		way->send(false);
	way->send(true);
	way->close();
}

static void call(const struct queues_way *way, const char *host, uint16_t port, double seconds)
{
	double *times_us = malloc(TIMES_MAX * sizeof(*times_us));
	double began_us, at_us, sum_us = 0;
	size_t count = 0;

	queues_require(times_us != NULL, "memory");
	way->call(host, port);
	began_us = at_us = now_us();
	while (count < TIMES_MAX && at_us - began_us < seconds * 1e6) {
		double round_us = at_us;

		way->send(false);
		queues_require(!way->receive(), "the server ends early");
		at_us = now_us();
		times_us[count] = (at_us - round_us) / 2;
		sum_us += times_us[count++];
	}
	way->send(true);
	queues_require(way->receive(), "the server goes on");
	way->close();
	qsort(times_us, count, sizeof(*times_us), queues_bench_compare);
	printf("{\"messages\": %zu, \"median_us\": %.2f, \"average_us\": %.2f, \"p99_us\": %.2f}\n",
	       2 * count, times_us[count / 2], sum_us / (double)count, times_us[count * 99 / 100]);
	free(times_us);
}

static const struct queues_way *way_of(const char *name)
{
	static const struct queues_way *const ways[] = {&queues_handle, &queues_context,
							&queues_verbs};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i]->name, name) == 0)
			return ways[i];
	errno = EINVAL;
	queues_require(false, name);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "serve") == 0) {
		serve(way_of(argv[2]), (uint16_t)atoi(argv[3]));
	} else if (argc == 6 && strcmp(argv[1], "call") == 0) {
		call(way_of(argv[2]), argv[3], (uint16_t)atoi(argv[4]), atof(argv[5]));
	} else {
		fprintf(stderr, "usage: queues_bench serve WAY PORT\n"
				"       queues_bench call WAY HOST PORT SECONDS\n");
		return 1;
	}
	return 0;
}

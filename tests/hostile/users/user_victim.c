/* SPDX-License-Identifier: MIT */
/*
 * A user's program that measures how it is served: one WRITE after another on a queue pair that is
 * connected to itself, and between them the device opened once more, which is the control plane's
 * work. It runs under rnic-run.
 *
 * usage: user_victim SECONDS
 *
 * Prints {"writes_per_s", "write_p99_us", "opens", "open_p99_ms"}.
 */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <time.h>

enum {
	SAMPLES_MAX = 4000000,
	OPENS_MAX = 10000,
	OPEN_EVERY_NS = 50000000,
	NS_PER_US = 1000,
	NS_PER_MS = 1000000,
};

#define NS_PER_S INT64_C(1000000000)

static uint32_t write_ns[SAMPLES_MAX];
static uint32_t open_ns[OPENS_MAX];

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + (int64_t)now.tv_nsec;
}

static uint32_t since(int64_t start)
{
	int64_t taken = now_ns() - start;

	return taken > UINT32_MAX ? UINT32_MAX : (uint32_t)taken;
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* The 99th percentile; sorts the samples. */
static double percentile(uint32_t *samples, size_t count)
{
	if (count == 0)
		return 0;
	qsort(samples, count, sizeof(*samples), compare);
	return samples[(count * 99) / 100];
}

static void open_and_close(const struct bench *bench)
{
	struct ibv_context *context = ibv_open_device(bench->context->device);

	if (context == NULL) {
		perror("user_victim: open");
		exit(1);
	}
	ibv_close_device(context);
}

int main(int argc, char **argv)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_sge local = {(uintptr_t)bench->bytes, 64, bench->mr->lkey};
	int64_t start = now_ns(), end, next_open = start, began;
	size_t writes = 0, opens = 0;

	if (argc != 2)
		return 1;
	end = start + (int64_t)(atof(argv[1]) * (double)NS_PER_S);
	while ((began = now_ns()) < end && writes < SAMPLES_MAX && opens < OPENS_MAX) {
		if (began >= next_open) {
			open_and_close(bench);
			open_ns[opens++] = since(began);
			next_open = now_ns() + OPEN_EVERY_NS;
			continue;
		}
		bench_transfer(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)bench->bytes + 128,
			       bench->mr->rkey);
		write_ns[writes++] = since(began);
	}
	printf("{\"writes_per_s\": %.0f, \"write_p99_us\": %.1f, \"opens\": %zu, "
	       "\"open_p99_ms\": %.2f}\n",
	       (double)writes * (double)NS_PER_S / (double)(now_ns() - start),
	       percentile(write_ns, writes) / NS_PER_US, opens,
	       percentile(open_ns, opens) / NS_PER_MS);
	bench_stop(bench);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "storm_main.h"

#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define TRACE_LINES   40
#define FAILURES_MAX  10
#define DEFAULT_SEEDS 1000

/* The most that glibc takes from its heap, and far more than a seed holds. */
#define KEPT_ALLOCATION_BYTES (32 * 1024 * 1024)
#define KEPT_BYTES	      (1024 * 1024 * 1024)

/* For on_abort(). */
static const char *current_name;
static volatile uint64_t current_seed;

static const char *run(const struct storm_kind *kind, uint64_t seed, FILE *trace)
{
	current_seed = seed;
	return kind->run(seed, trace);
}

static void print_tail(FILE *trace)
{
	static char lines[TRACE_LINES][256];
	uint64_t count_read = 0;

	rewind(trace);
	while (fgets(lines[count_read % TRACE_LINES], sizeof(lines[0]), trace) != NULL)
		count_read++;
	for (uint64_t i = count_read < TRACE_LINES ? 0 : count_read - TRACE_LINES; i < count_read;
	     i++)
		fputs(lines[i % TRACE_LINES], stdout);
}

/* The same seed again, for the sake of its last lines. */
static void explain(const struct storm_kind *kind, uint64_t seed)
{
	FILE *trace = tmpfile();

	if (trace == NULL)
		return;
	run(kind, seed, trace);
	print_tail(trace);
	fclose(trace);
}

/* An assertion of the code under test: the seed repeats it. */
static void on_abort(int number)
{
	char text[64];
	int length = snprintf(text, sizeof(text), "%s: aborted in seed %" PRIu64 "\n", current_name,
			      current_seed);

	(void)number;
	if (write(STDOUT_FILENO, text, (size_t)length) < 0)
		_exit(1);
}

static uint64_t default_count(void)
{
	const char *text = getenv("RNIC_STORM_SEEDS");

	return text != NULL ? strtoull(text, NULL, 0) : DEFAULT_SEEDS;
}

static int run_many(const struct storm_kind *kind, uint64_t start, uint64_t seeds, FILE *trace)
{
	uint64_t failures = 0, explained = 0, seed = start;

	for (; seed < start + seeds && failures < FAILURES_MAX; seed++) {
		const char *failure = run(kind, seed, trace);

		if (failure == NULL)
			continue;
		printf("%s: seed %" PRIu64 " FAILED: %s\n", kind->name, seed, failure);
		if (failures++ == 0)
			explained = seed;
	}
	printf("%s: %" PRIu64 " seeds from %" PRIu64 ", ", kind->name, seed - start, start);
	kind->print_totals();
	printf(", %" PRIu64 " failures\n", failures);
	if (failures > 0 && trace == NULL)
		explain(kind, explained);
	return failures == 0 ? 0 : 1;
}

/* The next seed uses the memory of the last: new pages from the kernel cost more than a seed. */
static void keep_freed_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_ALLOCATION_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

int storm_main(const struct storm_kind *kind, int argc, char **argv)
{
	static const struct option options[] = {
		{"count", required_argument, NULL, 'c'},
		{"start", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'r'},
		{"trace", no_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	uint64_t start = 1;
	uint64_t seeds = default_count();
	FILE *trace = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			seeds = strtoull(optarg, NULL, 0);
			break;
		case 's':
			start = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			start = strtoull(optarg, NULL, 0);
			seeds = 1;
			break;
		case 't':
			trace = stdout;
			break;
		default:
			fprintf(stderr, "usage: %s [--count N] [--start S] [--seed S] [--trace]\n",
				kind->name);
			return 2;
		}
	}
	current_name = kind->name;
	signal(SIGABRT, on_abort);
	keep_freed_memory();
	return run_many(kind, start, seeds, trace);
}

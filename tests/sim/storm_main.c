/* SPDX-License-Identifier: MIT */
#include "tests/sim/storm_main.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE_LINES   40
#define FAILURES_MAX  10
#define DEFAULT_SEEDS 1000
#define JOBS_MAX      256
#define TOTALS_MAX    16

/* The most that glibc takes from its heap, and far more than a seed holds. */
#define KEPT_ALLOCATION_BYTES (32 * 1024 * 1024)
#define KEPT_BYTES	      (1024 * 1024 * 1024)

struct job {
	pid_t pid;	       /* 0: runs in the first process */
	uint64_t seed;	       /* the last one begun */
	uint64_t first_failed; /* UINT64_MAX: none */
	uint64_t totals[TOTALS_MAX];
};

/* The seeds of one call, in memory that all jobs share. */
struct deal {
	_Atomic uint64_t next; /* nobody has begun this seed */
	uint64_t start;
	uint64_t end;
	_Atomic uint64_t failures;
	uint32_t job_count;
	struct job jobs[JOBS_MAX];
};

/* For on_abort(). */
static const char *current_name;
static const struct job *current_job;

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
	kind->run(seed, trace);
	print_tail(trace);
	fclose(trace);
}

/* An assertion of the code under test: the seed repeats it. */
static void on_abort(int number)
{
	char text[64];
	int length = snprintf(text, sizeof(text), "%s: aborted in seed %" PRIu64 "\n", current_name,
			      current_job->seed);

	(void)number;
	if (write(STDOUT_FILENO, text, (size_t)length) < 0)
		_exit(1);
}

static uint64_t default_count(void)
{
	const char *text = getenv("RNIC_STORM_SEEDS");

	return text != NULL ? strtoull(text, NULL, 0) : DEFAULT_SEEDS;
}

/* The flush writes the line as a whole, whatever other jobs write. */
static void report(const struct storm_kind *kind, struct deal *deal, uint64_t seed,
		   const char *failure)
{
	printf("%s: seed %" PRIu64 " FAILED: %s\n", kind->name, seed, failure);
	fflush(stdout);
	atomic_fetch_add(&deal->failures, 1);
}

/* Runs seeds until none is left. The totals are given after each, for a job may die. */
static void run_job(const struct storm_kind *kind, struct deal *deal, struct job *job, FILE *trace)
{
	current_job = job;
	while (atomic_load(&deal->failures) < FAILURES_MAX) {
		uint64_t seed = atomic_fetch_add(&deal->next, 1);
		const char *failure;

		if (seed >= deal->end)
			return;
		job->seed = seed;
		failure = kind->run(seed, trace);
		memcpy(job->totals, kind->totals, kind->totals_bytes);
		if (failure == NULL)
			continue;
		report(kind, deal, seed, failure);
		if (job->first_failed == UINT64_MAX)
			job->first_failed = seed;
	}
}

static void start_jobs(const struct storm_kind *kind, struct deal *deal)
{
	fflush(stdout);
	for (uint32_t i = 0; i < deal->job_count; i++) {
		struct job *job = &deal->jobs[i];
		pid_t pid = fork();

		if (pid == 0) {
			signal(SIGABRT, SIG_DFL);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_job(kind, deal, job, NULL);
			exit(0);
		}
		if (pid < 0) {
			perror(kind->name);
			deal->job_count = i;
			break;
		}
		job->pid = pid;
	}
}

static void await_jobs(const struct storm_kind *kind, struct deal *deal)
{
	int status;
	pid_t pid;

	while ((pid = wait(&status)) > 0) {
		const struct job *job = deal->jobs;
		char text[64];

		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		while (job->pid != pid)
			job++;
		if (WIFSIGNALED(status))
			snprintf(text, sizeof(text), "its process got signal %d", WTERMSIG(status));
		else
			snprintf(text, sizeof(text), "its process ended with status %d",
				 WEXITSTATUS(status));
		report(kind, deal, job->seed, text);
	}
}

static void sum_totals(const struct storm_kind *kind, const struct deal *deal)
{
	uint64_t sums[TOTALS_MAX] = {0};

	for (uint32_t i = 0; i < deal->job_count; i++)
		for (size_t total = 0; total < TOTALS_MAX; total++)
			sums[total] += deal->jobs[i].totals[total];
	memcpy(kind->totals, sums, kind->totals_bytes);
}

static int conclude(const struct storm_kind *kind, const struct deal *deal, bool wants_trace)
{
	uint64_t next = deal->next < deal->end ? deal->next : deal->end;
	uint64_t first_failed = UINT64_MAX;

	sum_totals(kind, deal);
	printf("%s: %" PRIu64 " seeds from %" PRIu64 ", ", kind->name, next - deal->start,
	       deal->start);
	kind->print_totals();
	printf(", %" PRIu64 " failures\n", deal->failures);
	for (uint32_t i = 0; i < deal->job_count; i++)
		if (deal->jobs[i].first_failed < first_failed)
			first_failed = deal->jobs[i].first_failed;
	if (first_failed != UINT64_MAX && wants_trace)
		explain(kind, first_failed);
	return deal->failures == 0 && next == deal->end ? 0 : 1;
}

static struct deal *make_deal(uint64_t start, uint64_t seeds, uint32_t job_count)
{
	struct deal *deal = mmap(NULL, sizeof(*deal), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (deal == MAP_FAILED)
		abort();
	deal->next = deal->start = start;
	deal->end = start + seeds;
	deal->job_count = job_count;
	for (uint32_t i = 0; i < job_count; i++)
		deal->jobs[i].first_failed = UINT64_MAX;
	return deal;
}

/* The next seed uses the memory of the last: new pages from the kernel cost more than a seed. */
static void keep_freed_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_ALLOCATION_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

static int run_many(const struct storm_kind *kind, struct deal *deal, FILE *trace)
{
	assert(kind->totals_bytes <= sizeof(deal->jobs[0].totals));
	keep_freed_memory();
	current_name = kind->name;
	signal(SIGABRT, on_abort);
	if (deal->job_count == 1) {
		run_job(kind, deal, &deal->jobs[0], trace);
	} else {
		start_jobs(kind, deal);
		await_jobs(kind, deal);
	}
	return conclude(kind, deal, trace == NULL);
}

/* 0: not a number of processes. More than JOBS_MAX would only share the same cores. */
static uint32_t parse_jobs(const char *text)
{
	char *end;
	uint64_t jobs = strtoull(text, &end, 0);

	if (*text < '0' || *text > '9' || *end != '\0')
		return 0;
	return jobs < JOBS_MAX ? (uint32_t)jobs : JOBS_MAX;
}

int storm_main(const struct storm_kind *kind, int argc, char **argv)
{
	static const struct option options[] = {
		{"count", required_argument, NULL, 'c'}, {"start", required_argument, NULL, 's'},
		{"jobs", required_argument, NULL, 'j'},	 {"seed", required_argument, NULL, 'r'},
		{"trace", no_argument, NULL, 't'},	 {NULL, 0, NULL, 0},
	};
	uint64_t start = 1;
	uint64_t seeds = default_count();
	uint32_t jobs = 1;
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
		case 'j':
			jobs = parse_jobs(optarg);
			break;
		case 'r':
			start = strtoull(optarg, NULL, 0);
			seeds = 1;
			break;
		case 't':
			trace = stdout;
			break;
		default:
			jobs = 0;
		}
	}
	if (jobs == 0 || (jobs > 1 && trace != NULL)) {
		fprintf(stderr,
			"usage: %s [--count N] [--start S] [--jobs N]\n"
			"       %s --seed S [--trace]\n",
			kind->name, kind->name);
		return 2;
	}
	return run_many(kind, make_deal(start, seeds, jobs), trace);
}

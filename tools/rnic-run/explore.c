/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/explore.h"

#include "tools/rnic-run/complaint.h"
#include "tools/rnic-run/explore_fault.h"
#include "tools/rnic-run/scenario_play.h"
#include "tools/rnic-run/supervised.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_US	 UINT64_C(1000)
#define NS_PER_MS	 UINT64_C(1000000)
#define BUDGET_LEAST_NS	 UINT64_C(10000000000)
#define BUDGET_CLEAN_MAX 10 /* times a run without faults */
#define PROBES_MAX	 8  /* the rules that a user may load */
#define CHECKS		 3  /* runs that judge a simpler scenario */
#define SHRINK_LEAST	 2  /* failures of these, below which nothing can be judged */
#define REPLAYS		 20
#define DOUBLINGS_MAX	 2
#define LAST_WORDS_BYTES 2048

enum end_kind { END_PASSED, END_STATUS, END_SIGNAL, END_LATE };

/* How a run ended. */
struct end {
	enum end_kind kind;
	int number; /* the exit status or the signal; else 0 */
};

struct explorer {
	const struct explore_options *options;
	struct explore_profile profile;
	uint64_t limit_ns;
	int output_fd; /* of the last run */
	uint32_t runs; /* all that were made */
	int signal;    /* that rnic-run got; 0: none */
};

/* --- one run ---------------------------------------------------------------------------------- */

static struct end end_of(const struct supervised_end *ended)
{
	if (ended->was_late)
		return (struct end){.kind = END_LATE};
	if (WIFSIGNALED(ended->status))
		return (struct end){END_SIGNAL, WTERMSIG(ended->status)};
	if (WEXITSTATUS(ended->status) != 0)
		return (struct end){END_STATUS, WEXITSTATUS(ended->status)};
	return (struct end){0};
}

static const char *end_text(const struct end *end, char room[64])
{
	switch (end->kind) {
	case END_STATUS:
		snprintf(room, 64, "ended with status %d", end->number);
		break;
	case END_SIGNAL:
		snprintf(room, 64, "was ended by signal %d (%s)", end->number,
			 strsignal(end->number));
		break;
	case END_LATE:
		snprintf(room, 64, "did not end in time");
		break;
	default:
		snprintf(room, 64, "passed");
		break;
	}
	return room;
}

/* Negative errno after a complaint: the run was none. -EINTR: the user ends all. */
static int run_once(struct explorer *explorer, const struct scenario *scenario, struct end *end,
		    struct scenario_report *report, uint64_t *duration_ns)
{
	const struct supervised_options supervised = {
		.command = explorer->options->command,
		.limit_ns = explorer->limit_ns,
		.output_fd = explorer->output_fd,
	};
	struct supervised_end ended;
	struct scenario_play play;
	int error;

	if (ftruncate(explorer->output_fd, 0) < 0 || lseek(explorer->output_fd, 0, SEEK_SET) < 0)
		return -errno;
	error = scenario_play_start(&play, scenario, explorer->options->sockets);
	if (error)
		return error;
	error = supervised_run(&supervised, &ended);
	scenario_play_end(&play, report);
	if (error)
		return error;
	explorer->runs++;
	explorer->signal = ended.signal;
	*end = end_of(&ended);
	*duration_ns = ended.duration_ns;
	return ended.signal != 0 ? -EINTR : 0;
}

static int make_scenario(const struct explorer *explorer, const struct explore_faults *faults,
			 struct scenario *scenario)
{
	char text[SCENARIO_TEXT_BYTES], message[SCENARIO_FAULT_BYTES];

	*scenario = (struct scenario){.name = "--explore", .is_quiet = true};
	for (uint32_t i = 0; i < faults->count; i++) {
		explore_fault_text(&explorer->profile, &faults->faults[i], text);
		if (scenario_add_line(scenario, text, i + 1, message) != 0) {
			complain("%s", message);
			return -EINVAL;
		}
	}
	return 0;
}

static int run_faults(struct explorer *explorer, const struct explore_faults *faults,
		      struct end *end)
{
	struct scenario_report report;
	struct scenario scenario;
	uint64_t duration_ns;
	int error = make_scenario(explorer, faults, &scenario);

	return error ? error : run_once(explorer, &scenario, end, &report, &duration_ns);
}

/* --- runs without faults ---------------------------------------------------------------------- */

static void print_last_words(const struct explorer *explorer)
{
	char text[LAST_WORDS_BYTES];
	const off_t end = lseek(explorer->output_fd, 0, SEEK_END);
	const off_t from = end > (off_t)sizeof(text) ? end - (off_t)sizeof(text) : 0;
	const ssize_t length = pread(explorer->output_fd, text, sizeof(text), from);

	if (length > 0)
		fwrite(text, 1, (size_t)length, stderr);
}

/* A run in which rules count what the targets from `first` on have, and do nothing else. */
static int run_probes(struct explorer *explorer, uint32_t first, struct end *end)
{
	struct explore_profile *profile = &explorer->profile;
	char text[SCENARIO_TEXT_BYTES], message[SCENARIO_FAULT_BYTES];
	struct scenario scenario = {.name = "--explore"};
	struct scenario_report report;
	uint64_t duration_ns;
	int error;

	for (uint32_t i = first; i < profile->target_count && i < first + PROBES_MAX; i++) {
		explore_target_probe(&profile->targets[i], text);
		if (scenario_add_line(&scenario, text, i + 1, message) != 0) {
			complain("%s", message);
			return -EINVAL;
		}
	}
	error = run_once(explorer, &scenario, end, &report, &duration_ns);
	if (error)
		return error;
	for (uint32_t i = 0; i < scenario.count; i++)
		profile->targets[first + i].count = report.hits[i];
	if (duration_ns / NS_PER_US > profile->duration_us)
		profile->duration_us = duration_ns / NS_PER_US;
	return 0;
}

/* Learns what a run has, and how long it takes. */
static int measure_clean_runs(struct explorer *explorer)
{
	const struct explore_options *options = explorer->options;
	uint64_t clean_ns;
	char room[64];

	explorer->limit_ns = options->budget_ns != 0 ? options->budget_ns : 600 * 1000 * NS_PER_MS;
	explore_profile_init(&explorer->profile, !options->is_direct);
	for (uint32_t i = 0; i < explorer->profile.target_count; i += PROBES_MAX) {
		struct end end;
		int error = run_probes(explorer, i, &end);

		if (error)
			return error;
		if (end.kind != END_PASSED) {
			print_last_words(explorer);
			complain("%s %s without any fault: there is nothing to explore",
				 options->command[0], end_text(&end, room));
			return -ECANCELED;
		}
	}
	clean_ns = explorer->profile.duration_us * NS_PER_US;
	if (options->budget_ns == 0)
		explorer->limit_ns = BUDGET_CLEAN_MAX * clean_ns > BUDGET_LEAST_NS
					     ? BUDGET_CLEAN_MAX * clean_ns
					     : BUDGET_LEAST_NS;
	complain("a run without faults takes %" PRIu64 " ms, and each may take %" PRIu64 " ms",
		 clean_ns / NS_PER_MS, explorer->limit_ns / NS_PER_MS);
	return 0;
}

/* --- the smallest scenario -------------------------------------------------------------------- */

static bool is_same_end(const struct end *one, const struct end *other)
{
	return one->kind == other->kind && one->number == other->number;
}

/* How many of `runs` runs end so; ends early where fewer than `wanted` can be reached. */
static int count_failures(struct explorer *explorer, const struct explore_faults *faults,
			  const struct end *wanted_end, int runs, int wanted)
{
	int failures = 0;

	for (int i = 0; i < runs && failures + runs - i >= wanted; i++) {
		struct end end;
		const int error = run_faults(explorer, faults, &end);

		if (error)
			return error;
		failures += is_same_end(&end, wanted_end);
	}
	return failures;
}

/* The smallest scenario so far. */
struct descent {
	const struct end *end;
	int wanted; /* failures of CHECKS runs */
	struct explore_faults faults;
};

/* 1: the candidate fails, too, and is the smallest now; 0: it does not; negative errno. */
static int try_candidate(struct explorer *explorer, struct descent *descent,
			 const struct explore_faults *candidate)
{
	const int failures =
		count_failures(explorer, candidate, descent->end, CHECKS, descent->wanted);

	if (failures < descent->wanted)
		return failures < 0 ? failures : 0;
	descent->faults = *candidate;
	return 1;
}

static int leave_out_faults(struct explorer *explorer, struct descent *descent)
{
	for (uint32_t i = 0; i < descent->faults.count;) {
		struct explore_faults candidate = descent->faults;
		int result;

		if (candidate.count == 1)
			return 0;
		candidate.count--;
		memmove(&candidate.faults[i], &candidate.faults[i + 1],
			(candidate.count - i) * sizeof(candidate.faults[0]));
		result = try_candidate(explorer, descent, &candidate);
		if (result < 0)
			return result;
		i += result == 0;
	}
	return 0;
}

static int simplify_faults(struct explorer *explorer, struct descent *descent)
{
	for (uint32_t i = 0; i < descent->faults.count; i++) {
		for (uint32_t step = 0;;) {
			struct explore_faults candidate = descent->faults;
			int result;

			if (!explore_fault_simplify(&candidate.faults[i], step))
				break;
			result = try_candidate(explorer, descent, &candidate);
			if (result < 0)
				return result;
			step = result != 0 ? 0 : step + 1;
		}
	}
	return 0;
}

/*
 * A time that is just long enough fails now and then only: lengthens the times until all replays
 * fail, and keeps those with most failures. Returns their number.
 */
static int choose_reliable(struct explorer *explorer, const struct end *end,
			   struct explore_faults *faults)
{
	struct explore_faults candidate = *faults;
	int best = -1;

	for (int doublings = 0; doublings <= DOUBLINGS_MAX && best < REPLAYS; doublings++) {
		const int failures = count_failures(explorer, &candidate, end, REPLAYS, best + 1);
		bool has_times = false;

		if (failures < 0)
			return failures;
		if (failures > best) {
			best = failures;
			*faults = candidate;
		}
		for (uint32_t i = 0; i < candidate.count; i++)
			has_times |= explore_fault_strengthen(&candidate.faults[i]);
		if (!has_times)
			break;
	}
	return best;
}

/*
 * Makes smaller what failed in `wanted` of CHECKS runs. Returns how many of REPLAYS runs fail, or a
 * negative errno.
 */
static int shrink(struct explorer *explorer, const struct end *end, int wanted,
		  struct explore_faults *faults)
{
	struct descent descent = {.end = end, .wanted = wanted, .faults = *faults};
	int result = leave_out_faults(explorer, &descent);

	if (result >= 0)
		result = simplify_faults(explorer, &descent);
	/* What simpler faults say may make others needless. */
	if (result >= 0)
		result = leave_out_faults(explorer, &descent);
	*faults = descent.faults;
	return result < 0 ? result : choose_reliable(explorer, end, faults);
}

/* --- the search ------------------------------------------------------------------------------- */

static int save(const struct explorer *explorer, const struct explore_faults *faults,
		const struct end *end, uint32_t run, int failures)
{
	const struct explore_options *options = explorer->options;
	FILE *file = fopen(options->save, "we");
	char room[64], text[SCENARIO_TEXT_BYTES];

	if (file == NULL) {
		complain("%s: %s", options->save, strerror(errno));
		return -errno;
	}
	fprintf(file, "# %s %s, in %d of %d runs with this scenario.\n", options->command[0],
		end_text(end, room), failures, REPLAYS);
	fprintf(file, "# Found by --explore with --seed %" PRIu64 ", in run %u.\n", options->seed,
		run);
	for (uint32_t i = 0; i < faults->count; i++) {
		explore_fault_text(&explorer->profile, &faults->faults[i], text);
		fprintf(file, "%s\n", text);
	}
	return fclose(file) == 0 ? 0 : -EIO;
}

static void explore_print_faults(const struct explorer *explorer,
				 const struct explore_faults *faults)
{
	char text[SCENARIO_TEXT_BYTES];

	for (uint32_t i = 0; i < faults->count; i++) {
		explore_fault_text(&explorer->profile, &faults->faults[i], text);
		complain("    %s", text);
	}
}

/* A run that failed. */
struct finding {
	uint32_t run;
	struct end end;
	struct explore_faults faults;
	int again; /* failures of CHECKS runs more */
};

static int announce(struct explorer *explorer, struct finding *finding)
{
	char room[64];

	print_last_words(explorer);
	complain("%s %s in run %u:", explorer->options->command[0], end_text(&finding->end, room),
		 finding->run);
	explore_print_faults(explorer, &finding->faults);
	finding->again = count_failures(explorer, &finding->faults, &finding->end, CHECKS, 0);
	return finding->again < 0 ? finding->again : 0;
}

/* Shrinks what failed, if that is possible, and tells. Returns the exit status. */
static int report_finding(struct explorer *explorer, struct finding *finding)
{
	const struct explore_options *options = explorer->options;
	const uint32_t runs = explorer->runs;
	int failures;

	if (finding->again < SHRINK_LEAST)
		failures = count_failures(explorer, &finding->faults, &finding->end, REPLAYS, 0);
	else
		failures = shrink(explorer, &finding->end, finding->again, &finding->faults);
	if (failures < 0)
		return EXIT_FAILURE;
	complain("the smallest scenario that was found, by %u runs, fails in %d of %d runs:",
		 explorer->runs - runs, failures, REPLAYS);
	explore_print_faults(explorer, &finding->faults);
	if (save(explorer, &finding->faults, &finding->end, finding->run, failures) == 0)
		complain("to run it again: rnic-run --scenario %s -- %s", options->save,
			 options->command[0]);
	return EXIT_FAILURE;
}

/* Draws a scenario and runs it. Negative errno: the search ends. */
static int explore_run(struct explorer *explorer, struct finding *finding)
{
	const struct explore_options *options = explorer->options;
	struct prng prng;

	prng_init(&prng, options->seed << 32 | finding->run);
	if (!explore_draw(&prng, &explorer->profile, options->classes, &finding->faults)) {
		complain("the program has nothing that these classes of faults concern");
		return -ENOENT;
	}
	return run_faults(explorer, &finding->faults, &finding->end);
}

/* A failure that hardly comes again cannot be made small: a better one may follow. */
static int search(struct explorer *explorer)
{
	const struct explore_options *options = explorer->options;
	struct finding rare = {0};

	for (uint32_t run = 1; run <= options->runs; run++) {
		struct finding finding = {.run = run};

		if (explore_run(explorer, &finding) != 0)
			return EXIT_FAILURE;
		if (finding.end.kind == END_PASSED)
			continue;
		if (announce(explorer, &finding) != 0)
			return EXIT_FAILURE;
		if (finding.again >= SHRINK_LEAST)
			return report_finding(explorer, &finding);
		complain("it fails in %d of %d runs more: the search goes on", finding.again,
			 CHECKS);
		if (rare.run == 0 || finding.again > rare.again)
			rare = finding;
	}
	if (rare.run != 0)
		return report_finding(explorer, &rare);
	complain("%u runs with --seed %" PRIu64 ", and none failed", options->runs, options->seed);
	return EXIT_SUCCESS;
}

int explore(const struct explore_options *options)
{
	struct explorer explorer = {.options = options};
	int status = EXIT_FAILURE;

	explorer.output_fd = memfd_create("rnic-run-output", MFD_CLOEXEC);
	if (explorer.output_fd < 0) {
		complain("no room for the output of the runs: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	supervised_prepare();
	if (measure_clean_runs(&explorer) == 0)
		status = search(&explorer);
	close(explorer.output_fd);
	if (explorer.signal != 0)
		supervised_exit(explorer.signal);
	return status;
}

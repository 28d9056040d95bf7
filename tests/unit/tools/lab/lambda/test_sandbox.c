/* SPDX-License-Identifier: MIT */
/* A forbidden act of a function ends it with the fitting verdict, and the next function runs. */
#include "tools/lab/lambda/sandbox.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"
#include "tools/lab/lambda/file_bytes.h"
#include "tools/lab/lambda/lambda_file.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends where its alignment does, so that the next byte is none. */
enum { ROOM = 112 };

/*
 * A function that loops ends by the time of the processor that it uses. That may take minutes on a
 * busy machine, so the other limit is one against a hang alone, beyond that of the test.
 */
static const struct sandbox_limits limits = {
	.cpu_seconds = 1, .wall_ms = 3600000, .stack_bytes = 256 << 10};

struct fixture {
	struct lab_watch watch;
	struct sandbox sandbox;
	uint8_t *bytes;
	struct lambda_file file;
	uint8_t output[ROOM];
	struct lambda_result result;
};

static int make_table(const char *text)
{
	int fd = memfd_create("table", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static struct fixture *fixture_start(const struct sandbox_limits *own_limits)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int table = make_table("TABLE");
	size_t count;

	assert_non_null(fixture);
	assert_int_equal(lab_watch_init(&fixture->watch), 0);
	assert_int_equal(sandbox_start(&fixture->sandbox, own_limits, table), 0);
	assert_int_equal(close(table), 0);
	assert_int_equal(file_bytes_read(MISDEEDS, 1 << 20, &fixture->bytes, &count), 0);
	assert_int_equal(lambda_file_decode(fixture->bytes, count, &fixture->file), 0);
	return fixture;
}

static void fixture_stop(struct fixture *fixture)
{
	sandbox_stop(&fixture->sandbox);
	lab_watch_fini(&fixture->watch);
	free(fixture->bytes);
	free(fixture);
}

static int set_up(void **state)
{
	*state = fixture_start(&limits);
	return 0;
}

static int tear_down(void **state)
{
	fixture_stop(*state);
	return 0;
}

static int run(struct fixture *fixture, const char *misdeed)
{
	const struct sandbox_job job = {
		.code = fixture->file.code,
		.code_bytes = fixture->file.code_bytes,
		.entry = fixture->file.entry,
		.input = (const uint8_t *)misdeed,
		.input_bytes = (uint32_t)strlen(misdeed),
		.output = fixture->output,
		.output_room = ROOM,
	};

	return sandbox_run(&fixture->sandbox, &fixture->watch, &job, &fixture->result);
}

static void expect(struct fixture *fixture, const char *misdeed, enum lambda_verdict verdict)
{
	assert_int_equal(run(fixture, misdeed), 0);
	if (fixture->result.verdict != verdict) {
		char text[128];

		lambda_result_describe(&fixture->result, text, sizeof(text));
		fail_msg("%s: %s", misdeed, text);
	}
}

static void expect_output(struct fixture *fixture, const char *input, const char *output)
{
	expect(fixture, input, LAMBDA_RETURNED);
	assert_int_equal(fixture->result.output_bytes, strlen(output));
	assert_memory_equal(fixture->output, output, strlen(output));
}

static void test_input_and_table_reach_the_output(void **state)
{
	expect_output(*state, "hello", "helloTABL");
	expect_output(*state, "", "TABL");
}

static void test_misdeeds(void **state)
{
	static const struct {
		const char *misdeed;
		enum lambda_verdict verdict;
	} cases[] = {
		{"fail", LAMBDA_FAILED},
		{"overflow", LAMBDA_OVERFLOWED},
		{"loop", LAMBDA_LOOPED},
		{"deep", LAMBDA_OUT_OF_STACK},
		{"trap", LAMBDA_CRASHED},
		{"read null", LAMBDA_CRASHED},
		{"read beyond input", LAMBDA_CRASHED},
		{"write null", LAMBDA_WROTE_OUTSIDE},
		{"write beyond output", LAMBDA_WROTE_OUTSIDE},
		{"write before output", LAMBDA_WROTE_OUTSIDE},
		{"write input", LAMBDA_WROTE_INPUT},
		{"write table", LAMBDA_WROTE_INPUT},
		{"write code", LAMBDA_WROTE_CODE},
		{"call", LAMBDA_CALLED_SYSTEM},
		{"exit", LAMBDA_CALLED_SYSTEM},
		{"exit all", LAMBDA_CALLED_SYSTEM},
	};

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		expect(*state, cases[i].misdeed, cases[i].verdict);
		expect_output(*state, "on", "onTABL");
	}
}

/* The search for the reason finds it. */
static void test_details(void **state)
{
	struct fixture *fixture = *state;

	expect(fixture, "fail", LAMBDA_FAILED);
	assert_int_equal(fixture->result.value, -7);
	expect(fixture, "overflow", LAMBDA_OVERFLOWED);
	assert_int_equal(fixture->result.value, ROOM + 1);
	expect(fixture, "write null", LAMBDA_WROTE_OUTSIDE);
	assert_int_equal(fixture->result.address, 8);
	expect(fixture, "read null", LAMBDA_CRASHED);
	assert_int_equal(fixture->result.detail, SIGSEGV);
	assert_int_equal(fixture->result.address, 8);
	expect(fixture, "call", LAMBDA_CALLED_SYSTEM);
	assert_int_equal(fixture->result.detail, 2);
	expect(fixture, "exit", LAMBDA_CALLED_SYSTEM);
	assert_int_equal(fixture->result.detail, SYS_exit);
	expect(fixture, "exit all", LAMBDA_CALLED_SYSTEM);
	assert_int_equal(fixture->result.detail, SYS_exit_group);
	assert_int_equal(fixture->result.value, lambda_machine_here());
}

#if defined(__x86_64__)
/* Whether the kernel takes 32-bit calls by interrupt. Without them the interrupt is a crash. */
static bool has_calls_by_interrupt(void)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		long result = 20; /* getpid */

		signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
		__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status);
}

static void test_the_other_doors_of_x86_are_shut(void **state)
{
	expect(*state, "divide", LAMBDA_CRASHED);
	expect(*state, "call x32", LAMBDA_CALLED_SYSTEM);
	expect(*state, "interrupt",
	       has_calls_by_interrupt() ? LAMBDA_CALLED_SYSTEM : LAMBDA_CRASHED);
}
#endif

static uint64_t ask(struct fixture *fixture, const char *question)
{
	uint64_t answer;

	expect(fixture, question, LAMBDA_RETURNED);
	assert_int_equal(fixture->result.output_bytes, sizeof(answer));
	memcpy(&answer, fixture->output, sizeof(answer));
	return answer;
}

/* Whether this process has code there. */
static bool has_code_at(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool is_found = false;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end;
		char execute;

		assert_int_equal(sscanf(line, "%lx-%lx %*c%*c%c", &start, &end, &execute), 3);
		is_found |= execute == 'x' && address >= start && address < end;
	}
	fclose(maps);
	return is_found;
}

static void test_it_does_not_learn_where_our_code_is(void **state)
{
	uint64_t caller = ask(*state, "tell caller");

	if (personality(UINT32_MAX) & ADDR_NO_RANDOMIZE) {
		print_message("addresses are the same in all processes here\n");
		skip();
	}
	assert_int_not_equal(caller, 0);
	assert_false(has_code_at(caller));
}

#if defined(__x86_64__)
static void test_it_does_not_learn_our_stack_guard(void **state)
{
	uint64_t guard;

	__asm__ volatile("mov %%fs:0x28, %0" : "=r"(guard));
	assert_int_not_equal(guard, 0);
	assert_int_not_equal(ask(*state, "tell stack guard"), guard);
}
#endif

static void test_who_is_late_is_ended(void **state)
{
	static const struct sandbox_limits short_limits = {
		.cpu_seconds = 3600, .wall_ms = 100, .stack_bytes = 256 << 10};
	struct fixture *fixture = fixture_start(&short_limits);

	(void)state;
	expect(fixture, "loop", LAMBDA_LATE);
	fixture_stop(fixture);
}

static void test_a_signal_ends_the_wait(void **state)
{
	struct fixture *fixture = *state;

	raise(SIGTERM);
	assert_int_equal(run(fixture, "loop"), -EINTR);
}

static void test_a_helper_that_died_is_noticed(void **state)
{
	struct fixture *fixture = *state;

	expect_output(fixture, "on", "onTABL");
	assert_int_equal(kill(fixture->sandbox.helper, SIGKILL), 0);
	assert_int_equal(run(fixture, "hello"), -EIO);
}

/* The descriptors that a process has, itself or another one. */
static int count_descriptors(const char *process)
{
	char path[64];
	int count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%s/fd", process);
	directory = opendir(path);
	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

static void test_the_helper_has_its_socket_and_the_table(void **state)
{
	struct fixture *fixture = *state;
	char process[16];

	/* After its first order the process has closed all descriptors that it does not need. */
	expect_output(fixture, "on", "onTABL");
	snprintf(process, sizeof(process), "%d", fixture->sandbox.helper);
	assert_int_equal(count_descriptors(process), 2);
}

static void test_runs_leave_nothing(void **state)
{
	int before = count_descriptors("self");

	for (int i = 0; i < 20; i++)
		expect(*state, i % 2 ? "on" : "trap", i % 2 ? LAMBDA_RETURNED : LAMBDA_CRASHED);
	assert_int_equal(count_descriptors("self"), before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_input_and_table_reach_the_output),
		TEST(test_misdeeds),
		TEST(test_details),
#if defined(__x86_64__)
		TEST(test_the_other_doors_of_x86_are_shut),
		TEST(test_it_does_not_learn_our_stack_guard),
#endif
		TEST(test_it_does_not_learn_where_our_code_is),
		cmocka_unit_test(test_who_is_late_is_ended),
		TEST(test_a_signal_ends_the_wait),
		TEST(test_a_helper_that_died_is_noticed),
		TEST(test_the_helper_has_its_socket_and_the_table),
		TEST(test_runs_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * The child: maps, drops its rights, runs the function, reports. From sandbox_forbid_calls() on it
 * only computes.
 */
#include "tools/lab/lambda/sandbox_parts.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <rnic/lambda.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* AddressSanitizer makes system calls before a call that does not return. */
#define CALLS_NO_SYSTEM __attribute__((no_sanitize("address")))

enum { GUARD_BYTES = 1 << 20, SIGNAL_STACK_BYTES = 64 << 10 };

struct span {
	uint8_t *start;
	size_t bytes;
};

/* The function's memory, and the place of the report. One per process, which runs one function. */
static struct {
	struct span code;
	struct span input;
	struct span table;
	struct span stack;
	struct rnic_lambda_call call;
	int64_t (*entry)(const struct rnic_lambda_call *call);
	struct sandbox_report *report;
} own;

CALLS_NO_SYSTEM static _Noreturn void report(enum lambda_verdict verdict, int32_t detail,
					     uint64_t address, int64_t value)
{
	*own.report = (struct sandbox_report){
		.verdict = verdict, .detail = detail, .address = address, .value = value};
	own.report->is_complete = 1;
	for (;;)
		syscall(SYS_exit_group, 0);
}

static _Noreturn void sandbox_child_refuse(int error)
{
	report(LAMBDA_REFUSED, error, 0, 0);
}

/* ---- faults ---- */

static bool is_in(const struct span *span, uint64_t address)
{
	return address - (uintptr_t)span->start < span->bytes;
}

/* Whether the fault was an attempt to write. */
static bool was_write(const ucontext_t *context)
{
#if defined(__x86_64__)
	enum { WRITE_FAULT = 1 << 1 };

	return context->uc_mcontext.gregs[REG_ERR] & WRITE_FAULT;
#elif defined(__aarch64__)
	enum { ESR_RECORD = 0x45535201, WRITE_NOT_READ = 1 << 6 };
	const uint8_t *records = context->uc_mcontext.__reserved;
	const struct {
		uint32_t magic;
		uint32_t bytes;
		uint64_t syndrome;
	} *record = (const void *)records;

	while (record->magic && record->magic != ESR_RECORD)
		record = (const void *)((const uint8_t *)record + record->bytes);
	return record->magic && (record->syndrome & WRITE_NOT_READ);
#else
	(void)context;
	return false;
#endif
}

static enum lambda_verdict judge_write(uint64_t address)
{
	if (is_in(&own.code, address))
		return LAMBDA_WROTE_CODE;
	if (is_in(&own.input, address) || is_in(&own.table, address))
		return LAMBDA_WROTE_INPUT;
	return LAMBDA_WROTE_OUTSIDE;
}

CALLS_NO_SYSTEM static void on_fault(int number, siginfo_t *info, void *context)
{
	uint64_t address = (uintptr_t)info->si_addr;
	const struct span below_stack = {own.stack.start - GUARD_BYTES, GUARD_BYTES};

	if (number == SIGXCPU)
		report(LAMBDA_LOOPED, 0, 0, 0);
	if (number == SIGSYS)
		report(LAMBDA_CALLED_SYSTEM, info->si_syscall, 0, 0);
	if (number == SIGSEGV && is_in(&below_stack, address))
		report(LAMBDA_OUT_OF_STACK, 0, address, 0);
	if (number == SIGSEGV && info->si_code > 0 && info->si_code != SI_KERNEL &&
	    was_write(context))
		report(judge_write(address), number, address, 0);
	report(LAMBDA_CRASHED, number, address, 0);
}

static int catch_faults(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGXCPU};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_size = SIGNAL_STACK_BYTES};

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) < 0)
		return -errno;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < RNIC_COUNT_OF(numbers); i++) {
		if (sigaction(numbers[i], &action, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* ---- memory ---- */

/* Reserves addresses with a guard on both sides, where no other mapping will be. */
static uint8_t *reserve(size_t bytes)
{
	uint8_t *start = mmap(NULL, bytes + 2 * (size_t)GUARD_BYTES, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (start == MAP_FAILED)
		sandbox_child_refuse(ENOMEM);
	return start + GUARD_BYTES;
}

/* Only the writable memory is shared with the server. */
static struct span sandbox_child_map_file(const struct sandbox_file *file, int fd, int protection)
{
	struct span span = {reserve(file->file_bytes), file->file_bytes};
	int sharing = protection & PROT_WRITE ? MAP_SHARED : MAP_PRIVATE;

	if (mmap(span.start, span.bytes, protection, sharing | MAP_FIXED, fd, 0) == MAP_FAILED)
		sandbox_child_refuse(errno);
	return span;
}

static struct span map_table(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct stat status;
	struct span span = {0};

	if (fd < 0)
		return span;
	if (fstat(fd, &status) < 0)
		sandbox_child_refuse(errno);
	if (status.st_size == 0)
		return span;
	span.bytes = rnic_round_up((uint64_t)status.st_size, page);
	span.start = reserve(span.bytes);
	if (mmap(span.start, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		sandbox_child_refuse(errno);
	own.call.table = span.start;
	own.call.table_bytes = (uint64_t)status.st_size;
	return span;
}

static struct span map_stack(size_t bytes)
{
	struct span span = {reserve(bytes), bytes};

	if (mprotect(span.start, span.bytes, PROT_READ | PROT_WRITE) < 0)
		sandbox_child_refuse(errno);
	return span;
}

static void map_all(const struct sandbox_order *order, const int *descriptors, int table_fd)
{
	const struct sandbox_file *files = order->files;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct span output;

	own.code = sandbox_child_map_file(&files[SANDBOX_CODE], descriptors[SANDBOX_CODE],
					  PROT_READ | PROT_EXEC);
	own.input = sandbox_child_map_file(&files[SANDBOX_INPUT], descriptors[SANDBOX_INPUT],
					   PROT_READ);
	output = sandbox_child_map_file(&files[SANDBOX_OUTPUT], descriptors[SANDBOX_OUTPUT],
					PROT_READ | PROT_WRITE);
	own.table = map_table(table_fd);
	own.stack = map_stack(rnic_round_up(order->limits.stack_bytes, page));
	own.call.input = own.input.start + files[SANDBOX_INPUT].offset;
	own.call.input_bytes = files[SANDBOX_INPUT].bytes;
	own.call.output = output.start + files[SANDBOX_OUTPUT].offset;
	own.call.output_room = files[SANDBOX_OUTPUT].bytes;
	own.entry = (int64_t(*)(const struct rnic_lambda_call *))(uintptr_t)(own.code.start +
									     order->entry);
}

/* ---- giving up ---- */

static void limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
	struct rlimit limits = {.rlim_cur = soft, .rlim_max = hard};

	if (setrlimit(resource, &limits) < 0)
		sandbox_child_refuse(errno);
}

static void sandbox_child_give_up(const struct sandbox_limits *limits)
{
	prctl(PR_SET_DUMPABLE, 0);
	limit(RLIMIT_CORE, 0, 0);
	limit(RLIMIT_NPROC, 0, 0);
	limit(RLIMIT_FSIZE, 0, 0);
	limit(RLIMIT_NOFILE, 0, 0);
	/* The child has no call left to allocate memory, and its own stack must not grow. */
	limit(RLIMIT_STACK, 0, 0);
	/* After one more second the kernel kills without a signal to catch. */
	limit(RLIMIT_CPU, limits->cpu_seconds, limits->cpu_seconds + 1);
}

/* On the function's stack. The filter is made here, because changing stacks takes a system call. */
CALLS_NO_SYSTEM static void run_confined(void)
{
	int error = sandbox_forbid_calls();

	if (error)
		sandbox_child_refuse(-error);
	report(LAMBDA_RETURNED, 0, 0, own.entry(&own.call));
}

void sandbox_child_run(const struct sandbox_order *order,
		       const int descriptors[SANDBOX_DESCRIPTORS], int table_fd,
		       struct sandbox_report *shared)
{
	ucontext_t context;
	int error;

	own.report = shared;
	prctl(PR_SET_NAME, "rnic-lab-lambda");
	map_all(order, descriptors, table_fd);
	error = catch_faults();
	if (error)
		sandbox_child_refuse(-error);
	close_range(0, ~0U, 0);
	sandbox_child_give_up(&order->limits);
	if (getcontext(&context) < 0)
		sandbox_child_refuse(errno);
	context.uc_link = NULL;
	context.uc_stack.ss_sp = own.stack.start;
	context.uc_stack.ss_size = own.stack.bytes;
	makecontext(&context, run_confined, 0);
	setcontext(&context);
	sandbox_child_refuse(errno);
}

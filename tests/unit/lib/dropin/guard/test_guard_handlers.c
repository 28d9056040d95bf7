/* SPDX-License-Identifier: MIT */
/* The application's own handlers, set before and after the guard's, see what they saw before. */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

static uint8_t *protected_page(void)
{
	return map_pages(1, PROT_NONE);
}

/* An own fault goes to repair_page(), a guarded one does not. */
static void use_repairs(void)
{
	const int before = repairs;
	uint8_t *page = protected_page();

	fault_guarded();
	CHECK(repairs == before);
	store_byte(page + 5);
	CHECK(repairs == before + 1);
	CHECK(repaired_info.si_signo == SIGSEGV && repaired_info.si_code == SEGV_ACCERR);
	CHECK(repaired_info.si_addr == page + 5);
	fault_guarded();
	CHECK(repairs == before + 1);
}

static void handle_before(void)
{
	set_handler(SIGSEGV, repair_page, 0);
	open_guard();
	use_repairs();
}

static void handle_after(void)
{
	open_guard();
	fault_guarded();
	set_handler(SIGSEGV, repair_page, 0);
	use_repairs();
	set_handler(SIGSEGV, repair_page, SA_NODEFER);
	use_repairs();
}

SUCCEEDS(a_handler_from_before_gets_own_faults_alone, handle_before)
SUCCEEDS(a_handler_from_after_gets_own_faults_alone, handle_after)

/* ---- what sigaction() shows ---- */

static const int shown_flags[] = {
	0,	    SA_SIGINFO,	  SA_SIGINFO | SA_ONSTACK,
	SA_NODEFER, SA_RESETHAND, SA_RESETHAND | SA_NODEFER | SA_RESTART | SA_SIGINFO | SA_ONSTACK,
	SA_RESTART, 0x20000000, /* SA_INTERRUPT, which means nothing */
};

static void (*const shown_handlers[])(int, siginfo_t *, void *) = {
	NULL,						  /* SIG_DFL */
	(void (*)(int, siginfo_t *, void *))(uintptr_t)1, /* SIG_IGN */
	repair_page,
};

static void set_and_ask(int signal_number, const struct sigaction *action, struct sigaction *shown)
{
	struct sigaction replaced;

	CHECK(sigaction(signal_number, action, NULL) == 0);
	CHECK(sigaction(signal_number, NULL, shown) == 0);
	CHECK(sigaction(signal_number, action, &replaced) == 0);
	CHECK(replaced.sa_sigaction == shown->sa_sigaction);
	CHECK(replaced.sa_flags == shown->sa_flags);
}

static void check_equal(const struct sigaction *a, const struct sigaction *b)
{
	CHECK(a->sa_sigaction == b->sa_sigaction);
	CHECK(a->sa_flags == b->sa_flags);
#if defined(__x86_64__)
	CHECK(a->sa_restorer == b->sa_restorer);
#endif
	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		CHECK(sigismember(&a->sa_mask, signal_number) ==
		      sigismember(&b->sa_mask, signal_number));
}

static void ask_before_and_after(void)
{
	static struct sigaction shown[2][COUNT_OF(shown_flags)][COUNT_OF(shown_handlers)];

	for (int is_open = 0; is_open < 2; is_open++) {
		if (is_open)
			open_guard();
		for (size_t i = 0; i < COUNT_OF(shown_flags); i++)
			for (size_t j = 0; j < COUNT_OF(shown_handlers); j++) {
				struct sigaction action = {.sa_flags = shown_flags[i],
							   .sa_sigaction = shown_handlers[j]};

				sigaddset(&action.sa_mask, SIGUSR1);
				set_and_ask(i % 2 == 0 ? SIGSEGV : SIGBUS, &action,
					    &shown[is_open][i][j]);
			}
	}
	for (size_t i = 0; i < COUNT_OF(shown_flags); i++)
		for (size_t j = 0; j < COUNT_OF(shown_handlers); j++)
			check_equal(&shown[0][i][j], &shown[1][i][j]);
}

SUCCEEDS(sigaction_shows_what_it_shows_without_the_guard, ask_before_and_after)

/* ---- the relatives of sigaction() ---- */

typedef void simple_handler(int);
typedef simple_handler *set_simple(int, simple_handler *);

static void *function_of(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	CHECK(function != NULL);
	return function;
}

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void jump_back(int signal_number)
{
	(void)signal_number;
	jumps++;
	siglongjmp(back, 1);
}

/* Faults, and comes back by jump_back(). */
static void fault_and_return(uint8_t *page)
{
	const int before = jumps;

	if (sigsetjmp(back, 1) == 0)
		store_byte(page);
	CHECK(jumps == before + 1);
}

static void set_by_all_names(void)
{
	static const char *const names[] = {"signal",	   "bsd_signal",    "ssignal",
					    "sysv_signal", "__sysv_signal", "sigset"};
	uint8_t *page = protected_page();

	open_guard();
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		set_simple *set = (set_simple *)function_of(names[i]);
		struct sigaction shown;

		CHECK(set(SIGSEGV, jump_back) == SIG_DFL);
		fault_guarded();
		fault_and_return(page);
		CHECK(sigaction(SIGSEGV, NULL, &shown) == 0);
		CHECK(shown.sa_handler == (strstr(names[i], "sysv") ? SIG_DFL : jump_back));
		CHECK(set(SIGSEGV, SIG_DFL) == shown.sa_handler);
		CHECK(set(SIGSEGV, SIG_ERR) == SIG_ERR && errno == EINVAL);
		fault_guarded();
	}
}

SUCCEEDS(all_names_set_handlers, set_by_all_names)

static void set_by_older_calls(void)
{
	int (*ignore)(int) = (int (*)(int))function_of("sigignore");
	int (*interrupt)(int, int) = (int (*)(int, int))function_of("siginterrupt");
	set_simple *set = (set_simple *)function_of("sigset");
	struct sigaction shown;
	sigset_t mask;

	open_guard();
	CHECK(signal(SIGBUS, jump_back) == SIG_DFL);
	CHECK(sigaction(SIGBUS, NULL, &shown) == 0 && (shown.sa_flags & SA_RESTART) != 0);
	CHECK(interrupt(SIGBUS, 1) == 0);
	CHECK(sigaction(SIGBUS, NULL, &shown) == 0 && (shown.sa_flags & SA_RESTART) == 0);
	CHECK(signal(SIGBUS, jump_back) == jump_back);
	CHECK(sigaction(SIGBUS, NULL, &shown) == 0 && (shown.sa_flags & SA_RESTART) == 0);
	CHECK(interrupt(SIGBUS, 0) == 0);
	CHECK(sigaction(SIGBUS, NULL, &shown) == 0 && (shown.sa_flags & SA_RESTART) != 0);
	CHECK(ignore(SIGBUS) == 0);
	CHECK(raise(SIGBUS) == 0);
	CHECK(set(SIGBUS, SIG_HOLD) == SIG_IGN);
	CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGBUS) == 1);
	CHECK(set(SIGBUS, jump_back) == SIG_HOLD);
	CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGBUS) == 0);
	fault_and_return(map_truncated());
}

SUCCEEDS(sigset_sigignore_and_siginterrupt_do_their_work, set_by_older_calls)

struct old_vector {
	simple_handler *handler;
	int mask;
	int flags;
};

static void set_by_vector(void)
{
	int (*set)(int, const struct old_vector *, struct old_vector *) =
		(int (*)(int, const struct old_vector *, struct old_vector *))function_of("sigvec");
	const struct old_vector once = {
		jump_back, 1 << (SIGHUP - 1) | 1 << (SIGUSR1 - 1) | 1 << (SIGSYS - 1), 4};
	struct old_vector shown;
	struct sigaction action;

	open_guard();
	CHECK(set(SIGSEGV, &once, NULL) == 0);
	CHECK(set(SIGSEGV, NULL, &shown) == 0);
	CHECK(shown.handler == once.handler && shown.mask == once.mask && shown.flags == 4);
	CHECK(sigaction(SIGSEGV, NULL, &action) == 0);
	for (int number = 1; number <= SIGSYS; number++)
		CHECK(sigismember(&action.sa_mask, number) == (once.mask >> (number - 1) & 1));
	fault_and_return(protected_page());
	CHECK(set(SIGSEGV, NULL, &shown) == 0 && shown.handler == SIG_DFL);
}

SUCCEEDS(sigvec_does_its_work, set_by_vector)

/* ---- flags ---- */

static void handle_once(void)
{
	struct sigaction shown;

	open_guard();
	set_handler(SIGSEGV, repair_page, (int)SA_RESETHAND);
	use_repairs();
	CHECK(sigaction(SIGSEGV, NULL, &shown) == 0 && shown.sa_handler == SIG_DFL);
	set_handler(SIGSEGV, repair_page, (int)SA_RESETHAND);
	use_repairs();
	store_byte(protected_page());
}

static void a_handler_for_once_handles_once(void **state)
{
	(void)state;
	expect_death(handle_once, SIGSEGV);
}

static sigset_t mask_in_handler;
static uint8_t *stack_in_handler;

static void look_around(int signal_number, siginfo_t *info, void *context)
{
	uint8_t here;

	stack_in_handler = &here;
	sigprocmask(SIG_BLOCK, NULL, &mask_in_handler);
	repair_page(signal_number, info, context);
}

static void handle_with_masks(void)
{
	struct sigaction action = {.sa_sigaction = look_around, .sa_flags = SA_SIGINFO};

	open_guard();
	sigaddset(&action.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	store_byte(protected_page());
	CHECK(sigismember(&mask_in_handler, SIGSEGV) && sigismember(&mask_in_handler, SIGUSR2));
	CHECK(!sigismember(&mask_in_handler, SIGBUS) && !sigismember(&mask_in_handler, SIGUSR1));
	action.sa_flags |= SA_NODEFER;
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	store_byte(protected_page());
	CHECK(!sigismember(&mask_in_handler, SIGSEGV) && sigismember(&mask_in_handler, SIGUSR2));
	sigprocmask(SIG_BLOCK, NULL, &mask_in_handler);
	CHECK(!sigismember(&mask_in_handler, SIGUSR2));
}

SUCCEEDS(a_handler_runs_with_its_mask, handle_with_masks)

static void ignore_signals(void)
{
	open_guard();
	signal(SIGSEGV, SIG_IGN);
	CHECK(kill(getpid(), SIGSEGV) == 0 && raise(SIGSEGV) == 0);
	fault_guarded();
}

static void ignore_fault(void)
{
	ignore_signals();
	store_byte(protected_page());
}

static void an_ignored_signal_is_ignored_a_fault_is_not(void **state)
{
	(void)state;
	expect_success(ignore_signals);
	expect_death(ignore_fault, SIGSEGV);
}

static volatile siginfo_t seen;

static void remember(int signal_number, siginfo_t *info, void *context)
{
	(void)signal_number;
	(void)context;
	seen = *info;
}

static void look_at_siginfo(void)
{
	open_guard();
	set_handler(SIGSEGV, remember, 0);
	CHECK(kill(getpid(), SIGSEGV) == 0);
	CHECK(seen.si_code == SI_USER && seen.si_pid == getpid() && seen.si_uid == getuid());
	CHECK(raise(SIGSEGV) == 0 && seen.si_code == SI_TKILL);
	CHECK(sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 77}) == 0);
	CHECK(seen.si_code == SI_QUEUE && seen.si_value.sival_int == 77);
	set_handler(SIGBUS, remember, 0);
	CHECK(raise(SIGBUS) == 0 && seen.si_signo == SIGBUS);
}

SUCCEEDS(a_handler_sees_the_senders_siginfo, look_at_siginfo)

/* ---- stacks ---- */

static void use_alternate_stack(void)
{
	const size_t bytes = (size_t)sysconf(_SC_SIGSTKSZ);
	stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes};
	uint8_t *base = stack.ss_sp;

	CHECK(base != NULL && sigaltstack(&stack, NULL) == 0);
	open_guard();
	set_handler(SIGSEGV, look_around, SA_ONSTACK);
	store_byte(protected_page());
	CHECK(stack_in_handler >= base && stack_in_handler < base + bytes);
	fault_guarded();
	set_handler(SIGSEGV, look_around, 0);
	store_byte(protected_page());
	CHECK(stack_in_handler < base || stack_in_handler >= base + bytes);
	fault_guarded();
}

SUCCEEDS(a_handler_runs_on_its_stack, use_alternate_stack)

/* The stack has no byte more than the kernel's frame needs at most; below is a page without access.
 */
static void *fault_on_small_stack(void *argument)
{
	const size_t bytes = (size_t)sysconf(_SC_MINSIGSTKSZ);
	const size_t pages = bytes / page_bytes() + 2;
	uint8_t *area = map_pages(pages, PROT_NONE);
	stack_t stack = {.ss_sp = area + page_bytes(), .ss_size = bytes};
	stack_t before;

	(void)argument;
	CHECK(mprotect(stack.ss_sp, (pages - 1) * page_bytes(), PROT_READ | PROT_WRITE) == 0);
	CHECK(sigaltstack(&stack, &before) == 0);
	fault_guarded();
	CHECK(sigaltstack(&before, NULL) == 0);
	return NULL;
}

static void use_smallest_stack(void)
{
	pthread_t thread;

	open_guard();
	set_handler(SIGSEGV, repair_page, SA_ONSTACK);
	CHECK(pthread_create(&thread, NULL, fault_on_small_stack, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

SUCCEEDS(the_smallest_alternate_stack_is_enough, use_smallest_stack)

/* Each call needs a page, and its result, so that no compiler makes a loop of it. */
static __attribute__((noinline)) size_t overflow_stack(size_t depth)
{
	static volatile size_t depth_max = SIZE_MAX;
	volatile uint8_t room[4096];

	room[depth % sizeof(room)] = (uint8_t)depth;
	return depth == depth_max ? 0 : overflow_stack(depth + 1) + room[0];
}

static void overflow_again_and_again(void)
{
	const size_t bytes = (size_t)sysconf(_SC_SIGSTKSZ) * 4;
	stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes};
	struct sigaction action = {.sa_handler = jump_back, .sa_flags = SA_ONSTACK};

	CHECK(stack.ss_sp != NULL && sigaltstack(&stack, NULL) == 0);
	open_guard();
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	for (int i = 1; i <= 20; i++) {
		if (sigsetjmp(back, 1) == 0)
			CHECK(overflow_stack(0) == 0);
		CHECK(jumps == i);
		fault_guarded();
	}
}

SUCCEEDS(stack_overflows_come_back_by_a_jump, overflow_again_and_again)

static void probe_memory(void)
{
	uint8_t *page = protected_page();

	open_guard();
	signal(SIGSEGV, jump_back);
	for (int i = 0; i < 10000; i++) {
		fault_and_return(page);
		if (i % 100 == 0)
			fault_guarded();
	}
}

SUCCEEDS(probes_by_sigsetjmp_work, probe_memory)

/* ---- backtraces ---- */

static void *frames[64];
static int frame_count;

static void trace_back(int signal_number, siginfo_t *info, void *context)
{
	frame_count = backtrace(frames, COUNT_OF(frames));
	repair_page(signal_number, info, context);
}

static bool is_in(const void *address, uintptr_t function)
{
	return (uintptr_t)address - function < 1024;
}

/* The handler, the kernel's frame, and the function that faulted. A sanitizer adds to the top. */
static void trace_own_fault(void)
{
	int at = 0;

	open_guard();
	CHECK(backtrace(frames, COUNT_OF(frames)) > 0);
	set_handler(SIGSEGV, trace_back, 0);
	store_byte(protected_page());
	for (; at < frame_count && !is_in(frames[at], (uintptr_t)trace_back); at++)
		;
	CHECK(at + 2 < frame_count && is_in(frames[at + 2], (uintptr_t)store_byte));
}

SUCCEEDS(a_backtrace_has_no_frame_of_the_guard, trace_own_fault)

/* ---- death ---- */

static uint8_t *fatal_page;

static void die_of_store(void)
{
	open_guard();
	fault_guarded();
	store_byte(fatal_page + 3);
}

static void die_of_truncation(void)
{
	open_guard();
	fault_guarded();
	store_byte(map_truncated());
}

static void die_of_kill(void)
{
	open_guard();
	fault_guarded();
	kill(getpid(), SIGSEGV);
	CHECK(false);
}

static void die_of_raise(void)
{
	open_guard();
	fault_guarded();
	raise(SIGBUS);
	CHECK(false);
}

static void die_of_impossible_address(void)
{
	open_guard();
	fault_guarded();
	store_byte((uint8_t *)(uintptr_t)UINT64_C(0xdead000000000000));
}

static void without_a_handler_the_process_dies_as_it_would(void **state)
{
	siginfo_t info;

	(void)state;
	fatal_page = protected_page();
	expect_traced_death(die_of_store, SIGSEGV, &info);
	assert_int_equal(info.si_code, SEGV_ACCERR);
	assert_ptr_equal(info.si_addr, fatal_page + 3);
	expect_traced_death(die_of_truncation, SIGBUS, &info);
	assert_int_equal(info.si_code, BUS_ADRERR);
	expect_traced_death(die_of_kill, SIGSEGV, &info);
	assert_int_equal(info.si_code, SI_USER);
	expect_traced_death(die_of_raise, SIGBUS, &info);
	assert_int_equal(info.si_code, SI_TKILL);
	expect_death(die_of_impossible_address, SIGSEGV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_from_before_gets_own_faults_alone),
		cmocka_unit_test(a_handler_from_after_gets_own_faults_alone),
		cmocka_unit_test(sigaction_shows_what_it_shows_without_the_guard),
		cmocka_unit_test(all_names_set_handlers),
		cmocka_unit_test(sigset_sigignore_and_siginterrupt_do_their_work),
		cmocka_unit_test(sigvec_does_its_work),
		cmocka_unit_test(a_handler_for_once_handles_once),
		cmocka_unit_test(a_handler_runs_with_its_mask),
		cmocka_unit_test(an_ignored_signal_is_ignored_a_fault_is_not),
		cmocka_unit_test(a_handler_sees_the_senders_siginfo),
		cmocka_unit_test(a_handler_runs_on_its_stack),
		cmocka_unit_test(the_smallest_alternate_stack_is_enough),
		cmocka_unit_test(stack_overflows_come_back_by_a_jump),
		cmocka_unit_test(probes_by_sigsetjmp_work),
		cmocka_unit_test(a_backtrace_has_no_frame_of_the_guard),
		cmocka_unit_test(without_a_handler_the_process_dies_as_it_would),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

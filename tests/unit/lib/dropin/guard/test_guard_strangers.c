/* SPDX-License-Identifier: MIT */
/* Code that sets actions past the guard: by the kernel's call, or by the C library's function. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

#define TURNS_UNTIL_LOOK 64
#define STRANGERS	 4

/* A stranger calls the action that was before, as most do. */
static struct stranger {
	struct sigaction before;
	int calls;
	int depth;
} strangers[STRANGERS];

static void meet(struct stranger *stranger, int signal_number, siginfo_t *info, void *context)
{
	CHECK(stranger->depth == 0);
	stranger->depth++;
	stranger->calls++;
	if ((stranger->before.sa_flags & SA_SIGINFO) != 0)
		stranger->before.sa_sigaction(signal_number, info, context);
	stranger->depth--;
}

#define MEET(number)                                                                               \
	static void meet_##number(int signal_number, siginfo_t *info, void *context)               \
	{                                                                                          \
		meet(&strangers[number], signal_number, info, context);                            \
	}

MEET(0)
MEET(1)
MEET(2)
MEET(3)

static void (*const handlers[STRANGERS])(int, siginfo_t *, void *) = {meet_0, meet_1, meet_2,
								      meet_3};

static void come(unsigned number)
{
	const struct sigaction action = {.sa_sigaction = handlers[number], .sa_flags = SA_SIGINFO};

	CHECK(sigaction_of_libc(SIGSEGV, &action, &strangers[number].before) == 0);
}

static void turn_until_look(void)
{
	struct rnic_guard_turn turn;

	for (int i = 0; i < TURNS_UNTIL_LOOK; i++) {
		CHECK(guard->turn_begin(&turn) == 0);
		guard->turn_end(&turn);
	}
}

static void check_calls(int first, int second, int third, int own)
{
	CHECK(strangers[0].calls == first && strangers[1].calls == second);
	CHECK(strangers[2].calls == third && repairs == own);
}

static void own_fault(void)
{
	store_byte(map_pages(1, PROT_NONE));
}

static void come_before(void)
{
	set_handler(SIGSEGV, repair_page, 0);
	come(0);
	open_guard();
	fault_guarded();
	own_fault();
	check_calls(1, 0, 0, 1);
}

SUCCEEDS(a_stranger_from_before_keeps_his_faults, come_before)

static void come_after(void)
{
	set_handler(SIGSEGV, repair_page, 0);
	open_guard();
	come(0);
	/* The stranger is in front, and passes the guard's fault on. */
	guard->write(map_pages(1, PROT_NONE), "", 1);
	check_calls(1, 0, 0, 0);
	turn_until_look();
	fault_guarded();
	check_calls(1, 0, 0, 0);
	own_fault();
	check_calls(2, 0, 0, 1);
	fault_guarded();
}

SUCCEEDS(the_guard_steps_in_front_of_a_stranger, come_after)

static void come_one_after_the_other(void)
{
	set_handler(SIGSEGV, repair_page, 0);
	open_guard();
	for (unsigned i = 0; i < 3; i++) {
		come(i);
		turn_until_look();
	}
	fault_guarded();
	check_calls(0, 0, 0, 0);
	own_fault();
	check_calls(1, 1, 1, 1);
	/* The last one goes, and then the application sets a handler of its own. */
	CHECK(sigaction_of_libc(SIGSEGV, &strangers[2].before, NULL) == 0);
	turn_until_look();
	fault_guarded();
	own_fault();
	check_calls(2, 2, 1, 2);
	set_handler(SIGSEGV, repair_page, SA_NODEFER);
	own_fault();
	fault_guarded();
	check_calls(2, 2, 1, 3);
}

SUCCEEDS(strangers_come_and_go, come_one_after_the_other)

static void come_again_and_again(void)
{
	set_handler(SIGSEGV, repair_page, 0);
	open_guard();
	come(0);
	turn_until_look();
	for (int i = 1; i <= 200; i++) {
		come(1);
		turn_until_look();
		fault_guarded();
		own_fault();
		check_calls(i, i, 0, i);
	}
}

SUCCEEDS(a_stranger_may_come_again, come_again_and_again)

/* The stranger was in front when the application asked, and is called by the application's. */
static struct sigaction replaced;

static void pass_on(int signal_number, siginfo_t *info, void *context)
{
	replaced.sa_sigaction(signal_number, info, context);
}

static void replace_stranger(void)
{
	const struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};

	set_handler(SIGSEGV, repair_page, 0);
	open_guard();
	come(0);
	CHECK(sigaction(SIGSEGV, &action, &replaced) == 0);
	CHECK(replaced.sa_sigaction == meet_0);
	fault_guarded();
	own_fault();
	check_calls(1, 0, 0, 1);
}

SUCCEEDS(the_application_may_replace_a_stranger, replace_stranger)

static void set_default_past_guard(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	CHECK(sigaction_of_libc(SIGSEGV, &action, NULL) == 0);
	turn_until_look();
	fault_guarded();
	CHECK(sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
	set_handler(SIGSEGV, repair_page, 0);
	own_fault();
	CHECK(repairs == 1);
}

SUCCEEDS(a_default_action_past_the_guard_is_found, set_default_past_guard)

/* The kernel's own structure. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
#if defined(__x86_64__)
	void (*restorer)(void);
#endif
	uint64_t mask;
};

static void call_kernel(void)
{
	struct kernel_action action;

	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	CHECK(syscall(SYS_rt_sigaction, SIGSEGV, NULL, &action, sizeof(action.mask)) == 0);
	strangers[0].before.sa_sigaction = action.handler;
	strangers[0].before.sa_flags = SA_SIGINFO;
	action.handler = meet_0;
	CHECK(syscall(SYS_rt_sigaction, SIGSEGV, &action, NULL, sizeof(action.mask)) == 0);
	turn_until_look();
	fault_guarded();
	check_calls(0, 0, 0, 0);
	own_fault();
	check_calls(1, 0, 0, 1);
}

SUCCEEDS(a_stranger_may_call_the_kernel, call_kernel)

/* Turns until one fails, and at most 64. */
static int turn_until_error(void)
{
	struct rnic_guard_turn turn;

	for (int i = 0; i < TURNS_UNTIL_LOOK; i++) {
		int error = guard->turn_begin(&turn);

		if (error != 0)
			return error;
		guard->turn_end(&turn);
	}
	return 0;
}

static void fight(void)
{
	struct rnic_guard_turn turn;
	int fights = 0;

	open_guard();
	do {
		CHECK(fights++ < 2000);
		come(0);
	} while (turn_until_error() == 0);
	CHECK(fights > 1000);
	CHECK(guard->turn_begin(&turn) == -EBUSY);
	CHECK(sigaction_of_libc(SIGSEGV, &strangers[0].before, NULL) == 0);
	fault_guarded();
}

SUCCEEDS(an_endless_fight_is_an_error_until_its_end, fight)

static void fight_now_and_then(void)
{
	open_guard();
	for (int i = 0; i < 1100; i++) {
		come(0);
		turn_until_look();
		turn_until_look();
	}
	fault_guarded();
}

SUCCEEDS(a_stranger_may_come_now_and_then_for_ever, fight_now_and_then)

static void come_in_crowds(void)
{
	struct rnic_guard_turn turn;

	open_guard();
	for (unsigned i = 0; i < 3; i++) {
		come(i);
		turn_until_look();
	}
	come(3);
	CHECK(turn_until_error() == -EBUSY);
	CHECK(guard->turn_begin(&turn) == -EBUSY);
}

SUCCEEDS(too_many_strangers_are_an_error, come_in_crowds)

/* ---- a filter of system calls that forbids further actions ---- */

static void forbid_actions(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {COUNT_OF(instructions), instructions};

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static void open_under_filter(void)
{
	set_handler(SIGSEGV, repair_page, 0);
	forbid_actions();
	CHECK(rnic_guard_open(&guard) == -EPERM);
	own_fault();
	check_calls(0, 0, 0, 1);
}

SUCCEEDS(a_filter_may_forbid_the_guard, open_under_filter)

static void change_under_filter(void)
{
	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	forbid_actions();
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_ERR && errno == EPERM);
	CHECK(sigaction(SIGSEGV, NULL, &replaced) == -1 && errno == EPERM);
	own_fault();
	check_calls(0, 0, 0, 1);
	fault_guarded();
}

SUCCEEDS(a_forbidden_change_leaves_the_action, change_under_filter)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_from_before_keeps_his_faults),
		cmocka_unit_test(the_guard_steps_in_front_of_a_stranger),
		cmocka_unit_test(strangers_come_and_go),
		cmocka_unit_test(a_stranger_may_come_again),
		cmocka_unit_test(the_application_may_replace_a_stranger),
		cmocka_unit_test(a_default_action_past_the_guard_is_found),
		cmocka_unit_test(a_stranger_may_call_the_kernel),
		cmocka_unit_test(an_endless_fight_is_an_error_until_its_end),
		cmocka_unit_test(a_stranger_may_come_now_and_then_for_ever),
		cmocka_unit_test(too_many_strangers_are_an_error),
		cmocka_unit_test(a_filter_may_forbid_the_guard),
		cmocka_unit_test(a_forbidden_change_leaves_the_action),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Turns of threads that have the guard's signals blocked, and what becomes of signals meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

static sigset_t both_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGBUS);
	return set;
}

static void block_both(void)
{
	const sigset_t set = both_signals();

	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

static void check_mask(bool is_blocked)
{
	sigset_t mask;

	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
	CHECK(sigismember(&mask, SIGSEGV) == is_blocked);
	CHECK(sigismember(&mask, SIGBUS) == is_blocked);
}

static void check_pending(int signal_number, bool is_pending)
{
	sigset_t pending;

	CHECK(sigpending(&pending) == 0 && sigismember(&pending, signal_number) == is_pending);
}

static void fault_with_blocked_signals(void)
{
	sigset_t all;

	open_guard();
	fault_guarded();
	check_mask(false);
	block_both();
	fault_guarded();
	check_mask(true);
	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	fault_guarded();
	check_mask(true);
	check_pending(SIGSEGV, false);
}

SUCCEEDS(a_turn_opens_blocked_signals_and_closes_them, fault_with_blocked_signals)

static void fault_without_turn(void)
{
	uint8_t *page = map_pages(1, PROT_NONE);

	open_guard();
	block_both();
	guard->write(page, "", 1);
}

static void without_a_turn_blocked_signals_are_death(void **state)
{
	(void)state;
	expect_death(fault_without_turn, SIGSEGV);
}

static void fault_in_turn(void)
{
	struct rnic_guard_turn turn;

	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	block_both();
	CHECK(guard->turn_begin(&turn) == 0);
	store_byte(map_pages(1, PROT_NONE));
}

/* Without the turn the signal would be blocked, and the handler would not be called either. */
static void a_fault_beside_the_copies_in_such_a_turn_is_death(void **state)
{
	(void)state;
	expect_death(fault_in_turn, SIGSEGV);
}

/* ---- verbs in the application's own handler ---- */

static void copy_in_handler(int signal_number, siginfo_t *info, void *context)
{
	sigset_t mask;

	fault_guarded();
	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, signal_number));
	repair_page(signal_number, info, context);
}

static void fault_in_handlers(void)
{
	const size_t bytes = (size_t)sysconf(_SC_SIGSTKSZ);
	stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes};

	open_guard();
	set_handler(SIGSEGV, copy_in_handler, 0);
	store_byte(map_pages(1, PROT_NONE));
	CHECK(repairs == 1);
	CHECK(sigaltstack(&stack, NULL) == 0);
	set_handler(SIGSEGV, copy_in_handler, SA_ONSTACK);
	store_byte(map_pages(1, PROT_NONE));
	set_handler(SIGSEGV, copy_in_handler, SA_ONSTACK | SA_NODEFER);
	fault_guarded();
	CHECK(repairs == 2);
	check_mask(false);
}

SUCCEEDS(a_handler_of_the_application_may_copy, fault_in_handlers)

/* ---- signals that somebody sends ---- */

typedef void send_function(int signal_number);

static void send_by_kill(int signal_number)
{
	CHECK(kill(getpid(), signal_number) == 0);
}

static void send_to_thread(int signal_number)
{
	CHECK(pthread_kill(pthread_self(), signal_number) == 0);
}

static void send_by_queue(int signal_number)
{
	CHECK(sigqueue(getpid(), signal_number, (union sigval){.sival_int = 4711}) == 0);
}

static pid_t sender;

static void send_from_child(int signal_number)
{
	sender = fork();
	CHECK(sender >= 0);
	if (sender == 0)
		_exit(kill(getppid(), signal_number) == 0 ? 0 : 1);
	CHECK(wait_for_child(sender) == 0);
}

static const struct {
	send_function *send;
	int code;
} ways[] = {
	{send_by_kill, SI_USER},
	{send_to_thread, SI_TKILL},
	{send_by_queue, SI_QUEUE},
	{send_from_child, SI_USER},
};

/* Sends in a turn, or before the turn; the signal is there afterwards. */
static void send_around_turn(send_function *send, int signal_number, bool is_before)
{
	struct rnic_guard_turn turn;

	if (is_before)
		send(signal_number);
	CHECK(guard->turn_begin(&turn) == 0);
	fault_guarded();
	if (!is_before)
		send(signal_number);
	fault_guarded();
	check_pending(signal_number, false);
	guard->turn_end(&turn);
	check_pending(signal_number, true);
}

/* As the kernel has it: the C library shows SI_USER in place of SI_TKILL. */
static int wait_by_kernel(siginfo_t *info)
{
	const sigset_t set = both_signals();

	return (int)syscall(SYS_rt_sigtimedwait, &set, info, NULL, NSIG / 8);
}

static void wait_for_sent_signals(void)
{
	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	block_both();
	for (size_t i = 0; i < COUNT_OF(ways) * 4; i++) {
		const int code = ways[i / 4].code;
		const int signal_number = i % 2 == 0 ? SIGSEGV : SIGBUS;
		siginfo_t info;

		send_around_turn(ways[i / 4].send, signal_number, i % 4 < 2);
		CHECK(wait_by_kernel(&info) == signal_number);
		CHECK(info.si_code == code);
		CHECK(info.si_pid == (ways[i / 4].send == send_from_child ? sender : getpid()));
		CHECK(code != SI_QUEUE || info.si_value.sival_int == 4711);
		check_pending(signal_number, false);
	}
	CHECK(repairs == 0);
}

SUCCEEDS(sigwait_gets_the_signals_of_a_turn, wait_for_sent_signals)

static void send_both_ways(int signal_number)
{
	send_by_kill(signal_number);
	send_to_thread(signal_number);
	send_by_kill(signal_number);
}

/* The kernel gives the thread's own signal first, whichever was sent first. */
static void wait_for_both(void)
{
	siginfo_t info;

	open_guard();
	block_both();
	for (int i = 0; i < 2; i++) {
		send_around_turn(send_both_ways, SIGSEGV, i == 0);
		CHECK(wait_by_kernel(&info) == SIGSEGV && info.si_code == SI_TKILL);
		check_pending(SIGSEGV, true);
		CHECK(wait_by_kernel(&info) == SIGSEGV && info.si_code == SI_USER);
		check_pending(SIGSEGV, false);
	}
}

SUCCEEDS(a_turn_keeps_a_signal_of_the_thread_and_one_of_the_process, wait_for_both)

static void read_sent_signals(void)
{
	const sigset_t set = both_signals();
	struct signalfd_siginfo info;
	int file;

	open_guard();
	block_both();
	file = signalfd(-1, &set, 0);
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		send_around_turn(ways[i].send, SIGSEGV, false);
		CHECK(read(file, &info, sizeof(info)) == sizeof(info));
		CHECK(info.ssi_signo == SIGSEGV && info.ssi_code == ways[i].code);
	}
}

SUCCEEDS(signalfd_gets_the_signals_of_a_turn, read_sent_signals)

static void send_in_nested_turns(void)
{
	struct rnic_guard_turn outer;
	struct rnic_guard_turn inner;

	open_guard();
	block_both();
	CHECK(guard->turn_begin(&outer) == 0 && guard->turn_begin(&inner) == 0);
	send_by_kill(SIGBUS);
	guard->turn_end(&inner);
	check_mask(false);
	fault_guarded();
	guard->turn_end(&outer);
	check_mask(true);
	check_pending(SIGBUS, true);
}

SUCCEEDS(turns_nest, send_in_nested_turns)

static void receive_unblocked(void)
{
	struct rnic_guard_turn turn;

	open_guard();
	set_handler(SIGSEGV, copy_in_handler, 0);
	CHECK(guard->turn_begin(&turn) == 0);
	store_byte(map_pages(1, PROT_NONE));
	CHECK(repairs == 1);
	guard->turn_end(&turn);
}

SUCCEEDS(an_unblocked_signal_is_handled_at_once, receive_unblocked)

/* ---- beside a thread whose turns fault all the time ---- */

static atomic_bool is_over;

static pthread_t start_faulting_thread(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, fault_until_over, &is_over) == 0);
	return thread;
}

#define SENT_SIGNALS 200

static void wait_beside_faults(void)
{
	const sigset_t set = both_signals();
	pthread_t thread;
	int received;

	open_guard();
	block_both();
	thread = start_faulting_thread();
	for (int i = 0; i < SENT_SIGNALS; i++) {
		const int signal_number = i % 2 == 0 ? SIGSEGV : SIGBUS;

		send_by_kill(signal_number);
		CHECK(sigwait(&set, &received) == 0 && received == signal_number);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	check_pending(SIGSEGV, false);
}

SUCCEEDS(sigwait_beside_faults_gets_every_signal, wait_beside_faults)

static void poll_beside_faults(void)
{
	const sigset_t set = both_signals();
	struct signalfd_siginfo info;
	pthread_t thread;
	int file;

	open_guard();
	block_both();
	file = signalfd(-1, &set, 0);
	thread = start_faulting_thread();
	for (int i = 0; i < SENT_SIGNALS; i++) {
		send_by_queue(SIGSEGV);
		CHECK(read(file, &info, sizeof(info)) == sizeof(info));
		CHECK(info.ssi_signo == SIGSEGV && info.ssi_int == 4711);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
}

SUCCEEDS(signalfd_beside_faults_gets_every_signal, poll_beside_faults)

static atomic_int handled;

static void count_signal(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&handled, 1);
}

/* The other thread has the signals blocked but in its turns. */
static void handle_beside_faults(void)
{
	const sigset_t set = both_signals();
	pthread_t thread;

	open_guard();
	signal(SIGSEGV, count_signal);
	block_both();
	thread = start_faulting_thread();
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
	for (int i = 1; i <= SENT_SIGNALS; i++) {
		send_by_kill(SIGSEGV);
		while (atomic_load(&handled) < i)
			fault_guarded();
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	CHECK(atomic_load(&handled) == SENT_SIGNALS);
}

SUCCEEDS(a_handler_beside_faults_gets_every_signal, handle_beside_faults)

/* ---- a sent signal with the code of a fault ---- */

static void forge_fault(void)
{
	siginfo_t info = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR};

	open_guard();
	CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGSEGV, &info) == 0);
	fault_guarded();
	set_handler(SIGSEGV, repair_page, 0);
	store_byte(map_pages(1, PROT_NONE));
	fault_guarded();
	CHECK(repairs == 1);
}

SUCCEEDS(a_forged_fault_does_not_end_the_guard, forge_fault)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_opens_blocked_signals_and_closes_them),
		cmocka_unit_test(without_a_turn_blocked_signals_are_death),
		cmocka_unit_test(a_fault_beside_the_copies_in_such_a_turn_is_death),
		cmocka_unit_test(a_handler_of_the_application_may_copy),
		cmocka_unit_test(sigwait_gets_the_signals_of_a_turn),
		cmocka_unit_test(a_turn_keeps_a_signal_of_the_thread_and_one_of_the_process),
		cmocka_unit_test(signalfd_gets_the_signals_of_a_turn),
		cmocka_unit_test(turns_nest),
		cmocka_unit_test(an_unblocked_signal_is_handled_at_once),
		cmocka_unit_test(sigwait_beside_faults_gets_every_signal),
		cmocka_unit_test(signalfd_beside_faults_gets_every_signal),
		cmocka_unit_test(a_handler_beside_faults_gets_every_signal),
		cmocka_unit_test(a_forged_fault_does_not_end_the_guard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

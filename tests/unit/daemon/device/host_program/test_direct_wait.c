/* SPDX-License-Identifier: MIT */
/* Who takes the turns, and when a sleeping thread wakes for the next one. */
#include "daemon/device/host_program/direct_turn.h"

#include "lib/wait/clock.h"
#include "tests/unit/daemon/device/host_program/event_channel.h"
#include "tests/unit/daemon/device/host_program/fake_device.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#define FAR_NS (UINT64_C(60) * RNIC_NS_PER_SECOND) /* a deadline beyond any lease */

/* There is no thread of the device, but its descriptors are there, and it counts as asleep. */
struct fixture {
	struct rnic_direct device;
	struct channel first;
	struct channel second;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct rnic_direct *direct = &fixture.device;

	memset(&fixture, 0, sizeof(fixture));
	fake_device = (struct fake_device){.next_deadline_ns = UINT64_MAX};
	pthread_mutex_init(&direct->lock, NULL);
	assert_int_equal(wake_timer_open(&direct->timer), 0);
	assert_int_equal(wake_timer_open(&direct->lease_timer), 0);
	direct->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	direct->is_open = true;
	direct->turns.sleepers = 1;
	direct->waiter_awake.last_wait_ns = FAR_NS;
	channel_open(&fixture.first);
	channel_open(&fixture.second);
	*state = &fixture;
	return 0;
}

/* How many threads count as asleep beside that of the device. */
static uint32_t sleeping_waiters(struct rnic_direct *direct)
{
	uint32_t count;

	pthread_mutex_lock(&direct->lock);
	count = direct->turns.sleepers - 1;
	pthread_mutex_unlock(&direct->lock);
	return count;
}

/* Whatever has happened, whoever does not sleep any more does not count as asleep. */
static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(sleeping_waiters(&f->device), 0);
	close(f->device.epoll_fd);
	close(f->device.timer.fd);
	close(f->device.lease_timer.fd);
	pthread_mutex_destroy(&f->device.lock);
	channel_close(&f->first);
	channel_close(&f->second);
	return 0;
}

/* --- deadlines -------------------------------------------------------------------------------- */

/* The next turn meets what must be sent again then. */
static uint64_t a_turn_leaves_a_deadline(void)
{
	fake_device.later_deadline_ns = clock_now_ns() + FAR_NS;
	return fake_device.later_deadline_ns;
}

/* The device's thread sleeps on the descriptors, without a deadline so far. */
static void a_wait_that_does_not_block_arms_the_timer(void **state)
{
	struct fixture *f = *state;
	const uint64_t deadline_ns = a_turn_leaves_a_deadline();

	assert_int_equal(fcntl(f->first.read_fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(direct_device_await(&f->device, f->first.read_fd), 0);
	assert_true(f->device.timer.armed_ns <= deadline_ns);
}

static void a_wait_that_ends_at_once_arms_the_timer(void **state)
{
	struct fixture *f = *state;
	const uint64_t deadline_ns = a_turn_leaves_a_deadline();

	f->device.turns.posts = 1;
	channel_signal(&f->first);
	assert_int_equal(direct_device_await(&f->device, f->first.read_fd), 0);
	assert_int_equal(f->device.turns.posts, 0);
	assert_true(f->device.timer.armed_ns <= deadline_ns);
}

/* The caller finds its event and is back before a turn is needed. */
static void a_wait_that_ends_at_once_takes_no_turn(void **state)
{
	struct fixture *f = *state;

	channel_signal(&f->first);
	assert_int_equal(direct_device_await(&f->device, f->first.read_fd), 0);
	assert_int_equal(fake_device.turns, 0);
}

static void a_wait_beside_another_arms_the_timer(void **state)
{
	struct fixture *f = *state;
	const uint64_t deadline_ns = a_turn_leaves_a_deadline();

	f->device.turns.state = TURNS_WAITED;
	f->device.turns.posts = 1;
	channel_signal(&f->first);
	assert_int_equal(direct_device_await(&f->device, f->first.read_fd), 0);
	assert_true(f->device.timer.armed_ns <= deadline_ns);
}

/* --- leases ----------------------------------------------------------------------------------- */

struct waiter {
	struct rnic_direct *direct;
	struct channel *channel;
	pthread_t thread;
	int result;
};

static void *wait_for_channel(void *argument)
{
	struct waiter *waiter = argument;

	waiter->result = direct_device_await(waiter->direct, waiter->channel->read_fd);
	return NULL;
}

static bool has_waiters(struct rnic_direct *direct, uint32_t bystanders)
{
	bool has;

	direct_take_lock(direct);
	has = turns_have_waiter(&direct->turns) && direct->turns.bystanders == bystanders;
	pthread_mutex_unlock(&direct->lock);
	return has;
}

/* A thread that waits, with so many bystanders from then on. */
static void waiter_start(struct waiter *waiter, struct fixture *f, struct channel *channel,
			 uint32_t bystanders)
{
	*waiter = (struct waiter){.direct = &f->device, .channel = channel, .result = -1};
	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_channel, waiter), 0);
	while (!has_waiters(&f->device, bystanders))
		sched_yield();
}

static void waiter_finish(struct waiter *waiter)
{
	channel_signal(waiter->channel);
	pthread_join(waiter->thread, NULL);
	assert_int_equal(waiter->result, 0);
}

/* Nobody but the device's thread takes turns for the second one, when the first one has left. */
static void beside_a_second_waiter_there_is_no_lease(void **state)
{
	struct fixture *f = *state;
	struct rnic_direct *direct = &f->device;
	struct waiter first, second;
	uint64_t before_ns;

	direct->turns.sleeps_on_lease = true;
	direct->lease_timer.armed_ns = UINT64_MAX;
	direct->turns.renewals = TURNS_RENEWALS;
	waiter_start(&first, f, &f->first, 0);
	waiter_start(&second, f, &f->second, 1);
	waiter_finish(&first);
	assert_true(direct->turns.lease_ns <= clock_now_ns());
	assert_true(direct->lease_timer.armed_ns <= clock_now_ns());
	direct_device_poll(direct);
	assert_true(direct->turns.lease_ns <= clock_now_ns());
	waiter_finish(&second);
	before_ns = clock_now_ns();
	direct_device_poll(direct);
	assert_true(direct->turns.lease_ns >= before_ns + TURNS_LEASE_NS);
}

/* The waiter takes the turns, so no lease puts off what is due. */
static void a_lease_puts_off_no_deadline_of_a_waiter(void **state)
{
	struct fixture *f = *state;
	struct rnic_direct *direct = &f->device;
	const uint64_t deadline_ns = a_turn_leaves_a_deadline();
	struct waiter waiter;

	direct->turns.lease_ns = deadline_ns + FAR_NS;
	waiter_start(&waiter, f, &f->first, 0);
	assert_true(direct->timer.armed_ns <= deadline_ns);
	direct_device_poll(direct);
	assert_true(direct->turns.lease_ns <= clock_now_ns());
	waiter_finish(&waiter);
}

/*
 * The address sanitizer complains of its own frames when a thread is cancelled in a cleanup
 * handler.
 */
static void skip_if_nobody_may_be_cancelled(void)
{
#ifdef __SANITIZE_ADDRESS__
	print_message("skipped: the address sanitizer mistakes the stack of a cancelled thread\n");
	skip();
#endif
}

static void waiter_cancel(struct waiter *waiter)
{
	void *result;

	pthread_cancel(waiter->thread);
	pthread_join(waiter->thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* A bystander that is cancelled counts no more. */
static void a_cancelled_bystander_leaves(void **state)
{
	struct fixture *f = *state;
	struct waiter first, second;

	skip_if_nobody_may_be_cancelled();
	waiter_start(&first, f, &f->first, 0);
	waiter_start(&second, f, &f->second, 1);
	waiter_cancel(&second);
	assert_true(has_waiters(&f->device, 0));
	waiter_finish(&first);
}

/* --- who counts as asleep --------------------------------------------------------------------- */

static void waiter_start_and_sleep(struct waiter *waiter, struct fixture *f)
{
	waiter_start(waiter, f, &f->first, 0);
	while (sleeping_waiters(&f->device) == 0)
		sched_yield();
	assert_int_equal(sleeping_waiters(&f->device), 1);
}

static void a_waiter_counts_as_asleep_until_it_wakes(void **state)
{
	struct fixture *f = *state;
	struct waiter waiter;

	waiter_start_and_sleep(&waiter, f);
	waiter_finish(&waiter);
	assert_int_equal(sleeping_waiters(&f->device), 0);
}

/* Only the waiter sleeps on the device's descriptors. */
static void a_bystander_does_not_count_as_asleep(void **state)
{
	struct fixture *f = *state;
	struct waiter first, second;

	waiter_start_and_sleep(&first, f);
	waiter_start(&second, f, &f->second, 1);
	assert_int_equal(sleeping_waiters(&f->device), 1);
	waiter_finish(&second);
	waiter_finish(&first);
}

static void a_waiter_cancelled_in_its_sleep_counts_no_more(void **state)
{
	struct fixture *f = *state;
	struct waiter waiter;

	skip_if_nobody_may_be_cancelled();
	waiter_start_and_sleep(&waiter, f);
	waiter_cancel(&waiter);
	assert_int_equal(sleeping_waiters(&f->device), 0);
	assert_false(turns_have_waiter(&f->device.turns));
}

static void *wait_with_handlers(void *argument)
{
	struct waiter *waiter = argument;
	struct pollfd first = {.fd = waiter->channel->read_fd, .events = POLLIN};

	waiter->result = direct_device_wait(waiter->direct, &first, 1, UINT64_MAX, true);
	return NULL;
}

/* The device has work in each turn, so the waiter looks for its event and does not sleep. */
static void a_waiter_cancelled_while_it_looks_has_not_counted(void **state)
{
	struct fixture *f = *state;
	struct waiter waiter = {.direct = &f->device, .channel = &f->first};

	skip_if_nobody_may_be_cancelled();
	fake_device.has_work = true;
	assert_int_equal(pthread_create(&waiter.thread, NULL, wait_with_handlers, &waiter), 0);
	while (!has_waiters(&f->device, 0))
		sched_yield();
	waiter_cancel(&waiter);
	assert_int_equal(sleeping_waiters(&f->device), 0);
	assert_false(turns_have_waiter(&f->device.turns));
}

/* --- polling before a sleep ------------------------------------------------------------------- */

static void after_a_long_wait_a_thread_sleeps_at_once(void **state)
{
	struct fixture *f = *state;
	struct waiter waiter;

	waiter_start(&waiter, f, &f->first, 0);
	assert_int_equal(fake_device.turns, 1);
	waiter_finish(&waiter);
}

/* Before it sleeps, a thread arms the timer for the deadline. */
static bool is_asleep(struct rnic_direct *direct)
{
	bool is;

	pthread_mutex_lock(&direct->lock);
	is = direct->timer.armed_ns != UINT64_MAX;
	pthread_mutex_unlock(&direct->lock);
	return is;
}

/* The thread takes turns though nothing comes, and sleeps then. */
static void after_a_short_wait_a_thread_polls_first(void **state)
{
	struct fixture *f = *state;
	struct waiter waiter;

	a_turn_leaves_a_deadline();
	f->device.waiter_awake.last_wait_ns = 0;
	waiter_start(&waiter, f, &f->first, 0);
	while (!is_asleep(&f->device))
		sched_yield();
	assert_true(fake_device.turns > 1);
	waiter_finish(&waiter);
	assert_true(f->device.waiter_awake.last_wait_ns >=
		    awake_rules[AWAKE_DEVICE_WAITER].awake_ns);
}

/* --- a wait for several descriptors ----------------------------------------------------------- */

static int wait_for_either(struct fixture *f, struct pollfd either[2], int timeout_ms)
{
	const uint64_t deadline_ns =
		timeout_ms < 0 ? UINT64_MAX
			       : clock_now_ns() + (uint64_t)timeout_ms * RNIC_NS_PER_MS;

	either[0] = (struct pollfd){.fd = f->first.read_fd, .events = POLLIN};
	either[1] = (struct pollfd){.fd = f->second.read_fd, .events = POLLIN};
	return direct_device_wait(&f->device, either, 2, deadline_ns, false);
}

static void a_wait_says_which_descriptor_is_ready(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];

	channel_signal(&f->second);
	assert_int_equal(wait_for_either(f, either, -1), 1);
	assert_int_equal(either[0].revents, 0);
	assert_int_equal(either[1].revents, POLLIN);
	assert_int_equal(fake_device.turns, 0);
}

static void *signal_once_asleep(void *argument)
{
	struct fixture *f = argument;

	while (!is_asleep(&f->device))
		sched_yield();
	channel_signal(&f->second);
	return NULL;
}

static void a_wait_that_sleeps_says_which_descriptor_is_ready(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];
	pthread_t thread;

	a_turn_leaves_a_deadline();
	assert_int_equal(pthread_create(&thread, NULL, signal_once_asleep, f), 0);
	assert_int_equal(wait_for_either(f, either, -1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(either[0].revents, 0);
	assert_int_equal(either[1].revents, POLLIN);
	assert_true(fake_device.turns > 0);
	assert_false(turns_have_waiter(&f->device.turns));
}

static void a_wait_ends_at_its_deadline(void **state)
{
	struct fixture *f = *state;
	const uint64_t began_ns = clock_now_ns();
	struct pollfd either[2];

	assert_int_equal(wait_for_either(f, either, 1), 0);
	assert_true(clock_now_ns() - began_ns >= RNIC_NS_PER_MS);
	assert_false(turns_have_waiter(&f->device.turns));
}

static void a_bystander_leaves_at_its_deadline(void **state)
{
	struct fixture *f = *state;
	struct waiter waiter;
	struct pollfd either[2];

	waiter_start(&waiter, f, &f->first, 0);
	assert_int_equal(wait_for_either(f, either, 1), 0);
	assert_true(has_waiters(&f->device, 0));
	waiter_finish(&waiter);
}

static void poll_serves_more_descriptors_than_a_wait_takes(void **state)
{
	struct fixture *f = *state;
	struct pollfd many[100] = {{0}};

	assert_int_equal(direct_device_wait(&f->device, many, 100, UINT64_MAX, false), -E2BIG);
}

/* Otherwise the statistics page would show for as long what the device had done before. */
static void a_long_wait_refreshes_the_statistics(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];

	fake_device.stats_due_ns = clock_now_ns() + RNIC_NS_PER_MS;
	assert_int_equal(wait_for_either(f, either, 50), 0);
	assert_int_equal(fake_device.stats_refreshes, 1);
}

static void a_closed_device_has_no_wait(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];

	f->device.is_open = false;
	assert_int_equal(wait_for_either(f, either, -1), -ENODEV);
}

/* --- signals ---------------------------------------------------------------------------------- */

static atomic_uint signals;

static void count_signal(int signal)
{
	(void)signal;
	signals++;
}

static void await_signals(unsigned count)
{
	const unsigned before = signals;

	while (signals - before < count)
		sched_yield();
}

/* Turns leave work, so a thread does not sleep: many signals come while it looks for its event. */
static void begin_signals(void)
{
	const struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
	const struct itimerval often = {.it_interval.tv_usec = 200, .it_value.tv_usec = 200};

	fake_device.has_work = true;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
}

static void end_signals(void)
{
	const struct itimerval never = {0};

	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
}

static void a_signal_ends_a_wait_by_its_name_alone(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];
	int result;

	begin_signals();
	for (unsigned i = 0; i < 300; i++) {
		result = wait_for_either(f, either, 1);
		assert_true(result == 0 || result == -EINTR);
	}
	end_signals();
}

static struct rnic_direct *signalled_device;
static bool handler_has_lock;

static void take_the_lock(int signal)
{
	(void)signal;
	signals++;
	handler_has_lock = pthread_mutex_trylock(&signalled_device->lock) == 0;
	if (handler_has_lock)
		pthread_mutex_unlock(&signalled_device->lock);
}

static void raise_one(void)
{
	assert_int_equal(raise(SIGUSR1), 0);
}

static void wait_with_a_signal_in_a_turn(struct fixture *f)
{
	const struct sigaction action = {.sa_handler = take_the_lock};
	struct pollfd first = {.fd = f->first.read_fd, .events = POLLIN};
	const unsigned before = signals;

	signalled_device = &f->device;
	handler_has_lock = false;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	fake_device.in_turn = raise_one;
	assert_int_equal(direct_device_wait(&f->device, &first, 1, UINT64_MAX, true), -EINTR);
	fake_device.in_turn = NULL;
	assert_int_equal(signals - before, 1);
	assert_true(handler_has_lock);
	assert_true(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

static struct fixture *handled_fixture;
static int inner_result;
static uint32_t asleep_before, asleep_after; /* the inner wait */

static void signal_the_second(void)
{
	fake_device.in_turn = NULL;
	channel_signal(&handled_fixture->second);
}

/* What the handler waits for comes with a turn, and its own thread is the waiter. */
static void wait_inside(int signal)
{
	struct pollfd second = {.fd = handled_fixture->second.read_fd, .events = POLLIN};
	const uint64_t deadline_ns = clock_now_ns() + 5 * RNIC_NS_PER_SECOND;

	(void)signal;
	asleep_before = sleeping_waiters(&handled_fixture->device);
	fake_device.in_turn = signal_the_second;
	inner_result = direct_device_wait(&handled_fixture->device, &second, 1, deadline_ns, true);
	asleep_after = sleeping_waiters(&handled_fixture->device);
}

static void a_handler_may_wait_in_the_wait_of_its_thread(void **state)
{
	const struct sigaction action = {.sa_handler = wait_inside};
	struct fixture *f = *state;
	struct pollfd first = {.fd = f->first.read_fd, .events = POLLIN};

	handled_fixture = f;
	inner_result = 0;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	fake_device.in_turn = raise_one;
	assert_int_equal(direct_device_wait(&f->device, &first, 1, UINT64_MAX, true), -EINTR);
	assert_true(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
	assert_int_equal(inner_result, 1);
	assert_int_equal(asleep_before, 1); /* the outer wait sleeps */
	assert_int_equal(asleep_after, 1);
	assert_int_equal(sleeping_waiters(&f->device), 0);
	assert_false(turns_have_waiter(&f->device.turns));
}

static bool is_blocked(int signal)
{
	sigset_t mask;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	return sigismember(&mask, signal) == 1;
}

static void a_handler_may_call_the_device_that_its_thread_waits_in(void **state)
{
	struct fixture *f = *state;

	wait_with_a_signal_in_a_turn(f);
	/* The device has work in each turn, so the thread does not sleep. */
	fake_device.has_work = true;
	wait_with_a_signal_in_a_turn(f);
	assert_false(is_blocked(SIGUSR1));
}

/* The waiter gets the signals. */
static void keep_off_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	assert_int_equal(pthread_sigmask(how, &set, NULL), 0);
}

/* The handlers restart what they interrupt, as for read(2). */
static void a_signal_does_not_end_a_wait_for_an_event(void **state)
{
	struct fixture *f = *state;
	struct waiter waiter;
	char byte;

	begin_signals();
	for (unsigned i = 0; i < 100; i++) {
		waiter_start(&waiter, f, &f->first, 0);
		keep_off_signals(SIG_BLOCK);
		await_signals(3);
		waiter_finish(&waiter);
		keep_off_signals(SIG_UNBLOCK);
		assert_int_equal(read(f->first.read_fd, &byte, 1), 1);
	}
	end_signals();
}

/* The other kind of handler is there as well, and never runs. */
static int result_after(struct fixture *f, int flags)
{
	const struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};
	const struct sigaction other = {.sa_handler = count_signal, .sa_flags = SA_RESTART ^ flags};
	const unsigned before = signals;
	struct waiter waiter;

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &other, NULL);
	waiter_start(&waiter, f, &f->first, 0);
	pthread_kill(waiter.thread, SIGUSR1);
	while (signals == before)
		sched_yield();
	if (flags != 0)
		channel_signal(&f->first);
	pthread_join(waiter.thread, NULL);
	if (flags != 0)
		assert_int_equal(read(f->first.read_fd, &(char){0}, 1), 1);
	return waiter.result;
}

static void each_signal_ends_a_wait_as_its_handler_says(void **state)
{
	for (unsigned i = 0; i < 100; i++) {
		fake_device.has_work = i % 2 != 0; /* looks, or sleeps */
		assert_int_equal(result_after(*state, SA_RESTART), 0);
		assert_int_equal(result_after(*state, 0), -EINTR);
	}
}

/* --- a program that sleeps elsewhere ---------------------------------------------------------- */

static void ask_without_blocking(struct fixture *f)
{
	assert_int_equal(fcntl(f->first.read_fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(direct_device_await(&f->device, f->first.read_fd), 0);
}

static void a_program_that_sleeps_elsewhere_leaves_the_turns(void **state)
{
	struct fixture *f = *state;

	f->device.turns.sleeps_on_lease = true;
	f->device.turns.renewals = TURNS_RENEWALS;
	direct_device_poll(&f->device);
	fake_device.turns = 0;
	f->device.turns.lease_ns = clock_now_ns() + FAR_NS;
	ask_without_blocking(f);
	assert_int_equal(fake_device.turns, 1);
	assert_true(f->device.turns.lease_ns <= clock_now_ns());
	assert_true(f->device.lease_timer.armed_ns <= clock_now_ns());
	direct_device_poll(&f->device);
	assert_true(f->device.turns.lease_ns <= clock_now_ns());
}

/* The program will be back before the lease ends. */
static void a_program_that_waits_here_keeps_the_turns(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];

	assert_int_equal(wait_for_either(f, either, 1), 0);
	f->device.turns.lease_ns = clock_now_ns() + FAR_NS;
	ask_without_blocking(f);
	assert_true(f->device.turns.lease_ns > clock_now_ns());
}

static void watch(struct fixture *f, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	assert_int_equal(epoll_ctl(f->device.epoll_fd, EPOLL_CTL_ADD, fd, &event), 0);
}

/* The device's thread takes the turns when the lease is over, and the next event is its own. */
static void a_program_that_does_not_come_back_keeps_no_turns(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];
	const uint64_t began_ns = clock_now_ns();
	bool is_attended = true;

	f->device.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch(f, f->device.stop_fd);
	watch(f, f->device.timer.fd);
	fake_device.later_deadline_ns = clock_now_ns() + 2 * TURNS_LEASE_NS;
	assert_int_equal(direct_start_thread(&f->device), 0);
	assert_int_equal(wait_for_either(f, either, 0), 0);
	while (is_attended && clock_now_ns() < began_ns + 5 * RNIC_NS_PER_SECOND) {
		sched_yield();
		pthread_mutex_lock(&f->device.lock);
		is_attended = f->device.turns.is_attended;
		pthread_mutex_unlock(&f->device.lock);
	}
	direct_stop_thread(&f->device);
	close(f->device.stop_fd);
	assert_false(is_attended);
}

/* From then on its turns begin leases again. */
static void a_program_that_begins_to_wait_here_ends_the_watch(void **state)
{
	struct fixture *f = *state;
	struct pollfd either[2];
	uint64_t before_ns;

	ask_without_blocking(f);
	assert_true(turns_are_watched(&f->device.turns));
	assert_int_equal(wait_for_either(f, either, 1), 0);
	before_ns = clock_now_ns();
	direct_device_poll(&f->device);
	assert_true(f->device.turns.lease_ns >= before_ns + TURNS_LEASE_NS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_that_does_not_block_arms_the_timer),
		TEST(a_wait_that_ends_at_once_arms_the_timer),
		TEST(a_wait_that_ends_at_once_takes_no_turn),
		TEST(a_wait_beside_another_arms_the_timer),
		TEST(beside_a_second_waiter_there_is_no_lease),
		TEST(a_lease_puts_off_no_deadline_of_a_waiter),
		TEST(a_cancelled_bystander_leaves),
		TEST(a_waiter_counts_as_asleep_until_it_wakes),
		TEST(a_bystander_does_not_count_as_asleep),
		TEST(a_waiter_cancelled_in_its_sleep_counts_no_more),
		TEST(a_waiter_cancelled_while_it_looks_has_not_counted),
		TEST(after_a_long_wait_a_thread_sleeps_at_once),
		TEST(after_a_short_wait_a_thread_polls_first),
		TEST(a_wait_says_which_descriptor_is_ready),
		TEST(a_wait_that_sleeps_says_which_descriptor_is_ready),
		TEST(a_wait_ends_at_its_deadline),
		TEST(a_bystander_leaves_at_its_deadline),
		TEST(poll_serves_more_descriptors_than_a_wait_takes),
		TEST(a_long_wait_refreshes_the_statistics),
		TEST(a_closed_device_has_no_wait),
		TEST(a_program_that_sleeps_elsewhere_leaves_the_turns),
		TEST(a_program_that_waits_here_keeps_the_turns),
		TEST(a_program_that_begins_to_wait_here_ends_the_watch),
		TEST(a_signal_ends_a_wait_by_its_name_alone),
		TEST(a_handler_may_call_the_device_that_its_thread_waits_in),
		TEST(a_handler_may_wait_in_the_wait_of_its_thread),
		TEST(a_signal_does_not_end_a_wait_for_an_event),
		TEST(each_signal_ends_a_wait_as_its_handler_says),
		TEST(a_program_that_does_not_come_back_keeps_no_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

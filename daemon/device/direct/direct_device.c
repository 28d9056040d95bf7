/* SPDX-License-Identifier: MIT */
/*
 * The device inside a program: a device half that the threads of the program drive by turns, and a
 * thread of its own while they do not.
 *
 * One lock guards all. A thread of the program that posts or polls renews the lease with each turn.
 * The device's thread sleeps while the lease holds, so that the two do not compete for what
 * arrives. Where a program waits for bytes in its memory instead, it takes no turns, and arrivals
 * wait for the end of the lease: after a few of them the thread keeps watch, until the program
 * receives by its own turns again. The thread sleeps on the descriptors only after it has asked to
 * be woken for what the program posts.
 *
 * A program that posts one work request after another gets one turn for many: the kernel takes a
 * batch of packets at the cost of one.
 */
#include "ctl/direct_device.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/time_units.h"
#include "device/device_config.h"
#include "device/device_half.h"
#include "device/process/device_process.h"
#include "guard/guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define DIRECT_LEASE_NS	   (200 * RNIC_NS_PER_US)
#define DIRECT_BURST_NS	   (3 * RNIC_NS_PER_US)	 /* between two posts of a burst */
#define DIRECT_BURST_POSTS 32			 /* a turn comes after so many */
#define DIRECT_POST_NS	   (20 * RNIC_NS_PER_US) /* that a post waits for others at most */
#define DIRECT_MISSES	   2  /* arrivals after a lease, before the thread keeps watch */
#define DIRECT_TAKES	   16 /* turns of the program that receive, before there are leases again */
#define DIRECT_SPIN_NS	   (50 * RNIC_NS_PER_US)  /* polling after the last activity */
#define DIRECT_NEAR_NS	   (20 * RNIC_NS_PER_US)  /* a nearer deadline is not worth a sleep */
#define DIRECT_LOOK_NS	   (100 * RNIC_NS_PER_US) /* between polls of the descriptors */
#define DIRECT_YIELDS	   100
#define DIRECT_FACTS_MS	   10000
#define DIRECT_EVENTS	   8
#define DIRECT_STACK_BYTES (512 * 1024)

/* What epoll tells of the descriptors. Ports have no meaning of their own: each turn receives. */
enum direct_event {
	EVENT_PORT,
	EVENT_LINK,
	EVENT_REQUESTS,
	EVENT_CLIENTS,
	EVENT_TIMER,
	EVENT_STOP
};

struct rnic_direct {
	struct device_process process;
	struct device_half *half;
	uint32_t client_id;
	pthread_mutex_t lock; /* guards all but `waiting` and what never changes */
	atomic_uint waiting;  /* threads of the program that want the lock */
	pthread_cond_t news;  /* the lease is given up, or the thread is to end */
	pthread_t thread;
	uint64_t lease_ns;  /* until then the program takes the turns */
	uint64_t posted_ns; /* time of the latest post, when no turn came after it; else 0 */
	uint32_t posts;	    /* that wait for a turn */
	uint32_t misses;    /* turns after a lease that received, in a row */
	uint32_t takes;	    /* turns of the program that received while the thread keeps watch */
	bool is_watching;   /* the thread keeps watch: there are no leases */
	int link_fd;
	int epoll_fd;
	int timer_fd;
	int stop_fd;		 /* an eventfd that ends the thread */
	uint64_t timer_armed_ns; /* UINT64_MAX: not armed */
	uint64_t active_ns;	 /* time of the last activity */
	uint64_t looked_ns;	 /* time of the last poll of the descriptors */
	bool is_open;		 /* there is a half, and calls are served */
	bool has_thread;
	bool is_stopping;
	bool is_down; /* the control plane is gone: the client has ended */
};

/* --- turns, under the lock -------------------------------------------------------------------- */

/*
 * The time at which the device's thread is to go on, at the end of the lease at the earliest: until
 * then the program does. UINT64_MAX: never.
 */
static uint64_t direct_deadline_ns(struct rnic_direct *device, uint64_t now_ns)
{
	const uint64_t earliest_ns = device->lease_ns > now_ns ? device->lease_ns : now_ns + 1;
	const uint64_t half_ns = device_half_next_deadline_ns(device->half);
	const uint64_t link_ns = link_client_next_deadline_ns(&device->process.link, now_ns);
	const uint64_t deadline_ns = half_ns < link_ns ? half_ns : link_ns;

	if (device->posts > 0)
		return now_ns + DIRECT_POST_NS;
	if (device_half_has_work(device->half) || deadline_ns < earliest_ns)
		return earliest_ns;
	return deadline_ns;
}

/*
 * Arms the timer for then or earlier. A timer that fires early costs an empty turn; arming it anew
 * for each packet that moves a deadline would cost a system call each.
 */
static void direct_arm_timer(struct rnic_direct *device, uint64_t now_ns)
{
	const uint64_t deadline_ns = direct_deadline_ns(device, now_ns);
	struct itimerspec when = {0};

	if (deadline_ns == UINT64_MAX ||
	    (device->timer_armed_ns <= deadline_ns && device->timer_armed_ns > now_ns))
		return;
	when.it_value.tv_sec = (time_t)(deadline_ns / RNIC_NS_PER_SECOND);
	when.it_value.tv_nsec = (long)(deadline_ns % RNIC_NS_PER_SECOND);
	if (timerfd_settime(device->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) == 0)
		device->timer_armed_ns = deadline_ns;
}

static void direct_take_timer(struct rnic_direct *device)
{
	uint64_t expirations;

	if (read(device->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		device->timer_armed_ns = UINT64_MAX;
}

/* The control plane is gone: the program's objects end, and the next daemon gets the addresses. */
static void direct_give_up(struct rnic_direct *device)
{
	char text[PORT_TEXT_BYTES];

	device->is_down = true;
	epoll_ctl(device->epoll_fd, EPOLL_CTL_DEL, device->link_fd, NULL);
	device_half_end_client(device->half, device->client_id);
	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		device_half_set_gid(device->half, i, NULL, NULL, text);
	shutdown(device->link_fd, SHUT_RDWR);
}

/* Carries out what the control plane says. */
static void direct_serve_link(struct rnic_direct *device)
{
	link_client_poll(&device->process.link);
	if (device->process.link.is_down && !device->is_down)
		direct_give_up(device);
}

static void direct_serve_requests(struct rnic_direct *device)
{
	device_half_note_requests(device->half);
	if (device_half_serve(device->half))
		card_writer_note_change(&device->process.card);
}

static void direct_turn(struct rnic_direct *device, uint64_t now_ns)
{
	if (device_half_turn(device->half, now_ns) || device_half_has_work(device->half))
		device->active_ns = now_ns;
	device->posts = 0;
	device->posted_ns = 0;
}

/* Runs direct_turn(). Returns whether datagrams came. */
static bool direct_turn_receives(struct rnic_direct *device, uint64_t now_ns)
{
	const uint64_t before = device_half_received_datagrams(device->half);

	direct_turn(device, now_ns);
	return device_half_received_datagrams(device->half) != before;
}

/* Serves the events of the descriptors. Returns whether there was anything but datagrams. */
static bool direct_look(struct rnic_direct *device, uint64_t now_ns)
{
	struct epoll_event events[DIRECT_EVENTS];
	int count = epoll_wait(device->epoll_fd, events, DIRECT_EVENTS, 0);
	bool is_served = device_half_has_resumes(device->half);

	device->looked_ns = now_ns;
	if (is_served)
		direct_serve_requests(device);
	for (int i = 0; i < count; i++) {
		switch ((enum direct_event)events[i].data.u32) {
		case EVENT_LINK:
			direct_serve_link(device);
			break;
		case EVENT_REQUESTS:
			direct_serve_requests(device);
			break;
		case EVENT_CLIENTS:
			device_half_poll(device->half);
			break;
		case EVENT_TIMER:
			direct_take_timer(device);
			continue;
		case EVENT_PORT:
		case EVENT_STOP:
			continue;
		}
		is_served = true;
	}
	device_half_report(device->half);
	link_client_tick(&device->process.link, now_ns);
	card_writer_refresh_if_due(&device->process.card, device->half, now_ns);
	return is_served;
}

/* A turn of a thread of the program, which goes on taking turns. */
static void direct_turn_of_program(struct rnic_direct *device, uint64_t now_ns)
{
	const bool has_received = direct_turn_receives(device, now_ns);

	if (device->is_watching && has_received && ++device->takes >= DIRECT_TAKES) {
		device->is_watching = false;
		device->misses = 0;
	}
	if (!device->is_watching)
		device->lease_ns = now_ns + DIRECT_LEASE_NS;
	if (now_ns - device->looked_ns >= DIRECT_LOOK_NS)
		direct_look(device, now_ns);
	direct_arm_timer(device, now_ns);
}

/* Whether the post that comes now can wait for the next turn, together with the ones before. */
static bool direct_may_defer(const struct rnic_direct *device, uint64_t now_ns)
{
	return device->posted_ns != 0 && now_ns - device->posted_ns < DIRECT_BURST_NS &&
	       device->posts < DIRECT_BURST_POSTS;
}

/* --- the program's calls ---------------------------------------------------------------------- */

/*
 * A mutex goes to the first thread that asks. While datagrams arrive, the device's thread asks
 * again at once, and the other threads would wait for ever: so that thread looks at `waiting`
 * first.
 */
static void direct_take_lock(struct rnic_direct *device)
{
	atomic_fetch_add_explicit(&device->waiting, 1, memory_order_relaxed);
	pthread_mutex_lock(&device->lock);
	atomic_fetch_sub_explicit(&device->waiting, 1, memory_order_relaxed);
}

/* A thread that is cancelled within a turn would leave the lock, and half of a turn. */
static int direct_lock(struct rnic_direct *device)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	direct_take_lock(device);
	return cancellation;
}

static void direct_unlock(struct rnic_direct *device, int cancellation)
{
	pthread_mutex_unlock(&device->lock);
	pthread_setcancelstate(cancellation, NULL);
}

static void direct_take_post(struct rnic_direct *device, bool is_asleep)
{
	const uint64_t now_ns = clock_now_ns();

	if (is_asleep)
		device_half_wake_clients(device->half);
	if (!is_asleep && direct_may_defer(device, now_ns)) {
		device->posts++;
		device->posted_ns = now_ns;
		direct_arm_timer(device, now_ns);
	} else {
		direct_turn_of_program(device, now_ns);
		device->posted_ns = clock_now_ns();
	}
}

static void direct_device_turn(struct rnic_direct *device, bool is_asleep)
{
	int cancellation = direct_lock(device);

	if (device->is_open)
		direct_take_post(device, is_asleep);
	direct_unlock(device, cancellation);
}

static void direct_device_poll(struct rnic_direct *device)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	if (pthread_mutex_trylock(&device->lock) == 0) {
		if (device->is_open)
			direct_turn_of_program(device, clock_now_ns());
		pthread_mutex_unlock(&device->lock);
	}
	pthread_setcancelstate(cancellation, NULL);
}

static void direct_device_rest(struct rnic_direct *device)
{
	int cancellation = direct_lock(device);
	const uint64_t now_ns = clock_now_ns();

	if (device->is_open) {
		direct_turn(device, now_ns);
		device->lease_ns = 0;
		direct_arm_timer(device, now_ns);
		pthread_cond_signal(&device->news);
	}
	direct_unlock(device, cancellation);
}

/* What the program posted before a request is on its way before the answer. */
static void direct_device_serve(struct rnic_direct *device)
{
	int cancellation = direct_lock(device);
	const uint64_t now_ns = clock_now_ns();

	if (device->is_open) {
		direct_turn(device, now_ns);
		direct_serve_requests(device);
		direct_arm_timer(device, now_ns);
	}
	direct_unlock(device, cancellation);
}

/* --- the device's thread ---------------------------------------------------------------------- */

/* Sleeps while the program takes the turns. */
static void direct_await_lease(struct rnic_direct *device)
{
	const struct timespec until = {
		.tv_sec = (time_t)(device->lease_ns / RNIC_NS_PER_SECOND),
		.tv_nsec = (long)(device->lease_ns % RNIC_NS_PER_SECOND),
	};

	pthread_cond_timedwait(&device->news, &device->lock, &until);
}

/*
 * Sleeps until something arrives or is due, with the lock given up meanwhile. Returns whether it
 * slept: a near deadline is not worth it.
 */
static bool direct_sleep(struct rnic_direct *device, uint64_t now_ns)
{
	struct epoll_event event;
	bool is_asleep = false;

	if (direct_deadline_ns(device, now_ns) <= now_ns + DIRECT_NEAR_NS)
		return false;
	if (device_half_prepare_sleep(device->half)) {
		direct_arm_timer(device, now_ns);
		device_half_note_sleep(device->half);
		card_writer_refresh(&device->process.card, device->half, now_ns);
		pthread_mutex_unlock(&device->lock);
		epoll_wait(device->epoll_fd, &event, 1, -1);
		pthread_mutex_lock(&device->lock);
		is_asleep = true;
	}
	device_half_withdraw_sleep(device->half);
	return is_asleep;
}

/* Notes what a turn of the thread met: `after_lease`, the first one after a lease. */
static void direct_note_arrivals(struct rnic_direct *device, bool has_received, bool after_lease)
{
	if (device->is_watching) {
		if (has_received)
			device->takes = 0;
	} else if (after_lease) {
		device->misses = has_received ? device->misses + 1 : 0;
		if (device->misses >= DIRECT_MISSES) {
			device->is_watching = true;
			device->takes = 0;
		}
	}
}

/* One step of the thread, under the lock. Returns whether it should let others run. */
static bool direct_step(struct rnic_direct *device, bool after_lease)
{
	const uint64_t now_ns = clock_now_ns();
	bool is_active;

	direct_note_arrivals(device, direct_turn_receives(device, now_ns), after_lease);
	is_active = device->active_ns == now_ns;
	if (!is_active || now_ns - device->looked_ns >= DIRECT_LOOK_NS)
		if (direct_look(device, now_ns))
			device->active_ns = now_ns;
	if (is_active)
		return false;
	return now_ns - device->active_ns < DIRECT_SPIN_NS || !direct_sleep(device, now_ns);
}

/* Lets waiting threads take the lock. The time is bounded: the scheduler may run none of them. */
static void direct_let_others_in(const struct rnic_direct *device)
{
	for (unsigned i = 0; i < DIRECT_YIELDS; i++) {
		if (atomic_load_explicit(&device->waiting, memory_order_relaxed) == 0)
			return;
		sched_yield();
	}
}

static void *direct_run(void *context)
{
	struct rnic_direct *device = context;
	bool after_lease = false;

	pthread_mutex_lock(&device->lock);
	while (!device->is_stopping) {
		bool should_yield;

		if (device->lease_ns > clock_now_ns()) {
			direct_await_lease(device);
			after_lease = true;
			continue;
		}
		should_yield = direct_step(device, after_lease);
		after_lease = false;
		pthread_mutex_unlock(&device->lock);
		if (should_yield)
			sched_yield();
		direct_let_others_in(device);
		pthread_mutex_lock(&device->lock);
	}
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

/* The program's handlers run on the program's threads. */
static int direct_start_thread(struct rnic_direct *device)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, DIRECT_STACK_BYTES);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&device->thread, &attributes, direct_run, device);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

static void direct_stop_thread(struct rnic_direct *device)
{
	const uint64_t one = 1;

	int cancellation = direct_lock(device);

	device->is_stopping = true;
	pthread_cond_signal(&device->news);
	direct_unlock(device, cancellation);
	while (write(device->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(device->thread, NULL);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int direct_watch(struct rnic_direct *device, int fd, enum direct_event kind)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = kind};

	return epoll_ctl(device->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static void direct_watch_port(void *context, int fd, bool for_writing)
{
	struct rnic_direct *device = context;
	struct epoll_event event = {
		.events = for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN,
		.data.u32 = EVENT_PORT,
	};

	epoll_ctl(device->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int direct_watch_all(struct rnic_direct *device)
{
	const struct {
		int fd;
		enum direct_event kind;
	} watches[] = {
		{device->link_fd, EVENT_LINK},
		{device_half_requests_fd(device->half), EVENT_REQUESTS},
		{device_half_clients_fd(device->half), EVENT_CLIENTS},
		{device->timer_fd, EVENT_TIMER},
		{device->stop_fd, EVENT_STOP},
	};
	int result = 0;

	for (unsigned i = 0; i < RNIC_COUNT_OF(watches) && result == 0; i++)
		result = direct_watch(device, watches[i].fd, watches[i].kind);
	device_half_watch(device->half, direct_watch_port, device);
	return result;
}

static int direct_open_descriptors(struct rnic_direct *device)
{
	device->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	device->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	device->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return device->epoll_fd < 0 || device->timer_fd < 0 || device->stop_fd < 0 ? -errno : 0;
}

static void direct_close_descriptors(struct rnic_direct *device)
{
	int *const fds[] = {&device->epoll_fd, &device->timer_fd, &device->stop_fd};

	for (unsigned i = 0; i < RNIC_COUNT_OF(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

/* Waits for the first facts: what the program does next may rest on them. */
static int direct_await_facts(struct rnic_direct *device)
{
	struct link_client *link = &device->process.link;
	struct pollfd news = {.fd = device->link_fd, .events = POLLIN};

	while (link->facts_sequence == 0) {
		if (poll(&news, 1, DIRECT_FACTS_MS) == 0)
			return -ETIMEDOUT;
		link_client_poll(link);
		if (link->is_down)
			return -ENODEV;
	}
	return 0;
}

/* Gives the device half its one client, the program. */
static int direct_add_client(struct rnic_direct *device, atomic_int *connection_fd)
{
	struct device_client client = {
		.client_id = device->client_id,
		.uid = geteuid(),
		.pid = getpid(),
		.pid_fd = (int)syscall(SYS_pidfd_open, getpid(), 0),
	};
	int fds[2];
	int result;

	/* The client's deadlines count from the latest turn. */
	direct_turn(device, clock_now_ns());
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
		result = -errno;
		if (client.pid_fd >= 0)
			close(client.pid_fd);
		return result;
	}
	client.connection_fd = fds[1];
	snprintf(client.program, sizeof(client.program), "%s", program_invocation_short_name);
	result = device_half_add_client(device->half, &client);
	if (result != 0) {
		close(fds[0]);
		return result;
	}
	atomic_store(connection_fd, fds[0]);
	return 0;
}

static int direct_begin(struct rnic_direct *device, atomic_int *connection_fd)
{
	int result = direct_watch_all(device);

	if (result == 0)
		result = device_process_begin(&device->process);
	if (result == 0)
		result = direct_await_facts(device);
	if (result == 0)
		result = direct_add_client(device, connection_fd);
	if (result == 0)
		result = direct_start_thread(device);
	device->has_thread = result == 0;
	return result;
}

static void direct_make_lock(struct rnic_direct *device)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&device->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&device->lock, NULL);
}

static struct rnic_direct *direct_device_create(int link_fd, uint32_t client_id)
{
	struct rnic_direct *device = calloc(1, sizeof(*device));

	if (device == NULL)
		return NULL;
	device->client_id = client_id;
	device->link_fd = link_fd;
	device->epoll_fd = -1;
	device->timer_fd = -1;
	device->stop_fd = -1;
	device->timer_armed_ns = UINT64_MAX;
	direct_make_lock(device);
	return device;
}

static int direct_open_under_lock(struct rnic_direct *device, atomic_int *connection_fd)
{
	struct device_process_role role = {.is_program = true};
	int result = direct_open_descriptors(device);

	if (result != 0)
		return result;
	/* Without a guard, system calls reach the program's memory. */
	if (rnic_guard_open(&role.guard) != 0)
		role.guard = NULL;
	result = device_process_open(&device->process, device->link_fd, &role);
	if (result != 0)
		return result;
	device->half = device->process.half;
	device->is_open = true;
	return direct_begin(device, connection_fd);
}

static int direct_device_open(struct rnic_direct *device, atomic_int *connection_fd)
{
	int cancellation = direct_lock(device);
	int result;

	log_set_level(LOG_LEVEL_ERROR);
	result = direct_open_under_lock(device, connection_fd);
	direct_unlock(device, cancellation);
	return result;
}

/*
 * The link goes last: its end says that the program has nothing of the lane any more. A fork()
 * waits for the lock, so that no child keeps a copy of what is being closed.
 */
static void direct_device_close(struct rnic_direct *device)
{
	int cancellation;

	if (device->has_thread)
		direct_stop_thread(device);
	cancellation = direct_lock(device);
	if (device->is_open)
		device_process_close(&device->process);
	device->is_open = false;
	direct_close_descriptors(device);
	close(device->link_fd);
	device->link_fd = -1;
	direct_unlock(device, cancellation);
}

static void direct_device_destroy(struct rnic_direct *device)
{
	pthread_cond_destroy(&device->news);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

/* The child's memory keeps what the parent made there; only descriptors reach beyond it. */
static void direct_forget(struct rnic_direct *device)
{
	if (device->is_open)
		device_process_forget(&device->process);
	direct_close_descriptors(device);
	if (device->link_fd >= 0)
		close(device->link_fd);
}

static void direct_device_fork(struct rnic_direct *device, enum rnic_direct_fork phase)
{
	switch (phase) {
	case RNIC_DIRECT_BEFORE_FORK:
		direct_take_lock(device);
		break;
	case RNIC_DIRECT_IN_PARENT:
		pthread_mutex_unlock(&device->lock);
		break;
	case RNIC_DIRECT_IN_CHILD:
		direct_forget(device);
		break;
	}
}

extern const struct rnic_direct_device RNIC_DIRECT_SYMBOL;

const struct rnic_direct_device RNIC_DIRECT_SYMBOL __attribute__((visibility("default"))) = {
	.create = direct_device_create,
	.open = direct_device_open,
	.close = direct_device_close,
	.destroy = direct_device_destroy,
	.turn = direct_device_turn,
	.poll = direct_device_poll,
	.rest = direct_device_rest,
	.serve = direct_device_serve,
	.fork = direct_device_fork,
};

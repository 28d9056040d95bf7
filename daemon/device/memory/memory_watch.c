/* SPDX-License-Identifier: MIT */
/*
 * Order of the locks: that of the reader, then that of a watch. Nothing is allocated by malloc(3)
 * under them. Where this process watches itself, they are held with all signals blocked, for a
 * handler may unmap.
 */
#include "daemon/device/memory/memory_watch.h"

#include "daemon/device/memory/watched_pieces.h"
#include "lib/wait/clock.h"
#include "lib/wait/quiet_thread.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Headers of older kernels lack these. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

#define READER_STACK_BYTES ((size_t)256 << 10)
#define READER_EVENTS	   16  /* descriptors a look */
#define TURN_CHANGES	   256 /* announcements of one address space a look */
#define CATCH_UP_LOOKS	   100

/*
 * To end a registration, the kernel goes through the pages: some 8 us for 1 MiB of small ones.
 * Longer ranges wait as stale ones, of which the reader ends a part at each pause.
 */
#define STALE_PAUSE_MS 1
#define STALE_PAUSE_NS 1000000
#define SOON_BYTES     (UINT64_C(1) << 16)
#define STALE_BYTES    (UINT64_C(1) << 22)
#define STALE_RANGES   64
#define COPY_PAUSE_NS  20000

struct stale_range {
	uint64_t start;
	uint64_t end;
};

struct memory_watch {
	struct memory_watch *next; /* of the reader's */
	struct memory_gate *gates;
	int fd;
	bool is_closing;
	atomic_bool is_held;  /* copies wait */
	pthread_mutex_t lock; /* guards what follows */
	struct watched_pieces pieces;
	struct stale_range stale[STALE_RANGES];
	uint32_t stale_count;
};

/* The thread, and what it reads. There is one in a process, from the first watch on. */
static struct {
	pthread_mutex_t lock; /* guards what follows, and the lists of gates */
	struct memory_watch *watches;
	struct memory_watch *own; /* of this process's address space */
	int epoll_fd;
	int wake_fd;
	bool is_running;
	atomic_bool is_quiet; /* this process watches itself, or is about to */
} reader = {.lock = PTHREAD_MUTEX_INITIALIZER, .epoll_fd = -1, .wake_fd = -1};

static void quiet_lock(pthread_mutex_t *lock, sigset_t *before)
{
	sigset_t all;

	if (atomic_load_explicit(&reader.is_quiet, memory_order_relaxed)) {
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, before);
	}
	pthread_mutex_lock(lock);
}

static void quiet_unlock(pthread_mutex_t *lock, const sigset_t *before)
{
	pthread_mutex_unlock(lock);
	if (atomic_load_explicit(&reader.is_quiet, memory_order_relaxed))
		pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* --- copies ----------------------------------------------------------------------------------- */

bool memory_gate_enter(struct memory_gate *gate)
{
	struct memory_watch *watch = gate->watch;

	for (;;) {
		atomic_store(&gate->is_copying, true);
		if (!atomic_load(&watch->is_held))
			break;
		atomic_store(&gate->is_copying, false);
		while (atomic_load(&watch->is_held))
			sched_yield();
	}
	return atomic_load_explicit(&watch->pieces.torn_count, memory_order_relaxed) == 0;
}

void memory_gate_leave(struct memory_gate *gate)
{
	atomic_store_explicit(&gate->is_copying, false, memory_order_release);
}

static void await_copies(const struct memory_watch *watch)
{
	const struct timespec pause = {.tv_nsec = COPY_PAUSE_NS};
	const uint64_t until_ns = clock_now_ns() + WATCH_PATIENCE_NS;

	for (struct memory_gate *gate = watch->gates; gate != NULL; gate = gate->next)
		while (atomic_load(&gate->is_copying) && clock_now_ns() < until_ns)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* --- announcements ---------------------------------------------------------------------------- */

/* What is unmapped needs no end of its registration. */
static void forget_stale(struct memory_watch *watch, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < watch->stale_count; i++) {
		struct stale_range *stale = &watch->stale[i];

		if (stale->start >= start && stale->start < end)
			stale->start = end < stale->end ? end : stale->end;
		if (stale->end > start && stale->end <= end)
			stale->end = start > stale->start ? start : stale->start;
	}
}

static void take_change(struct memory_watch *watch, const struct uffd_msg *change)
{
	const uint64_t start = change->arg.remove.start, end = change->arg.remove.end;

	if (change->event == UFFD_EVENT_UNMAP && start < end) {
		watched_pieces_unmap(&watch->pieces, start, end);
		forget_stale(watch, start, end);
	} else if (change->event == UFFD_EVENT_REMAP) {
		watched_pieces_move(&watch->pieces, change->arg.remap.from, change->arg.remap.to,
				    change->arg.remap.len);
	}
}

/* Under the lock of the reader. With the read of an announcement, the program goes on. */
static void take_changes(struct memory_watch *watch)
{
	struct pollfd look = {.fd = watch->fd, .events = POLLIN};
	struct uffd_msg change;

	if (poll(&look, 1, 0) <= 0)
		return;
	if ((look.revents & POLLIN) == 0) {
		epoll_ctl(reader.epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
		return;
	}
	atomic_store(&watch->is_held, true);
	await_copies(watch);
	pthread_mutex_lock(&watch->lock);
	for (uint32_t i = 0; i < TURN_CHANGES; i++) {
		if (read(watch->fd, &change, sizeof(change)) != (ssize_t)sizeof(change))
			break;
		take_change(watch, &change);
	}
	pthread_mutex_unlock(&watch->lock);
	atomic_store(&watch->is_held, false);
}

/*
 * Returns whether the kernel has made a change that this process has not read yet, announced or
 * not: the kernel refuses every change of protection meanwhile, also this one of no bytes.
 */
static bool has_change_under_way(const struct memory_watch *watch)
{
	struct uffdio_writeprotect nothing = {0};

	return ioctl(watch->fd, UFFDIO_WRITEPROTECT, &nothing) != 0 && errno == EAGAIN;
}

/*
 * Takes all that concerns mappings which are no more: an announcement that comes late would end
 * the regions of new mappings at the same place.
 */
static void catch_up(struct memory_watch *watch)
{
	for (uint32_t i = 0; i < CATCH_UP_LOOKS; i++) {
		if (!has_change_under_way(watch))
			return;
		take_changes(watch);
		sched_yield();
	}
}

/* --- registration with the kernel ------------------------------------------------------------- */

static void unwatch(const struct memory_watch *watch, uint64_t start, uint64_t end)
{
	struct uffdio_range range = {.start = start, .len = end - start};

	/* An error: the mappings are others by now, and no longer registered. */
	ioctl(watch->fd, UFFDIO_UNREGISTER, &range);
}

static void unwatch_gaps(struct memory_watch *watch, uint64_t start, uint64_t end)
{
	uint64_t gap_start, gap_end;

	while (watched_pieces_gap(&watch->pieces, start, end, &gap_start, &gap_end)) {
		unwatch(watch, gap_start, gap_end);
		start = gap_end;
	}
}

/* Huge pages are registered whole. `unit` is a size of pages. */
static int try_register(const struct memory_watch *watch, uint64_t start, uint64_t end,
			uint64_t unit)
{
	struct uffdio_register wanted = {.mode = UFFDIO_REGISTER_MODE_WP};

	wanted.range.start = start & ~(unit - 1);
	wanted.range.len = rnic_round_up(end, unit) - wanted.range.start;
	return ioctl(watch->fd, UFFDIO_REGISTER, &wanted) == 0 ? 0 : -errno;
}

static int register_pages(const struct memory_watch *watch, uint64_t start, uint64_t end)
{
	static const uint64_t huge_bytes[] = {UINT64_C(1) << 21, UINT64_C(1) << 30};
	int error = try_register(watch, start, end, 1);

	for (size_t i = 0; i < RNIC_COUNT_OF(huge_bytes) && error == -EINVAL; i++)
		error = try_register(watch, start, end, huge_bytes[i]);
	return error;
}

/* Registers all of [start, end) that is not registered yet, or nothing. */
static int register_gaps(struct memory_watch *watch, uint64_t start, uint64_t end)
{
	uint64_t place = start, gap_start, gap_end;

	while (watched_pieces_gap(&watch->pieces, place, end, &gap_start, &gap_end)) {
		const int error = register_pages(watch, gap_start, gap_end);

		if (error != 0) {
			unwatch_gaps(watch, start, gap_start);
			return error;
		}
		place = gap_end;
	}
	return 0;
}

static enum rnic_watch watch_of_error(int error)
{
	switch (error) {
	case 0:
		return RNIC_WATCH_ON;
	case -EBUSY:
		return RNIC_WATCH_HELD;
	case -EINVAL:
	case -EPERM:
		return RNIC_WATCH_KIND;
	default:
		return RNIC_WATCH_FULL;
	}
}

/* Under the lock of the reader. */
static int watch_range(struct memory_watch *watch, struct watched_range *range)
{
	const uint64_t start = watched_pages_start(range), end = watched_pages_end(range);
	int error;

	pthread_mutex_lock(&watch->lock);
	error = watch->pieces.run_count < LIMIT_WATCHED_RUNS ? register_gaps(watch, start, end)
							     : -ENOSPC;
	pthread_mutex_unlock(&watch->lock);
	if (error != 0)
		return error;
	catch_up(watch);
	pthread_mutex_lock(&watch->lock);
	error = watched_pieces_add(&watch->pieces, range);
	if (error != 0)
		unwatch_gaps(watch, start, end);
	pthread_mutex_unlock(&watch->lock);
	return error;
}

enum rnic_watch memory_watch_add(struct memory_gate *gate, struct watched_range *range)
{
	sigset_t before;
	int error;

	quiet_lock(&reader.lock, &before);
	error = watch_range(gate->watch, range);
	quiet_unlock(&reader.lock, &before);
	return watch_of_error(error);
}

static void wake_reader(void)
{
	const uint64_t one = 1;

	while (write(reader.wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Returns whether the pages lie in a stale range, or next to one that now has them. */
static bool try_join_stale(struct memory_watch *watch, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < watch->stale_count; i++) {
		struct stale_range *stale = &watch->stale[i];

		if (start > stale->end || end < stale->start)
			continue;
		stale->start = start < stale->start ? start : stale->start;
		stale->end = end > stale->end ? end : stale->end;
		return true;
	}
	return false;
}

/* Ends the registration of the pages, now or later. Returns whether the reader is to know. */
static bool end_watch_of_pages(struct memory_watch *watch, uint64_t start, uint64_t end)
{
	if (end - start <= SOON_BYTES) {
		unwatch_gaps(watch, start, end);
		return false;
	}
	if (try_join_stale(watch, start, end))
		return false;
	if (watch->stale_count == STALE_RANGES) {
		unwatch_gaps(watch, start, end);
		return false;
	}
	watch->stale[watch->stale_count++] = (struct stale_range){start, end};
	return watch->stale_count == 1;
}

void memory_watch_remove(struct memory_gate *gate, struct watched_range *range)
{
	struct memory_watch *watch = gate->watch;
	bool has_stale = false;
	uint64_t start, end;
	sigset_t before;

	quiet_lock(&watch->lock, &before);
	while (watched_pieces_remove(&watch->pieces, range, &start, &end))
		has_stale |= end_watch_of_pages(watch, start, end);
	quiet_unlock(&watch->lock, &before);
	if (has_stale)
		wake_reader();
}

bool memory_watch_find(struct memory_gate *gate, const struct watched_range *range, uint64_t offset,
		       uint64_t *address, uint64_t *bytes)
{
	sigset_t before;
	bool is_there;

	quiet_lock(&gate->watch->lock, &before);
	is_there = watched_pieces_find(range, offset, address, bytes);
	quiet_unlock(&gate->watch->lock, &before);
	return is_there;
}

/* --- the reader ------------------------------------------------------------------------------- */

/* Ends a part of a stale range. Returns whether there is more. */
static bool end_stale(struct memory_watch *watch)
{
	struct stale_range *stale;
	bool has_more;

	pthread_mutex_lock(&watch->lock);
	if (watch->stale_count > 0) {
		stale = &watch->stale[watch->stale_count - 1];
		if (stale->end - stale->start <= STALE_BYTES) {
			unwatch_gaps(watch, stale->start, stale->end);
			watch->stale_count--;
		} else {
			unwatch_gaps(watch, stale->start, stale->start + STALE_BYTES);
			stale->start += STALE_BYTES;
		}
	}
	has_more = watch->stale_count > 0;
	pthread_mutex_unlock(&watch->lock);
	return has_more;
}

static void watch_free(struct memory_watch *watch)
{
	epoll_ctl(reader.epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	close(watch->fd);
	watched_pieces_fini(&watch->pieces);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

/* Returns whether a watch has stale ranges. */
static bool end_what_is_over(void)
{
	struct memory_watch **link = &reader.watches;
	bool has_more = false;

	while (*link != NULL) {
		struct memory_watch *watch = *link;

		if (end_stale(watch)) {
			has_more = true;
		} else if (watch->is_closing) {
			*link = watch->next;
			watch_free(watch);
			continue;
		}
		link = &watch->next;
	}
	return has_more;
}

/* `watch` may be gone since the kernel named it. */
static void take_changes_of(const void *named)
{
	for (struct memory_watch *watch = reader.watches; watch != NULL; watch = watch->next)
		if (watch == named)
			take_changes(watch);
}

/* Returns whether the reader was woken. */
static bool take_events(const struct epoll_event *events, int count)
{
	bool is_woken = false;
	uint64_t wakes;

	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr != NULL)
			take_changes_of(events[i].data.ptr);
		else
			is_woken = read(reader.wake_fd, &wakes, sizeof(wakes)) > 0;
	}
	return is_woken;
}

/*
 * Stale ranges wait for a pause: a program that ends one region often begins the next one at the
 * same place.
 */
static void *reader_run(void *context)
{
	struct epoll_event events[READER_EVENTS];
	uint64_t due_ns = UINT64_MAX;

	for (;;) {
		const int patience_ms = due_ns != UINT64_MAX ? STALE_PAUSE_MS : -1;
		int count = epoll_wait(reader.epoll_fd, events, READER_EVENTS, patience_ms);

		pthread_mutex_lock(&reader.lock);
		if (take_events(events, count) && due_ns == UINT64_MAX)
			due_ns = clock_now_ns() + STALE_PAUSE_NS;
		if (due_ns != UINT64_MAX && clock_now_ns() >= due_ns)
			due_ns = end_what_is_over() ? clock_now_ns() + STALE_PAUSE_NS : UINT64_MAX;
		pthread_mutex_unlock(&reader.lock);
	}
	return context;
}

static void reader_close_descriptors(void)
{
	if (reader.epoll_fd >= 0)
		close(reader.epoll_fd);
	if (reader.wake_fd >= 0)
		close(reader.wake_fd);
	reader.epoll_fd = reader.wake_fd = -1;
}

/* Under the lock of the reader. */
static int reader_start(void)
{
	struct epoll_event wake = {.events = EPOLLIN};
	int error;

	if (reader.is_running)
		return 0;
	reader.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	reader.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader.epoll_fd < 0 || reader.wake_fd < 0 ||
	    epoll_ctl(reader.epoll_fd, EPOLL_CTL_ADD, reader.wake_fd, &wake) != 0)
		error = -errno;
	else
		error = quiet_thread_start(NULL, READER_STACK_BYTES, reader_run, NULL);
	if (error != 0)
		reader_close_descriptors();
	reader.is_running = error == 0;
	return error;
}

/* --- gates ------------------------------------------------------------------------------------ */

/*
 * Returns whether `fd` is a userfaultfd. No other file may get its calls: those of a device with
 * the same numbers could do anything.
 */
static bool is_userfaultfd(int fd)
{
	static const char name[] = "anon_inode:[userfaultfd]";
	char link[64], path[sizeof(name) + 1];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	return length == (ssize_t)strlen(name) && memcmp(path, name, strlen(name)) == 0;
}

/*
 * Agrees with the kernel on what it announces. A userfaultfd that somebody has used before refuses.
 */
static int agree_with_kernel(int fd)
{
	const uint64_t needed = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
				UFFD_FEATURE_PAGEFAULT_FLAG_WP;
	struct uffdio_api wanted = {
		.api = UFFD_API,
		.features = needed | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};

	if (ioctl(fd, UFFDIO_API, &wanted) == 0)
		return 0;
	wanted = (struct uffdio_api){.api = UFFD_API, .features = needed};
	return ioctl(fd, UFFDIO_API, &wanted) == 0 ? 0 : -EOPNOTSUPP;
}

/* Under the lock of the reader. */
static int watch_begin(struct memory_watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};
	int error = reader_start();

	if (error != 0)
		return error;
	if (epoll_ctl(reader.epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) != 0)
		return -errno;
	watch->next = reader.watches;
	reader.watches = watch;
	return 0;
}

static void gate_join(struct memory_gate *gate, struct memory_watch *watch)
{
	gate->next = watch->gates;
	watch->gates = gate;
	gate->watch = watch;
}

int memory_gate_open(struct memory_gate *gate, int fd)
{
	struct memory_watch *watch;
	sigset_t before;
	int error;

	if (!is_userfaultfd(fd) || (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0)
		return -EINVAL;
	error = agree_with_kernel(fd);
	if (error != 0)
		return error;
	watch = calloc(1, sizeof(*watch));
	if (watch == NULL)
		return -ENOMEM;
	watch->fd = fd;
	pthread_mutex_init(&watch->lock, NULL);
	quiet_lock(&reader.lock, &before);
	error = watch_begin(watch);
	if (error == 0)
		gate_join(gate, watch);
	quiet_unlock(&reader.lock, &before);
	if (error != 0)
		free(watch);
	return error;
}

/* Returns whether this process has a watch of its own; then the gate is open. */
static bool try_join_own(struct memory_gate *gate)
{
	sigset_t before;

	quiet_lock(&reader.lock, &before);
	if (reader.own != NULL)
		gate_join(gate, reader.own);
	quiet_unlock(&reader.lock, &before);
	return gate->watch != NULL;
}

static int is_valgrinds(struct dl_phdr_info *library, size_t bytes, void *context)
{
	(void)bytes;
	(void)context;
	return strstr(library->dlpi_name, "/vgpreload_core") != NULL;
}

/*
 * valgrind runs one thread at a time, and does not know that munmap(2) may wait: the reader would
 * never run, and the thread that unmaps wait for ever. Each of valgrind's tools brings this library
 * into the program.
 */
static bool threads_wait_for_each_other(void)
{
	return dl_iterate_phdr(is_valgrinds, NULL) != 0;
}

int memory_gate_open_own(struct memory_gate *gate)
{
	sigset_t before;
	int fd, error;

	if (threads_wait_for_each_other())
		return -EOPNOTSUPP;
	/* The watch outlives the devices, which tell a child of fork() what to close. */
	if (!atomic_exchange(&reader.is_quiet, true))
		pthread_atfork(NULL, NULL, memory_watch_forget);
	if (try_join_own(gate))
		return 0;
	fd = (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	error = memory_gate_open(gate, fd);
	if (error != 0) {
		close(fd);
		return error;
	}
	quiet_lock(&reader.lock, &before);
	reader.own = gate->watch;
	quiet_unlock(&reader.lock, &before);
	return 0;
}

void memory_gate_close(struct memory_gate *gate)
{
	struct memory_watch *watch = gate->watch;
	struct memory_gate **link;
	sigset_t before;

	if (watch == NULL)
		return;
	quiet_lock(&reader.lock, &before);
	for (link = &watch->gates; *link != gate; link = &(*link)->next)
		;
	*link = gate->next;
	watch->is_closing = watch != reader.own;
	quiet_unlock(&reader.lock, &before);
	gate->watch = NULL;
	wake_reader();
}

void memory_watch_forget(void)
{
	for (struct memory_watch *watch = reader.watches; watch != NULL; watch = watch->next)
		close(watch->fd);
	reader.watches = reader.own = NULL;
	reader_close_descriptors();
	reader.is_running = false;
	pthread_mutex_init(&reader.lock, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/deferred_close.h"

#include "lib/wait/quiet_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEFERRED_CLOSE_SIGNAL	   SIGALRM
#define DEFERRED_CLOSE_PATIENCE_NS 100000
#define DEFERRED_CLOSE_REST_NS	   5000000
#define DEFERRED_CLOSE_PIECE_BYTES (UINT64_C(1) << 21)
#define DEFERRED_CLOSE_STACK_BYTES ((size_t)256 << 10)

/* Older C libraries have only the member, not its name. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A mapping, or a descriptor if `address` is NULL. */
struct deferred_close_item {
	void *address;
	uint64_t bytes;
	int fd;
};

/*
 * Shared by the thread and the device. The thread frees the queue after the device has closed it.
 */
struct deferred_close_queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct deferred_close_item *items;
	uint32_t count;
	uint32_t capacity;
	bool is_ending;
	_Atomic uint32_t pending; /* includes the items that the thread has taken */
};

static void deferred_close_interrupt(int number)
{
	(void)number;
}

/* Creates a timer that interrupts this thread repeatedly while it is set. False: there is none. */
static bool deferred_close_create_timer(timer_t *timer)
{
	struct sigaction action = {.sa_handler = deferred_close_interrupt};
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = DEFERRED_CLOSE_SIGNAL,
	};
	sigset_t interrupts;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	sigemptyset(&interrupts);
	sigaddset(&interrupts, DEFERRED_CLOSE_SIGNAL);
	return sigaction(DEFERRED_CLOSE_SIGNAL, &action, NULL) == 0 &&
	       pthread_sigmask(SIG_UNBLOCK, &interrupts, NULL) == 0 &&
	       timer_create(CLOCK_MONOTONIC, &event, timer) == 0;
}

static void deferred_close_set_timer(const timer_t *timer, uint64_t interval_ns)
{
	const struct itimerspec when = {
		.it_value.tv_nsec = (long)interval_ns,
		.it_interval.tv_nsec = (long)interval_ns,
	};

	if (timer != NULL)
		timer_settime(*timer, 0, &when, NULL);
}

/* Unmaps piece by piece: another thread's mmap() waits for one piece at most. */
static void deferred_close_unmap_all(uint8_t *address, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += DEFERRED_CLOSE_PIECE_BYTES)
		madvise(address + done,
			bytes - done < DEFERRED_CLOSE_PIECE_BYTES ? bytes - done
								  : DEFERRED_CLOSE_PIECE_BYTES,
			MADV_DONTNEED);
	munmap(address, bytes);
}

static void deferred_close_do_all(struct deferred_close_queue *queue,
				  const struct deferred_close_item *items, uint32_t count,
				  const timer_t *timer)
{
	deferred_close_set_timer(timer, DEFERRED_CLOSE_PATIENCE_NS);
	for (uint32_t i = 0; i < count; i++) {
		if (items[i].address != NULL)
			deferred_close_unmap_all(items[i].address, items[i].bytes);
		else
			close(items[i].fd);
		queue->pending--;
	}
	deferred_close_set_timer(timer, 0);
}

/* Waits for items and takes all of them. 0: the queue is empty and ends. */
static uint32_t deferred_close_wait(struct deferred_close_queue *queue,
				    struct deferred_close_item **items)
{
	uint32_t count;

	pthread_mutex_lock(&queue->mutex);
	while (queue->count == 0 && !queue->is_ending)
		pthread_cond_wait(&queue->changed, &queue->mutex);
	*items = queue->items;
	count = queue->count;
	queue->items = NULL;
	queue->count = 0;
	queue->capacity = 0;
	pthread_mutex_unlock(&queue->mutex);
	return count;
}

static void deferred_close_free(struct deferred_close_queue *queue)
{
	pthread_mutex_destroy(&queue->mutex);
	pthread_cond_destroy(&queue->changed);
	free(queue->items);
	free(queue);
}

/*
 * Lets items come together. Else a user whose connections come and go without end has this thread
 * woken for each of them: two switches, which cost more than the close.
 */
static void deferred_close_rest(void)
{
	const struct timespec rest = {.tv_nsec = DEFERRED_CLOSE_REST_NS};

	nanosleep(&rest, NULL);
}

static void *deferred_close_run(void *argument)
{
	struct deferred_close_queue *queue = argument;
	timer_t timer;
	bool has_timer = deferred_close_create_timer(&timer);
	struct deferred_close_item *items;
	uint32_t count;

	while ((count = deferred_close_wait(queue, &items)) > 0) {
		deferred_close_do_all(queue, items, count, has_timer ? &timer : NULL);
		free(items);
		deferred_close_rest();
	}
	if (has_timer)
		timer_delete(timer);
	deferred_close_free(queue);
	return NULL;
}

/* The queue with its thread. NULL: no memory, or no thread. */
static struct deferred_close_queue *deferred_close_queue_of(struct deferred_close *deferred_close)
{
	struct deferred_close_queue *queue;

	if (deferred_close->queue != NULL)
		return deferred_close->queue;
	queue = calloc(1, sizeof(*queue));
	if (queue == NULL)
		return NULL;
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->changed, NULL);
	if (quiet_thread_start(NULL, DEFERRED_CLOSE_STACK_BYTES, deferred_close_run, queue) != 0) {
		deferred_close_free(queue);
		return NULL;
	}
	deferred_close->queue = queue;
	return queue;
}

void deferred_close_close(struct deferred_close *deferred_close)
{
	struct deferred_close_queue *queue = deferred_close->queue;

	if (queue == NULL)
		return;
	deferred_close->queue = NULL;
	pthread_mutex_lock(&queue->mutex);
	queue->is_ending = true;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

static bool deferred_close_push(struct deferred_close_queue *queue,
				const struct deferred_close_item *item)
{
	if (queue->count == queue->capacity) {
		uint32_t capacity = queue->capacity == 0 ? 16 : queue->capacity * 2;
		struct deferred_close_item *items =
			realloc(queue->items, capacity * sizeof(*items));

		if (items == NULL)
			return false;
		queue->items = items;
		queue->capacity = capacity;
	}
	queue->items[queue->count++] = *item;
	queue->pending++;
	pthread_cond_signal(&queue->changed);
	return true;
}

/* False: no memory, or no thread; the caller closes by itself. */
static bool deferred_close_give(struct deferred_close *deferred_close,
				const struct deferred_close_item *item)
{
	struct deferred_close_queue *queue;
	bool is_taken;

	if (deferred_close->is_immediate)
		return false;
	queue = deferred_close_queue_of(deferred_close);
	if (queue == NULL)
		return false;
	pthread_mutex_lock(&queue->mutex);
	is_taken = deferred_close_push(queue, item);
	pthread_mutex_unlock(&queue->mutex);
	return is_taken;
}

void deferred_close_take(struct deferred_close *deferred_close, int fd)
{
	const struct deferred_close_item item = {.fd = fd};

	if (!deferred_close_give(deferred_close, &item))
		close(fd);
}

void deferred_close_unmap(struct deferred_close *deferred_close, void *address, uint64_t bytes)
{
	const struct deferred_close_item item = {.address = address, .bytes = bytes};

	if (!deferred_close_give(deferred_close, &item))
		munmap(address, bytes);
}

uint32_t deferred_close_pending(const struct deferred_close *deferred_close)
{
	return deferred_close->queue != NULL ? deferred_close->queue->pending : 0;
}

/* SPDX-License-Identifier: MIT */
#include "session/closer.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CLOSER_SIGNAL	   SIGALRM
#define CLOSER_PATIENCE_NS 100000

/* Older C libraries know it by its place only. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The thread's and the device's; the thread frees it when the device has let go of it. */
struct closer_queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int *fds;
	uint32_t count;
	uint32_t capacity;
	bool is_ending;
	_Atomic uint32_t pending; /* those that the thread has taken, too */
};

static void closer_interrupt(int number)
{
	(void)number;
}

/* A timer that interrupts this thread again and again while it is set. False: there is none. */
static bool closer_create_timer(timer_t *timer)
{
	struct sigaction action = {.sa_handler = closer_interrupt};
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = CLOSER_SIGNAL,
	};
	sigset_t interrupts;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	sigemptyset(&interrupts);
	sigaddset(&interrupts, CLOSER_SIGNAL);
	return sigaction(CLOSER_SIGNAL, &action, NULL) == 0 &&
	       pthread_sigmask(SIG_UNBLOCK, &interrupts, NULL) == 0 &&
	       timer_create(CLOCK_MONOTONIC, &event, timer) == 0;
}

static void closer_close_all(struct closer_queue *queue, const int *fds, uint32_t count,
			     const timer_t *timer)
{
	static const struct itimerspec always = {
		.it_value.tv_nsec = CLOSER_PATIENCE_NS,
		.it_interval.tv_nsec = CLOSER_PATIENCE_NS,
	};
	static const struct itimerspec never;

	if (timer != NULL)
		timer_settime(*timer, 0, &always, NULL);
	for (uint32_t i = 0; i < count; i++) {
		close(fds[i]);
		queue->pending--;
	}
	if (timer != NULL)
		timer_settime(*timer, 0, &never, NULL);
}

/* Takes all that wait, waiting for some; 0: there are none, and will be none. */
static uint32_t closer_wait(struct closer_queue *queue, int **fds)
{
	uint32_t count;

	pthread_mutex_lock(&queue->mutex);
	while (queue->count == 0 && !queue->is_ending)
		pthread_cond_wait(&queue->changed, &queue->mutex);
	*fds = queue->fds;
	count = queue->count;
	queue->fds = NULL;
	queue->count = 0;
	queue->capacity = 0;
	pthread_mutex_unlock(&queue->mutex);
	return count;
}

static void closer_free(struct closer_queue *queue)
{
	pthread_mutex_destroy(&queue->mutex);
	pthread_cond_destroy(&queue->changed);
	free(queue->fds);
	free(queue);
}

static void *closer_run(void *argument)
{
	struct closer_queue *queue = argument;
	timer_t timer;
	bool has_timer = closer_create_timer(&timer);
	uint32_t count;
	int *fds;

	while ((count = closer_wait(queue, &fds)) > 0) {
		closer_close_all(queue, fds, count, has_timer ? &timer : NULL);
		free(fds);
	}
	if (has_timer)
		timer_delete(timer);
	closer_free(queue);
	return NULL;
}

/* Signals are for the device's thread, whose loop waits for them. */
static bool closer_start(struct closer_queue *queue)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, closer_run, queue);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_detach(thread);
	return error == 0;
}

/* The queue, with a thread that serves it. NULL: there is no memory, or no thread. */
static struct closer_queue *closer_queue_of(struct closer *closer)
{
	struct closer_queue *queue;

	if (closer->queue != NULL)
		return closer->queue;
	queue = calloc(1, sizeof(*queue));
	if (queue == NULL)
		return NULL;
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->changed, NULL);
	if (!closer_start(queue)) {
		closer_free(queue);
		return NULL;
	}
	closer->queue = queue;
	return queue;
}

void closer_close(struct closer *closer)
{
	struct closer_queue *queue = closer->queue;

	if (queue == NULL)
		return;
	closer->queue = NULL;
	pthread_mutex_lock(&queue->mutex);
	queue->is_ending = true;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

static bool closer_push(struct closer_queue *queue, int fd)
{
	if (queue->count == queue->capacity) {
		uint32_t capacity = queue->capacity == 0 ? 16 : queue->capacity * 2;
		int *fds = realloc(queue->fds, capacity * sizeof(*fds));

		if (fds == NULL)
			return false;
		queue->fds = fds;
		queue->capacity = capacity;
	}
	queue->fds[queue->count++] = fd;
	queue->pending++;
	pthread_cond_signal(&queue->changed);
	return true;
}

void closer_take(struct closer *closer, int fd)
{
	struct closer_queue *queue = closer_queue_of(closer);
	bool is_taken = false;

	if (queue != NULL) {
		pthread_mutex_lock(&queue->mutex);
		is_taken = closer_push(queue, fd);
		pthread_mutex_unlock(&queue->mutex);
	}
	if (!is_taken)
		close(fd);
}

uint32_t closer_pending(const struct closer *closer)
{
	return closer->queue != NULL ? closer->queue->pending : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * One thread answers the requests of all listeners. The thread runs as long as there is a listener.
 *
 * The epoll instance tells of a listener once, and again after the thread has taken an event from
 * it or raccept() has made room. rnic_rsocket_unserve() waits until the thread is not at that
 * listener, so that the port is free when rclose() returns.
 *
 * `listeners_lock` may be taken with the lock of a listener held, not the other way round.
 */
#include "lib/dropin/rsockets/rsocket_stream.h"
#include "lib/dropin/verbs/ibv_native.h"
#include "lib/wait/quiet_thread.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static pthread_mutex_t listeners_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t listener_left = PTHREAD_COND_INITIALIZER;
static struct rnic_rsocket_stream *all_listeners;
static const struct rnic_rsocket_stream *listener_at_work; /* the thread is at that one */
static bool is_running;
static int epoll_fd = -1;
static int end_fd = -1; /* readable: no listener is left */

/* --- under the lock -------------------------------------------------------------------------- */

static struct rnic_rsocket_stream **rsocket_listeners_find(int fd)
{
	struct rnic_rsocket_stream **link = &all_listeners;

	while (*link != NULL && (*link)->channel->fd != fd)
		link = &(*link)->next_listener;
	return link;
}

static int watch_once(const struct rnic_rsocket_stream *listener, int operation)
{
	struct epoll_event wanted = {.events = EPOLLIN | EPOLLONESHOT,
				     .data.fd = listener->channel->fd};

	return epoll_ctl(epoll_fd, operation, wanted.data.fd, &wanted) == 0 ? 0 : -errno;
}

static void close_one(int *fd)
{
	const int old = *fd;

	*fd = -1;
	if (old >= 0)
		close(old);
}

static void close_descriptors(void)
{
	close_one(&epoll_fd);
	close_one(&end_fd);
}

static int open_listening_descriptors(void)
{
	struct epoll_event wanted = {.events = EPOLLIN, .data.fd = -1};
	int error;

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (epoll_fd >= 0 && end_fd >= 0 &&
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, end_fd, &wanted) == 0)
		return 0;
	error = -errno;
	close_descriptors();
	return error;
}

/* --- the thread ------------------------------------------------------------------------------ */

/* Under the lock, which it gives up while it waits. NULL: none that is still a listener. */
static struct rnic_rsocket_stream *rsocket_listeners_next(void)
{
	struct epoll_event event;
	const int waits_on = epoll_fd;
	int count;

	pthread_mutex_unlock(&listeners_lock);
	count = epoll_wait(waits_on, &event, 1, -1);
	pthread_mutex_lock(&listeners_lock);
	return count == 1 ? *rsocket_listeners_find(event.data.fd) : NULL;
}

static void *serve_listeners(void *unused)
{
	pthread_mutex_lock(&listeners_lock);
	while (all_listeners != NULL) {
		struct rnic_rsocket_stream *listener = rsocket_listeners_next();
		bool asks_again;

		if (listener == NULL)
			continue;
		listener_at_work = listener;
		pthread_mutex_unlock(&listeners_lock);
		asks_again = listener->take_request(listener);
		pthread_mutex_lock(&listeners_lock);
		listener_at_work = NULL;
		if (asks_again && listener->is_served)
			watch_once(listener, EPOLL_CTL_MOD);
		pthread_cond_broadcast(&listener_left);
	}
	close_descriptors();
	is_running = false;
	pthread_mutex_unlock(&listeners_lock);
	return unused;
}

/* A child of fork() has none of the parent's listeners and not its thread. */
static void rsocket_listeners_forget(void)
{
	pthread_mutex_init(&listeners_lock, NULL);
	pthread_cond_init(&listener_left, NULL);
	all_listeners = NULL;
	listener_at_work = NULL;
	is_running = false;
	close_descriptors();
}

static struct rnic_fork_entry listeners_fork_entry = {.in_child = rsocket_listeners_forget};

static void rsocket_listeners_prepare(void)
{
	rnic_native.fork_list_add(&listeners_fork_entry);
}

/* Under the lock. The thread may be about to end for want of listeners, and then goes on. */
static int rsocket_listeners_start(void)
{
	eventfd_t ends;
	int error;

	if (is_running) {
		eventfd_read(end_fd, &ends);
		return 0;
	}
	error = open_listening_descriptors();
	if (error != 0)
		return error;
	error = quiet_thread_start(NULL, 0, serve_listeners, NULL);
	if (error != 0)
		close_descriptors();
	is_running = error == 0;
	return error;
}

/* --- listeners ------------------------------------------------------------------------------- */

int rnic_rsocket_serve(struct rnic_rsocket_stream *listener,
		       bool (*take_request)(struct rnic_rsocket_stream *listener))
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int error;

	pthread_once(&once, rsocket_listeners_prepare);
	pthread_mutex_lock(&listeners_lock);
	listener->take_request = take_request;
	listener->next_listener = all_listeners;
	all_listeners = listener;
	error = rsocket_listeners_start();
	if (error == 0)
		error = watch_once(listener, EPOLL_CTL_ADD);
	listener->is_served = error == 0;
	if (error != 0) {
		all_listeners = listener->next_listener;
		if (is_running && all_listeners == NULL)
			eventfd_write(end_fd, 1);
	}
	pthread_mutex_unlock(&listeners_lock);
	return error;
}

void rnic_rsocket_serve_again(struct rnic_rsocket_stream *listener)
{
	pthread_mutex_lock(&listeners_lock);
	if (listener->is_served)
		watch_once(listener, EPOLL_CTL_MOD);
	pthread_mutex_unlock(&listeners_lock);
}

void rnic_rsocket_unserve(struct rnic_rsocket_stream *listener)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	pthread_mutex_lock(&listeners_lock);
	if (listener->is_served) {
		*rsocket_listeners_find(listener->channel->fd) = listener->next_listener;
		listener->is_served = false;
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, listener->channel->fd, NULL);
		if (all_listeners == NULL)
			eventfd_write(end_fd, 1);
	}
	while (listener_at_work == listener)
		pthread_cond_wait(&listener_left, &listeners_lock);
	pthread_mutex_unlock(&listeners_lock);
	pthread_setcancelstate(cancellation, NULL);
}

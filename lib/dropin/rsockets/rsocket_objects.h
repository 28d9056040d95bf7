/* SPDX-License-Identifier: MIT */
/*
 * Sockets over RDMA (rsocket(7)): the common part of the kinds, and how threads share an rsocket.
 *
 * The number of an rsocket is that of a descriptor which it owns, so the number is never a file's
 * too. The table holds a reference to each open rsocket, and a call holds one while it runs: an
 * rsocket that rclose() takes out of the table goes away when the last call in another thread has
 * returned.
 *
 * `lock` guards an rsocket's state. A thread that waits sleeps in poll() without the lock, on the
 * descriptors that the kind watches and on an eventfd of its own. A thread that takes in
 * news under the lock wakes the others by these, because the descriptors tell of the news once
 * only.
 *
 * All functions but those of <rdma/rsocket.h> return 0 or a negative errno.
 */
#ifndef LIB_DROPIN_RSOCKETS_RSOCKET_OBJECTS_H
#define LIB_DROPIN_RSOCKETS_RSOCKET_OBJECTS_H

#include "lib/dropin/rdmacm/rdma_interface.h"

#include <infiniband/sa.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Descriptors that a kind watches, at most. */
#define RNIC_RSOCKET_WATCHED_MAX 2

#define RNIC_RSOCKET_FOREVER INT64_MAX

struct rnic_rsocket;

/* The functions of streams or of datagram sockets. NULL: the rsocket refuses with EOPNOTSUPP. */
struct rnic_rsocket_kind {
	int (*bind)(struct rnic_rsocket *rs, const struct sockaddr *address, socklen_t bytes);
	int (*listen)(struct rnic_rsocket *rs, int backlog);
	int (*accept)(struct rnic_rsocket *rs, struct rnic_rsocket **accepted);
	int (*connect)(struct rnic_rsocket *rs, const struct sockaddr *address, socklen_t bytes);
	int (*shut_down)(struct rnic_rsocket *rs, int how);
	ssize_t (*send)(struct rnic_rsocket *rs, const struct msghdr *message, int flags);
	ssize_t (*receive)(struct rnic_rsocket *rs, struct msghdr *message, int flags);
	/* -ENOTCONN: there is no peer. */
	int (*name)(struct rnic_rsocket *rs, bool is_peer, struct sockaddr_storage *address);
	/* How packets go to the peer. -ENOTCONN. */
	int (*path)(const struct rnic_rsocket *rs, struct ibv_path_data *path);
	/* Sets the option on the object below; -ENOPROTOOPT: it does not apply there. */
	int (*tell_option)(struct rnic_rsocket *rs, int level, int name, const void *value,
			   socklen_t bytes);
	/* Ends the rsocket: without the lock, when no new call can find it. */
	void (*close)(struct rnic_rsocket *rs);
	/* Frees the rsocket, when no call uses it any more. */
	void (*destroy)(struct rnic_rsocket *rs);

	/* All under the lock, which progress() and woke() may give up in between. */
	void (*progress)(struct rnic_rsocket *rs);	/* takes in events and data */
	short (*events)(const struct rnic_rsocket *rs); /* the events that poll() would report */
	/*
	 * Returns the number of descriptors; as long as there is no news, they are those that tell
	 * of it.
	 */
	int (*watch)(struct rnic_rsocket *rs, struct pollfd *watched);
	void (*woke)(struct rnic_rsocket *rs); /* a watched descriptor told of news */
	/* The device that brings the news; NULL: none yet. The device outlives the rsocket. */
	struct ibv_context *(*device)(const struct rnic_rsocket *rs);
};

/* rsetsockopt() sets these. A listener tells them to the rsockets that it accepts. */
struct rnic_rsocket_options {
	uint32_t send_bytes;
	uint32_t receive_bytes;
	uint32_t send_requests;
	uint32_t receive_requests;
	uint32_t inline_bytes;
	uint32_t iomap_entries;
	int64_t send_timeout_ns; /* RNIC_RSOCKET_FOREVER */
	int64_t receive_timeout_ns;
	int linger_seconds; /* negative: not set */
	uint32_t keepalive_seconds;
	int type_of_service;
	bool reuses_address;
	bool keeps_alive;
	bool has_oob_inline;
	bool has_no_delay;
	bool is_v6_only;
	void *route; /* RDMA_ROUTE as the application gave it, or NULL */
	socklen_t route_bytes;
};

struct rnic_rsocket_sleeper {
	struct rnic_rsocket_sleeper *next;
	int wake_fd;
};

struct rnic_rsocket {
	const struct rnic_rsocket_kind *kind;
	int fd; /* its number, known once it is made */
	int domain;
	atomic_uint references;
	bool is_inherited; /* fork() left it to the parent */
	pthread_mutex_t lock;
	/* Guarded by the lock. */
	int cancellation; /* of the thread that has the lock, as it was before */
	struct rnic_rsocket_sleeper *sleepers;
	uint64_t news; /* how often there was any */
	struct rnic_rsocket_options options;
	bool is_closed;
	bool is_listening;
	bool has_queues;      /* the application can no longer choose their sizes */
	int status_flags;     /* of F_SETFL */
	int descriptor_flags; /* of F_SETFD */
	int error;	      /* positive, for SO_ERROR or the next call */
	uint32_t drops;	      /* datagrams that came and found no room, for SO_MEMINFO */
};

/* ---- rsocket_table.c ---- */

/* Makes the common part, with one reference that is the caller's. */
void rnic_rsocket_init(struct rnic_rsocket *rs, const struct rnic_rsocket_kind *kind, int domain,
		       const struct rnic_rsocket_options *options);
void rnic_rsocket_fini(struct rnic_rsocket *rs);

/*
 * The lock. A thread that has it cannot be cancelled, and does not wait for signal handlers' calls.
 */
void rnic_rsocket_lock(struct rnic_rsocket *rs);
void rnic_rsocket_unlock(struct rnic_rsocket *rs);

/*
 * Between the two this thread may have a lock, one of ours or that of malloc(). Calls nest. All of
 * rnic_rsocket_lock() to rnic_rsocket_unlock() is between them.
 */
void rnic_rsocket_locks_begin(void);
void rnic_rsocket_locks_end(void);

/*
 * Whether the caller is a signal handler that interrupted a thread between them. It must take no
 * lock.
 */
bool rnic_rsocket_is_interrupted(void);

/*
 * The first declaration of each call of rsocket.h. A program may have made cancellation
 * asynchronous, so that a thread ends between any two instructions, as is safe in read(2). Until
 * the end of the scope cancellation is deferred: the thread ends where it sleeps, after the
 * handlers.
 */
#define RNIC_RSOCKET_CALL                                                                          \
	__attribute__((cleanup(rnic_rsocket_end_call), unused)) int rnic_rsocket_call =            \
		rnic_rsocket_begin_call()

int rnic_rsocket_begin_call(void);
void rnic_rsocket_end_call(const int *type);

/* Enters the rsocket under its number; the caller's reference becomes the table's. -ENOMEM. */
int rnic_rsocket_enter(struct rnic_rsocket *rs);

/*
 * Holds the rsocket until rnic_rsocket_put(). NULL: errno is EBADF, none has this number, or
 * EDEADLK.
 */
struct rnic_rsocket *rnic_rsocket_get(int fd);
void rnic_rsocket_hold(struct rnic_rsocket *rs);
void rnic_rsocket_put(struct rnic_rsocket *rs);

/*
 * Takes the rsocket out of the table and ends it; from a signal handler that interrupted a call,
 * once that call has no lock. -EBADF. -EDEADLK: too many wait for that.
 */
int rnic_rsocket_close(int fd);

/* ---- rsocket_sleep.c ---- */

int64_t rnic_rsocket_now_ns(void);

/* When a call with such flags and timeout gives up; 0: at once. */
int64_t rnic_rsocket_deadline(const struct rnic_rsocket *rs, int flags, int64_t timeout_ns);

/*
 * With the lock held, which the call gives up while it sleeps: waits until `is_done`. -EAGAIN: not
 * by the deadline. -EINTR: a signal, where there is a deadline or the handler does not restart
 * calls (signal(7), of sockets). -EBADF: closed meanwhile. A thread may be cancelled while it
 * sleeps without the lock; the callers clean up all else that it has.
 */
int rnic_rsocket_await(struct rnic_rsocket *rs, bool (*is_done)(const struct rnic_rsocket *),
		       int64_t deadline_ns);

/*
 * Without a lock: waits as poll(2) does. Where `device` is inside the program, the thread takes the
 * device's turns meanwhile, so that what arrives wakes one thread. 0, or -EINTR and others of
 * poll(2). With `restarts`, the wait goes on after handlers of signals with SA_RESTART, and `asked`
 * has a place behind its `count` entries that the wait may use.
 */
int rnic_rsocket_wait(struct ibv_context *device, struct pollfd *asked, nfds_t count,
		      int64_t deadline_ns, bool restarts);

/* Under the lock: enters and leaves the list of sleepers that rnic_rsocket_ring() wakes. */
void rnic_rsocket_enlist(struct rnic_rsocket *rs, struct rnic_rsocket_sleeper *sleeper);
void rnic_rsocket_delist(struct rnic_rsocket *rs, struct rnic_rsocket_sleeper *sleeper);

/* Under the lock: tells the sleepers that there is news. */
void rnic_rsocket_ring(struct rnic_rsocket *rs);

/* ---- rsocket_defaults.c ---- */

/* The administrator's defaults, or ours. */
const struct rnic_rsocket_options *rnic_rsocket_default_options(void);
int64_t rnic_rsocket_polling_ns(void);

/* ---- rsocket_options.c ---- */

/* The silence after which an rsocket with keepalive sends. */
uint32_t rnic_rsocket_keepalive_seconds(const struct rnic_rsocket *rs);

/* ---- rsocket_keepalive.c ---- */

/*
 * From now on `rs` sends a keepalive every so many seconds, or with 0 no more. -EAGAIN: no thread
 * to be had.
 */
int rnic_rsocket_keep_alive(struct rnic_rsocket *rs, uint32_t seconds);

/* ---- the kinds ---- */

int rnic_rsocket_create_stream(int domain, struct rnic_rsocket **created);
int rnic_rsocket_create_datagram(int domain, struct rnic_rsocket **created);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A connection to the daemon: one request, one reply, under a lock. A context owns two such links:
 * its control connection and its device connection, which are twins.
 *
 * A link is alive or lost, and once lost it stays lost: `lost` then holds the negative errno of
 * every further call. These lose it: the daemon closes its end of the socket, a reply breaks the
 * protocol, no reply comes in time, fork() in the child, and the loss of its twin, so that the
 * process at the other end frees what it holds for the client.
 */
#ifndef LIB_CLIENT_NATIVE_DAEMON_LINK_H
#define LIB_CLIENT_NATIVE_DAEMON_LINK_H

#include "proto/ctl/ctl_message.h"

#include <pthread.h>
#include <stdatomic.h>

struct verb_rules;

/*
 * A daemon answers within milliseconds. A program that opens a device gives up one that is stopped
 * or hangs after so long. With the device open there is no such limit, as there is none for calls
 * of a kernel: a call waits until the other side goes on or ends, or the link is lost. To give up a
 * late answer would be to give up a device that works.
 */
#define RNIC_LINK_ANSWER_MS   30000
#define RNIC_LINK_NO_LIMIT_MS UINT32_MAX

struct rnic_link {
	atomic_int lost; /* 0 while alive */
	atomic_int fd;
	struct rnic_link *twin;	  /* NULL: none */
	struct verb_rules *rules; /* of faults, which may refuse calls; NULL: there are none */
	/*
	 * Held while a connection comes to be and its descriptor goes to `fd`, and while the
	 * descriptor is closed: a fork() that takes it leaves the child no descriptor that
	 * rnic_link_forked() does not find. NULL: the link is not looked for in a child.
	 */
	pthread_mutex_t *fork_lock;
	pthread_mutex_t lock; /* one request at a time; guards what follows */
	uint16_t version;     /* agreed on; 0 before HELLO is answered */
	uint32_t next_request_id;
	uint32_t answer_ms; /* RNIC_LINK_ANSWER_MS, but in tests; or RNIC_LINK_NO_LIMIT_MS */
	/* Called after a request was sent, where the program itself answers; NULL: it does not. */
	void (*serve)(void *context);
	void *serve_context;
};

/*
 * One request. The link copies payloads. `request` may be NULL with 0 bytes. A successful call
 * fills `reply`, and `reply_fds` with exactly `reply_fd_count` descriptors, which are then the
 * caller's.
 */
struct rnic_call {
	enum rnic_ctl_operation operation;
	const void *request;
	size_t request_bytes;
	int request_fd; /* -1: none */
	void *reply;
	size_t reply_bytes;
	int *reply_fds;
	unsigned reply_fd_count;
	struct rnic_link *reply_link; /* gets the one descriptor of the reply; NULL: `reply_fds` */
};

/* A call whose payloads are these two objects. */
#define RNIC_CALL(code, request_object, reply_object)                                              \
	((struct rnic_call){                                                                       \
		.operation = (code),                                                               \
		.request = &(request_object),                                                      \
		.request_bytes = sizeof(request_object),                                           \
		.request_fd = -1,                                                                  \
		.reply = &(reply_object),                                                          \
		.reply_bytes = sizeof(reply_object),                                               \
	})

/* A call whose request has no payload. */
#define RNIC_CALL_TO_ASK(code, reply_object)                                                       \
	((struct rnic_call){                                                                       \
		.operation = (code),                                                               \
		.request_fd = -1,                                                                  \
		.reply = &(reply_object),                                                          \
		.reply_bytes = sizeof(reply_object),                                               \
	})

/* A link that is not connected counts as lost. */
void rnic_link_init(struct rnic_link *link);
void rnic_link_fini(struct rnic_link *link);

/*
 * Connects to the daemon at `socket_path`, NULL for the default. Returns 0 or a negative errno;
 * -ETIMEDOUT: the daemon has accepted no connection for as long as an answer may take.
 */
int rnic_link_open(struct rnic_link *link, const char *socket_path);

/*
 * Begins to use the connection in the link, which came as `reply_link` of HELLO, and makes
 * `control`, which brought it, the link's twin. Calls on both have no limit of time from then on.
 */
void rnic_link_adopt(struct rnic_link *link, struct rnic_link *control);

/* Closes the connection; the link and its twin are lost then. */
void rnic_link_close(struct rnic_link *link);

/*
 * Sends a request and waits for its reply. Returns 0, the daemon's refusal (rnic_refusal_reason()
 * tells its reason), or the errno of a lost link: -ETIMEDOUT when the daemon has not answered in
 * time, which also loses the link. -EMFILE, -ENFILE, -ENOMEM, -EBADF: the link sent nothing, for
 * want of descriptors to answer with, or because of `request_fd`.
 */
int rnic_link_call(struct rnic_link *link, const struct rnic_call *call);

/* Makes a call whose reply brings one descriptor, the caller's then. */
int rnic_link_call_for_fd(struct rnic_link *link, struct rnic_call call, int *reply_fd);

/* Requests whose reply is empty. */
int rnic_link_tell(struct rnic_link *link, enum rnic_ctl_operation operation, const void *request,
		   size_t request_bytes);

/* The same, whose payload is one handle. */
int rnic_link_call_object(struct rnic_link *link, enum rnic_ctl_operation operation,
			  struct rnic_handle handle);

/*
 * The same, to end an object that the caller does not need. The rnic_refusal_reason() of the thread
 * stays, for an earlier call may have failed. After an error of a link that is not lost, the object
 * is still there.
 */
int rnic_link_drop_object(struct rnic_link *link, enum rnic_ctl_operation operation,
			  struct rnic_handle handle);

/*
 * Declares the link and its twin lost with `error` and wakes the threads that wait in them. The
 * first error stays.
 */
void rnic_link_lose(struct rnic_link *link, int error);

/* In the child after fork(): drops the descriptor so that the parent's death stays visible. */
void rnic_link_forked(struct rnic_link *link);

/*
 * Looks without waiting whether the daemon hung up on the link or its twin, and if so loses both.
 * Returns `lost`.
 */
int rnic_link_check(struct rnic_link *link);

/* 0 while the link is alive, else a negative errno. */
static inline int rnic_link_lost(const struct rnic_link *link)
{
	return atomic_load_explicit(&link->lost, memory_order_relaxed);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A client in the device half: the regions that the client shares with the daemon, and all objects
 * that the client has made. Objects belong to the session and end with it, in an order that leaves
 * no reference behind (device/teardown.h).
 *
 * The client is hostile until proven otherwise, and is never proven. What a client writes into
 * shared memory is read by wqe_fetch.c, cqe_delivery.c (the consumer index) and doorbell.c only.
 * Wrong structure breaks the session: session_break() tells the host, which ends the session where
 * no caller still holds a pointer into it.
 */
#ifndef DAEMON_DEVICE_SESSION_SESSION_H
#define DAEMON_DEVICE_SESSION_SESSION_H

#include "base/list.h"
#include "common/event_pipe.h"
#include "common/handle_table.h"
#include "common/quota.h"
#include "ctl/ctl_message.h"
#include "device/memory/mapped_memory.h"
#include "device/memory/remote_memory.h"
#include "device/session/inode_id.h"
#include "device/session/shared_region.h"
#include "shm/region.h"

#include <stdbool.h>
#include <stdint.h>

struct client;
struct session;
struct session_config; /* device/device_config.h */
struct session_set;

/* What a descriptor in the set's epoll instance belongs to. */
enum watch_kind { WATCH_DOORBELL, WATCH_PIPE };

struct watch {
	enum watch_kind kind;
	struct session *session;
};

/* How far the freeing of what a session owns has got. */
struct teardown {
	uint32_t stage;
	uint32_t slot;
};

struct session {
	struct list node;	 /* of session_set.sessions */
	struct list look_node;	 /* WAIT_DOORBELL_LOOK */
	struct list poller_node; /* WAIT_POLLER_WAKE */
	struct list event_node;	 /* WAIT_EVENT_WRITE */
	struct session_set *set;
	struct client *client;	       /* as the host knows the session */
	struct quota_account *account; /* the client's */
	uint32_t client_id;
	bool is_broken;	 /* to end, or ending */
	int doorbell_fd; /* -1: cut off */
	struct watch doorbell_watch;
	struct watch pipe_watch; /* of all pipes of the session that are full */

	struct shared_region region; /* struct rnic_session_region */
	struct shared_region status; /* struct rnic_status_region */
	struct shared_region newest; /* the region that was opened last */
	bool has_sigbus;	     /* of these, of the objects' regions, or of the memfds */
	struct event_pipe async_pipe;
	struct event_source port_events;
	uint32_t doorbell_consumer;
	uint32_t doorbells_lost;   /* as last seen */
	uint64_t rung_ns;	   /* when the client last rang, or asked for something */
	uint64_t unwoken_since_ns; /* when the first completion was written that is not told yet */

	struct mapped_files files; /* the client's memfds */
	bool has_process;	   /* the client's own address space can be reached */
	struct remote_process process;
	struct handle_table pds;
	struct handle_table mrs;
	struct handle_table mws;
	struct handle_table channels;
	struct handle_table cqs;
	struct handle_table qps;
	struct handle_table ahs;
	struct handle_table srqs;
	struct handle_table xrcds;
	uint64_t registered_bytes;
	struct teardown teardown;

	int share_fd; /* a client that shows the same file may import from this one; -1: none may */
	struct inode_id share_file;
	uint32_t exporter_id; /* the client that this one imports from; 0: none */
};

/*
 * Makes a session with regions, doorbell and pipe of events, and puts the session into the set.
 * Descriptors for the client, which the caller passes on and closes, are stored at `fds` in the
 * order of struct rnic_ctl_hello_reply. Negative errno: nothing is made; -EINVAL when memory_fd is
 * another file. The descriptors of `config` belong to the set in any case.
 */
int session_create(struct session_set *set, const struct session_config *config, int fds[4],
		   struct session **created);

/* Lets no doorbell of the client through any more. */
void session_cut(struct session *session);

/* Frees the session, which owns no objects any more. */
void session_destroy(struct session *session);

/* The session's doorbells are looked at from now on, for LIMIT_DOORBELL_IDLE_NS at least. Returns
 * whether the session was asleep. */
bool session_wake(struct session *session);

/* Asks the client to wake the daemon with the next doorbell, or no longer. */
void session_announce_sleep(struct session *session);
void session_withdraw_sleep(struct session *session);

/* mapped_region_open() in the client's files, charged: also -ENOSPC. */
int session_open_mapping(struct session *session, struct mapped_region *region, int fd,
			 uint64_t offset, uint64_t bytes);
void session_close_mapping(struct session *session, struct mapped_region *region);

/* Unmaps memory that nothing refers to any more; a long unmapping is done in the background. For
 * mapped_files. */
void session_unmap(void *context, void *address, uint64_t bytes);

/* shared_region_create(), charged to the client: also -ENOSPC. */
int session_open_shared(struct session *session, struct shared_region *region,
			enum rnic_region_kind kind, uint64_t bytes, int *fd);
void session_close_shared(struct session *session, struct shared_region *region);

/*
 * The client broke the protocol: the host logs the sentence (the first one) and ends the client
 * with this turn. `format` completes "client 3 (program, pid 17) was disconnected: ".
 */
void session_break(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline struct rnic_session_region *session_region(const struct session *session)
{
	return session->region.address;
}

static inline struct rnic_status_region *session_status(const struct session *session)
{
	return session->status.address;
}

#endif

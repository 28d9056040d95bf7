/* SPDX-License-Identifier: MIT */
/*
 * A stream: an RC connection of rdma_cm, and the flow of bytes through it (rsocket_flow.h).
 *
 * `state` is the state of the connection. Two more words say which directions are left of a
 * connection that stands: is_readable until the peer has said that it sends no more, is_writable
 * until this side has said so or the connection ended. The application can read arrived bytes at
 * any time.
 *
 * A thread that sends holds `sending`, one that receives `receiving`, for as long as the call
 * takes, and takes the lock of the rsocket for each step after that. So a reader and a writer never
 * wait for each other, and bytes are copied without the lock.
 */
#ifndef LIB_DROPIN_RSOCKETS_RSOCKET_STREAM_H
#define LIB_DROPIN_RSOCKETS_RSOCKET_STREAM_H

#include "lib/dropin/rsockets/rsocket_flow.h"
#include "lib/dropin/rsockets/rsocket_objects.h"

enum rnic_rsocket_stream_state {
	RNIC_RSOCKET_IDLE,
	RNIC_RSOCKET_LISTENING,
	RNIC_RSOCKET_RESOLVING_ADDRESS,
	RNIC_RSOCKET_RESOLVING_ROUTE,
	RNIC_RSOCKET_CONNECTING,
	RNIC_RSOCKET_ACCEPTING, /* the answer is on its way */
	RNIC_RSOCKET_CONNECTED,
	RNIC_RSOCKET_ENDED, /* also when it never came to be */
};

/* The memory of a connection. */
struct rnic_rsocket_buffers {
	void *block; /* all of it */
	size_t block_bytes;
	uint8_t *send_ring;
	uint8_t *receive_ring;
	volatile uint8_t *list; /* of the peer's buffers, then the map: the peer writes here */
	struct ibv_mr *send_mr;
	struct ibv_mr *receive_mr;
	struct ibv_mr *list_mr;
};

/* Memory of this side that the peer writes to directly, or will be told of. */
struct rnic_rsocket_region {
	struct rnic_rsocket_region *next;
	struct ibv_mr *mr;
	uint64_t offset;
	int64_t index; /* of the peer's map; negative: for local use */
	bool is_told;
};

struct rnic_rsocket_stream {
	struct rnic_rsocket rs;
	pthread_mutex_t sending;
	pthread_mutex_t receiving;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	/* Guarded by the lock from here on. */
	enum rnic_rsocket_stream_state state;
	bool is_readable;
	bool is_writable;
	bool has_news; /* that no sleeper was woken for yet */
	/* Of a listener: connections that raccept() has not handed out yet, the oldest first. */
	struct rnic_rsocket_stream *accepted;
	uint32_t accepted_count;
	uint32_t backlog;
	bool is_full; /* raccept() tells the listeners' thread of room */
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	bool is_armed; /* an event of the completion queue is to come */
	struct rnic_rsocket_buffers buffers;
	struct rnic_rsocket_flow flow;
	uint32_t inline_bytes;		       /* what the queue pair has */
	uint32_t iomap_entries;		       /* of ours */
	struct rnic_rsocket_mapping *mappings; /* what the peer put into ours */
	struct rnic_rsocket_target peer_iomap; /* its length: entries */
	struct rnic_rsocket_region *regions;
	uint32_t regions_untold;
	uint32_t unanswered; /* calls of riowrite() in a row that stayed for no answer */
	uint32_t hurried;    /* calls of riowrite() that are not to stay */
	/* Guarded by the lock of the listener that accepted it. */
	struct rnic_rsocket_stream *next_accepted;
	/* Of a listener, guarded by the lock of rsocket_listeners.c. */
	struct rnic_rsocket_stream *next_listener;
	bool (*take_request)(struct rnic_rsocket_stream *listener);
	bool is_served;
};

static inline struct rnic_rsocket_stream *rnic_rsocket_stream(const struct rnic_rsocket *rs)
{
	return (struct rnic_rsocket_stream *)rs;
}

/* The work requests of a stream differ by kind and bytes when they complete. */
enum rnic_rsocket_work {
	RNIC_RSOCKET_WORK_RECEIVE,
	RNIC_RSOCKET_WORK_DATA,
	RNIC_RSOCKET_WORK_MAPPING,
	RNIC_RSOCKET_WORK_CONTROL,
};

/* ---- rsocket_stream_life.c ---- */

/* Makes a stream of the kind, without an identifier. Negative errno. */
int rnic_rsocket_stream_create(const struct rnic_rsocket_kind *kind, int domain,
			       const struct rnic_rsocket_options *options,
			       struct rnic_rsocket **created);
void rnic_rsocket_stream_destroy(struct rnic_rsocket *rs);

/* ---- rsocket_state.c: all under the lock ---- */

static inline bool rnic_rsocket_is_opening(const struct rnic_rsocket_stream *stream)
{
	return stream->state >= RNIC_RSOCKET_RESOLVING_ADDRESS &&
	       stream->state <= RNIC_RSOCKET_ACCEPTING;
}

/* The connection stands: both sides may send. */
void rnic_rsocket_stand(struct rnic_rsocket_stream *stream);

/* Ends the connection, with `error` (positive) for the application, 0 for an orderly end. */
void rnic_rsocket_end(struct rnic_rsocket_stream *stream, int error);

/* Why the connection ended, negative; `otherwise` once a call has reported that. */
int rnic_rsocket_why_ended(const struct rnic_rsocket *rs, int otherwise);

/*
 * The result of a call that transferred `bytes` and ended by `error` (negative, or 0). Bytes come
 * first: the error then stays for the next call, and no reset looks like an orderly end.
 */
ssize_t rnic_rsocket_report(struct rnic_rsocket *rs, size_t bytes, ssize_t error);

/* Waits for a connection on its way. -ENOTCONN: there is none. */
int rnic_rsocket_await_connection(struct rnic_rsocket_stream *stream, int64_t deadline_ns);

/* With `sending` held as well: waits for room to send. -EPIPE and others: never again. */
int rnic_rsocket_await_room(struct rnic_rsocket_stream *stream, int64_t deadline_ns);

/* ---- rsocket_endpoint.c ---- */

/* Makes queue pair and buffers on the device of the identifier, and posts receives. */
int rnic_rsocket_endpoint_create(struct rnic_rsocket_stream *stream);
void rnic_rsocket_endpoint_destroy(struct rnic_rsocket_stream *stream);

/* The facts for the peer, and the peer's. -EPROTO, -ENOTSUP. */
void rnic_rsocket_endpoint_greet(const struct rnic_rsocket_stream *stream,
				 uint8_t greeting[static RNIC_RSOCKET_GREETING_BYTES]);
int rnic_rsocket_endpoint_begin(struct rnic_rsocket_stream *stream, const void *greeting,
				size_t bytes);

/* ---- rsocket_connect.c ---- */

/* Under the lock: takes in the events of the connection manager, and reacts to one of them. */
void rnic_rsocket_take_events(struct rnic_rsocket_stream *stream);
void rnic_rsocket_react(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event);

/* The parameters of a request or an answer with that greeting. */
struct rdma_conn_param rnic_rsocket_parameters_of(const uint8_t *greeting);

int rnic_rsocket_stream_bind(struct rnic_rsocket *rs, const struct sockaddr *address,
			     socklen_t bytes);
int rnic_rsocket_stream_connect(struct rnic_rsocket *rs, const struct sockaddr *address,
				socklen_t bytes);

/* ---- rsocket_accept.c ---- */

int rnic_rsocket_stream_listen(struct rnic_rsocket *rs, int backlog);
int rnic_rsocket_stream_accept(struct rnic_rsocket *rs, struct rnic_rsocket **accepted);

/* Without the lock of a closed listener: ends the connections that raccept() never took. */
void rnic_rsocket_refuse_accepted(struct rnic_rsocket_stream *listener);

/* ---- rsocket_listeners.c ---- */

/*
 * From now on the listeners' thread calls take_request() without a lock when there may be an event.
 * False: not to be called again before serve_again(). -EAGAIN: no thread to be had; and others.
 */
int rnic_rsocket_serve(struct rnic_rsocket_stream *listener,
		       bool (*take_request)(struct rnic_rsocket_stream *listener));

/* Both do nothing for a stream that is not served. unserve() is called without the lock. */
void rnic_rsocket_serve_again(struct rnic_rsocket_stream *listener);
void rnic_rsocket_unserve(struct rnic_rsocket_stream *listener);

/* ---- rsocket_work.c: all under the lock ---- */

/* Takes in completions, and tells the peer all that is due. */
void rnic_rsocket_take_completions(struct rnic_rsocket_stream *stream);

/* Tells the peer of room that the peer does not know of. */
void rnic_rsocket_tell_peer(struct rnic_rsocket_stream *stream);

/* All return 0 or a negative errno, which ends the connection too. */
int rnic_rsocket_post_receives(struct rnic_rsocket_stream *stream, uint32_t count);
int rnic_rsocket_post_write(struct rnic_rsocket_stream *stream,
			    const struct rnic_rsocket_write *write, bool has_message);
int rnic_rsocket_post_mapping(struct rnic_rsocket_stream *stream,
			      const struct rnic_rsocket_region *region);
int rnic_rsocket_post_control(struct rnic_rsocket_stream *stream,
			      enum rnic_rsocket_control control);

/* ---- rsocket_transfer.c ---- */

ssize_t rnic_rsocket_stream_send(struct rnic_rsocket *rs, const struct msghdr *message, int flags);
ssize_t rnic_rsocket_stream_receive(struct rnic_rsocket *rs, struct msghdr *message, int flags);

/* ---- rsocket_iomap.c ---- */

/* With `sending` and the lock held: tells the peer of mappings that the peer does not know yet. */
int rnic_rsocket_tell_mappings(struct rnic_rsocket_stream *stream, int64_t deadline_ns);
void rnic_rsocket_release_regions(struct rnic_rsocket_stream *stream);

/* ---- rsocket_preload.c ---- */

/* Whether this process runs under librspreload, which puts TCP programs on rsockets. */
bool rnic_rsocket_is_preloaded(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The context API: one context, struct iw_ctx_conn, holds everything that one connection needs
 * (queue pair, completion queues, protection domain, events). Link with -lrnic-connection -lrnic.
 *
 * Initiator: iw_ctx_alloc, iw_connect. Responder: iw_open, then for each connection iw_listen and
 * iw_accept. Both sides then create or register regions, post requests, await completions, and end
 * with iw_disconnect or iw_await_disconnect. After that the context is as new and can be used
 * again. iw_ctx_free frees a context that iw_ctx_alloc, iw_open or iw_listen made.
 *
 * Every function returns 0 or a negative errno, and sets its outputs only on success. Lengths and
 * offsets are bytes. Several functions return these errors:
 *
 * - -EINVAL: an argument is impossible: a range outside a region, a region of another protection
 *   domain, NULL for a context or for any other thing that a comment does not make optional, more
 *   elements or private data than there is room for.
 * - -ENOTCONN: the context is not connected, its connection has failed, or the peer has ended it;
 *   iw_disconnect makes the context usable again.
 * - -ENOMEM: no memory; from posting: the queue is full, await completions. -EMFILE, -ENFILE: no
 *   descriptors. -ENOSPC: the daemon gives this process, or its user's processes, no more; free
 *   some objects.
 * - -ENODEV, -EIO, and for a daemon that hangs -ETIMEDOUT: the RNIC's daemon is gone. iw_disconnect
 *   the context and destroy its regions. A context without shared PD finds the next daemon by
 *   itself; a shared PD must be replaced with all contexts that use it. -ENOENT, -ECONNREFUSED,
 *   from calls that make a context or PD: no daemon runs; start one, or set RNIC_SOCKET (see
 *   rnic-run(1)). -EACCES, from these: as of rnic_query_device_at().
 * - -ETIMEDOUT: the awaited event did not come within iw_ctx_set_timeout(); nothing is lost, and
 *   the caller may wait again. -EINTR: a signal came; likewise.
 *
 * rnic_refusal_reason of <rnic/rnic.h> gives a sentence for each refusal of the daemon.
 *
 * A connection whose peer ends, crashes or becomes unreachable fails: the posted requests complete
 * with RNIC_WC_WR_FLUSH_ERR, so that no wait lasts for ever. During an idle wait the library probes
 * the connection once a second, which finds peers that could not say good-bye.
 *
 * Threads: one thread at a time uses a context. Different threads may use different contexts, also
 * when these share a PD. The library starts no thread. After fork() a child uses none of its
 * parent's contexts.
 *
 * The functions are named rnic_iw_*, so that they clash with no other library; the macros at the
 * end give them their usual names unless RNIC_CONNECTION_PREFIXED_NAMES is defined.
 */
#ifndef RNIC_CONNECTION_H
#define RNIC_CONNECTION_H

#include <rnic/rnic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iw_ctx_conn;

/* The room for private data in iw_connect and iw_accept. */
#define IW_CONNECT_PRIVATE_DATA_MAX 56
#define IW_ACCEPT_PRIVATE_DATA_MAX  196

/* ---- protection domains ---- */

struct iw_pd;

/*
 * Makes a protection domain for several contexts: all of them can use a region that one of them
 * made. iw_pd_free() gives the caller's reference back; the domain ends with the last context and
 * region that use it.
 */
RNIC_API int rnic_iw_pd_alloc(struct iw_pd **pd);

/* Gives the caller's reference back; NULL is allowed. */
RNIC_API void rnic_iw_pd_free(struct iw_pd *pd);

/* ---- contexts ---- */

/*
 * The largest numbers of requests under way (and not awaited yet), and of elements in an SGL. No
 * member is 0.
 */
struct iw_qp_capacity {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
};

/*
 * Allocates a context to connect to `remote_addr` (name or address) and `remote_port`; NULL and 0
 * for a context that iw_listen() or iw_open() will take. `qp_capacity` NULL: 64 requests of 4
 * elements. `shared_pd` NULL: the context has a domain of its own. The call copies the name;
 * iw_connect() looks it up. -EINVAL: a capacity of 0, or more than the device has.
 */
RNIC_API int rnic_iw_ctx_alloc(const char *remote_addr, uint16_t remote_port,
			       const struct iw_qp_capacity *qp_capacity, struct iw_pd *shared_pd,
			       struct iw_ctx_conn **iw_ctx);

/* Ends the context and its connection, at once and in any state. NULL is allowed. */
RNIC_API void rnic_iw_ctx_free(struct iw_ctx_conn *iw_ctx);

/* Sets the longest wait of each call, in ms; negative, as at first: without end. */
RNIC_API void rnic_iw_ctx_set_timeout(struct iw_ctx_conn *iw_ctx, int timeout_ms);

/*
 * The native objects of a context, for the functions of <rnic/rnic.h> that this interface does not
 * have.
 */
struct iw_natives {
	struct rnic_context *context;
	struct rnic_pd *pd;
	struct rnic_qp *qp; /* NULL: not connected, and no receives are posted */
};

/*
 * Returns the native objects. The context keeps them, and may have others after its next
 * connection. Make more objects from them (and destroy these before the context), query and tune
 * them; post by this interface only. Fails with -EINVAL only.
 */
RNIC_API int rnic_iw_ctx_natives(const struct iw_ctx_conn *iw_ctx, struct iw_natives *natives);

/*
 * Makes a descriptor by which a process imports the context's domain, this process or another one
 * that gets the descriptor: ibv_import_device(3), or rnic_import and rnic_import_pd. The caller
 * closes it. -EBUSY: the domain's contexts are shared already. -EMFILE, -ENFILE.
 */
RNIC_API int rnic_iw_ctx_share(const struct iw_ctx_conn *iw_ctx, int *fd);

/* ---- connection establishment ---- */

/*
 * Connects to the remote address of the context; the peer gets `priv_data_len` bytes of private
 * data with the request. -ECONNREFUSED: nobody listens there, or the peer refused. -ETIMEDOUT,
 * -EHOSTUNREACH, -ENETUNREACH: no answer, or no route there. -ENOENT: no such host; -EAGAIN: the
 * name service does not answer. -ECONNABORTED: the attempt ended midway. -EISCONN: the context is
 * connected, or listens. -EDESTADDRREQ: the context has no remote address. The caller may try
 * again.
 */
RNIC_API int rnic_iw_connect(const void *priv_data, size_t priv_data_len,
			     struct iw_ctx_conn *iw_ctx);

/*
 * Listens at `listen_addr` (NULL: all addresses) and `listen_port` (0: a free one, see
 * iw_ctx_port()). Up to `backlog` requests (0: as many as there can be) wait for iw_listen(). A
 * *listen_iw_ctx of NULL gets a new context; any other must be unused, or the call fails with
 * -EISCONN. -EADDRINUSE: the port is taken. -EADDRNOTAVAIL: not an address of the device. -EACCES,
 * also: a port below 1024, which is root's. -ENOENT, also: no such host; -EAGAIN: the name service
 * does not answer.
 */
RNIC_API int rnic_iw_open(const char *listen_addr, uint16_t listen_port, uint32_t backlog,
			  struct iw_ctx_conn **listen_iw_ctx);

/* The port that the context listens on, or 0. */
RNIC_API uint16_t rnic_iw_ctx_port(const struct iw_ctx_conn *iw_ctx);

/*
 * Waits for an inbound connection request and gives it to *cli_iw_ctx: a new context with the
 * listener's capacity and PD when that is NULL, else an unused context. Receives may be posted
 * before iw_accept(). -EISCONN: *cli_iw_ctx is in use. -ENOTCONN: `listen_iw_ctx` does not listen.
 */
RNIC_API int rnic_iw_listen(struct iw_ctx_conn *listen_iw_ctx, struct iw_ctx_conn **cli_iw_ctx);

/*
 * Accepts the request and waits until the initiator confirms. The initiator gets `priv_data_len`
 * bytes of private data. -ENOTCONN, -ECONNABORTED: the initiator has given up meanwhile. After any
 * failure but -EINVAL, also after a timeout, the request is gone and iw_listen() can take the
 * context again.
 */
RNIC_API int rnic_iw_accept(const void *priv_data, size_t priv_data_len,
			    struct iw_ctx_conn *cli_iw_ctx);

/*
 * Refuses the request: the initiator's iw_connect fails with -ECONNREFUSED. iw_listen() can then
 * take the context again. -ENOTCONN: there is no request, or not any more.
 */
RNIC_API int rnic_iw_reject(struct iw_ctx_conn *cli_iw_ctx);

/*
 * The private data of the peer and its length, valid until the context connects again. The length
 * is that of the whole field in the message: the peer's data and then zeros. NULL and 0 before a
 * connection, and for no context. `length` may be NULL.
 */
RNIC_API const void *rnic_iw_peer_data(const struct iw_ctx_conn *iw_ctx, size_t *length);

/* ---- buffers ---- */

/* Access flags. A region is always readable locally. */
enum iw_access {
	IW_ACCESS_LOCAL_WRITE =
		RNIC_ACCESS_LOCAL_WRITE, /* receives and READs write into the region */
	IW_ACCESS_REMOTE_WRITE = RNIC_ACCESS_REMOTE_WRITE, /* needs LOCAL_WRITE too */
	IW_ACCESS_REMOTE_READ = RNIC_ACCESS_REMOTE_READ,
};

/* A local region, for reading only. */
struct iw_lmr {
	void *address;
	size_t length;
	uint32_t access_flags;
	struct rnic_mr *mr;
	struct iw_pd *pd;
};

/* A remote region, as advertised. A plain value: copy it, compute parts of it. */
struct iw_rmr {
	uint64_t address;
	uint64_t length;
	uint32_t rkey;
};

/*
 * Allocates a zeroed buffer of `length` bytes (of the fastest kind) and registers it.
 * `access_flags` is of enum iw_access. Errors as of iw_lmr_register(), but for EFAULT and EPERM.
 */
RNIC_API int rnic_iw_lmr_create(size_t length, uint32_t access_flags, struct iw_lmr **iw_lmr_out,
				struct iw_ctx_conn *iw_ctx);

/*
 * Registers a buffer of the caller. The buffer stays mapped until the region is destroyed. -EFAULT:
 * part of the buffer is not there, or not writable. -EPERM: the daemon cannot reach this process's
 * memory, use iw_lmr_create. -EINVAL: no bytes, or REMOTE_WRITE without LOCAL_WRITE. -ENOSPC: too
 * many regions.
 */
RNIC_API int rnic_iw_lmr_register(void *addr, size_t length, uint32_t access_flags,
				  struct iw_lmr **iw_lmr_out, struct iw_ctx_conn *iw_ctx);

/*
 * Deregisters the region; posted requests that use it fail. With `free_buf` the call also frees the
 * buffer: one from iw_lmr_create, or one from malloc() and its kin. A created buffer that is kept
 * stays usable, and can be registered again, until its PD ends. On failure the region stays.
 */
RNIC_API int rnic_iw_lmr_destroy(struct iw_lmr *iw_lmr, bool free_buf);

/*
 * Sends the address, length and key of a region to the peer. The message takes one entry of the
 * send queue; a failure shows as a completion.
 */
RNIC_API int rnic_iw_post_send_adv(const struct iw_lmr *iw_lmr, struct iw_ctx_conn *iw_ctx);

/*
 * Posts a receive for one advertisement, also before connecting. The peer's messages take the
 * receives in the order of posting, so both sides must agree on that order.
 */
RNIC_API int rnic_iw_post_recv_adv(struct iw_ctx_conn *iw_ctx);

/*
 * Waits for the next advertisement. -EINVAL: no receive for an advertisement is posted. -EPROTO:
 * another message came in its place. -ENOTCONN: the connection ended first.
 */
RNIC_API int rnic_iw_wait_recv_adv(struct iw_rmr *iw_rmr_out, struct iw_ctx_conn *iw_ctx);

/* ---- requests ---- */

/* A scatter/gather list: `count` pieces of local regions. */
struct iw_sge {
	const struct iw_lmr *lmr;
	size_t offset;
	size_t length;
};

struct iw_sgl {
	const struct iw_sge *elements;
	uint32_t count;
};

enum iw_send_flag {
	IW_SEND_FENCE = RNIC_SEND_FENCE,	 /* begins after all READs before it */
	IW_SEND_SIGNALED = RNIC_SEND_SIGNALED,	 /* await_completions(IW_SCQ) reports it */
	IW_SEND_SOLICITED = RNIC_SEND_SOLICITED, /* wakes a peer that waits for solicited ones */
	IW_SEND_INLINE = RNIC_SEND_INLINE,	 /* for SENDs and WRITEs up to 64 bytes: the data is
						    copied at once */
};

/*
 * Posts a receive or a SEND, of a list of pieces or of a part of one region. All posting functions
 * return as soon as the request is posted. They wait in one case only: the send queue is full of
 * requests without IW_SEND_SIGNALED, which cannot be awaited. The memory belongs to the RNIC
 * until the request completes: until await_completions has reported it, or a later request of the
 * same queue. A request without that flag is reported only when it fails. -EMSGSIZE: more than 2
 * GiB. -EACCES: a receive or READ into a region without IW_ACCESS_LOCAL_WRITE.
 *
 * A message waits until the peer has posted a receive for it. A message longer than its receive
 * fails both requests and the connection.
 */
RNIC_API int rnic_iw_post_recv_sgl(const struct iw_sgl *iw_sgl_dst, struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_recv_lmr(const struct iw_lmr *iw_lmr_dst, size_t offset, size_t length,
				   struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_send_sgl(const struct iw_sgl *iw_sgl_src, uint32_t send_flags,
				   struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_send_lmr(const struct iw_lmr *iw_lmr_src, size_t offset, size_t length,
				   uint32_t send_flags, struct iw_ctx_conn *iw_ctx);

/*
 * Posts a WRITE to the peer's memory, or a READ from there, as the other posting functions do. A
 * wrong key fails the request when it runs. -EINVAL, also: beyond the end of the remote region.
 */
RNIC_API int rnic_iw_post_write_sgl(const struct iw_sgl *iw_sgl_src,
				    const struct iw_rmr *iw_rmr_dst, uint64_t offset_dst,
				    uint32_t send_flags, struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_write_lmr(const struct iw_lmr *iw_lmr_src, size_t offset_src,
				    const struct iw_rmr *iw_rmr_dst, uint64_t offset_dst,
				    size_t length, uint32_t send_flags, struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_read_sgl(const struct iw_sgl *iw_sgl_dst, const struct iw_rmr *iw_rmr_src,
				   uint64_t offset_src, uint32_t send_flags,
				   struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_read_lmr(const struct iw_lmr *iw_lmr_dst, size_t offset_dst,
				   const struct iw_rmr *iw_rmr_src, uint64_t offset_src,
				   size_t length, uint32_t send_flags, struct iw_ctx_conn *iw_ctx);

/* ---- completions ---- */

enum iw_cq_type {
	IW_SCQ, /* sends, WRITEs and READs */
	IW_RCQ, /* receives */
};

/* A completion. Requests of a queue complete in the order in which they were posted. */
struct iw_wc {
	uint64_t wr_id;	   /* the request's number in its queue, from 0 since the context was new;
			      advertisements do not count */
	uint32_t byte_len; /* bytes received or read; else 0 */
	uint8_t status;	   /* enum rnic_wc_status */
	uint8_t opcode;	   /* enum rnic_wc_opcode; valid only with RNIC_WC_SUCCESS */
};

/*
 * Waits until `num_wcs` requests have completed and writes them to `wc_list_out`. -EREMOTEIO: the
 * list is complete, but at least one request failed (see `status`), and the connection is unusable.
 * -EINVAL: fewer reportable requests are posted, so that the wait would never end.
 */
RNIC_API int rnic_iw_await_completions(enum iw_cq_type cq_type, uint32_t num_wcs,
				       struct iw_wc *wc_list_out, struct iw_ctx_conn *iw_ctx);

/*
 * A descriptor for poll(): readable when something has come for the context, a completion, an
 * advertisement or an event of its connection. Ask for it before each poll, and when it is readable
 * call await_completions, iw_wait_recv_adv or iw_await_disconnect, with iw_ctx_set_timeout() 0 so
 * as not to wait. Nothing comes while the context has no queue pair and no listener. The descriptor
 * stays the context's, and the same; do not read or close it. -EMFILE, -ENFILE, -ENODEV.
 */
RNIC_API int rnic_iw_poll_fd(struct iw_ctx_conn *iw_ctx);

/* ---- teardown ---- */

/*
 * Active teardown: lets the posted sends, WRITEs and READs complete, ends the connection, and drops
 * receives and completions that nobody awaited. The context is as new then, whatever the call
 * returns. The call also closes a context that listens. -EREMOTEIO: a send, WRITE or READ failed,
 * and no awaited completion has reported it. -ETIMEDOUT: the peer took no messages within
 * iw_ctx_set_timeout() and ten seconds; they are lost. -ENOTCONN: there was nothing to end.
 */
RNIC_API int rnic_iw_disconnect(struct iw_ctx_conn *iw_ctx);

/*
 * Passive teardown: waits until the peer disconnects; the context is as new then. -ECONNRESET: the
 * connection failed instead; the context is as new, too. -ETIMEDOUT, -EINTR: the connection stands
 * as before. -ENOTCONN: there is no connection.
 */
RNIC_API int rnic_iw_await_disconnect(struct iw_ctx_conn *iw_ctx);

#ifndef RNIC_CONNECTION_PREFIXED_NAMES
#define iw_pd_alloc	    rnic_iw_pd_alloc
#define iw_pd_free	    rnic_iw_pd_free
#define iw_ctx_alloc	    rnic_iw_ctx_alloc
#define iw_ctx_free	    rnic_iw_ctx_free
#define iw_ctx_set_timeout  rnic_iw_ctx_set_timeout
#define iw_ctx_port	    rnic_iw_ctx_port
#define iw_ctx_natives	    rnic_iw_ctx_natives
#define iw_ctx_share	    rnic_iw_ctx_share
#define iw_connect	    rnic_iw_connect
#define iw_open		    rnic_iw_open
#define iw_listen	    rnic_iw_listen
#define iw_accept	    rnic_iw_accept
#define iw_reject	    rnic_iw_reject
#define iw_peer_data	    rnic_iw_peer_data
#define iw_lmr_create	    rnic_iw_lmr_create
#define iw_lmr_register	    rnic_iw_lmr_register
#define iw_lmr_destroy	    rnic_iw_lmr_destroy
#define iw_post_send_adv    rnic_iw_post_send_adv
#define iw_post_recv_adv    rnic_iw_post_recv_adv
#define iw_wait_recv_adv    rnic_iw_wait_recv_adv
#define post_recv_sgl	    rnic_iw_post_recv_sgl
#define post_recv_lmr	    rnic_iw_post_recv_lmr
#define post_send_sgl	    rnic_iw_post_send_sgl
#define post_send_lmr	    rnic_iw_post_send_lmr
#define post_write_sgl	    rnic_iw_post_write_sgl
#define post_write_lmr	    rnic_iw_post_write_lmr
#define post_read_sgl	    rnic_iw_post_read_sgl
#define post_read_lmr	    rnic_iw_post_read_lmr
#define await_completions   rnic_iw_await_completions
#define iw_poll_fd	    rnic_iw_poll_fd
#define iw_disconnect	    rnic_iw_disconnect
#define iw_await_disconnect rnic_iw_await_disconnect
#endif

#ifdef __cplusplus
}
#endif

#endif

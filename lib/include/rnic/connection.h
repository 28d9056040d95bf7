/* SPDX-License-Identifier: MIT */
/*
 * The context API: everything that one connection needs (queue pair, completion queues, protection
 * domain, events) is one context, struct iw_ctx_conn. Link with -lrnic-connection -lrnic.
 *
 * Initiator: iw_ctx_alloc, iw_connect. Responder: iw_open, then for each connection iw_listen and
 * iw_accept. Both then create or register regions, post requests, await completions, and end with
 * iw_disconnect or iw_await_disconnect, after which a context is as new and can be used again. What
 * iw_ctx_alloc, iw_open and iw_listen made is freed with iw_ctx_free.
 *
 * Every function returns 0 or a negative errno, and sets its outputs only on success. Lengths and
 * offsets are bytes. Errors that several functions have, and what to do:
 *
 * - -EINVAL: an argument that cannot be: a range outside a region, a region of another protection
 *   domain, no context, more elements or private data than there is room for.
 * - -ENOTCONN: the context is not connected, or its connection has failed or was ended by the peer;
 *   iw_disconnect makes it usable again.
 * - -ENOMEM: no memory; of posting: the queue is full, await completions. -EMFILE, -ENFILE: no
 *   descriptors. -ENOSPC: the daemon gives this process, or its user's, no more; free some.
 * - -ENODEV, -EIO, and for a daemon that hangs -ETIMEDOUT: the RNIC's daemon is gone. iw_disconnect
 *   the context and destroy its regions; a context without shared PD finds the next daemon by
 *   itself, a shared PD must be replaced with all contexts that use it. -ENOENT, -ECONNREFUSED,
 *   -EACCES, of what makes a context or PD: there is no daemon to begin with; start one, or set
 *   RNIC_SOCKET (see rnic-run(1)).
 * - -ETIMEDOUT: what was waited for did not come within iw_ctx_set_timeout(); nothing is lost, and
 *   one may wait again. -EINTR: a signal came; likewise.
 *
 * For what the daemon has refused <rnic/rnic.h> has a sentence, by rnic_refusal_reason.
 *
 * A connection whose peer ends, crashes or becomes unreachable fails: the requests that are posted
 * complete with RNIC_WC_WR_FLUSH_ERR, so that no wait lasts for ever. While a wait is idle the
 * connection is probed once a second, which finds peers that could not say good-bye.
 *
 * Threads: a context is used by one thread at a time, different contexts by different ones, also
 * when they share a PD. There is no thread inside. After fork() a child uses none of them.
 *
 * The functions are named rnic_iw_*, so that they clash with nobody's; the macros at the end give
 * them their usual names unless RNIC_CONNECTION_PREFIXED_NAMES is defined.
 */
#ifndef RNIC_CONNECTION_H
#define RNIC_CONNECTION_H

#include <rnic/rnic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iw_ctx_conn;

/* Private data that iw_connect and iw_accept have room for. */
#define IW_CONNECT_PRIVATE_DATA_MAX 56
#define IW_ACCEPT_PRIVATE_DATA_MAX  196

/* ---- protection domains ---- */

struct iw_pd;

/*
 * Makes a protection domain for several contexts: a region made through one of them can be used
 * with all. The caller's reference is given back with iw_pd_free(); the domain goes with the last
 * context and region that use it.
 */
RNIC_API int rnic_iw_pd_alloc(struct iw_pd **pd);

/* Gives it back; NULL is allowed. */
RNIC_API void rnic_iw_pd_free(struct iw_pd *pd);

/* ---- contexts ---- */

/* How many requests can be under way (and not awaited yet), and elements in an SGL; none is 0. */
struct iw_qp_capacity {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
};

/*
 * Allocates a context to connect to `remote_addr` (name or address) and `remote_port`; NULL and 0
 * for one to give to iw_listen() or iw_open(). `qp_capacity` NULL: 64 requests of 4 elements.
 * `shared_pd` NULL: a domain of its own. The name is copied, and looked up when connecting.
 * -EINVAL: a capacity of 0, or more than the device has.
 */
RNIC_API int rnic_iw_ctx_alloc(const char *remote_addr, uint16_t remote_port,
			       const struct iw_qp_capacity *qp_capacity, struct iw_pd *shared_pd,
			       struct iw_ctx_conn **iw_ctx);

/* Ends its connection, at once and whatever it does, and the context. NULL is allowed. */
RNIC_API void rnic_iw_ctx_free(struct iw_ctx_conn *iw_ctx);

/* How long each call that waits does so at most, in ms; negative, as at first: without end. */
RNIC_API void rnic_iw_ctx_set_timeout(struct iw_ctx_conn *iw_ctx, int timeout_ms);

/* What a context stands on, for all that <rnic/rnic.h> has and this interface has not. */
struct iw_natives {
	struct rnic_context *context;
	struct rnic_pd *pd;
	struct rnic_qp *qp; /* NULL: not connected, and no receives are posted */
};

/*
 * They stay the context's, and may be others after its next connection. Make more objects from them
 * (and destroy these before the context), query and tune them; post by this interface only. Fails
 * with -EINVAL only.
 */
RNIC_API int rnic_iw_ctx_natives(const struct iw_ctx_conn *iw_ctx, struct iw_natives *natives);

/* ---- connection establishment ---- */

/*
 * Connects to the remote address of the context; the peer gets `priv_data_len` bytes of private
 * data with the request. -ECONNREFUSED: nobody listens there, or the peer refused. -ETIMEDOUT,
 * -EHOSTUNREACH, -ENETUNREACH: no answer, or no way there. -ENOENT: no such host; -EAGAIN: the name
 * service does not answer. -ECONNABORTED: it came to nothing midway. -EISCONN: it is connected, or
 * listens. -EDESTADDRREQ: it has no remote address. It may be tried again.
 */
RNIC_API int rnic_iw_connect(const void *priv_data, size_t priv_data_len,
			     struct iw_ctx_conn *iw_ctx);

/*
 * Listens at `listen_addr` (NULL: all addresses) and `listen_port` (0: a free one, see
 * iw_ctx_port()) with up to `backlog` requests (0: as many as there can be) waiting for
 * iw_listen(). Makes *listen_iw_ctx when it is NULL, else it is a context that is not in use, or
 * -EISCONN. -EADDRINUSE: the port is taken. -EADDRNOTAVAIL: not an address of the device. -EACCES,
 * also: a port below 1024, which is root's. -ENOENT, also: no such host; -EAGAIN: the name service
 * does not answer.
 */
RNIC_API int rnic_iw_open(const char *listen_addr, uint16_t listen_port, uint32_t backlog,
			  struct iw_ctx_conn **listen_iw_ctx);

/* The port that it listens on, or 0. */
RNIC_API uint16_t rnic_iw_ctx_port(const struct iw_ctx_conn *iw_ctx);

/*
 * Waits for an inbound connection request and makes *cli_iw_ctx the context for it: a new one with
 * the listener's capacity and PD when it is NULL, else one that is not in use. Receives may be
 * posted before iw_accept(). -EISCONN: *cli_iw_ctx is in use. -ENOTCONN: this context does not
 * listen.
 */
RNIC_API int rnic_iw_listen(struct iw_ctx_conn *listen_iw_ctx, struct iw_ctx_conn **cli_iw_ctx);

/*
 * Accepts the request and waits until the initiator confirms, who gets `priv_data_len` bytes of
 * private data. -ENOTCONN, -ECONNABORTED: it has given up meanwhile. After any failure but -EINVAL
 * the request is gone, also when it was slow, and the context can be given to iw_listen() again.
 */
RNIC_API int rnic_iw_accept(const void *priv_data, size_t priv_data_len,
			    struct iw_ctx_conn *cli_iw_ctx);

/*
 * Refuses the request: the initiator's iw_connect fails with -ECONNREFUSED. The context can be
 * given to iw_listen() again then. -ENOTCONN: there is no request, or not any more.
 */
RNIC_API int rnic_iw_reject(struct iw_ctx_conn *cli_iw_ctx);

/*
 * The private data that the peer sent, good until the context connects again, and its length: all
 * that the message has room for, the peer's data and then zeros. NULL and 0 before.
 */
RNIC_API const void *rnic_iw_peer_data(const struct iw_ctx_conn *iw_ctx, size_t *length);

/* ---- buffers ---- */

/* Access flags. A region is always readable locally. */
enum iw_access {
	IW_ACCESS_LOCAL_WRITE = RNIC_ACCESS_LOCAL_WRITE,   /* receives and READs land in it */
	IW_ACCESS_REMOTE_WRITE = RNIC_ACCESS_REMOTE_WRITE, /* needs LOCAL_WRITE too */
	IW_ACCESS_REMOTE_READ = RNIC_ACCESS_REMOTE_READ,
};

/* A local region. To be read only. */
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
 * Allocates a zeroed buffer of `length` bytes (the fastest kind there is) and registers it.
 * `access_flags` is of enum iw_access. Errors as below, but for the first two.
 */
RNIC_API int rnic_iw_lmr_create(size_t length, uint32_t access_flags, struct iw_lmr **iw_lmr_out,
				struct iw_ctx_conn *iw_ctx);

/*
 * Registers a buffer of the caller's, which stays mapped until the region is destroyed. -EFAULT:
 * part of it is not there, or not writable. -EPERM: the daemon cannot reach this process's memory,
 * use iw_lmr_create. -EINVAL: no bytes, or REMOTE_WRITE without LOCAL_WRITE. -ENOSPC: too many
 * regions.
 */
RNIC_API int rnic_iw_lmr_register(void *addr, size_t length, uint32_t access_flags,
				  struct iw_lmr **iw_lmr_out, struct iw_ctx_conn *iw_ctx);

/*
 * Deregisters; what is posted with it fails. With `free_buf` the buffer is freed too: one of
 * iw_lmr_create, or one that came from malloc() and its kin. A created buffer that is kept stays
 * usable, and can be registered again, until its PD goes. On failure the region stays.
 */
RNIC_API int rnic_iw_lmr_destroy(struct iw_lmr *iw_lmr, bool free_buf);

/*
 * Sends the peer address, length and key of a region. Takes one entry of the send queue; a failure
 * shows as a completion.
 */
RNIC_API int rnic_iw_post_send_adv(const struct iw_lmr *iw_lmr, struct iw_ctx_conn *iw_ctx);

/*
 * Posts a receive for one advertisement; before connecting, too. The peer's messages take the
 * receives in the order in which these were posted, so both sides must agree on it.
 */
RNIC_API int rnic_iw_post_recv_adv(struct iw_ctx_conn *iw_ctx);

/*
 * Waits for the next advertisement. -EINVAL: no receive for one is posted. -EPROTO: another message
 * came in its place. -ENOTCONN: the connection ended first.
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
	IW_SEND_SIGNALED = RNIC_SEND_SIGNALED,	 /* await_completions(IW_SCQ) tells of it */
	IW_SEND_SOLICITED = RNIC_SEND_SOLICITED, /* wakes a peer that waits for solicited ones */
	IW_SEND_INLINE = RNIC_SEND_INLINE, /* of SENDs and WRITEs up to 64 bytes: copied at once */
};

/*
 * All return as soon as the request is posted; only a send queue that is full of requests without
 * IW_SEND_SIGNALED, which cannot be awaited, makes them wait for one. The memory belongs to the
 * RNIC until the request completes: until await_completions has told so, or told so of a later
 * request of the same queue. A request without that flag is told of only when it fails. -EMSGSIZE:
 * more than 2 GiB. -EACCES: a receive or READ into a region without IW_ACCESS_LOCAL_WRITE.
 *
 * A message that finds no receive posted waits until there is one; one that is longer than the
 * receive fails both, and the connection.
 */
RNIC_API int rnic_iw_post_recv_sgl(const struct iw_sgl *iw_sgl_dst, struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_recv_lmr(const struct iw_lmr *iw_lmr_dst, size_t offset, size_t length,
				   struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_send_sgl(const struct iw_sgl *iw_sgl_src, uint32_t send_flags,
				   struct iw_ctx_conn *iw_ctx);
RNIC_API int rnic_iw_post_send_lmr(const struct iw_lmr *iw_lmr_src, size_t offset, size_t length,
				   uint32_t send_flags, struct iw_ctx_conn *iw_ctx);

/* -EINVAL also: beyond the end of the remote region. A wrong key fails the request when it runs. */
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
	uint64_t wr_id;	   /* the request's number in its queue since the context was new, from 0;
			      advertisements do not count */
	uint32_t byte_len; /* received or read; else 0 */
	uint8_t status;	   /* enum rnic_wc_status */
	uint8_t opcode;	   /* enum rnic_wc_opcode; holds only with RNIC_WC_SUCCESS */
};

/*
 * Waits until `num_wcs` requests have completed and writes them to `wc_list_out`. -EREMOTEIO: so
 * they have, and the list is filled in, but at least one failed (see `status`): the connection is
 * of no use any more. -EINVAL: fewer requests are posted that would be told of, so that the wait
 * would have no end.
 */
RNIC_API int rnic_iw_await_completions(enum iw_cq_type cq_type, uint32_t num_wcs,
				       struct iw_wc *wc_list_out, struct iw_ctx_conn *iw_ctx);

/* ---- teardown ---- */

/*
 * Active teardown: lets what was posted to the send queue complete, ends the connection, drops
 * receives and completions that nobody awaited. The context is as new then, whatever is returned.
 * Also closes a context that listens. -EREMOTEIO: a send, WRITE or READ failed, and nothing that
 * was awaited has told of it. -ETIMEDOUT: the peer takes no messages within iw_ctx_set_timeout(),
 * and ten seconds; they are lost. -ENOTCONN: there was nothing to end.
 */
RNIC_API int rnic_iw_disconnect(struct iw_ctx_conn *iw_ctx);

/*
 * Passive teardown: waits until the peer disconnects; the context is as new then. -ECONNRESET: the
 * connection failed instead, likewise. -ETIMEDOUT, -EINTR: it stands as before. -ENOTCONN: there is
 * none.
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
#define iw_disconnect	    rnic_iw_disconnect
#define iw_await_disconnect rnic_iw_await_disconnect
#endif

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The native verbs interface of rnicd: a RoCEv2 device that a daemon serves, without libibverbs.
 *
 * Every function that can fail returns 0 (or a count) on success and a negative errno on failure,
 * and sets its outputs only on success. Any call can return these errors; the comments below do not
 * repeat them:
 *
 * - -ENODEV: the daemon is gone, or the context was inherited over fork(). The context and all
 *   objects made from it are dead: destroy the objects (which then succeeds), close the context,
 *   and open a new one.
 * - -EIO: daemon and library no longer understand each other; otherwise like -ENODEV.
 * - -ETIMEDOUT, while a device is opened: the daemon, or the process that serves the user's device,
 *   is stopped or hangs and has not answered for 30 seconds; otherwise like -ENODEV. Calls on a
 *   device that is open wait until the other side continues or ends, as calls of a kernel do.
 * - -ENOMEM, -EMFILE, -ENFILE: this process or the daemon lacks memory or descriptors. Nothing has
 *   changed, and a later call may succeed.
 *
 * -ENOSPC, where a comment lists it, means that the daemon grants this client, or all clients of
 * its user, no more of something: destroy some objects, or do with less. -EINVAL is the program's
 * mistake, also NULL for an object, or for the place of a result, that no comment makes optional;
 * functions without an error then do nothing, or return 0 or NULL. rnic_refusal_reason() gives a
 * sentence for each refusal of the daemon.
 *
 * Ownership: the caller owns the result of a create, alloc, register or open function until it
 * calls the matching destroy, free, deregister or close function. An object must outlive the
 * objects made from it; otherwise the daemon refuses with -EBUSY. Closing a context ends everything
 * made from it at the daemon; the caller must still destroy the objects to give back their memory.
 * All objects in one call must be of one context.
 *
 * Threads: any thread may call any function. A thread must not use an object while, or after,
 * another thread destroys it. fork(): a child inherits no context; its calls on one fail with
 * -ENODEV and do not disturb the parent. The child may open its own context.
 */
#ifndef RNIC_RNIC_H
#define RNIC_RNIC_H

#include <rnic/verbs_types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RNIC_API __attribute__((visibility("default")))

#define RNIC_SOCKET_PATH_BYTES 108

struct rnic_context;
struct rnic_pd;
struct rnic_mr;
struct rnic_mw;
struct rnic_channel;
struct rnic_cq;
struct rnic_qp;
struct rnic_srq;
struct rnic_xrcd;
struct rnic_ah;

/* ---- contexts and devices ---- */

/*
 * Writes the default path of the daemon's socket, which NULL means in other calls: $RNIC_SOCKET,
 * else /run/rnicd/rnicd.sock for root, else $XDG_RUNTIME_DIR/rnicd.sock, else
 * /tmp/rnicd-UID/rnicd.sock. Where $RNIC_SOCKET names several sockets, PATH:PATH or a directory of
 * sockets *.sock, the default is the first one. -ENAMETOOLONG: a path does not fit into a socket
 * address; choose a shorter one. -ENOENT: there is no socket in the directory. -E2BIG: $RNIC_SOCKET
 * names more than 32 sockets.
 */
RNIC_API int rnic_default_socket_path(char path[RNIC_SOCKET_PATH_BYTES]);

/*
 * Asks a daemon for its device's attributes, without opening the device. `socket_path` NULL: the
 * default. -ENOENT, -ECONNREFUSED: no daemon there; start one. -EACCES: the permissions of the
 * socket, or of a folder on the way, keep this user out, or the path is a default one and a
 * stranger serves there; use another socket. Where it worked before, the user connected too often
 * and is kept out for some seconds, at most ten minutes; try again later, and less often
 * (rnicd(8)). -EPROTONOSUPPORT: library and daemon share no version of the protocol; install them
 * together. -ENAMETOOLONG: as of rnic_default_socket_path().
 */
RNIC_API int rnic_query_device_at(const char *socket_path,
				  struct rnic_device_attributes *attributes);

/*
 * Opens a session with the daemon at `socket_path` (NULL: the default). -ENOSPC: the daemon serves
 * its largest number of clients. Other errors as of rnic_query_device_at().
 */
RNIC_API int rnic_open(const char *socket_path, struct rnic_context **context);

/*
 * Ends the session. Never fails; see "Ownership" for objects that still exist. Memory of
 * rnic_alloc() goes at once, or with the last of these objects.
 */
RNIC_API void rnic_close(struct rnic_context *context);

/* The device's attributes at the time of opening; valid until rnic_close(). */
RNIC_API const struct rnic_device_attributes *
rnic_get_device_attributes(const struct rnic_context *context);

/*
 * The daemon's reason for refusing the last request of this thread: a sentence without a full stop,
 * or empty when the daemon did not refuse. A refusal by the library itself, as of impossible
 * arguments, has no sentence and leaves the last one. Valid until the thread's next call into this
 * library.
 */
RNIC_API const char *rnic_refusal_reason(void);

struct rnic_port_attributes {
	enum rnic_port_state state;
	uint32_t max_mtu;    /* 1..5 for 256..4096 bytes */
	uint32_t active_mtu; /* likewise; the largest that fits the interface's MTU */
	uint32_t max_message_bytes;
	uint32_t gid_count;
	uint32_t speed_mbps; /* of the interface; 0 when unknown */
	/*
	 * The index of the GID by which processes of this host can reach each other without asking
	 * each other: the daemon tells all of them the same GID until its address goes. A GID of
	 * zero there means no address (yet).
	 */
	uint32_t own_gid_index;
};

/* Returns the state of the device's one port. */
RNIC_API int rnic_query_port(struct rnic_context *context, struct rnic_port_attributes *attributes);

/* Returns the partition key at `index` in host order. -EINVAL: no such index. */
RNIC_API int rnic_query_pkey(struct rnic_context *context, uint32_t index, uint16_t *pkey);

/*
 * Returns the GID at `index`, all zero for an empty slot, and the number of its interface
 * (`netdev_index` may be NULL). -EINVAL: no such index.
 */
RNIC_API int rnic_query_gid(struct rnic_context *context, uint32_t index, struct rnic_gid *gid,
			    uint32_t *netdev_index);

/* ---- protection domains and memory ---- */

/* Allocates a protection domain for regions, queues and handles. -ENOSPC: too many. */
RNIC_API int rnic_alloc_pd(struct rnic_context *context, struct rnic_pd **pd);

/*
 * Frees the domain. -EBUSY: it has memory regions or windows, queue pairs, shared receive queues or
 * address handles; it stays.
 */
RNIC_API int rnic_dealloc_pd(struct rnic_pd *pd);

/*
 * Allocates `bytes` bytes of zeroed memory that the daemon can map: regions registered within one
 * such block are the fastest. The block is aligned to pages, takes whole pages, and a descriptor.
 * After fork() parent and child share the block. -EINVAL: 0 bytes.
 */
RNIC_API int rnic_alloc(struct rnic_context *context, size_t bytes, void **memory);

/*
 * Frees a block of rnic_alloc(). Deregister its regions first: the daemon keeps its own mapping
 * until then. -EINVAL: not from rnic_alloc() of this context.
 */
RNIC_API int rnic_free(struct rnic_context *context, void *memory);

/*
 * Registers the memory [address, address + length). It is for local use and, by `access` (enum
 * rnic_access), for the peer's. `iova` is the address of the first byte in work requests and for
 * the peer, usually `address` itself. The call touches the pages, so that a missing range fails
 * here and not in the middle of a transfer. With ON_DEMAND it does not: that takes any range, all
 * of memory included, and each transfer finds its pages itself. The memory must stay mapped until
 * the region is deregistered; a missing page fails the request that needs it. A region of length 0
 * needs no memory, and serves transfers of no bytes. -EINVAL: a length beyond max_mr_bytes, a range
 * beyond the end of memory, or REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE (IBTA 1.4,
 * 10.6.3.2). -EFAULT: part of the range is not mapped, or not writable although `access` has
 * LOCAL_WRITE. -EPERM: the daemon cannot reach this process's memory; use rnic_alloc().
 * -EOPNOTSUPP: an access right that the device does not have, or ON_DEMAND where the daemon may not
 * use process_vm_readv. -ENOSPC: too many regions, or too much mapped memory.
 */
RNIC_API int rnic_reg_mr(struct rnic_pd *pd, void *address, size_t length, uint64_t iova,
			 uint32_t access, struct rnic_mr **mr);

/*
 * Allocates a region of all addresses without memory behind them: a read returns zeros, and a write
 * is dropped. For local use only. -ENOSPC: too many regions.
 */
RNIC_API int rnic_alloc_null_mr(struct rnic_pd *pd, struct rnic_mr **mr);

/*
 * Replaces the region by the one that rnic_reg_mr() with these arguments would make: at once, and
 * with the same keys. On failure the region is unchanged. Errors as of rnic_reg_mr(), and these.
 * -EINVAL: `pd` is of another context. -EBUSY: a memory window is bound to the region.
 */
RNIC_API int rnic_rereg_mr(struct rnic_mr *mr, struct rnic_pd *pd, void *address, size_t length,
			   uint64_t iova, uint32_t access);

/*
 * Ends the region: accesses with its keys fail from now on. -EBUSY: a memory window is bound to the
 * region; it stays.
 */
RNIC_API int rnic_dereg_mr(struct rnic_mr *mr);

/* The keys of the region: lkey for work requests, rkey for the peer. */
RNIC_API uint32_t rnic_mr_lkey(const struct rnic_mr *mr);
RNIC_API uint32_t rnic_mr_rkey(const struct rnic_mr *mr);

/*
 * Allocates a memory window (IBTA 1.4, 10.6.7): a key for part of a region that has the right
 * MW_BIND. The window grants nothing until a BIND_MW request completes. -EINVAL: no such type.
 * -ENOSPC: too many windows.
 */
RNIC_API int rnic_alloc_mw(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **mw);

/* Ends the window, bound or not: accesses with its key fail from now on. */
RNIC_API int rnic_dealloc_mw(struct rnic_mw *mw);

/*
 * The key that the window has before its first BIND_MW. Later keys have the same upper 24 bits; the
 * low 8 are those of the rkey that BIND_MW was given, which should differ from those of last time.
 */
RNIC_API uint32_t rnic_mw_rkey(const struct rnic_mw *mw);

/* ---- completion ---- */

/*
 * Creates a channel: a descriptor that becomes readable when an armed completion queue has a new
 * entry. -ENOSPC: too many channels.
 */
RNIC_API int rnic_create_channel(struct rnic_context *context, struct rnic_channel **channel);

/* Destroys the channel. -EBUSY: completion queues use it; it stays. */
RNIC_API int rnic_destroy_channel(struct rnic_channel *channel);

/*
 * The channel's descriptor for poll(). The caller may set O_NONBLOCK on it, and must not read or
 * close it.
 */
RNIC_API int rnic_channel_fd(const struct rnic_channel *channel);

/*
 * Waits for an event of `channel` and returns the event's queue. Acknowledge each event. A thread
 * may be cancelled while it waits. -EAGAIN: no event, and the descriptor is non-blocking. -EINTR: a
 * signal came.
 */
RNIC_API int rnic_get_cq_event(struct rnic_channel *channel, struct rnic_cq **cq);

/* Acknowledges `count` events of `cq`; rnic_destroy_cq() waits for all. */
RNIC_API void rnic_ack_cq_events(struct rnic_cq *cq, uint32_t count);

/*
 * Creates a completion queue for at least `entries` entries; `channel` may be NULL; `flags` are 0
 * or RNIC_CQ_TIMESTAMPS; `user` is the caller's, see rnic_cq_user(). Make the queue large enough
 * for all completions that can come before the next poll. A completion that finds the queue full is
 * lost. That raises CQ_ERR, and QP_FATAL for its queue pair, which is in ERR then. -EINVAL: entries
 * 0 or beyond max_cqe, or no such vector or flag. -ENOSPC: too many queues, or too much memory for
 * them.
 */
RNIC_API int rnic_create_cq(struct rnic_context *context, uint32_t entries,
			    struct rnic_channel *channel, uint32_t completion_vector,
			    uint32_t flags, void *user, struct rnic_cq **cq);

/*
 * Makes room for at least `entries`; completions that were not polled stay. -EINVAL: 0, beyond
 * max_cqe, or fewer than the completions in the queue. -EBUSY: too many completions to move; poll
 * some. -ENOSPC: too much memory.
 */
RNIC_API int rnic_resize_cq(struct rnic_cq *cq, uint32_t entries);

/*
 * Destroys the queue. Waits until all its events are acknowledged. -EBUSY: queue pairs use the
 * queue; it stays.
 */
RNIC_API int rnic_destroy_cq(struct rnic_cq *cq);

/* The number of entries, at least the one asked for; and the caller's `user`. */
RNIC_API uint32_t rnic_cq_entries(const struct rnic_cq *cq);
RNIC_API void *rnic_cq_user(const struct rnic_cq *cq);

struct rnic_completion {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* monotonic clock; 0 in a queue without RNIC_CQ_TIMESTAMPS */
	struct rnic_qp *
		qp; /* the queue pair of the request; valid while the caller has not destroyed it */
	struct rnic_srq *srq; /* XRC: the SRQ of the receive, and `qp` is NULL; else NULL */
	uint32_t byte_count;  /* bytes received, or read by an RDMA READ or atomic */
	uint32_t qpn;
	uint32_t immediate; /* host order; with WITH_INVALIDATE the invalidated key */
	uint32_t source_qpn;
	uint32_t vendor_error;	   /* the cause: rnicctl explain CODE has words for it */
	uint32_t source_gid_index; /* for a receive: the GID to answer from */
	uint8_t status; /* enum rnic_wc_status; unless SUCCESS only wr_id, qp, qpn and vendor_error
			   are valid */
	uint8_t opcode; /* enum rnic_wc_opcode */
	uint8_t wc_flags;      /* enum rnic_wc_flag */
	uint8_t service_level; /* for a datagram: enum rnic_wc_service_level, else 0 */
};

/*
 * Takes up to `max_count` completions; returns their number, 0 when there are none. Polling gives
 * the work queue's entries back (IBTA 1.4, 11.4.2.1): a queue pair fills up when nobody polls its
 * completions. A caller that polls an empty queue again and again lets other threads run first, and
 * in the end sleeps for some microseconds each time. The queue drops completions of queue pairs
 * that were destroyed, and at the daemon's end (-ENODEV) all that were not polled.
 */
RNIC_API int rnic_poll_cq(struct rnic_cq *cq, uint32_t max_count,
			  struct rnic_completion *completions);

/*
 * Stays awake for a moment, by turns with the daemon, until one of the queues has an entry: most
 * entries come sooner than a thread falls asleep and wakes up. Returns 1 when there is an entry to
 * poll. Returns 0 when the thread should sleep: ask for events by rnic_req_notify_cq(), poll once
 * more, then call rnic_wait(). Errors are those of rnic_poll_cq().
 */
RNIC_API int rnic_await_entry(struct rnic_cq *const *cqs, uint32_t cq_count);

/*
 * Asks for one event at the next entry, or at the next solicited or failed one. Entries that are
 * there already raise no event: poll again after this call, then wait (IBTA 1.4, 11.4.2.2).
 * -EINVAL: no channel.
 */
RNIC_API int rnic_req_notify_cq(struct rnic_cq *cq, bool solicited_only);

struct pollfd;

/*
 * Waits as poll(2) does, for descriptors that the device of `context` makes readable, and others.
 * `context` NULL: the descriptors belong to several devices. Returns poll's result or a negative
 * errno, -EINTR when a signal came while the thread slept. `timeout_ms` -1: without end. A thread
 * whose last wait was short spends the first part of the next one awake, by turns with the daemon:
 * an event within some microseconds then needs no wake-up. Where the device is inside the program,
 * the calling thread does the device's work meanwhile.
 */
RNIC_API int rnic_wait(struct rnic_context *context, struct pollfd *descriptors, unsigned count,
		       int timeout_ms);

/* ---- queue pairs ---- */

struct rnic_qp_options {
	enum rnic_qp_type type;
	bool signal_all; /* every send raises a completion, as if SIGNALED */
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	struct rnic_srq *srq; /* the SRQ for its receives, and max_recv_wr is granted as 0; NULL: it
				 has a receive queue of its own */
	struct rnic_xrcd *xrcd; /* for an XRC target, which has none of the members above */
	struct rnic_qp_capacities capacities;
	void *user; /* the caller's, see rnic_qp_user() */
};

/*
 * Creates a queue pair in the RESET state. On success options->capacities holds the granted
 * numbers, at least those asked for, for the sides that the queue pair has: an XRC initiator sends
 * only. An XRC target (for which `pd` is NULL) receives only, from the SRQs of its domain. -EINVAL:
 * beyond the device's limits, or something is missing that the type needs. -EOPNOTSUPP: no such
 * type. -ENOSPC: too many queue pairs, or too much memory for them.
 */
RNIC_API int rnic_create_qp(struct rnic_pd *pd, struct rnic_qp_options *options,
			    struct rnic_qp **qp);

/*
 * Changes the attributes of a queue pair that are in `mask` (enum rnic_qp_attribute). STATE among
 * them makes a step in the state diagram (IBTA 1.4, 10.3.1). A step needs, for RC / UC / UD
 * (rnic_cm_qp_attributes() has all that for connections by address):
 *
 * - INIT: PKEY_INDEX, PORT, and ACCESS_FLAGS / ACCESS_FLAGS / QKEY
 * - RTR: AV, PATH_MTU, DEST_QPN, RQ_PSN, MAX_DEST_RD_ATOMIC, MIN_RNR_TIMER / the first four / none
 * - RTS: SQ_PSN, TIMEOUT, RETRY_COUNT, RNR_RETRY, MAX_RD_ATOMIC / SQ_PSN / SQ_PSN
 *
 * RESET, ERR and SQD need none. A step to RESET also drops the completions that were not polled
 * yet. -EINVAL: the step is not in the diagram, or an attribute is missing, superfluous or out of
 * range (in the path: a source GID index that is empty; a path MTU beyond that of the port);
 * nothing changed.
 */
RNIC_API int rnic_modify_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes,
			    uint32_t mask);

/*
 * Makes the steps to RTR and to RTS in one request to the device: the first one with the attributes
 * in `receive_mask`, the second one with those in `send_mask` (enum rnic_qp_attribute; STATE is
 * added, and `state` is not read). The queue pair is in RTR when the second step alone was refused,
 * else as before: rnic_query_qp() tells. Errors as of rnic_modify_qp().
 */
RNIC_API int rnic_connect_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes,
			     uint32_t receive_mask, uint32_t send_mask);

/* Returns the queue pair's present values; `capacities` and `attributes` may be NULL. */
RNIC_API int rnic_query_qp(struct rnic_qp *qp, struct rnic_qp_attributes *attributes,
			   struct rnic_qp_capacities *capacities);

/*
 * Destroys the queue pair. Waits until all its asynchronous events are acknowledged. Completions
 * that were not polled yet are lost.
 */
RNIC_API int rnic_destroy_qp(struct rnic_qp *qp);

/* The number on the wire, of 24 bits; and the caller's `user`. */
RNIC_API uint32_t rnic_qp_number(const struct rnic_qp *qp);
RNIC_API void *rnic_qp_user(const struct rnic_qp *qp);

/* ---- shared receive queues ---- */

struct rnic_srq_options {
	uint32_t max_wr;
	uint32_t max_sge;
	struct rnic_xrcd *xrcd; /* NULL: not for XRC */
	struct rnic_cq *cq;	/* with xrcd: the CQ for its receives; else NULL */
	void *user;		/* the caller's, see rnic_srq_user() */
};

/*
 * Creates a queue of receives for the messages of several queue pairs (IBTA 1.4, 10.2.9). The
 * receives' memory must be registered in `pd`. On success the options hold the granted numbers, at
 * least those asked for. -EINVAL: no entries, beyond the device's limits, or one of `xrcd` and `cq`
 * without the other. -ENOSPC: too many queues, or too much memory for them.
 */
RNIC_API int rnic_create_srq(struct rnic_pd *pd, struct rnic_srq_options *options,
			     struct rnic_srq **srq);

/*
 * Changes the attributes of a queue that are in `mask` (enum rnic_srq_attribute). A limit that is
 * not 0 asks for one event SRQ_LIMIT_REACHED when fewer requests than that are posted, which may be
 * so at once. With MAX_WR the queue keeps its posted requests. -EINVAL: a limit beyond max_wr, or a
 * max_wr that is 0, beyond the device's, or less than the number of posted requests; nothing has
 * changed then. -ENOSPC: too much memory.
 */
RNIC_API int rnic_modify_srq(struct rnic_srq *srq, const struct rnic_srq_attributes *attributes,
			     uint32_t mask);

/*
 * Returns the attributes of the queue. The limit is 0 when none is armed: also after its event was
 * raised.
 */
RNIC_API int rnic_query_srq(struct rnic_srq *srq, struct rnic_srq_attributes *attributes);

/*
 * Destroys the queue. Waits until all its asynchronous events are acknowledged. Its posted requests
 * do not complete. -EBUSY: queue pairs use the queue; it stays.
 */
RNIC_API int rnic_destroy_srq(struct rnic_srq *srq);

/* The number by which XRC senders name the queue; and the caller's `user`. */
RNIC_API uint32_t rnic_srq_number(const struct rnic_srq *srq);
RNIC_API void *rnic_srq_user(const struct rnic_srq *srq);

/* ---- imports ---- */

/*
 * Allows every holder of a descriptor of the file `fd` to import the objects of this context. The
 * file may be any that nobody else can open, like a memfd. The descriptor stays the caller's.
 * -EBUSY: the context shares a file already. -EEXIST: another context shares this one. -EINVAL: the
 * descriptor is of O_PATH. -EBADF: it is no descriptor.
 */
RNIC_API int rnic_share(struct rnic_context *context, int fd);

/*
 * Makes the context, which is of the same device, import from the one that shares the file. The
 * context keeps its own objects, memory and quotas. -ENOENT: no other context shares this file.
 * -EBUSY: the context imports from another already. -EINVAL, -EBADF: as of rnic_share().
 */
RNIC_API int rnic_import(struct rnic_context *context, int fd);

/*
 * The name by which another context can import the exporter's object; others of its kind have other
 * names.
 */
RNIC_API uint32_t rnic_pd_name(const struct rnic_pd *pd);
RNIC_API uint32_t rnic_mr_name(const struct rnic_mr *mr);

/*
 * Imports the exporter's protection domain, for objects of this context as well. The domain exists
 * until all contexts have released it; each context waits only for its own objects. A memory window
 * can be bound only to a region of its own context. End the import by rnic_unimport_pd(), or by
 * rnic_dealloc_pd(), which reports a domain in use. -ENODEV, also: the exporter has ended. -EINVAL:
 * the exporter has no such domain. -ENOSPC: too many.
 */
RNIC_API int rnic_import_pd(struct rnic_context *context, uint32_t name, struct rnic_pd **pd);
RNIC_API void rnic_unimport_pd(struct rnic_pd *pd);

/*
 * Returns the keys and `*length` of a region of the exporter in an imported domain. The region
 * stays the exporter's: after the exporter ends or deregisters it, its keys are invalid. End the
 * import by rnic_unimport_mr(). -ENODEV, also: the exporter has ended. -EINVAL: the exporter has no
 * such region there.
 */
RNIC_API int rnic_import_mr(struct rnic_pd *pd, uint32_t name, struct rnic_mr **mr,
			    uint64_t *length);
RNIC_API void rnic_unimport_mr(struct rnic_mr *mr);

/* ---- XRC ---- */

struct rnic_xrcd_options {
	int file_fd;	  /* all callers with a descriptor of the same file share the domain; -1: a
			     domain of this context alone */
	bool may_create;  /* make the domain when the file names none yet */
	bool must_create; /* refuse when the file names one */
};

/*
 * Opens a domain of target queue pairs and shared receive queues (IBTA annex A14). For every
 * operation the sender of a message names the SRQ, and the keys are those of the SRQ's protection
 * domain. -EAGAIN: the file names no domain and may_create is not set. -EINVAL: the file names one
 * and must_create is set, or the descriptor is of O_PATH. -EBADF: it is no descriptor. -ENOSPC: too
 * many domains.
 */
RNIC_API int rnic_open_xrcd(struct rnic_context *context, const struct rnic_xrcd_options *options,
			    struct rnic_xrcd **xrcd);

/*
 * Closes the domain, which ends when all contexts have closed it. -EBUSY: queues of this context
 * are in the domain; it stays.
 */
RNIC_API int rnic_close_xrcd(struct rnic_xrcd *xrcd);

/*
 * Opens one more handle for a target queue pair of the domain, of any creator. The queue pair lives
 * until all its handles are destroyed. -EINVAL: the domain has no queue pair of that number.
 * -ENOSPC: too many.
 */
RNIC_API int rnic_open_qp(struct rnic_xrcd *xrcd, uint32_t qpn, void *user, struct rnic_qp **qp);

/* ---- work requests ---- */

struct rnic_send_wr {
	uint64_t wr_id; /* the caller's, for the completion */
	const struct rnic_send_wr *next;
	/* With SEND_INLINE the addresses are the process's own and need no key. */
	const struct rnic_sge *sge_list;
	uint32_t sge_count;
	uint8_t opcode;	    /* enum rnic_wr_opcode */
	uint8_t flags;	    /* enum rnic_send_flag */
	uint32_t immediate; /* host order; or the key to invalidate */
	uint64_t remote_address;
	uint32_t rkey;
	uint32_t srqn; /* for an XRC initiator: the peer's shared receive queue */
	union {
		struct {
			uint64_t compare;
			uint64_t swap_or_add;
		} atomic;
		struct {
			struct rnic_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} datagram;
		struct { /* BIND_MW; remote_address is that of the window's first byte, in the
			    region */
			const struct rnic_mw *mw; /* low 8 bits of rkey: of its new key */
			const struct rnic_mr *mr; /* may be NULL with length 0 */
			uint64_t length;	  /* 0 unbinds a window of type 1 */
			uint32_t access;	  /* enum rnic_access; ZERO_BASED: type 2 only */
		} bind;
		struct {		 /* FLUSH, of earlier writes; no elements */
			uint32_t length; /* from remote_address on; not with WHOLE_REGION */
			uint32_t type;	 /* enum rnic_flush_type */
		} flush;
	};
};

struct rnic_recv_wr {
	uint64_t wr_id;
	const struct rnic_recv_wr *next;
	const struct rnic_sge *sge_list; /* for UD: 40 bytes for the GRH come first */
	uint32_t sge_count;
};

/*
 * Posts a list of requests (IBTA 1.4, 11.4.1). The caller may reuse the requests, their lists and
 * inline data at once. The memory of the elements belongs to the device until the request
 * completes, or, for a request without SIGNALED, until a later one of the same queue completes.
 * Wrong keys and ranges show in the completion, and so does an opcode that the queue pair's type
 * does not have (IBTA 1.4, table 37): LOC_QP_OP_ERR. On failure *bad is the first request that was
 * not posted; all before it were. -EINVAL: the queue pair is in RESET, INIT or RTR, too many
 * elements, too many bytes, inline data for an opcode that takes none, a bind or local invalidation
 * where the type has none, a bind without a window, or an ATOMIC_WRITE of other than 8 bytes.
 * -EOPNOTSUPP: an unknown opcode. -ENOMEM: the queue is full; poll its completion queue.
 */
RNIC_API int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *list,
			    const struct rnic_send_wr **bad);

/*
 * Posts a list of receives. -EINVAL: the queue pair is in RESET, is of XRC or has a shared receive
 * queue, or too many elements. -ENOMEM: the queue is full.
 */
RNIC_API int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *list,
			    const struct rnic_recv_wr **bad);

/*
 * Posts a list of receives to a shared receive queue. A message of one of its queue pairs takes the
 * request, which then completes in that queue pair's completion queue. A request that a queue pair
 * took before its step to RESET, or before its end, goes back to the queue. -EINVAL: too many
 * elements. -ENOMEM: max_wr requests are posted; the daemon makes room as messages come.
 */
RNIC_API int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *list,
				const struct rnic_recv_wr **bad);

/* ---- address handles ---- */

/*
 * Creates an address handle: the destination of datagrams, which may be a multicast group. -EINVAL:
 * the path has no GID, or one that is no address, a port other than 1, or a source GID index that
 * is empty. -ENOSPC: too many address handles.
 */
RNIC_API int rnic_create_ah(struct rnic_pd *pd, const struct rnic_path *path, struct rnic_ah **ah);

/* Destroys the address handle. Posted requests keep its path. */
RNIC_API int rnic_destroy_ah(struct rnic_ah *ah);

/*
 * Lets a UD queue pair receive the messages to a multicast group. This ends when the queue pair is
 * detached or destroyed; a second call changes nothing. -EINVAL: not a UD queue pair, or not a
 * multicast address. -ENOSPC: too many groups, or queue pairs in this one. Other errors: the
 * interface could not join.
 */
RNIC_API int rnic_attach_mcast(struct rnic_qp *qp, const struct rnic_gid *group);

/* Takes the queue pair out of the group. -EINVAL: it is not in that group. */
RNIC_API int rnic_detach_mcast(struct rnic_qp *qp, const struct rnic_gid *group);

/* ---- asynchronous events ---- */

struct rnic_async_event {
	enum rnic_async_event_type type;
	struct rnic_cq *cq;   /* for CQ_ERR, else NULL */
	struct rnic_qp *qp;   /* for the events of a queue pair, else NULL */
	struct rnic_srq *srq; /* for the events of a shared receive queue, else NULL */
	uint32_t port;	      /* for the events of a port, else 0 */
};

/*
 * The descriptor for poll() of a context's asynchronous events. The caller may set O_NONBLOCK on
 * it, and must not read or close it.
 */
RNIC_API int rnic_async_fd(const struct rnic_context *context);

/*
 * Waits for an event. Acknowledge each event. A daemon that dies gives one DEVICE_FATAL, then
 * -ENODEV. A thread may be cancelled while it waits. -EAGAIN: no event, and the descriptor is
 * non-blocking. -EINTR: a signal came.
 */
RNIC_API int rnic_get_async_event(struct rnic_context *context, struct rnic_async_event *event);

/* Acknowledges an event. The call that destroys the event's object waits for this. */
RNIC_API void rnic_ack_async_event(const struct rnic_async_event *event);

#ifdef __cplusplus
}
#endif

#endif

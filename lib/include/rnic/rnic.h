/* SPDX-License-Identifier: MIT */
/*
 * The native verbs interface of rnicd: a RoCEv2 device served by a daemon, used without libibverbs.
 *
 * Every function that can fail returns 0 (or a count) on success and a negative errno on failure,
 * and sets its outputs only on success. These errors can come from any call and are not repeated
 * below:
 *
 * - -ENODEV: the daemon is gone, or the context was inherited over fork(). The context and all
 *   that was made from it is dead: destroy the objects (which then succeeds), close the context,
 *   and open a new one.
 * - -EIO: daemon and library no longer understand each other; otherwise like -ENODEV.
 * - -ETIMEDOUT: the daemon, stopped or hanging, has not answered for 30 seconds; otherwise like
 *   -ENODEV. Who waits for an event then goes on waiting until the daemon ends or goes on itself.
 * - -ENOMEM, -EMFILE, -ENFILE: this process or the daemon lacks memory or descriptors. Nothing has
 *   changed, and later it may go well.
 *
 * -ENOSPC, where it is listed, means that the daemon grants this client, or all clients of its
 * user, no more of something: destroy some, or do with less. -EINVAL is the program's mistake. For
 * what the daemon has refused rnic_refusal_reason() gives a sentence.
 *
 * Ownership: what a create, alloc, register or open function returns is the caller's until it calls
 * the matching destroy, free, deregister or close function. An object must outlive those made from
 * it; the daemon refuses with -EBUSY otherwise. Closing a context ends everything made from it at
 * the daemon; the objects must still be destroyed to give back their memory. The objects that a
 * call names together are of one context.
 *
 * Threads: all functions may be called from any thread. An object must not be used while, or after,
 * another thread destroys it. fork(): a child inherits no context; its calls on one fail with
 * -ENODEV and do not disturb the parent, and it may open its own.
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
 * Writes the path of the daemon's socket that NULL stands for in the calls below: $RNIC_SOCKET,
 * else /run/rnicd/rnicd.sock for root, else $XDG_RUNTIME_DIR/rnicd.sock, else
 * /tmp/rnicd-UID/rnicd.sock. -ENAMETOOLONG: it does not fit into a socket address; choose a shorter
 * one.
 */
RNIC_API int rnic_default_socket_path(char path[RNIC_SOCKET_PATH_BYTES]);

/*
 * Asks the daemon at `socket_path` (NULL: the default) what its device is, without opening it.
 * -ENOENT, -ECONNREFUSED: no daemon there; start one. -EACCES: the socket is another user's; use
 * another. -EPROTONOSUPPORT: library and daemon share no version of the protocol; install them
 * together. -ENAMETOOLONG: as above.
 */
RNIC_API int rnic_query_device_at(const char *socket_path,
				  struct rnic_device_attributes *attributes);

/*
 * Opens a session with the daemon at `socket_path` (NULL: the default). Errors as above; -ENOSPC:
 * the daemon serves as many clients as it may.
 */
RNIC_API int rnic_open(const char *socket_path, struct rnic_context **context);

/*
 * Ends the session. Never fails; see "Ownership" for objects that still exist. Memory of
 * rnic_alloc() is gone then, or with the last of these objects.
 */
RNIC_API void rnic_close(struct rnic_context *context);

/* The device's attributes, as of opening; valid until rnic_close(). */
RNIC_API const struct rnic_device_attributes *
rnic_get_device_attributes(const struct rnic_context *context);

/*
 * Why the daemon refused the last request of this thread, a sentence without a full stop; empty
 * when it did not. What the library refuses by itself, as arguments that cannot be, has no sentence
 * and leaves the last one. Valid until the thread's next call into this library.
 */
RNIC_API const char *rnic_refusal_reason(void);

struct rnic_port_attributes {
	enum rnic_port_state state;
	uint32_t max_mtu;    /* 1..5 for 256..4096 bytes */
	uint32_t active_mtu; /* likewise; what the interface's MTU leaves room for */
	uint32_t max_message_bytes;
	uint32_t gid_count;
	uint32_t speed_mbps; /* of the interface; 0 when unknown */
	/*
	 * Of the GID by which processes of this host can reach each other without asking each
	 * other: all are told the same one until its address goes. Zero there: no address (yet).
	 */
	uint32_t own_gid_index;
};

/* Asks for the state of the device's one port. */
RNIC_API int rnic_query_port(struct rnic_context *context, struct rnic_port_attributes *attributes);

/* Asks for the partition key at `index` in host order. -EINVAL: no such index. */
RNIC_API int rnic_query_pkey(struct rnic_context *context, uint32_t index, uint16_t *pkey);

/*
 * Asks for the GID at `index`, all zero when the slot is empty, and for the number of the interface
 * that it belongs to (`netdev_index` may be NULL). -EINVAL: no such index.
 */
RNIC_API int rnic_query_gid(struct rnic_context *context, uint32_t index, struct rnic_gid *gid,
			    uint32_t *netdev_index);

/* ---- protection domains and memory ---- */

/* Allocates a protection domain, which regions, queues and handles are of. -ENOSPC: too many. */
RNIC_API int rnic_alloc_pd(struct rnic_context *context, struct rnic_pd **pd);

/*
 * -EBUSY: memory regions or windows, queue pairs, shared receive queues or address handles of it
 * exist; it stays.
 */
RNIC_API int rnic_dealloc_pd(struct rnic_pd *pd);

/*
 * Allocates `bytes` bytes of zeroed memory that the daemon can map: regions registered within one
 * such block are the fastest. It is aligned to pages, takes whole ones, and a descriptor. After
 * fork() parent and child share the block. -EINVAL: 0 bytes.
 */
RNIC_API int rnic_alloc(struct rnic_context *context, size_t bytes, void **memory);

/*
 * Frees what rnic_alloc() returned. Deregister its regions first: the daemon keeps its own mapping
 * until then. -EINVAL: not from rnic_alloc() of this context.
 */
RNIC_API int rnic_free(struct rnic_context *context, void *memory);

/*
 * Registers [address, address + length) for local use and, by `access` (enum rnic_access), for the
 * peer's. `iova` is the address of the first byte in work requests and for the peer, usually
 * `address` itself. The pages are touched, so that a range that is not there fails here and not in
 * the middle of a transfer; not so with ON_DEMAND, which takes any range, all of memory included,
 * and leaves it to each transfer to find its pages there. The memory must stay mapped until the
 * region is deregistered; what is not there fails the request that needs it. -EINVAL: length 0
 * (only memory of rnic_alloc() can be registered so) or beyond max_mr_bytes, a range beyond the end
 * of memory, or REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE (IBTA 1.4, 10.6.3.2). -EFAULT:
 * part of it is not mapped, or not writable although `access` has LOCAL_WRITE. -EPERM: the daemon
 * cannot reach this process's memory; use rnic_alloc(). -EOPNOTSUPP: an access right that the
 * device does not have, or ON_DEMAND where the daemon may not use process_vm_readv. -ENOSPC: too
 * many regions, or too much mapped memory.
 */
RNIC_API int rnic_reg_mr(struct rnic_pd *pd, void *address, size_t length, uint64_t iova,
			 uint32_t access, struct rnic_mr **mr);

/*
 * A region of all addresses behind which there is no memory: what is read from it is zero, and what
 * is written to it is gone. For local use only. -ENOSPC: too many regions.
 */
RNIC_API int rnic_alloc_null_mr(struct rnic_pd *pd, struct rnic_mr **mr);

/*
 * Makes the region what rnic_reg_mr() with these arguments would make, at once and without a change
 * of its keys. On failure it is as it was; errors as above. -EINVAL: `pd` is of another context.
 * -EBUSY: a memory window is bound to it.
 */
RNIC_API int rnic_rereg_mr(struct rnic_mr *mr, struct rnic_pd *pd, void *address, size_t length,
			   uint64_t iova, uint32_t access);

/*
 * Ends it: accesses with its keys fail from now on. -EBUSY: a memory window is bound to it; it
 * stays.
 */
RNIC_API int rnic_dereg_mr(struct rnic_mr *mr);

/* The keys to write into work requests (lkey) and to tell the peer (rkey). */
RNIC_API uint32_t rnic_mr_lkey(const struct rnic_mr *mr);
RNIC_API uint32_t rnic_mr_rkey(const struct rnic_mr *mr);

/*
 * Allocates a memory window (IBTA 1.4, 10.6.7): a key for part of a region that has the right
 * MW_BIND. It grants nothing until a BIND_MW request is completed. -EINVAL: no such type. -ENOSPC:
 * too many windows.
 */
RNIC_API int rnic_alloc_mw(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **mw);

/* Ends it, bound or not: accesses with its key fail from now on. */
RNIC_API int rnic_dealloc_mw(struct rnic_mw *mw);

/*
 * The key that names the window in BIND_MW. The key to bind it with, and to tell the peer, is this
 * one with low 8 bits of one's choice, which should differ from the last.
 */
RNIC_API uint32_t rnic_mw_rkey(const struct rnic_mw *mw);

/* ---- completion ---- */

/*
 * Creates a channel: a descriptor that becomes readable when an armed completion queue has a new
 * entry. -ENOSPC: too many channels.
 */
RNIC_API int rnic_create_channel(struct rnic_context *context, struct rnic_channel **channel);

/* -EBUSY: completion queues use it; it stays. */
RNIC_API int rnic_destroy_channel(struct rnic_channel *channel);

/* To poll(), and to set O_NONBLOCK on. Do not read or close it. */
RNIC_API int rnic_channel_fd(const struct rnic_channel *channel);

/*
 * Waits for an event of `channel` and says of which queue it is. Each must be acknowledged. A
 * thread may be cancelled while it waits. -EAGAIN: none, and the descriptor is non-blocking.
 * -EINTR: a signal came.
 */
RNIC_API int rnic_get_cq_event(struct rnic_channel *channel, struct rnic_cq **cq);

/* Acknowledges `count` events of `cq`; rnic_destroy_cq() waits for all. */
RNIC_API void rnic_ack_cq_events(struct rnic_cq *cq, uint32_t count);

/*
 * Creates a completion queue for at least `entries` entries; `channel` may be NULL; `user` is the
 * caller's, see rnic_cq_user(). Give it room for all that can complete before it is polled: a
 * completion that finds the queue full is lost, which raises CQ_ERR, and QP_FATAL for its queue
 * pair, which is in ERR then. -EINVAL: entries 0 or beyond max_cqe, or no such vector. -ENOSPC: too
 * many queues, or too much memory for them.
 */
RNIC_API int rnic_create_cq(struct rnic_context *context, uint32_t entries,
			    struct rnic_channel *channel, uint32_t completion_vector, void *user,
			    struct rnic_cq **cq);

/*
 * Makes room for at least `entries`; what waits to be polled stays. -EINVAL: 0, beyond max_cqe, or
 * fewer than wait. -EBUSY: too many wait to be moved; poll some. -ENOSPC: too much memory.
 */
RNIC_API int rnic_resize_cq(struct rnic_cq *cq, uint32_t entries);

/* Waits until all its events are acknowledged. -EBUSY: queue pairs use it; it stays. */
RNIC_API int rnic_destroy_cq(struct rnic_cq *cq);

/* How many entries it has, at least as many as were asked for; and what the caller gave. */
RNIC_API uint32_t rnic_cq_entries(const struct rnic_cq *cq);
RNIC_API void *rnic_cq_user(const struct rnic_cq *cq);

struct rnic_completion {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* the daemon's monotonic clock */
	struct rnic_qp *qp;    /* whose work it was; valid while the caller has not destroyed it */
	struct rnic_srq *srq;  /* of XRC: whose receive it was, and `qp` is NULL; else NULL */
	uint32_t byte_count;   /* received, or read by an RDMA READ or atomic */
	uint32_t qpn;
	uint32_t immediate; /* host order; with WITH_INVALIDATE the key that was invalidated */
	uint32_t source_qpn;
	uint32_t vendor_error;	   /* for diagnosis */
	uint32_t source_gid_index; /* of a receive: the GID to answer from */
	uint8_t status; /* enum rnic_wc_status; unless SUCCESS only wr_id, qp, qpn and vendor_error
			   hold */
	uint8_t opcode; /* enum rnic_wc_opcode */
	uint8_t wc_flags;      /* enum rnic_wc_flag */
	uint8_t service_level; /* of a datagram: enum rnic_wc_service_level, else 0 */
};

/*
 * Takes up to `max_count` completions; returns how many, 0 when there are none. Polling gives the
 * work queue's entries back (IBTA 1.4, 11.4.2.1): a queue pair whose completions are not polled
 * fills up. An empty queue polled again and again lets other threads run first, and in the end
 * sleeps for some microseconds each time. Completions of queue pairs that were destroyed are
 * dropped, and with the daemon's end (-ENODEV) all that were not polled.
 */
RNIC_API int rnic_poll_cq(struct rnic_cq *cq, uint32_t max_count,
			  struct rnic_completion *completions);

/*
 * Asks for one event at the next entry, or at the next solicited or failed one. Entries that are
 * there already raise none: poll again after this call, then wait (IBTA 1.4, 11.4.2.2). -EINVAL: no
 * channel.
 */
RNIC_API int rnic_req_notify_cq(struct rnic_cq *cq, bool solicited_only);

struct pollfd;

/*
 * Waits as poll(2) does, for descriptors that daemons make readable, and returns what that returns
 * or a negative errno, -EINTR when a signal came. `timeout_ms` -1: without end. A wait that is
 * expected to be short, as the last one of this thread was, is spent awake at first, by turns with
 * the daemon: what comes within some microseconds then needs no wake-up.
 */
RNIC_API int rnic_wait(struct pollfd *descriptors, unsigned count, int timeout_ms);

/* ---- queue pairs ---- */

struct rnic_qp_options {
	enum rnic_qp_type type;
	bool signal_all; /* every send raises a completion, as if SIGNALED */
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	struct rnic_srq *srq; /* its receives come from here, and max_recv_wr is granted as 0; NULL:
				 from a queue of its own */
	struct rnic_xrcd *xrcd; /* of an XRC target, which has nothing of the above */
	struct rnic_qp_capacities capacities;
	void *user; /* the caller's, see rnic_qp_user() */
};

/*
 * Creates a queue pair in the RESET state. On success options->capacities holds what was granted,
 * at least what was asked for, of the sides that it has: an XRC initiator sends only, and an XRC
 * target (for which `pd` is NULL) receives only, from the SRQs of its domain. -EINVAL: beyond the
 * device's limits, or something is missing that the type needs. -EOPNOTSUPP: no such type.
 * -ENOSPC: too many queue pairs, or too much memory for them.
 */
RNIC_API int rnic_create_qp(struct rnic_pd *pd, struct rnic_qp_options *options,
			    struct rnic_qp **qp);

/*
 * Changes the attributes in `mask` (enum rnic_qp_attribute), STATE among them to make a step in the
 * state diagram (IBTA 1.4, 10.3.1). A step needs, of RC / UC / UD (rnic_cm_qp_attributes() has all
 * that for connections by address):
 *
 * - INIT: PKEY_INDEX, PORT, and ACCESS_FLAGS / ACCESS_FLAGS / QKEY
 * - RTR: AV, PATH_MTU, DEST_QPN, RQ_PSN, MAX_DEST_RD_ATOMIC, MIN_RNR_TIMER / the first four / none
 * - RTS: SQ_PSN, TIMEOUT, RETRY_COUNT, RNR_RETRY, MAX_RD_ATOMIC / SQ_PSN / SQ_PSN
 *
 * RESET, ERR and SQD need none. A step to RESET also drops the completions that were not polled
 * yet. -EINVAL: the step is not in the diagram, an attribute is missing, superfluous or out of
 * range (of the path: a source GID index that is empty; a path MTU beyond that of the port);
 * nothing changed.
 */
RNIC_API int rnic_modify_qp(struct rnic_qp *qp, const struct rnic_qp_attributes *attributes,
			    uint32_t mask);

/* Asks what they are now; `capacities` and `attributes` may be NULL. */
RNIC_API int rnic_query_qp(struct rnic_qp *qp, struct rnic_qp_attributes *attributes,
			   struct rnic_qp_capacities *capacities);

/*
 * Waits until all its asynchronous events are acknowledged. Its completions not polled yet are
 * lost.
 */
RNIC_API int rnic_destroy_qp(struct rnic_qp *qp);

/* The number on the wire, of 24 bits; and what the caller gave. */
RNIC_API uint32_t rnic_qp_number(const struct rnic_qp *qp);
RNIC_API void *rnic_qp_user(const struct rnic_qp *qp);

/* ---- shared receive queues ---- */

struct rnic_srq_options {
	uint32_t max_wr;
	uint32_t max_sge;
	struct rnic_xrcd *xrcd; /* NULL: not of XRC */
	struct rnic_cq *cq;	/* with xrcd: where its receives complete; else NULL */
	void *user;		/* the caller's, see rnic_srq_user() */
};

/*
 * Creates a queue of receives for the messages of several queue pairs (IBTA 1.4, 10.2.9), whose
 * memory must be registered in `pd`. On success the options hold what was granted, at least what
 * was asked for. -EINVAL: no entries, beyond the device's limits, or one of `xrcd` and `cq` without
 * the other. -ENOSPC: too many queues, or too much memory for them.
 */
RNIC_API int rnic_create_srq(struct rnic_pd *pd, struct rnic_srq_options *options,
			     struct rnic_srq **srq);

/*
 * Changes the attributes in `mask` (enum rnic_srq_attribute). A limit that is not 0 asks for one
 * event SRQ_LIMIT_REACHED when fewer requests than that are posted, which may be so at once. With
 * MAX_WR the queue keeps what waits in it. -EINVAL: a limit beyond max_wr, or a max_wr that is 0,
 * beyond the device's, or fewer than wait; nothing has changed then. -ENOSPC: too much memory.
 */
RNIC_API int rnic_modify_srq(struct rnic_srq *srq, const struct rnic_srq_attributes *attributes,
			     uint32_t mask);

/* Asks for them. The limit is 0 when none is armed, as once its event was raised. */
RNIC_API int rnic_query_srq(struct rnic_srq *srq, struct rnic_srq_attributes *attributes);

/*
 * Waits until all its asynchronous events are acknowledged. Requests that were posted do not
 * complete. -EBUSY: queue pairs use it; it stays.
 */
RNIC_API int rnic_destroy_srq(struct rnic_srq *srq);

/* The number that XRC senders name it by; and what the caller gave. */
RNIC_API uint32_t rnic_srq_number(const struct rnic_srq *srq);
RNIC_API void *rnic_srq_user(const struct rnic_srq *srq);

/* ---- imports ---- */

/*
 * Lets whoever has a descriptor of the file `fd` import what this context has; it may be any file
 * that nobody else can open, like a memfd. The descriptor stays the caller's. -EBUSY: the context
 * shares a file already. -EEXIST: another context shares this one. -EINVAL: it is of O_PATH.
 * -EBADF: it is none.
 */
RNIC_API int rnic_share(struct rnic_context *context, int fd);

/*
 * Makes the context, which is of the same device, import from the one that shares the file. It
 * keeps its own objects, memory and quotas. -ENOENT: no other context shares this file. -EBUSY: the
 * context imports from another already. -EINVAL, -EBADF: as above.
 */
RNIC_API int rnic_import(struct rnic_context *context, int fd);

/* By what name the exporter's object can be imported; others of its kind have other names. */
RNIC_API uint32_t rnic_pd_name(const struct rnic_pd *pd);
RNIC_API uint32_t rnic_mr_name(const struct rnic_mr *mr);

/*
 * The exporter's protection domain, for objects of this context as well: it is there until all have
 * let go of it, and each only waits for its own objects. Memory windows are bound to regions of
 * their own context only. End it by rnic_unimport_pd(), or rnic_dealloc_pd(), which tells whether
 * it is in use. -ENODEV, also: the exporter has ended. -EINVAL: it has no such domain. -ENOSPC: too
 * many.
 */
RNIC_API int rnic_import_pd(struct rnic_context *context, uint32_t name, struct rnic_pd **pd);
RNIC_API void rnic_unimport_pd(struct rnic_pd *pd);

/*
 * The keys and `*length` of a region of the exporter in an imported domain. The region stays the
 * exporter's: when that ends or deregisters it, its keys are of no use. End the import by
 * rnic_unimport_mr(). -ENODEV, also: the exporter has ended. -EINVAL: it has no such region there.
 */
RNIC_API int rnic_import_mr(struct rnic_pd *pd, uint32_t name, struct rnic_mr **mr,
			    uint64_t *length);
RNIC_API void rnic_unimport_mr(struct rnic_mr *mr);

/* ---- XRC ---- */

struct rnic_xrcd_options {
	int file_fd; /* all who show the same file share the domain; -1: it is this context's own */
	bool may_create;  /* make it when the file names none yet */
	bool must_create; /* refuse when it does */
};

/*
 * Opens a domain of target queue pairs and shared receive queues (IBTA annex A14). The sender of a
 * message names the queue, in whose protection domain the keys are, for every operation. -EAGAIN:
 * the file names no domain and may_create is not set. -EINVAL: it names one and must_create is set,
 * or the descriptor is of O_PATH. -EBADF: it is none. -ENOSPC: too many domains.
 */
RNIC_API int rnic_open_xrcd(struct rnic_context *context, const struct rnic_xrcd_options *options,
			    struct rnic_xrcd **xrcd);

/* The domain ends when all have closed it. -EBUSY: queues of this context are in it; it stays. */
RNIC_API int rnic_close_xrcd(struct rnic_xrcd *xrcd);

/*
 * One more handle for a target queue pair of the domain, whoever made it. It lives until all its
 * handles are destroyed. -EINVAL: the domain has none of that number. -ENOSPC: too many.
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
	uint32_t srqn; /* of an XRC initiator: the peer's shared receive queue */
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
		struct { /* BIND_MW; remote_address is that of the first byte, in the region */
			const struct rnic_mw *mw; /* rkey is its new key */
			const struct rnic_mr *mr; /* may be NULL with length 0 */
			uint64_t length;	  /* 0 unbinds a window of type 1 */
			uint32_t access;	  /* enum rnic_access; ZERO_BASED: type 2 only */
		} bind;
		struct {		 /* FLUSH, of what was written before; no elements */
			uint32_t length; /* from remote_address on; not with WHOLE_REGION */
			uint32_t type;	 /* enum rnic_flush_type */
		} flush;
	};
};

struct rnic_recv_wr {
	uint64_t wr_id;
	const struct rnic_recv_wr *next;
	const struct rnic_sge *sge_list; /* of UD: 40 bytes for the GRH come first */
	uint32_t sge_count;
};

/*
 * Posts a list of requests (IBTA 1.4, 11.4.1). The requests, their lists and inline data may be
 * reused at once; the memory that the elements name belongs to the device until the request
 * completes, or of one without SIGNALED a later one of the same queue. What is wrong with keys and
 * ranges shows in the completion. On failure *bad is the first request that was not posted, those
 * before it were.
 * -EINVAL: the queue pair is in RESET, INIT or RTR, too many elements, too many bytes, an opcode
 * that its type does not have (IBTA 1.4, table 37) or that takes no inline data, a bind whose rkey
 * is not of its window, or an ATOMIC_WRITE of other than 8 bytes. -EOPNOTSUPP: an unknown opcode.
 * -ENOMEM: the queue is full; poll its completion queue.
 */
RNIC_API int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *list,
			    const struct rnic_send_wr **bad);

/*
 * Likewise for receives. -EINVAL: the queue pair is in RESET, is of XRC or has a shared receive
 * queue, or too many elements. -ENOMEM: full.
 */
RNIC_API int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *list,
			    const struct rnic_recv_wr **bad);

/*
 * Likewise for a shared receive queue. A request waits until a message of one of its queue pairs
 * takes it, and completes there. One that a queue pair took before it went to RESET, or was
 * destroyed, waits again. -EINVAL: too many elements. -ENOMEM: max_wr requests wait; the daemon
 * makes room as messages come.
 */
RNIC_API int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *list,
				const struct rnic_recv_wr **bad);

/* ---- address handles ---- */

/*
 * Where datagrams go; the destination may be a multicast group. -EINVAL: the path has no GID, or
 * one that is no address, a port other than 1, or a source GID index that is empty. -ENOSPC: too
 * many address handles.
 */
RNIC_API int rnic_create_ah(struct rnic_pd *pd, const struct rnic_path *path, struct rnic_ah **ah);

/* Requests that wait keep its path. */
RNIC_API int rnic_destroy_ah(struct rnic_ah *ah);

/*
 * Lets a UD queue pair receive what is sent to a multicast group, until it is detached or
 * destroyed; once more changes nothing. -EINVAL: not a UD queue pair, or not a multicast address.
 * -ENOSPC: too many groups, or queue pairs in this one. Other errors: the interface could not join.
 */
RNIC_API int rnic_attach_mcast(struct rnic_qp *qp, const struct rnic_gid *group);

/* -EINVAL: it is not in that group. */
RNIC_API int rnic_detach_mcast(struct rnic_qp *qp, const struct rnic_gid *group);

/* ---- asynchronous events ---- */

struct rnic_async_event {
	enum rnic_async_event_type type;
	struct rnic_cq *cq;   /* of CQ_ERR, else NULL */
	struct rnic_qp *qp;   /* of the events of a queue pair, else NULL */
	struct rnic_srq *srq; /* of the events of a shared receive queue, else NULL */
	uint32_t port;	      /* of the events of a port, else 0 */
};

/* To poll(), and to set O_NONBLOCK on. Do not read or close it. */
RNIC_API int rnic_async_fd(const struct rnic_context *context);

/*
 * Waits for an event. Each must be acknowledged. A daemon that dies gives one DEVICE_FATAL, then
 * -ENODEV. A thread may be cancelled while it waits. -EAGAIN: none, and the descriptor is
 * non-blocking. -EINTR: a signal came.
 */
RNIC_API int rnic_get_async_event(struct rnic_context *context, struct rnic_async_event *event);

/* Destroying the object of an event waits for this. */
RNIC_API void rnic_ack_async_event(const struct rnic_async_event *event);

#ifdef __cplusplus
}
#endif

#endif

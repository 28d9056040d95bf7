/* SPDX-License-Identifier: MIT */
/*
 * The handle API: memory regions and queue pairs are small numbers, and everything else that RDMA
 * needs is found, made and given back behind them. Link with -lrnic-rdma -lrnic.
 *
 *	int mr = rdma_reg_mr(buffer, sizeof(buffer), RDMA_ACCESS_LOCAL_WRITE);
 *	int qp = rdma_create_qp(64, 64);
 *	int wr_id = rdma_post_write(qp, mr, 0, remote_address, remote_key, 1024);
 *	struct rdma_wc wc;
 *	int count = rdma_wait_cq(qp, &wc, 1, -1);
 *
 * A new queue pair is connected to nobody. rdma_connect_qp() connects it to another of the same
 * host by its number, rdma_connect_host() and rdma_accept_qp() across hosts by name and port. One
 * that posts a send, WRITE or READ before that is connected to itself from then on: what it sends,
 * it receives, and the memory that it writes and reads is this process's.
 *
 * Every function returns -1 and sets errno on failure, and changes nothing then. Lengths and
 * offsets are bytes. Errors that several functions have, and what to do:
 *
 * - EBADF: no such handle, or it is destroyed.
 * - EINVAL: an argument that cannot be.
 * - ENOENT, ECONNREFUSED, EACCES, of what makes the first handle: no RNIC's daemon to begin with;
 *   start one, or set RNIC_SOCKET (see rnic-run(1)).
 * - ENODEV, EIO, and for a daemon that hangs ETIMEDOUT: the daemon is gone, and all handles made
 *   with it are dead. Destroy them, which succeeds; new ones are made with the next daemon.
 * - EADDRNOTAVAIL: the RNIC has no address, or none yet, by which a host could reach itself.
 * - ENOSPC: the daemon gives this process, or its user's, no more of it; destroy some. ENOMEM,
 *   EMFILE, ENFILE: no memory or descriptors; later there may be.
 *
 * For what the daemon has refused <rnic/rnic.h> has a sentence, by rnic_refusal_reason.
 *
 * A queue pair whose peer ends, crashes or becomes unreachable, or with a request that fails, has
 * failed for good: all that is posted, and all that is posted to it later, completes with an error
 * status. Destroy it and make another. While nothing arrives from a peer, it is probed once a
 * second by those who poll or wait, so that one that could not say good-bye is found out too.
 *
 * Handles are not used again soon: one that was destroyed is unknown (EBADF) and does not become
 * another object's. What is destroyed is gone at the daemon at once, and all is when the process
 * ends.
 *
 * Threads: any function may be called by any thread at any time, also on the same handle. Who waits
 * on a handle that is destroyed gets EBADF, within a second. There is no thread inside. A thread
 * can be cancelled (pthread_cancel(3)) only while it waits, in rdma_wait_cq(), rdma_connect_host()
 * and rdma_accept_qp(), which leave the handles to the others as with ETIMEDOUT. fork(): the child
 * has none of its parent's handles and makes its own; the parent's stay as they were.
 *
 * The functions are named rnic_rdma_*, so that a program may link librdmacm too; the macros at the
 * end give them their usual names. A source file that uses both includes this header with
 * RNIC_RDMA_PREFIXED_NAMES defined, and writes the long ones.
 */
#ifndef RNIC_RDMA_H
#define RNIC_RDMA_H

#include <rnic/rnic.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RNIC_RDMA_PREFIXED_NAMES
typedef uint32_t uint32;
typedef uint64_t uint64;
#endif

/* ---- memory regions ---- */

/* Any region can be read locally. */
enum rdma_access {
	RDMA_ACCESS_LOCAL_WRITE = RNIC_ACCESS_LOCAL_WRITE,   /* receives and READs land in it */
	RDMA_ACCESS_REMOTE_WRITE = RNIC_ACCESS_REMOTE_WRITE, /* needs LOCAL_WRITE too */
	RDMA_ACCESS_REMOTE_READ = RNIC_ACCESS_REMOTE_READ,
};

/*
 * Registers [addr, addr + length) and returns its handle, 0 or more. `access_flags` is of enum
 * rdma_access. The memory stays the caller's, and stays mapped until the region is deregistered.
 * For the peer the region is at `addr`, with the key rdma_mr_rkey(). EINVAL: no bytes, or
 * REMOTE_WRITE without LOCAL_WRITE. EFAULT: part of it is not there, or not writable. EPERM: the
 * daemon cannot reach this process's memory (see "Trouble-shooting" in the README).
 */
RNIC_API int rnic_rdma_reg_mr(void *addr, uint64_t length, int access_flags);

/* Ends it: what is still posted with it fails. The memory stays as it is. */
RNIC_API int rnic_rdma_dereg_mr(int mr_handle);

/* The key to tell the peer; 0, which is no region's, and errno on failure. */
RNIC_API uint32_t rnic_rdma_mr_rkey(int mr_handle);

/* ---- queue pairs ---- */

/*
 * Makes a queue pair and returns its number, 0 or more: the one on the wire, which others on this
 * host connect to. So many sends (WRITEs and READs included) and receives can be posted and not
 * polled yet. EINVAL: none, or more than the device has.
 */
RNIC_API int rnic_rdma_create_qp(int send_cq_size, int recv_cq_size);

/*
 * Ends its connection at once, whatever is posted, and the queue pair. The peer's receives complete
 * with an error.
 */
RNIC_API int rnic_rdma_destroy_qp(int qp_num);

/*
 * Connects to the queue pair `peer_qp_num` of this host, which may be itself. When that is of this
 * process too, both are connected by one call; else the other process makes the same call with the
 * numbers exchanged, before what is posted here gives up (6 seconds; receives wait without end).
 * They meet at an address of the device, which stays the same until it goes; should that be between
 * the two calls, they do not meet and what is posted fails. Once more with the same peer changes
 * nothing. EISCONN: either has another peer, or has failed; make another. ENODEV, also: the two
 * were made with different daemons.
 */
RNIC_API int rnic_rdma_connect_qp(int qp_num, int peer_qp_num);

/*
 * Connects to whoever listens at `host` (name or address) and `port`. Waits at most `timeout_ms`,
 * negative: as long as it takes, about ten seconds for each address of a host that does not answer.
 * ECONNREFUSED: nobody listens there. ETIMEDOUT, EHOSTUNREACH, ENETUNREACH: no answer in time, or
 * no way there. ENOENT: no such host; EAGAIN: the name service does not answer. EINTR: a signal
 * came. In these cases it may be tried again. ECONNABORTED: it came to nothing midway. EISCONN: it
 * is connected or has failed.
 */
RNIC_API int rnic_rdma_connect_host(int qp_num, const char *host, int port, int timeout_ms);

/*
 * Listens at `host` (NULL: all addresses of the device) and `port` (0: a free one) and returns a
 * handle to accept with. EADDRINUSE: the port is taken. EADDRNOTAVAIL: not the device's address.
 * EACCES, also: a port below 1024, which is root's. ENOENT and EAGAIN as above.
 */
RNIC_API int rnic_rdma_listen_host(const char *host, int port);

/* The port that it listens on, for others to be told. */
RNIC_API int rnic_rdma_listener_port(int listener);

/*
 * Waits at most `timeout_ms` (negative: without end) for somebody who connects, and makes `qp_num`
 * the other end. ETIMEDOUT: nobody came. EINTR: a signal did. In these cases the queue pair is as
 * before, unless somebody was just being answered. ECONNABORTED, ENOTCONN: somebody came and gave
 * up, and the queue pair has failed. EISCONN: it is connected or has failed.
 */
RNIC_API int rnic_rdma_accept_qp(int listener, int qp_num, int timeout_ms);

/* Ends it; who waits there for somebody gets EBADF. Connections that were accepted stay. */
RNIC_API int rnic_rdma_close_listener(int listener);

/* ---- requests ---- */

/*
 * Post a request and return its number: 0 for the first of a queue pair, and one more for each,
 * until 2^31 - 1 is followed by 0 again. None waits. The memory belongs to the RNIC until it has
 * completed. This one writes `length` bytes from local to remote memory, where `rkey` grants it.
 *
 * EAGAIN: as many as rdma_create_qp() was told are posted and not polled; poll. EINVAL also: beyond
 * the end of the region. EMSGSIZE: more than 2 GiB. EACCES: a receive or READ into a region without
 * LOCAL_WRITE. ENOTCONN: the queue pair is just being connected.
 */
RNIC_API int rnic_rdma_post_write(int qp_num, int local_mr, uint64_t local_offset,
				  uint64_t remote_addr, uint32_t rkey, uint64_t length);

/* Reads from remote to local memory; of a region without REMOTE_READ: RDMA_WC_REM_ACCESS_ERR. */
RNIC_API int rnic_rdma_post_read(int qp_num, int local_mr, uint64_t local_offset,
				 uint64_t remote_addr, uint32_t rkey, uint64_t length);

/*
 * Sends the first `length` bytes of a region. It waits until the peer has posted a receive. One
 * that is longer than the receive fails both, with RDMA_WC_GENERAL_ERR.
 */
RNIC_API int rnic_rdma_post_send(int qp_num, int local_mr, uint64_t length);

/* A place for one message. Receives are taken in the order in which they were posted. */
RNIC_API int rnic_rdma_post_recv(int qp_num, int local_mr, uint64_t local_offset, uint64_t length);

/* ---- completions ---- */

enum rdma_wc_status {
	RDMA_WC_SUCCESS,
	RDMA_WC_LOC_PROT_ERR,	/* the local region was deregistered, or its memory is gone */
	RDMA_WC_REM_ACCESS_ERR, /* no such remote key, or no such right or range in its region */
	RDMA_WC_GENERAL_ERR,	/* anything else: the peer is gone, the queue pair had failed */
};

enum rdma_wc_opcode {
	RDMA_WC_SEND = RNIC_WC_SEND,
	RDMA_WC_WRITE = RNIC_WC_RDMA_WRITE,
	RDMA_WC_READ = RNIC_WC_RDMA_READ,
	RDMA_WC_RECV = RNIC_WC_RECV,
};

struct rdma_wc {
	int wr_id;	   /* what the post returned */
	int status;	   /* enum rdma_wc_status */
	int opcode;	   /* enum rdma_wc_opcode */
	uint64_t byte_len; /* bytes transferred, 0 when it failed */
};

/*
 * Takes up to `max_entries` completions; returns how many, 0 when there are none yet. Sends
 * complete in the order in which they were posted, and receives do. ENOTCONN: the queue pair has
 * failed and nothing is posted, so that none will come.
 */
RNIC_API int rnic_rdma_poll_cq(int qp_num, struct rdma_wc *wc, int max_entries);

/*
 * Likewise, but sleeps until there is one, at most `timeout_ms` (negative: without end): 0 means
 * that the time is over. EINTR: a signal came.
 */
RNIC_API int rnic_rdma_wait_cq(int qp_num, struct rdma_wc *wc, int max_entries, int timeout_ms);

#ifndef RNIC_RDMA_PREFIXED_NAMES
#define rdma_reg_mr	    rnic_rdma_reg_mr
#define rdma_dereg_mr	    rnic_rdma_dereg_mr
#define rdma_mr_rkey	    rnic_rdma_mr_rkey
#define rdma_create_qp	    rnic_rdma_create_qp
#define rdma_destroy_qp	    rnic_rdma_destroy_qp
#define rdma_connect_qp	    rnic_rdma_connect_qp
#define rdma_connect_host   rnic_rdma_connect_host
#define rdma_listen_host    rnic_rdma_listen_host
#define rdma_listener_port  rnic_rdma_listener_port
#define rdma_accept_qp	    rnic_rdma_accept_qp
#define rdma_close_listener rnic_rdma_close_listener
#define rdma_post_write	    rnic_rdma_post_write
#define rdma_post_read	    rnic_rdma_post_read
#define rdma_post_send	    rnic_rdma_post_send
#define rdma_post_recv	    rnic_rdma_post_recv
#define rdma_poll_cq	    rnic_rdma_poll_cq
#define rdma_wait_cq	    rnic_rdma_wait_cq
#endif

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The handle API: memory regions and queue pairs are small numbers. The library finds, makes and
 * releases everything else that RDMA needs. Link with -lrnic-rdma -lrnic.
 *
 *	int mr = rdma_reg_mr(buffer, sizeof(buffer), RDMA_ACCESS_LOCAL_WRITE);
 *	int qp = rdma_create_qp(64, 64);
 *	int wr_id = rdma_post_write(qp, mr, 0, remote_address, remote_key, 1024);
 *	struct rdma_wc wc;
 *	int count = rdma_wait_cq(qp, &wc, 1, -1);
 *
 * A new queue pair has no peer. rdma_connect_qp() connects it to another queue pair of the same
 * host by its number; rdma_connect_host() and rdma_accept_qp() connect across hosts by name and
 * port. A queue pair that posts a send, WRITE or READ before that is connected to itself from then
 * on: it receives its own messages, and writes and reads this process's memory.
 *
 * Every function returns -1 and sets errno on failure, and changes nothing then. Lengths and
 * offsets are bytes. Several functions have these errors:
 *
 * - EBADF: no such handle, or the handle is destroyed.
 * - EINVAL: an impossible argument.
 * - ENOENT, ECONNREFUSED, from the call that makes the first handle: no daemon of an RNIC runs;
 *   start one, or set RNIC_SOCKET (see rnic-run(1)). EACCES, from that call: as of
 *   rnic_query_device_at().
 * - ENODEV, EIO, and for a daemon that hangs ETIMEDOUT: the daemon is gone, and all handles made
 *   with it are dead. Destroy them, which succeeds; the next daemon serves new ones.
 * - EADDRNOTAVAIL: the RNIC has no address (yet) by which a host could reach itself.
 * - ENOSPC: the daemon gives this process, or its user's processes, no more; destroy some objects.
 *   ENOMEM, EMFILE, ENFILE: no memory or descriptors; try again later.
 *
 * rnic_refusal_reason of <rnic/rnic.h> gives a sentence for each refusal of the daemon.
 *
 * A queue pair fails for good when its peer ends, crashes or becomes unreachable, or when a request
 * fails: all posted requests, and all that are posted later, complete with an error status. Destroy
 * the queue pair and make another. While nothing arrives from a peer, the threads that poll or wait
 * probe the peer once a second, which finds peers that could not say good-bye.
 *
 * The library does not use handles again soon: a destroyed handle is unknown (EBADF) and does not
 * become another object's. The daemon frees a destroyed object at once, and all objects when the
 * process ends.
 *
 * Threads: any thread may call any function at any time, also on the same handle. A thread that
 * waits on a handle gets EBADF within a second after another thread destroys the handle. The
 * library starts no thread. A thread can be cancelled (pthread_cancel(3)) only while it waits, in
 * rdma_wait_cq(), rdma_connect_host() and rdma_accept_qp(); the handles then stay usable for other
 * threads, as with ETIMEDOUT. fork(): the child has none of its parent's handles and makes its own;
 * the parent's handles stay as they were.
 *
 * The functions are named rnic_rdma_*, so that a program may link librdmacm too; the macros at the
 * end give them their usual names. A source file that uses both includes this header with
 * RNIC_RDMA_PREFIXED_NAMES defined, and writes the long names.
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

/* Any region is readable locally. */
enum rdma_access {
	RDMA_ACCESS_LOCAL_WRITE =
		RNIC_ACCESS_LOCAL_WRITE, /* receives and READs write into the region */
	RDMA_ACCESS_REMOTE_WRITE = RNIC_ACCESS_REMOTE_WRITE, /* needs LOCAL_WRITE too */
	RDMA_ACCESS_REMOTE_READ = RNIC_ACCESS_REMOTE_READ,
};

/*
 * Registers [addr, addr + length) and returns its handle, 0 or more. `access_flags` is of enum
 * rdma_access. The memory stays the caller's, and stays mapped until the region is deregistered.
 * For the peer the region is at `addr`, with the key rdma_mr_rkey(). EINVAL: no bytes, or
 * REMOTE_WRITE without LOCAL_WRITE. EFAULT: part of the range is not there, or not writable. EPERM:
 * the daemon cannot reach this process's memory ("Registering memory fails" in doc/mistakes.md).
 */
RNIC_API int rnic_rdma_reg_mr(void *addr, uint64_t length, int access_flags);

/*
 * Allocates `length` bytes of zeroed memory that the RNIC maps, and registers them: the fastest
 * kind of region. Returns the handle, and the memory in `addr`; rdma_dereg_mr() frees the memory.
 * After fork() parent and child share it. Errors as of rdma_reg_mr(), but for EFAULT and EPERM.
 */
RNIC_API int rnic_rdma_alloc_mr(void **addr, uint64_t length, int access_flags);

/*
 * Ends the region: posted requests that use it fail. The memory stays as it is, unless it is that
 * of rdma_alloc_mr(), which goes.
 */
RNIC_API int rnic_rdma_dereg_mr(int mr_handle);

/* The region's key for the peer. On failure: 0, which no region has, and errno. */
RNIC_API uint32_t rnic_rdma_mr_rkey(int mr_handle);

/* ---- queue pairs ---- */

/*
 * Makes a queue pair and returns its number, 0 or more: the number on the wire, by which others on
 * this host connect to it. The arguments are the largest numbers of sends (WRITEs and READs
 * included) and of receives that are posted and not polled yet. EINVAL: 0 or less, or more than the
 * device has.
 */
RNIC_API int rnic_rdma_create_qp(int send_cq_size, int recv_cq_size);

/*
 * Ends the queue pair and its connection at once, also with requests posted. The peer's receives
 * complete with an error.
 */
RNIC_API int rnic_rdma_destroy_qp(int qp_num);

/*
 * Connects to the queue pair `peer_qp_num` of this host, which may be `qp_num` itself. For a peer
 * in this process one call connects both. A peer in another process needs the same call there, with
 * the numbers exchanged, before the requests that are posted here give up (6 seconds; receives wait
 * without end). The two meet at an address of the device, which stays the same until it goes; if it
 * goes between the two calls, they do not meet and the posted requests fail. A second call with the
 * same peer changes nothing. EISCONN: either queue pair has another peer, or has failed; make
 * another. ENODEV, also: the two were made with different daemons.
 */
RNIC_API int rnic_rdma_connect_qp(int qp_num, int peer_qp_num);

/*
 * Connects to the listener at `host` (name or address) and `port`. Waits at most `timeout_ms`,
 * negative: as long as it takes, about ten seconds for each address of a host that does not answer.
 * ECONNREFUSED: nobody listens there. ETIMEDOUT, EHOSTUNREACH, ENETUNREACH: no answer in time, or
 * no route there. ENOENT: no such host; EAGAIN: the name service does not answer. EINTR: a signal
 * came. In these cases the caller may try again. ECONNABORTED: the attempt ended midway. EISCONN:
 * the queue pair is connected or has failed.
 */
RNIC_API int rnic_rdma_connect_host(int qp_num, const char *host, int port, int timeout_ms);

/*
 * Listens at `host` (NULL: all addresses of the device) and `port` (0: a free one) and returns a
 * handle for rdma_accept_qp(). EADDRINUSE: the port is taken. EADDRNOTAVAIL: not the device's
 * address. EACCES, also: a port below 1024, which is root's. ENOENT, EAGAIN: as of
 * rdma_connect_host().
 */
RNIC_API int rnic_rdma_listen_host(const char *host, int port);

/* The port of the listener, to tell to its clients. */
RNIC_API int rnic_rdma_listener_port(int listener);

/*
 * Waits for a peer that connects, at most `timeout_ms` (negative: without end), and connects
 * `qp_num` to the peer. ETIMEDOUT: no peer came. EINTR: a signal came. In these cases the queue
 * pair is as before, unless the call was just answering a peer. ECONNABORTED, ENOTCONN: a peer came
 * and gave up, and the queue pair has failed. EISCONN: the queue pair is connected or has failed.
 */
RNIC_API int rnic_rdma_accept_qp(int listener, int qp_num, int timeout_ms);

/* Ends the listener; threads that wait there get EBADF. Accepted connections stay. */
RNIC_API int rnic_rdma_close_listener(int listener);

/* ---- requests ---- */

/*
 * Posts a WRITE of `length` bytes from local to remote memory, where `rkey` grants it. This and the
 * other post functions return the request's number: 0 for the first of a queue pair, and one more
 * for each, until 2^31 - 1 is followed by 0 again. None waits. The memory belongs to the RNIC until
 * the request completes.
 *
 * EAGAIN: the queue is full (see rdma_create_qp()); poll. EINVAL also: beyond the end of the
 * region. EMSGSIZE: more than 2 GiB. EACCES: a receive or READ into a region without LOCAL_WRITE.
 * ENOTCONN: another thread is connecting the queue pair.
 */
RNIC_API int rnic_rdma_post_write(int qp_num, int local_mr, uint64_t local_offset,
				  uint64_t remote_addr, uint32_t rkey, uint64_t length);

/*
 * Reads from remote to local memory. A remote region without REMOTE_READ fails the request with
 * RDMA_WC_REM_ACCESS_ERR.
 */
RNIC_API int rnic_rdma_post_read(int qp_num, int local_mr, uint64_t local_offset,
				 uint64_t remote_addr, uint32_t rkey, uint64_t length);

/*
 * Sends the first `length` bytes of a region. The message waits until the peer has posted a
 * receive. A message longer than its receive fails both requests, with RDMA_WC_GENERAL_ERR.
 */
RNIC_API int rnic_rdma_post_send(int qp_num, int local_mr, uint64_t length);

/* Posts a place for one message. Messages take receives in the order of posting. */
RNIC_API int rnic_rdma_post_recv(int qp_num, int local_mr, uint64_t local_offset, uint64_t length);

/* ---- completions ---- */

enum rdma_wc_status {
	RDMA_WC_SUCCESS,
	RDMA_WC_LOC_PROT_ERR,	/* the local region was deregistered, or its memory is gone */
	RDMA_WC_REM_ACCESS_ERR, /* no such remote key, or no such right or range in its region */
	RDMA_WC_GENERAL_ERR,	/* anything else: the peer is gone, or the queue pair had failed */
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
	uint64_t byte_len; /* bytes transferred, 0 after a failure */
};

/*
 * Takes up to `max_entries` completions and returns their number, 0 when there are none yet. Sends
 * complete in the order of posting, and so do receives. ENOTCONN: the queue pair has failed and
 * nothing is posted, so that none will come. On failure the first entry of `wc` has the status
 * RDMA_WC_GENERAL_ERR and the number -1.
 */
RNIC_API int rnic_rdma_poll_cq(int qp_num, struct rdma_wc *wc, int max_entries);

/*
 * Takes completions as rdma_poll_cq() does, but sleeps until there is one, at most `timeout_ms`
 * (negative: without end): 0 means that the time is over. EINTR: a signal came. `wc` is as after a
 * failure also when the time is over.
 */
RNIC_API int rnic_rdma_wait_cq(int qp_num, struct rdma_wc *wc, int max_entries, int timeout_ms);

/* ---- errors ---- */

/*
 * What an errno of these functions means here, a sentence without a full stop; for other numbers
 * what strerror(3) says. The text may go with the next call of a thread.
 */
RNIC_API const char *rnic_rdma_strerror(int error);

#ifndef RNIC_RDMA_PREFIXED_NAMES
#define rdma_alloc_mr	    rnic_rdma_alloc_mr
#define rdma_strerror	    rnic_rdma_strerror
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

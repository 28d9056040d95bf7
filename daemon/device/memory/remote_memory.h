/* SPDX-License-Identifier: MIT */
/*
 * Client memory in the client's own address space. System calls reach it: through the client's
 * /proc/self/mem descriptor, or by process_vm_readv and process_vm_writev.
 *
 * The descriptor needs no right over the process, and works across users and PID namespaces. It
 * names the address space rather than the process, so that neither an exec nor a reused PID
 * misleads it. It costs least for one small access. process_vm moves many pieces in one call, and
 * keeps words whole that the descriptor may write in halves. Where both ways are open, each does
 * what it does better.
 *
 * The kernel stores the bytes of a write upwards. An aligned word of 8 bytes that is written alone
 * by process_vm is seen old or new; within a longer write an interrupt may split a word.
 *
 * process_vm goes by PID. A PID descriptor holds the process, and is asked before each call whether
 * the PID still means that process. A process that has ended is reached no more, whichever process
 * has its PID now. This does not prove that the client is the process that connected: that process
 * may have passed the socket on or executed another program. Give a PID only where the client
 * itself may reach any process of that user.
 *
 * An access waits while the kernel fetches the page, and nothing can call the access off. These can
 * make it wait long:
 *
 *     userfaultfd             by the descriptor never: the access fails at once. By process_vm as
 *                             long as the handler likes, so process_vm serves only clients of the
 *                             device process's user, who could stop the process by a signal anyway.
 *     files on FUSE, NFS      as long as their server likes, by either way. Registration proves
 *                             only that the pages were there at that time.
 *     swap                    as long as the disk takes.
 *
 * So clients of other users that can mount FUSE can hold the device up. Where such clients are not
 * trusted, let each user run a separate daemon.
 *
 * A struct remote_process belongs to one client. Its regions refer to it, and must be gone before
 * it.
 */
#ifndef DAEMON_DEVICE_MEMORY_REMOTE_MEMORY_H
#define DAEMON_DEVICE_MEMORY_REMOTE_MEMORY_H

#include "daemon/device/memory/memory_watch.h"
#include "lib/nic/mem/client_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rnic_guard;

struct remote_process {
	pid_t pid;
	int pid_fd; /* a PID descriptor of the process, or -1: process_vm is not used */
	int mem_fd; /* the process's /proc/self/mem, or -1 */
	bool has_process_vm;
	bool has_fast_short_copy; /* of the processor, for the kernel's copies */
	enum rnic_watch watch;	  /* ON: `gate` is open; else why regions are not watched */
	struct memory_gate gate;
};

struct remote_region {
	struct client_region region;
	struct remote_process *process;
	uint64_t address;
	bool is_on_demand;
	const struct rnic_guard *guard; /* of own_memory.h; NULL: system calls reach the memory */
	enum rnic_watch watch;
	const struct client_memory_ops *inner; /* of a watched region: how its memory is reached */
	struct watched_range range;
};

/* How system calls reach the memory of a region. */
extern const struct client_memory_ops remote_memory_ops;

/*
 * Finds out how to reach the memory of `pid`. `pid_fd` is a PID descriptor of the process, or -1:
 * the process is not known, or must not be reached by its PID. `mem_fd` is the client's memory
 * descriptor, or -1. On success `process` owns both descriptors.
 *
 * Errors: -EINVAL `mem_fd` is not a /proc/PID/mem opened for reading and writing; -EPERM neither
 * way is open: tell the client that it needs one of both; -ESRCH no such process.
 */
int remote_process_init(struct remote_process *process, pid_t pid, int pid_fd, int mem_fd);
void remote_process_fini(struct remote_process *process);

/*
 * Makes a region of [address, address + bytes) of the process. -EINVAL when the range is empty or
 * wraps.
 */
int remote_region_init(struct remote_region *region, struct remote_process *process,
		       uint64_t address, uint64_t bytes);

/*
 * Makes a region of a range for which nothing has proved that the client may use it. Each access
 * goes through process_vm, which respects the pages' protection; the descriptor would write to
 * read-only pages. -EOPNOTSUPP: process_vm is not available for this client.
 */
int remote_region_init_on_demand(struct remote_region *region, struct remote_process *process,
				 uint64_t address, uint64_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Client memory that lies in the client's own address space, reached by system calls: through the
 * client's /proc/self/mem descriptor, which it handed over, or by process_vm_readv and
 * process_vm_writev.
 *
 * The descriptor needs no right over the process, works across users and PID namespaces, and names
 * the address space rather than the process, so that neither an exec nor a PID that is used again
 * leads astray; it costs least for one small access. process_vm moves many pieces in one call.
 * Where both are there, each does what it is better at.
 *
 * process_vm goes by PID. The process is held by a PID descriptor, which is asked before each call
 * whether the number still means it; one that has ended is reached no more, whoever has its number
 * now. What that does not prove is that the client is the process that connected, which may have
 * passed the socket on or executed another program. Give a PID only where reaching any process of
 * that user is no more than the client may do itself.
 *
 * An access waits while the kernel fetches the page, and nothing can call it off. What can make it
 * wait long, and who may do that:
 *
 *     userfaultfd             by the descriptor never: the access fails at once. By process_vm as
 *                             long as the handler likes, so only for clients of our own user, who
 *                             might as well stop us by a signal.
 *     files on FUSE, NFS      as long as their server likes, by either way. Registration proves
 *                             only that the pages were there then.
 *     swap                    as long as the disk takes.
 *
 * So clients of other users who can mount FUSE can hold the device up. Where they are not to be
 * trusted with that, let each user run a daemon of its own.
 *
 * A struct remote_process belongs to one client; its regions refer to it, and must be gone first.
 */
#ifndef DAEMON_DEVICE_MEMORY_REMOTE_MEMORY_H
#define DAEMON_DEVICE_MEMORY_REMOTE_MEMORY_H

#include "mem/client_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_process {
	pid_t pid;
	int pid_fd; /* a PID descriptor of it, or -1: process_vm is not used */
	int mem_fd; /* its /proc/self/mem, or -1 */
	bool has_process_vm;
};

struct remote_region {
	struct client_region region;
	struct remote_process *process;
	uint64_t address;
	bool is_on_demand;
};

/*
 * Finds out how the memory of `pid` can be reached. `pid_fd` is a PID descriptor of it, or -1: not
 * known to us, or not to be reached by its number. `mem_fd` is the descriptor that the client gave,
 * or -1. Both are owned by `process` from a successful return on.
 *
 * Errors: -EINVAL `mem_fd` is not a /proc/PID/mem opened for reading and writing; -EPERM neither
 * way is open: tell the client that it needs one of both; -ESRCH no such process.
 */
int remote_process_init(struct remote_process *process, pid_t pid, int pid_fd, int mem_fd);
void remote_process_fini(struct remote_process *process);

/* [address, address + bytes) of the process. -EINVAL when that is empty or wraps. */
int remote_region_init(struct remote_region *region, struct remote_process *process,
		       uint64_t address, uint64_t bytes);

/*
 * The same for a range of which nobody has proved that the client may use it, so that each access
 * is left to process_vm, which asks the pages; the descriptor would write to read-only ones.
 * -EOPNOTSUPP: there is no process_vm for this client.
 */
int remote_region_init_on_demand(struct remote_region *region, struct remote_process *process,
				 uint64_t address, uint64_t bytes);

#endif

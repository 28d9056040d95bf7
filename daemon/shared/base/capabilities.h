/* SPDX-License-Identifier: MIT */
/*
 * The capabilities of a process that root started (capabilities(7)): what the process uses itself,
 * and what a program that the process executes starts with. All others go for good, the bounding
 * set included. A process of uid 0 still owns the files of root; the access to other users' files,
 * devices and settings of the machine is gone.
 *
 * Capabilities belong to a thread: call capabilities_keep() before the process has a second one.
 */
#ifndef DAEMON_SHARED_BASE_CAPABILITIES_H
#define DAEMON_SHARED_BASE_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The bit of a capability (linux/capability.h) in a set. */
#define CAPABILITIES_BIT(capability) (UINT64_C(1) << (capability))

/*
 * Keeps of the capabilities that the process has those in `used`, in force, and those in
 * `inherited`, which are out of force here and in force in a program of uid 0 that the process
 * executes. 0, also when the process has had fewer; a negative errno where the kernel refuses.
 */
int capabilities_keep(uint64_t used, uint64_t inherited);

/*
 * Puts capabilities that the calling thread has in force, or out of force; they stay at hand. 0,
 * also for those that it does not have; a negative errno where the kernel refuses.
 */
int capabilities_use(uint64_t set, bool is_in_force);

/* Stores the capabilities that a process has, in force or not. Negative errno: there is none. */
int capabilities_of(pid_t pid, uint64_t *permitted);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The system calls that the control plane gives up before it serves, by seccomp. Whoever takes the
 * control plane over through a flaw starts no program but that of device processes, attaches to no
 * process, changes no mounts or namespaces, and loads nothing into the kernel. Device processes
 * inherit the fence, and have a much narrower filter of their own (call_filter.h).
 *
 * A call behind the fence fails with EPERM: no daemon of all users dies because a library tries
 * one.
 */
#ifndef DAEMON_CONTROL_MAIN_CALL_FENCE_H
#define DAEMON_CONTROL_MAIN_CALL_FENCE_H

#include <stdbool.h>

/*
 * Puts up the fence for all threads, for good. `program` is the path of the only program that the
 * process can execute: this text at this address (device_launch_keep()). Without `allows_uring` no
 * io_uring can be made or used. Negative errno: no memory, or the kernel has no filters. Does
 * nothing in a build with a sanitizer, which attaches to its process at the end.
 */
int call_fence_install(const char *program, bool allows_uring);

#endif

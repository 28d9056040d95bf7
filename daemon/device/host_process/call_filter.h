/* SPDX-License-Identifier: MIT */
/*
 * The system calls of a device process after its start: an allow-list, by seccomp. Whoever takes
 * the process over through a flaw can open no file, make no socket and start no program, and cannot
 * turn the socket of the process's lane against the other lanes: no connect, no bind, and only
 * socket options that concern the socket itself.
 *
 * The kernel kills the process at any other call. call_filter.c says how to find the call.
 */
#ifndef DAEMON_DEVICE_HOST_PROCESS_CALL_FILTER_H
#define DAEMON_DEVICE_HOST_PROCESS_CALL_FILTER_H

/*
 * Installs the filter for all threads, for good. Negative errno: no memory, or -ENOSYS when the
 * kernel has no filters. Does nothing in a build with a sanitizer, which needs calls of its own.
 */
int call_filter_install(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Starts the program of a device process. The process has its end of the process link as
 * PROCESS_LINK_FD, standard error, and /dev/null as its standard input and output: it inherits
 * nothing else of the daemon. Bounds that must hold whatever the process does are set from here.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_DEVICE_LAUNCH_H
#define DAEMON_CONTROL_SUPERVISOR_DEVICE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DEVICE_LAUNCH_PATH_BYTES 4096

/*
 * Writes the path of the program: `rnicd-device` in the folder libexec beside the folder of this
 * program. Negative errno with a sentence in `reason` when it cannot be run.
 */
int device_launch_find(char path[DEVICE_LAUNCH_PATH_BYTES], char *reason, size_t reason_bytes);

/*
 * Copies the path into memory that is never written or unmapped again, also not by whoever takes
 * the process over where the kernel can seal memory (Linux 6.10): so that a filter of system calls
 * can tell the program from others by the address of its path. The copy lives as long as the
 * process. NULL: no memory.
 */
const char *device_launch_seal(const char *path);

/*
 * Starts the program at `path` (the address given to execve(2) is the same) with `link_fd`, and
 * with `log_fd` as its standard error (-1: the daemon's). Both descriptors stay the caller's.
 * Stores the PID and a descriptor of the process (pidfd_open(2)), or -1 where the kernel has none.
 * The process is a child, and the caller reaps the child. `limits_files`: no file of the process
 * may grow beyond any size that a client can ask for. Returns a negative errno.
 */
int device_launch_start(const char *path, int link_fd, int log_fd, bool limits_files, pid_t *pid,
			int *pid_fd);

#endif

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
 * Opens the program at `path` for the life of the process, and stores a text that
 * device_launch_start() takes, /proc/self/fd/N. So the program starts although the process can no
 * longer search a folder on the way to it, and although another file has taken its path.
 *
 * The text is in memory that is never written or unmapped again, also not by whoever takes the
 * process over where the kernel can seal memory (Linux 6.10): so a filter of system calls can tell
 * the program from others by the address of the text. Both limits of RLIMIT_NOFILE become N or
 * less. A process without CAP_SYS_RESOURCE may close N, but no later file becomes N. Negative errno
 * with a sentence in `reason`.
 */
int device_launch_keep(const char *path, const char **program, char *reason, size_t reason_bytes);

/*
 * Whether the process can execute the kept program with the rights that it has now. If not,
 * negative errno and a sentence with `path` and a remedy in `reason`.
 */
int device_launch_check(const char *program, const char *path, char *reason, size_t reason_bytes);

/* What whoever runs the daemon does after this negative errno of execve(2); begins with "; ". */
const char *device_launch_remedy(int error);

/*
 * Starts the program at `path` (execve(2) gets this address) with `link_fd`, and
 * with `log_fd` as its standard error (-1: the daemon's). Both descriptors stay the caller's.
 * Stores the PID and a descriptor of the process (pidfd_open(2)), or -1 where the kernel has none.
 * The process is a child, and the caller reaps the child. `limits_files`: no file of the process
 * may grow beyond any size that a client can ask for. Returns a negative errno.
 */
int device_launch_start(const char *path, int link_fd, int log_fd, bool limits_files, pid_t *pid,
			int *pid_fd);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says of a process at this moment. It is a hint for people: the process may go on,
 * or end and give its number to another one, as soon as it was asked.
 */
#ifndef DAEMON_SHARED_BASE_PROCESS_STATE_H
#define DAEMON_SHARED_BASE_PROCESS_STATE_H

#include <sys/types.h>

#define PROCESS_STATE_UNKNOWN '?'

/* As in proc_pid_stat(5). */
enum {
	PROCESS_STATE_HANGS = 'D', /* in the kernel, where no signal ends it */
	PROCESS_STATE_STOPPED = 'T',
	PROCESS_STATE_TRACED = 't',
};

/*
 * Returns the letter of the state; PROCESS_STATE_UNKNOWN where the process is not visible. Reads
 * /proc: some 10 microseconds.
 */
char process_state(pid_t pid);

#endif

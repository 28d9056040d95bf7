/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/view_path.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VIEW_UMAD_FILE "/sys/class/infiniband_mad/abi_version"

/* What the program was started with as standard error. */
static struct stat umad_stderr;
static bool has_umad_stderr;

static __attribute__((constructor)) void umad_note_stderr(void)
{
	has_umad_stderr = fstat(STDERR_FILENO, &umad_stderr) == 0;
}

/*
 * Whether descriptor 2 still is standard error. A program may close it, and the next file that the
 * program opens gets the number: a database, say.
 */
static bool umad_has_stderr(void)
{
	struct stat now;

	return has_umad_stderr && fstat(STDERR_FILENO, &now) == 0 &&
	       now.st_dev == umad_stderr.st_dev && now.st_ino == umad_stderr.st_ino;
}

void rnic_view_explain_umad(const char *path)
{
	static const char reason[] =
		"rnic-run: this tool sends management datagrams by /dev/infiniband/umad, which the "
		"device of rnic-run does not have: a RoCE network has no subnet manager. Counters "
		"are in rnicctl show counters and rdma statistic\n";
	static atomic_bool is_said;
	const int errno_before = errno;

	if (strcmp(path, VIEW_UMAD_FILE) != 0 || atomic_exchange(&is_said, true))
		return;
	/* By the kernel, for this may be a handler of signals. Nothing follows from a failure. */
	if (umad_has_stderr())
		syscall(SYS_write, STDERR_FILENO, reason, sizeof(reason) - 1);
	errno = errno_before;
}

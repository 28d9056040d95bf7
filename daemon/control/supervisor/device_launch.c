/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/device_launch.h"

#include "daemon/shared/link/process_link.h"
#include "daemon/shared/quota/client_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers of older C libraries lack the number, which is the same on all machines. */
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

#define LAUNCH_PROGRAM	 "rnicd-device"
#define LAUNCH_NULL	 "/dev/null"
#define LAUNCH_KEPT	 "/proc/self/fd/%d"
#define LAUNCH_OOM_SCORE "300" /* the kernel ends a device process before the control plane */

/*
 * The most descriptors of the control plane and of a device process. The kernel's table of
 * descriptors reaches up to the kept one, and each of these processes has a table of this size.
 */
#define LAUNCH_DESCRIPTORS_MAX ((rlim_t)1 << 17)

int device_launch_find(char path[DEVICE_LAUNCH_PATH_BYTES], char *reason, size_t reason_bytes)
{
	char own[DEVICE_LAUNCH_PATH_BYTES];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	int error;
	char *end;

	if (length < 0) {
		error = -errno;
		snprintf(reason, reason_bytes, "cannot find the own program: %s", strerror(-error));
		return error;
	}
	own[length] = '\0';
	end = strrchr(own, '/');
	if (end != NULL)
		*end = '\0';
	if (snprintf(path, DEVICE_LAUNCH_PATH_BYTES, "%s/../libexec/" LAUNCH_PROGRAM, own) >=
	    DEVICE_LAUNCH_PATH_BYTES)
		errno = ENAMETOOLONG;
	else if (access(path, X_OK) == 0)
		return 0;
	error = -errno;
	snprintf(reason, reason_bytes, "cannot run the program of device processes, %.160s: %s%s",
		 path, strerror(-error), device_launch_remedy(error));
	return error;
}

static const char *launch_seal(const char *path)
{
	const size_t bytes = strlen(path) + 1;
	char *sealed =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (sealed == MAP_FAILED)
		return NULL;
	memcpy(sealed, path, bytes);
	if (mprotect(sealed, bytes, PROT_READ) != 0) {
		munmap(sealed, bytes);
		return NULL;
	}
	/* An older kernel leaves the memory read-only alone. */
	syscall(SYS_mseal, sealed, bytes, 0);
	return sealed;
}

/* Moves the descriptor to the end of those that the process may have, and takes it from them. */
static int launch_move_out_of_reach(int *fd)
{
	struct rlimit files;
	int kept;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return -errno;
	files.rlim_max = files.rlim_cur > LAUNCH_DESCRIPTORS_MAX ? LAUNCH_DESCRIPTORS_MAX
								 : files.rlim_cur - 1;
	kept = fcntl(*fd, F_DUPFD_CLOEXEC, (int)files.rlim_max);
	if (kept < 0)
		return -errno;
	close(*fd);
	*fd = kept;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) == 0 ? 0 : -errno;
}

int device_launch_keep(const char *path, const char **program, char *reason, size_t reason_bytes)
{
	char text[32];
	int fd = open(path, O_PATH | O_CLOEXEC);
	int result = fd < 0 ? -errno : launch_move_out_of_reach(&fd);

	if (result == 0) {
		snprintf(text, sizeof(text), LAUNCH_KEPT, fd);
		*program = launch_seal(text);
		if (*program != NULL)
			return 0;
		result = -ENOMEM;
	}
	if (fd >= 0)
		close(fd);
	snprintf(reason, reason_bytes, "cannot keep the program of device processes, %.160s: %s",
		 path, strerror(-result));
	return result;
}

const char *device_launch_remedy(int error)
{
	if (error == -EACCES)
		return "; let the daemon's user execute the file (chmod a+rx), or start the daemon "
		       "as the file's owner";
	return "";
}

int device_launch_check(const char *program, const char *path, char *reason, size_t reason_bytes)
{
	int result;

	if (access(program, X_OK) == 0)
		return 0;
	result = -errno;
	snprintf(reason, reason_bytes, "cannot run the program of device processes, %.160s: %s%s",
		 path, strerror(-result), device_launch_remedy(result));
	return result;
}

/* The child has every signal as a new program expects it. */
static int launch_set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	return -posix_spawnattr_setflags(attributes,
					 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* The daemon's standard input and output are no business of a process of another user. */
static int launch_add_descriptors(posix_spawn_file_actions_t *actions, int link_fd, int log_fd)
{
	int result = posix_spawn_file_actions_adddup2(actions, link_fd, PROCESS_LINK_FD);

	if (result == 0 && log_fd >= 0)
		result = posix_spawn_file_actions_adddup2(actions, log_fd, STDERR_FILENO);
	if (result == 0)
		result = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, LAUNCH_NULL,
							  O_RDONLY, 0);
	if (result == 0)
		result = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, LAUNCH_NULL,
							  O_WRONLY, 0);
	return -result;
}

static int launch_spawn(const char *path, int link_fd, int log_fd, pid_t *pid)
{
	char name[] = LAUNCH_PROGRAM;
	char *const arguments[] = {name, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int result = -posix_spawn_file_actions_init(&actions);

	if (result != 0)
		return result;
	result = -posix_spawnattr_init(&attributes);
	if (result != 0)
		goto destroy_actions;
	result = launch_set_attributes(&attributes);
	if (result == 0)
		result = launch_add_descriptors(&actions, link_fd, log_fd);
	if (result == 0)
		result = -posix_spawn(pid, path, &actions, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
destroy_actions:
	posix_spawn_file_actions_destroy(&actions);
	return result;
}

static void launch_limit(pid_t pid, int resource, rlim_t most)
{
	struct rlimit limit;

	if (prlimit(pid, resource, NULL, &limit) != 0)
		return;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	prlimit(pid, resource, &limit, NULL);
}

static void launch_raise_oom_score(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, LAUNCH_OOM_SCORE, sizeof(LAUNCH_OOM_SCORE) - 1) < 0)
		errno = 0; /* the kernel's default stays */
	close(fd);
}

/* A duplicate that no descriptor of the new program can overwrite; -1 when `fd` is. */
static int launch_lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, PROCESS_LINK_FD + 1);
}

static int launch_spawn_lifted(const char *path, int link_fd, int log_fd, pid_t *pid)
{
	const int link = launch_lift(link_fd), log = launch_lift(log_fd);
	int result = link < 0 || (log < 0 && log_fd >= 0) ? -errno : 0;

	if (result == 0)
		result = launch_spawn(path, link, log, pid);
	if (log >= 0)
		close(log);
	if (link >= 0)
		close(link);
	return result;
}

int device_launch_start(const char *path, int link_fd, int log_fd, bool limits_files, pid_t *pid,
			int *pid_fd)
{
	int result = launch_spawn_lifted(path, link_fd, log_fd, pid);

	if (result != 0)
		return result;
	*pid_fd = (int)syscall(SYS_pidfd_open, *pid, 0);
	/* The process waits for START, which comes after this. */
	launch_limit(*pid, RLIMIT_CORE, 0);
	if (limits_files)
		launch_limit(*pid, RLIMIT_FSIZE, (rlim_t)LIMIT_SESSION_SHARED_MIB << 20);
	launch_raise_oom_score(*pid);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/merged_view.h"

#include "tools/rnic-run/complaint.h"
#include "tools/rnic-run/merged_pci.h"
#include "tools/rnic-run/merged_tree.h"
#include "tools/rnic-run/tree_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Programs count on the low numbers that they open themselves. */
#define HELD_FD 100

/* How long the view may show a device whose daemon has ended. */
#define FOLLOW_PERIOD_MS 500

struct merged_view {
	char path[MERGED_VIEW_PATH_BYTES];
	const struct rnic_device_list *devices;
	bool is_shown[RNIC_SOCKETS_MAX];
};

/* ---- the keeper ---- */

static void follow_devices(struct merged_view *view)
{
	bool is_new = false;

	for (uint32_t i = 0; i < view->devices->count; i++) {
		const struct rnic_listed_device *device = &view->devices->devices[i];
		const bool is_there = merged_tree_is_there(device);
		int error;

		if (is_there == view->is_shown[i])
			continue;
		error = is_there ? merged_tree_show(view->path, device)
				 : merged_tree_hide(view->path, device);
		if (error == 0)
			view->is_shown[i] = is_there;
		is_new |= error == 0 && is_there;
	}
	for (uint32_t i = 0; is_new && i < view->devices->count; i++)
		if (view->is_shown[i])
			merged_pci_copy(view->path, &view->devices->devices[i]);
}

/* Nothing but the pipe stays open, so that nobody waits for this process at another pipe. */
static int keep_only(int fd)
{
	const int kept_fd = STDERR_FILENO + 1, high_fd = fcntl(fd, F_DUPFD, kept_fd + 1);
	const int null_fd = open("/dev/null", O_RDWR);

	if (high_fd < 0 || null_fd < 0)
		return -1;
	for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; standard++)
		dup2(null_fd, standard);
	dup2(high_fd, kept_fd);
	close_range((unsigned)kept_fd + 1, ~0U, 0);
	return kept_fd;
}

/* Signals that end the command's terminal or group must not leave the view behind. */
static _Noreturn void keep_view(struct merged_view *view, int pipe_fd)
{
	struct pollfd end = {.fd = keep_only(pipe_fd), .events = POLLIN};

	prctl(PR_SET_NAME, "rnic-run-view");
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (chdir("/") != 0)
		end.fd = -1;
	while (end.fd >= 0 && poll(&end, 1, FOLLOW_PERIOD_MS) <= 0)
		follow_devices(view);
	tree_files_remove_all(view->path);
	_exit(0);
}

/* Forks twice: the command must not find a child that it never made. */
static int start_keeper(struct merged_view *view, int pipe_fds[2])
{
	const pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		pid_t keeper;

		setsid();
		keeper = fork();
		if (keeper != 0)
			_exit(keeper < 0);
		keep_view(view, pipe_fds[0]);
	} else {
		int status;

		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		return status == 0 ? 0 : -EAGAIN;
	}
}

/* The command inherits the end of the pipe. */
static int hold_end(int fd)
{
	const int high_fd = fcntl(fd, F_DUPFD, HELD_FD);

	close(fd);
	return high_fd >= 0 ? 0 : -errno;
}

/* ---- making it ---- */

/* In a directory of another user, that user could put other files in the place of the view. */
static bool is_own_directory(const char *path)
{
	struct stat status;

	return path != NULL && path[0] == '/' && lstat(path, &status) == 0 &&
	       S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
	       (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, W_OK | X_OK) == 0;
}

static int make_tree(struct merged_view *view)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int error;

	if (snprintf(view->path, sizeof(view->path), "%s/rnic-view-XXXXXX",
		     is_own_directory(runtime) ? runtime : "/tmp") >= (int)sizeof(view->path))
		return -ENAMETOOLONG;
	if (mkdtemp(view->path) == NULL)
		return -errno;
	error = merged_tree_create(view->path);
	if (error == 0)
		follow_devices(view);
	else
		tree_files_remove_all(view->path);
	return error;
}

int merged_view_start(const struct rnic_device_list *devices, char path[MERGED_VIEW_PATH_BYTES])
{
	struct merged_view view = {.devices = devices};
	int pipe_fds[2], error = make_tree(&view);

	if (error != 0)
		goto complain_of_error;
	if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
		error = -errno;
		goto remove_tree;
	}
	error = start_keeper(&view, pipe_fds);
	close(pipe_fds[0]);
	if (error != 0) {
		close(pipe_fds[1]);
		goto remove_tree;
	}
	/* From here on, the keeper removes the view. */
	error = hold_end(pipe_fds[1]);
	if (error != 0)
		goto complain_of_error;
	memcpy(path, view.path, sizeof(view.path));
	return 0;

remove_tree:
	tree_files_remove_all(view.path);
complain_of_error:
	complain("cannot make a view of several devices in %s: %s", view.path, strerror(-error));
	return error;
}

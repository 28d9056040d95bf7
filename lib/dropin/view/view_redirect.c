/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/view_path.h"

#include "lib/client/native/disable.h"
#include "proto/base/path_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Writes "/proc/self/fd/N". snprintf() would do, but not in a signal handler. */
static void descriptor_path(int fd, char path[32])
{
	static const char folder[] = "/proc/self/fd/";
	char digits[12];
	size_t count = 0, used = sizeof(folder) - 1;
	unsigned rest = (unsigned)fd;

	memcpy(path, folder, used);
	do
		digits[count++] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	while (count > 0)
		path[used++] = digits[--count];
	path[used] = '\0';
}

/* Makes a relative path absolute: asks the kernel for the directory's path. */
static bool make_absolute(int directory_fd, const char *path, char absolute[RNIC_VIEW_PATH_BYTES])
{
	char link[32] = "/proc/self/cwd", directory[RNIC_VIEW_PATH_BYTES];
	long length;

	if (directory_fd != AT_FDCWD) {
		if (directory_fd < 0)
			return false;
		descriptor_path(directory_fd, link);
	}
	length = syscall(SYS_readlinkat, AT_FDCWD, link, directory, sizeof(directory) - 1);
	if (length <= 0)
		return false;
	directory[length] = '\0';
	return rnic_view_join(directory, path, absolute);
}

/*
 * Copies the text with an end. snprintf() would do, but open() may be called by a signal handler.
 */
static bool copy_text(char *to, size_t room, const char *text)
{
	const size_t length = strlen(text);

	if (length >= room)
		return false;
	memcpy(to, text, length + 1);
	return true;
}

/* Where the view lies; false: there is none. */
static bool view_redirect_find_tree(char tree[RNIC_VIEW_PATH_BYTES])
{
	const char *view = getenv(RNIC_VIEW_VARIABLE), *socket = getenv("RNIC_SOCKET");

	if (rnic_is_disabled())
		return false;
	if (view != NULL && view[0] != '\0')
		return copy_text(tree, RNIC_VIEW_PATH_BYTES / 2, view);
	return socket != NULL && copy_text(tree, RNIC_VIEW_PATH_BYTES / 2, socket) &&
	       copy_text(tree + strlen(socket), sizeof(RNIC_VIEW_SUFFIX), RNIC_VIEW_SUFFIX);
}

/* Asks the kernel, not this library's own functions. */
static bool view_redirect_is_there(const char *path)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

static bool view_redirect_map(const char *named, char buffer[RNIC_VIEW_PATH_BYTES])
{
	char tree[RNIC_VIEW_PATH_BYTES], probe[RNIC_VIEW_PATH_BYTES];

	if (!view_redirect_find_tree(tree))
		return false;
	rnic_view_explain_umad(named);
	return rnic_view_map(tree, named, buffer) ||
	       (rnic_view_map_there(tree, named, buffer, probe) && view_redirect_is_there(probe));
}

const char *rnic_view_redirect(int directory_fd, const char *path,
			       char buffer[RNIC_VIEW_PATH_BYTES])
{
	char absolute[RNIC_VIEW_PATH_BYTES];
	const char *named = path;
	int errno_before;
	bool is_mapped;

	if (path == NULL ||
	    (strstr(path, RNIC_VIEW_MARK) == NULL && strstr(path, RNIC_VIEW_PCI_MARK) == NULL))
		return path;
	errno_before = errno;
	if (path[0] != '/')
		named = make_absolute(directory_fd, path, absolute) ? absolute : "";
	is_mapped = view_redirect_map(named, buffer);
	errno = errno_before;
	return is_mapped ? buffer : path;
}

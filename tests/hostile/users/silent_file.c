/* SPDX-License-Identifier: MIT */
#define FUSE_USE_VERSION 31
#include "tests/hostile/users/silent_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOUNT_POINT "/tmp" /* in the namespace of the serving process alone */
#define FILE_NAME   "file"
#define FILE_INODE  2
#define FILE_BYTES  (1 << 30)
#define ATTRIBUTE_S 3600.0

/* ---- the file system ---- */

static struct stat attributes_of(fuse_ino_t inode)
{
	if (inode == FUSE_ROOT_ID)
		return (struct stat){.st_ino = inode, .st_mode = S_IFDIR | 0700, .st_nlink = 2};
	return (struct stat){
		.st_ino = inode, .st_mode = S_IFREG | 0600, .st_nlink = 1, .st_size = FILE_BYTES};
}

static void answer_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	const struct fuse_entry_param entry = {
		.ino = FILE_INODE,
		.attr = attributes_of(FILE_INODE),
		.attr_timeout = ATTRIBUTE_S,
		.entry_timeout = ATTRIBUTE_S,
	};

	if (parent == FUSE_ROOT_ID && strcmp(name, FILE_NAME) == 0)
		fuse_reply_entry(request, &entry);
	else
		fuse_reply_err(request, ENOENT);
}

static void answer_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
	const struct stat attributes = attributes_of(inode);

	(void)file;
	fuse_reply_attr(request, &attributes, ATTRIBUTE_S);
}

static void answer_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
	(void)inode;
	fuse_reply_open(request, file);
}

static void ignore_read(fuse_req_t request, fuse_ino_t inode, size_t bytes, off_t offset,
			struct fuse_file_info *file)
{
	(void)request;
	(void)inode;
	(void)bytes;
	(void)offset;
	(void)file;
}

static const struct fuse_lowlevel_ops operations = {
	.lookup = answer_lookup,
	.getattr = answer_getattr,
	.open = answer_open,
	.read = ignore_read,
};

/* ---- the process that serves it ---- */

static int write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const ssize_t length = (ssize_t)strlen(text);
	int result = -1;

	if (fd < 0)
		return -1;
	if (write(fd, text, (size_t)length) == length)
		result = 0;
	close(fd);
	return result;
}

/* Becomes root of a user namespace, where this user may mount. */
static int enter_namespaces(void)
{
	const unsigned uid = getuid(), gid = getgid();
	char map[32];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
	    write_file("/proc/self/setgroups", "deny") != 0)
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (write_file("/proc/self/uid_map", map) != 0)
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_file("/proc/self/gid_map", map);
}

/* Sends `result`, an errno, and the descriptor if there is one. */
static void send_result(int socket, int result, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec data = {.iov_base = &result, .iov_len = sizeof(result)};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	sendmsg(socket, &message, 0);
}

/* Opens the file while another process serves, and sends the descriptor. */
static void open_and_send(int socket)
{
	const int fd = open(MOUNT_POINT "/" FILE_NAME, O_RDWR | O_CLOEXEC);

	send_result(socket, fd < 0 ? errno : 0, fd);
	_exit(0);
}

static void serve(int socket)
{
	char name[] = "silent_file";
	char *arguments[] = {name};
	struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
	struct fuse_session *session;

	if (enter_namespaces() != 0)
		goto refuse;
	session = fuse_session_new(&args, &operations, sizeof(operations), NULL);
	if (session == NULL || fuse_session_mount(session, MOUNT_POINT) != 0)
		goto refuse;
	if (fork() == 0)
		open_and_send(socket);
	fuse_session_loop(session);
	_exit(0);

refuse:
	send_result(socket, errno != 0 ? errno : EIO, -1);
	_exit(1);
}

/* ---- the process that has the memory ---- */

/* The descriptor; -1 with errno if there is none. */
static int receive_result(int socket)
{
	int result = EIO, fd = -1;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct iovec data = {.iov_base = &result, .iov_len = sizeof(result)};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) > 0 && CMSG_FIRSTHDR(&message) != NULL)
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	errno = result;
	return fd;
}

int silent_file_map(void *memory, size_t bytes)
{
	int sockets[2], fd;
	pid_t server;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return -1;
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sockets[0]);
		serve(sockets[1]);
	}
	close(sockets[1]);
	fd = server < 0 ? -1 : receive_result(sockets[0]);
	close(sockets[0]);
	if (fd < 0)
		return -1;
	memory = mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? -1 : 0;
}

/* SPDX-License-Identifier: MIT */
/* The server's side: files in memory, the helper's start and end, orders. */
#include "tools/lab/lambda/sandbox.h"

#include "proto/base/bits.h"
#include "tools/lab/lambda/lambda_file.h"
#include "tools/lab/lambda/program_directory.h"
#include "tools/lab/lambda/sandbox_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The stack of a function needs this alignment, and so do vectors in its input. */
enum { ALIGNMENT = 16 };

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* Starts the helper with two descriptors and no environment; errors as of posix_spawn(3). */
static int spawn_helper(pid_t *helper, const char *path, int fd, int table_fd)
{
	char socket_text[12], table_text[12];
	char *const arguments[] = {"rnic-lab-sandbox", socket_text, table_text, NULL};
	char *const environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	snprintf(socket_text, sizeof(socket_text), "%d", fd);
	snprintf(table_text, sizeof(table_text), "%d", table_fd);
	/* A dup2 of a descriptor to itself leaves it open in the new program. */
	error = posix_spawn_file_actions_adddup2(&actions, fd, fd);
	if (error == 0 && table_fd >= 0)
		error = posix_spawn_file_actions_adddup2(&actions, table_fd, table_fd);
	if (error == 0)
		error = posix_spawn(helper, path, &actions, NULL, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int sandbox_start(struct sandbox *sandbox, const struct sandbox_limits *limits, int table_fd)
{
	char directory[PROGRAM_DIRECTORY_BYTES], path[PATH_MAX];
	int ends[2], error = program_directory(directory);

	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/../libexec/rnic/rnic-lab-sandbox", directory);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	error = spawn_helper(&sandbox->helper, path, ends[1], table_fd);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		return -error;
	}
	sandbox->fd = ends[0];
	sandbox->limits = *limits;
	return 0;
}

void sandbox_stop(struct sandbox *sandbox)
{
	close(sandbox->fd);
	kill(sandbox->helper, SIGKILL);
	while (waitpid(sandbox->helper, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- files in memory ---- */

/* Kernels from 6.3 on may demand the flag that a file is for code; earlier ones refuse the flag. */
static int create_file(bool is_code)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = is_code ? memfd_create("rnic-lab", flags | MFD_EXEC) : -1;

	if (fd < 0)
		fd = memfd_create("rnic-lab", flags);
	return fd < 0 ? -errno : fd;
}

static int fill_file(int fd, const struct sandbox_file *file, const uint8_t *content)
{
	uint64_t done = 0;

	if (ftruncate(fd, (off_t)file->file_bytes) < 0)
		return -errno;
	while (content && done < file->bytes) {
		ssize_t count = pwrite(fd, content + done, file->bytes - done,
				       (off_t)(file->offset + done));

		if (count < 0 && errno != EINTR)
			return -errno;
		done += count > 0 ? (uint64_t)count : 0;
	}
	return 0;
}

/*
 * Makes a file of `content`, or of zeros that may be written. Data ends at the end of its last
 * page, so that a read beyond it faults; code begins at the file's beginning.
 */
static int make_file(struct sandbox_file *file, enum sandbox_descriptor what,
		     const uint8_t *content, uint32_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (content ? F_SEAL_WRITE : 0);
	int fd = create_file(what == SANDBOX_CODE), error;

	if (fd < 0)
		return fd;
	file->bytes = bytes;
	file->file_bytes = rnic_round_up(bytes ? bytes : 1, page);
	file->offset =
		what == SANDBOX_CODE ? 0 : file->file_bytes - rnic_round_up(bytes, ALIGNMENT);
	error = fill_file(fd, file, content);
	if (error == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0)
		error = -errno;
	if (error == 0)
		return fd;
	close(fd);
	return error;
}

/* Makes all files; returns their number, or a negative errno with none. */
static int make_files(const struct sandbox_job *job, struct sandbox_order *order,
		      int descriptors[SANDBOX_DESCRIPTORS])
{
	static const uint8_t nothing[1];
	const struct {
		const uint8_t *content;
		uint32_t bytes;
	} wanted[SANDBOX_DESCRIPTORS] = {
		[SANDBOX_CODE] = {job->code, job->code_bytes},
		[SANDBOX_INPUT] = {job->input_bytes ? job->input : nothing, job->input_bytes},
		[SANDBOX_OUTPUT] = {NULL, job->output_room},
	};

	for (int i = 0; i < SANDBOX_DESCRIPTORS; i++) {
		descriptors[i] = make_file(&order->files[i], (enum sandbox_descriptor)i,
					   wanted[i].content, wanted[i].bytes);
		if (descriptors[i] < 0) {
			int error = descriptors[i];

			while (i > 0)
				close(descriptors[--i]);
			return error;
		}
	}
	return SANDBOX_DESCRIPTORS;
}

/* ---- a run ---- */

static int send_order(const struct sandbox *sandbox, struct sandbox_order *order,
		      const int descriptors[SANDBOX_DESCRIPTORS])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * SANDBOX_DESCRIPTORS)];
	} control = {0};
	struct iovec part = {.iov_base = order, .iov_len = sizeof(*order)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int) * SANDBOX_DESCRIPTORS);
	memcpy(CMSG_DATA(&control.header), descriptors, sizeof(int) * SANDBOX_DESCRIPTORS);
	return sendmsg(sandbox->fd, &message, MSG_NOSIGNAL) == sizeof(*order) ? 0 : -EIO;
}

static int read_output(int fd, const struct sandbox_file *file, uint8_t *output, uint32_t bytes)
{
	uint32_t done = 0;

	while (done < bytes) {
		ssize_t count =
			pread(fd, output + done, bytes - done, (off_t)(file->offset + done));

		if (count <= 0 && errno != EINTR)
			return -EIO;
		done += count > 0 ? (uint32_t)count : 0;
	}
	return 0;
}

int sandbox_run(struct sandbox *sandbox, struct lab_watch *watch, const struct sandbox_job *job,
		struct lambda_result *result)
{
	struct sandbox_order order = {.entry = job->entry, .limits = sandbox->limits};
	int descriptors[SANDBOX_DESCRIPTORS];
	int error = make_files(job, &order, descriptors);

	if (error < 0)
		return error;
	error = send_order(sandbox, &order, descriptors);
	if (error == 0)
		error = lab_wait(watch, sandbox->fd, POLLIN, LAB_FOREVER);
	if (error == 0 && recv(sandbox->fd, result, sizeof(*result), 0) != sizeof(*result))
		error = -EIO;
	if (error == 0 && result->verdict == LAMBDA_CALLED_SYSTEM)
		result->value = lambda_machine_here(); /* whose numbers the calls have */
	if (error == 0 && result->verdict == LAMBDA_RETURNED)
		error = read_output(descriptors[SANDBOX_OUTPUT], &order.files[SANDBOX_OUTPUT],
				    job->output, result->output_bytes);
	for (int i = 0; i < SANDBOX_DESCRIPTORS; i++)
		close(descriptors[i]);
	return error;
}

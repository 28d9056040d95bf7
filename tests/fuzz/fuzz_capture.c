/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a capture file, as rnic-inspect reads it: frames and comments lie within the file,
 * and each frame gets a judgement.
 */
#include "tools/rnic-inspect/judgement.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a file that is gone when its descriptor is. */
static int make_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert(fd >= 0);
	if (write(fd, data, size) != (ssize_t)size)
		assert(false);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = make_file(data, size);
	struct capture_reader *reader;
	struct capture_frame frame;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	error = capture_reader_open(&reader, path);
	close(fd);
	if (error != 0)
		return 0;
	while (capture_reader_next(reader, &frame) == 1) {
		assert(frame.captured_bytes + frame.comment_bytes <= size);
		assert(judge(&frame).verdict < VERDICT_COUNT);
	}
	capture_reader_close(reader);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "tools/serve/live_record.h"

#include "tools/rnicctl/explain/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ANSWER_LIMIT_MS = 2000 };

static int live_record_collect(const char *socket, struct evidence *evidence)
{
	struct admin_link link;
	int error = admin_link_open_within(&link, socket, "rnicctl", ANSWER_LIMIT_MS);

	if (error)
		return error;
	error = evidence_collect(&link, evidence);
	admin_link_close(&link);
	return error;
}

int live_record_open(const char *socket)
{
	struct evidence evidence = {0};
	char path[64];
	int fd, error = live_record_collect(socket, &evidence);

	if (error) {
		evidence_free(&evidence);
		return error;
	}
	fd = memfd_create("record", MFD_CLOEXEC);
	error = fd < 0 ? -errno : 0;
	if (!error) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		error = evidence_save(&evidence, path);
	}
	evidence_free(&evidence);
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}

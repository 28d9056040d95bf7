/* SPDX-License-Identifier: MIT */
#include "native/daemon_link.h"
#include "native/refuse_null.h"

#include <rnic/rnic.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(RNIC_SOCKET_PATH_BYTES == sizeof(((struct sockaddr_un *)0)->sun_path),
	       "a path that fits is one that can be connected to");

static __attribute__((format(printf, 2, 3))) int format_path(char path[RNIC_SOCKET_PATH_BYTES],
							     const char *format, ...)
{
	char text[RNIC_SOCKET_PATH_BYTES];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(text))
		return -ENAMETOOLONG;
	snprintf(path, RNIC_SOCKET_PATH_BYTES, "%s", text);
	return 0;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != 0 ? value : NULL;
}

int rnic_default_socket_path(char path[RNIC_SOCKET_PATH_BYTES])
{
	RNIC_REFUSE_NULL(path);
	const char *named = environment("RNIC_SOCKET");
	const char *runtime = environment("XDG_RUNTIME_DIR");

	if (named != NULL)
		return format_path(path, "%s", named);
	if (geteuid() == 0)
		return format_path(path, "/run/rnicd/rnicd.sock");
	if (runtime != NULL)
		return format_path(path, "%s/rnicd.sock", runtime);
	return format_path(path, "/tmp/rnicd-%u/rnicd.sock", (unsigned)geteuid());
}

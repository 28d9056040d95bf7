/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/port_advice.h"

#include "lib/client/admin/admin_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADVICE_PORT	   4791
#define ADVICE_DAEMONS_MAX 16
#define ADVICE_HOSTS_MAX   254
#define ADVICE_PATH_BYTES  108
#define ADVICE_LISTENS	   0x10000 /* __SO_ACCEPTCON of the kernel */

/* Whether the UDP port is free on the loopback address 127.0.0.`host`. */
static bool advice_is_free(unsigned host)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(ADVICE_PORT),
		.sin_addr.s_addr = htonl(0x7f000000u + host),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_free = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

	if (fd >= 0)
		close(fd);
	return is_free;
}

static void advice_of_address(char text[PORT_ADVICE_BYTES])
{
	unsigned host = 2;

	while (host < ADVICE_HOSTS_MAX && !advice_is_free(host))
		host++;
	snprintf(text, PORT_ADVICE_BYTES,
		 "give --address 127.0.0.%u for a device of your own, for programs of this host",
		 host);
}

/* Reads the next socket of a daemon from the kernel's list: by its name, or by its folder. */
static bool advice_next_socket(FILE *list, char path[ADVICE_PATH_BYTES])
{
	char line[512];

	while (fgets(line, sizeof(line), list) != NULL) {
		unsigned flags, type;
		const char *name;

		if (sscanf(line, "%*s %*x %*x %x %x %*x %*u %107s", &flags, &type, path) != 3 ||
		    type != SOCK_SEQPACKET || (flags & ADVICE_LISTENS) == 0 || path[0] != '/')
			continue;
		name = strrchr(path, '/');
		if (strcmp(name, "/rnicd.sock") == 0 || strncmp(path, "/run/rnicd/", 11) == 0)
			return true;
	}
	return false;
}

/* Writes what the daemon at `path` says. Returns whether it serves this user. */
static bool advice_of_daemon(const char *path, char text[PORT_ADVICE_BYTES])
{
	struct admin_link link;
	int error = admin_link_try_use(&link, path, "rnic-run");

	if (error == 0)
		snprintf(text, PORT_ADVICE_BYTES,
			 "the rnicd of user %u on %s serves you: give --socket %s",
			 (unsigned)link.owner, path, path);
	else if (admin_link_is_absence(error))
		text[0] = '\0';
	else
		snprintf(text, PORT_ADVICE_BYTES, "the rnicd on %s does not serve you (%.160s)",
			 path, link.reason);
	return error == 0;
}

/* Asks daemons until one serves the user; `text` is what the last one said. */
static bool advice_of_daemons(char text[PORT_ADVICE_BYTES])
{
	FILE *list = fopen("/proc/net/unix", "re");
	char path[ADVICE_PATH_BYTES];
	bool is_served = false;

	text[0] = '\0';
	if (list == NULL)
		return false;
	for (int i = 0; i < ADVICE_DAEMONS_MAX && !is_served && advice_next_socket(list, path); i++)
		is_served = advice_of_daemon(path, text);
	fclose(list);
	return is_served;
}

void port_advice(const char *failure, char advice[PORT_ADVICE_BYTES])
{
	char daemon[PORT_ADVICE_BYTES], address[PORT_ADVICE_BYTES];
	bool is_served;

	advice[0] = '\0';
	if (strstr(failure, "UDP port ") == NULL || strstr(failure, "is taken") == NULL)
		return;
	is_served = advice_of_daemons(daemon);
	advice_of_address(address);
	snprintf(advice, PORT_ADVICE_BYTES, "; %.330s%s%.160s", daemon,
		 is_served ? "; or " : (daemon[0] != '\0' ? "; " : ""), address);
}

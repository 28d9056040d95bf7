/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/port_holder.h"

#include "daemon/shared/base/process_state.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A lane group alone has 128 sockets. */
#define SOCKETS_MAX 256
#define LOOKS_MAX   3

#define LIST_BUFFER_BYTES 16384

/* The word of a line, from 0: behind slot, both addresses, state, queues, timer, retransmits, user
 * and timeout. */
#define INODE_WORD 9

struct socket_inodes {
	uint32_t count;
	uint64_t inodes[SOCKETS_MAX];
};

/*
 * Reads the hexadecimal words of a kernel's socket list, each a word in memory order, to `address`.
 * False when `text` has not `word_count` words.
 */
static bool read_words(const char *text, uint32_t word_count, uint8_t *address)
{
	if (strlen(text) != (size_t)word_count * 8)
		return false;
	for (uint32_t i = 0; i < word_count; i++) {
		char digits[9] = "";
		uint32_t word;

		memcpy(digits, text + (size_t)i * 8, 8);
		word = (uint32_t)strtoul(digits, NULL, 16);
		memcpy(address + (size_t)i * 4, &word, sizeof(word));
	}
	return true;
}

/* Whether a socket at `address` keeps others from `gid`: the same address, or any address. */
static bool address_covers(const char *address_text, bool is_ipv4_list, const struct rnic_gid *gid)
{
	uint8_t bytes[16] = {0};
	struct rnic_gid address;

	if (!read_words(address_text, is_ipv4_list ? 1 : 4, bytes))
		return false;
	if (is_ipv4_list) {
		static const uint8_t any[4];

		if (!rnic_gid_is_ipv4(gid))
			return false;
		return memcmp(bytes, any, sizeof(any)) == 0 ||
		       memcmp(bytes, rnic_gid_ipv4(gid), sizeof(any)) == 0;
	}
	address = rnic_gid_from_ipv6(bytes);
	return rnic_gid_is_zero(&address) || rnic_gid_equal(&address, gid);
}

/* Appends the sockets of `list`, /proc/net/udp or /proc/net/udp6, that have the port. */
static void collect_sockets(struct socket_inodes *sockets, const char *list, bool is_ipv4_list,
			    const struct rnic_gid *gid, uint16_t udp_port)
{
	FILE *file = fopen(list, "re");
	char line[512];

	if (file == NULL)
		return;
	while (sockets->count < SOCKETS_MAX && fgets(line, sizeof(line), file) != NULL) {
		char address[33];
		unsigned int port;
		uint64_t inode;

		/* Slot, local address, remote address, state, queues, timer, retransmits, user,
		 * timeout, inode. */
		if (sscanf(line, "%*s %32[0-9A-Fa-f]:%4x %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
			   address, &port, &inode) == 3 &&
		    port == udp_port && address_covers(address, is_ipv4_list, gid))
			sockets->inodes[sockets->count++] = inode;
	}
	fclose(file);
}

/* Whether one of the descriptors of the process `pid` is one of the sockets. */
static bool process_has_socket(pid_t pid, const struct socket_inodes *sockets)
{
	char path[64];
	bool is_found = false;
	struct dirent *entry;
	DIR *descriptors;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	descriptors = opendir(path);
	if (descriptors == NULL)
		return false;
	while (!is_found && (entry = readdir(descriptors)) != NULL) {
		char target[64] = "";
		uint64_t inode;

		if (readlinkat(dirfd(descriptors), entry->d_name, target, sizeof(target) - 1) < 0 ||
		    sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		for (uint32_t i = 0; !is_found && i < sockets->count; i++)
			is_found = sockets->inodes[i] == inode;
	}
	closedir(descriptors);
	return is_found;
}

/* Any process chooses its own name: only printable characters reach the log. */
static void read_program(struct port_holder *holder)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)holder->pid);
	file = fopen(path, "re");
	if (file == NULL || fgets(holder->program, sizeof(holder->program), file) == NULL)
		snprintf(holder->program, sizeof(holder->program), "?");
	if (file != NULL)
		fclose(file);
	holder->program[strcspn(holder->program, "\n")] = '\0';
	for (char *c = holder->program; *c != '\0'; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

/* Looks once. The kernel's list may miss sockets while others close theirs. */
static bool look_for_holder(struct port_holder *out, const struct rnic_gid *gid, uint16_t udp_port)
{
	struct socket_inodes sockets = {0};
	struct dirent *entry;
	bool is_found = false;
	DIR *processes;

	collect_sockets(&sockets, "/proc/self/net/udp", true, gid, udp_port);
	collect_sockets(&sockets, "/proc/self/net/udp6", false, gid, udp_port);
	if (sockets.count == 0)
		return false;
	processes = opendir("/proc");
	if (processes == NULL)
		return false;
	while (!is_found && (entry = readdir(processes)) != NULL) {
		out->pid = (pid_t)strtol(entry->d_name, NULL, 10);
		is_found = out->pid > 0 && process_has_socket(out->pid, &sockets);
	}
	closedir(processes);
	return is_found;
}

bool port_holder_find(struct port_holder *out, const struct rnic_gid *gid, uint16_t udp_port)
{
	bool is_found = false;

	for (int looks = 0; !is_found && looks < LOOKS_MAX; looks++)
		is_found = look_for_holder(out, gid, udp_port);
	if (!is_found)
		return false;
	read_program(out);
	out->hangs = process_state(out->pid) == PROCESS_STATE_HANGS;
	return true;
}

/*
 * Reads port and user of a line: slot, local address, remote address, state, queues, timer,
 * retransmits, user. False: the port is not in the range.
 */
static bool read_user(const char *line, const struct port_range *range, uint16_t *port, uid_t *uid)
{
	const char *text = strchr(line, ':');
	char *end;
	unsigned long number;

	text = text == NULL ? NULL : strchr(text + 1, ':');
	if (text == NULL)
		return false;
	number = strtoul(text + 1, &end, 16);
	if (number < range->first || number - range->first >= range->count)
		return false;
	*port = (uint16_t)number;
	for (int fields = 0; fields < 6; fields++) {
		end += strspn(end, " ");
		if (fields == 5)
			*uid = (uid_t)strtoul(end, NULL, 10);
		end += strcspn(end, " ");
	}
	return true;
}

/* Calls `take` for each line of the kernel's lists of UDP sockets, and for their headings. */
static void read_lists(void (*take)(void *context, const char *line), void *context)
{
	static const char *const lists[] = {"/proc/self/net/udp", "/proc/self/net/udp6"};
	char line[512], buffer[LIST_BUFFER_BYTES];

	for (size_t i = 0; i < RNIC_COUNT_OF(lists); i++) {
		FILE *file = fopen(lists[i], "re");

		if (file == NULL)
			continue;
		/* The kernel begins each read at the start of its table. */
		setvbuf(file, buffer, _IOFBF, sizeof(buffer));
		while (fgets(line, sizeof(line), file) != NULL)
			take(context, line);
		fclose(file);
	}
}

struct port_listing {
	const struct port_range *range;
	void (*found)(void *context, uint16_t port, uid_t uid);
	void *context;
};

static void take_port(void *context, const char *line)
{
	const struct port_listing *listing = context;
	uint16_t port;
	uid_t uid;

	if (read_user(line, listing->range, &port, &uid))
		listing->found(listing->context, port, uid);
}

void port_holder_list(const struct port_range *range,
		      void (*found)(void *context, uint16_t port, uid_t uid), void *context)
{
	struct port_listing listing = {range, found, context};

	read_lists(take_port, &listing);
}

struct inode_listing {
	void (*found)(void *context, uint64_t inode);
	void *context;
};

static void take_inode(void *context, const char *line)
{
	const struct inode_listing *listing = context;
	uint64_t inode;

	for (int words = 0; words < INODE_WORD; words++) {
		line += strspn(line, " ");
		line += strcspn(line, " ");
	}
	inode = strtoull(line, NULL, 10);
	if (inode != 0)
		listing->found(listing->context, inode);
}

void port_holder_list_inodes(void (*found)(void *context, uint64_t inode), void *context)
{
	struct inode_listing listing = {found, context};

	read_lists(take_inode, &listing);
}

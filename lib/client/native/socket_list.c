/* SPDX-License-Identifier: MIT */
#include "lib/client/native/socket_list.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_LIST_SEPARATOR ':'
#define SOCKET_LIST_SUFFIX    ".sock"

_Static_assert(RNIC_SOCKET_PATH_BYTES == sizeof(((struct sockaddr_un *)0)->sun_path),
	       "a path that fits is one that can be connected to");
_Static_assert(RNIC_SOCKETS_MAX <= 32, "a bit for each");

bool rnic_socket_list_has(const struct rnic_socket_list *list, const char *path)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (strcmp(list->paths[i], path) == 0)
			return true;
	return false;
}

/* Appends "directory/name", or `name` where `directory` is empty. */
static int socket_list_append(struct rnic_socket_list *list, const char *directory,
			      const char *name)
{
	char path[RNIC_SOCKET_PATH_BYTES];
	int length = snprintf(path, sizeof(path), "%s%s%s", directory,
			      directory[0] != '\0' ? "/" : "", name);

	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	if (rnic_socket_list_has(list, path))
		return 0;
	if (list->count == RNIC_SOCKETS_MAX)
		return -E2BIG;
	memcpy(list->paths[list->count++], path, sizeof(path));
	return 0;
}

static int is_socket_name(const struct dirent *entry)
{
	const size_t length = strlen(entry->d_name), suffix = sizeof(SOCKET_LIST_SUFFIX) - 1;

	return entry->d_name[0] != '.' && length > suffix &&
	       strcmp(entry->d_name + length - suffix, SOCKET_LIST_SUFFIX) == 0;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

static int socket_list_add_directory(struct rnic_socket_list *list, const char *directory)
{
	struct dirent **entries;
	int error = 0, count = scandir(directory, &entries, is_socket_name, by_name);

	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		const uint32_t before = list->count;

		if (error == 0)
			error = socket_list_append(list, directory, entries[i]->d_name);
		if (list->count > before)
			list->found |= UINT32_C(1) << before;
		free(entries[i]);
	}
	free(entries);
	return error;
}

int rnic_socket_list_add(struct rnic_socket_list *list, const char *text)
{
	char path[RNIC_SOCKET_PATH_BYTES];
	struct stat status;
	int error = 0;

	while (error == 0 && *text != '\0') {
		const size_t length = strcspn(text, (char[]){SOCKET_LIST_SEPARATOR, '\0'});

		if (length >= sizeof(path))
			return -ENAMETOOLONG;
		memcpy(path, text, length);
		path[length] = '\0';
		if (length > 0)
			error = stat(path, &status) == 0 && S_ISDIR(status.st_mode)
					? socket_list_add_directory(list, path)
					: socket_list_append(list, "", path);
		text += length + (text[length] != '\0');
	}
	return error;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != 0 ? value : NULL;
}

/* The socket of a program that names none. */
static int socket_list_add_usual(struct rnic_socket_list *list)
{
	const char *runtime = environment("XDG_RUNTIME_DIR");
	char directory[RNIC_SOCKET_PATH_BYTES];

	if (geteuid() == 0)
		return socket_list_append(list, "/run/rnicd", "rnicd.sock");
	if (runtime != NULL)
		return socket_list_append(list, runtime, "rnicd.sock");
	snprintf(directory, sizeof(directory), "/tmp/rnicd-%u", (unsigned)geteuid());
	return socket_list_append(list, directory, "rnicd.sock");
}

int rnic_socket_list_read(struct rnic_socket_list *list)
{
	const char *named = environment("RNIC_SOCKET");
	int error;

	list->count = list->found = 0;
	error = named != NULL ? rnic_socket_list_add(list, named) : socket_list_add_usual(list);
	return error == 0 && list->count == 0 ? -ENOENT : error;
}

/* The first place whose socket is not listed any more. */
static uint32_t find_free_place(const struct rnic_socket_list *places,
				const struct rnic_socket_list *listed)
{
	uint32_t place = 0;

	while (place < places->count && rnic_socket_list_has(listed, places->paths[place]))
		place++;
	assert(place < places->count); /* no more are listed than there are places */
	return place;
}

static bool share_a_socket(const struct rnic_socket_list *one, const struct rnic_socket_list *other)
{
	for (uint32_t i = 0; i < one->count; i++)
		if (rnic_socket_list_has(other, one->paths[i]))
			return true;
	return false;
}

void rnic_socket_list_keep_places(struct rnic_socket_list *places,
				  const struct rnic_socket_list *listed)
{
	if (!share_a_socket(listed, places))
		places->count = 0;
	for (uint32_t i = 0; i < listed->count; i++) {
		uint32_t place = places->count;

		if (rnic_socket_list_has(places, listed->paths[i]))
			continue;
		if (place == RNIC_SOCKETS_MAX)
			place = find_free_place(places, listed);
		else
			places->count++;
		memcpy(places->paths[place], listed->paths[i], RNIC_SOCKET_PATH_BYTES);
	}
}

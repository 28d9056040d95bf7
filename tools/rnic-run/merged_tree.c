/* SPDX-License-Identifier: MIT */
#include "merged_tree.h"

#include "base/bits.h"
#include "base/path_view.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MERGED_TREE_MODE  0755
#define MERGED_TREE_FILES 8 /* that nftw() has open at a time */

/* Writes the path of an entry below the tree. -ENAMETOOLONG. */
__attribute__((format(printf, 3, 4))) static int tree_path(char path[PATH_MAX], const char *tree,
							   const char *format, ...)
{
	char name[PATH_MAX / 2];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(name))
		return -ENAMETOOLONG;
	length = snprintf(path, PATH_MAX, "%s%s", tree, name);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Makes a directory and those above it. */
static int make_directories(const char *tree, const char *directory)
{
	char path[PATH_MAX];
	size_t start = strlen(tree) + 1;
	int error = tree_path(path, tree, "%s/", directory);

	if (error != 0)
		return error;
	for (char *slash = strchr(path + start, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, MERGED_TREE_MODE) != 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static int make_link(const char *tree, const char *target, const char *directory, const char *name)
{
	char path[PATH_MAX];
	int error = tree_path(path, tree, "%s/%s", directory, name);

	if (error != 0)
		return error;
	return symlink(target, path) == 0 || errno == EEXIST ? 0 : -errno;
}

static int make_text(const char *tree, const char *directory, const char *name, const char *text)
{
	char path[PATH_MAX];
	int error = tree_path(path, tree, "%s/%s", directory, name);
	FILE *file;

	if (error != 0)
		return error;
	file = fopen(path, "we");
	if (file == NULL)
		return -errno;
	fprintf(file, "%s\n", text);
	return fclose(file) == 0 ? 0 : -errno;
}

int merged_tree_create(const char *tree)
{
	static const char *const roots[] = {RNIC_VIEW_ROOTS};
	int error = chmod(tree, MERGED_TREE_MODE) == 0 ? 0 : -errno;

	for (size_t i = 0; error == 0 && i < RNIC_COUNT_OF(roots); i++)
		error = make_directories(tree, roots[i]);
	if (error == 0)
		error = make_text(tree, RNIC_VIEW_INFINIBAND_VERBS, "abi_version",
				  RNIC_VIEW_VERBS_ABI);
	if (error == 0)
		error = make_link(tree, RNIC_VIEW_NULL_DEVICE, RNIC_VIEW_DEV, "rdma_cm");
	return error;
}

/* The device's directory in the view of its daemon. */
static int daemon_path(char path[PATH_MAX], const struct rnic_listed_device *device)
{
	return tree_path(path, device->socket_path, RNIC_VIEW_SUFFIX RNIC_VIEW_DEVICES "/%s",
			 device->own_name);
}

bool merged_tree_is_there(const struct rnic_listed_device *device)
{
	char path[PATH_MAX];

	return daemon_path(path, device) == 0 && access(path, X_OK) == 0;
}

static int show_uverbs(const char *tree, const struct rnic_listed_device *device)
{
	char directory[64], name[16], target[64];
	int error;

	snprintf(name, sizeof(name), "uverbs%u", device->index);
	snprintf(directory, sizeof(directory), RNIC_VIEW_INFINIBAND_VERBS "/%s", name);
	snprintf(target, sizeof(target), "../../infiniband/%s/device", device->attributes.name);
	error = make_directories(tree, directory);
	if (error == 0)
		error = make_text(tree, directory, "abi_version", RNIC_VIEW_UVERBS_ABI);
	if (error == 0)
		error = make_text(tree, directory, "ibdev", device->attributes.name);
	if (error == 0)
		error = make_text(tree, directory, "dev", RNIC_VIEW_NULL_NUMBER);
	if (error == 0)
		error = make_link(tree, target, directory, "device");
	if (error == 0)
		error = make_link(tree, RNIC_VIEW_NULL_DEVICE, RNIC_VIEW_DEV, name);
	return error;
}

/* The link in the class comes last, so that whoever follows it finds the whole device. */
int merged_tree_show(const char *tree, const struct rnic_listed_device *device)
{
	const char *name = device->attributes.name;
	char path[PATH_MAX], target[64];
	int error = daemon_path(path, device);

	if (error == 0)
		error = make_link(tree, path, RNIC_VIEW_DEVICES, name);
	if (error == 0)
		error = show_uverbs(tree, device);
	snprintf(target, sizeof(target), RNIC_VIEW_DEVICES_LINK "/%s", name);
	return error == 0 ? make_link(tree, target, RNIC_VIEW_INFINIBAND, name) : error;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

void merged_tree_remove(const char *tree)
{
	nftw(tree, remove_one, MERGED_TREE_FILES, FTW_DEPTH | FTW_PHYS);
}

static int remove_path(const char *tree, const char *directory, const char *name)
{
	char path[PATH_MAX];
	int error = tree_path(path, tree, "%s/%s", directory, name);

	if (error == 0)
		merged_tree_remove(path);
	return error;
}

int merged_tree_hide(const char *tree, const struct rnic_listed_device *device)
{
	char uverbs[16];
	int error = remove_path(tree, RNIC_VIEW_INFINIBAND, device->attributes.name);

	snprintf(uverbs, sizeof(uverbs), "uverbs%u", device->index);
	if (error == 0)
		error = remove_path(tree, RNIC_VIEW_INFINIBAND_VERBS, uverbs);
	if (error == 0)
		error = remove_path(tree, RNIC_VIEW_DEV, uverbs);
	return error == 0 ? remove_path(tree, RNIC_VIEW_DEVICES, device->attributes.name) : error;
}

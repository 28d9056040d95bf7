/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/pci_listings.h"

#include "proto/base/bits.h"
#include "proto/base/path_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCI_LISTINGS_DEVICES "/sys/devices"
#define PCI_LISTINGS_SUBBUS  "pci_bus" /* of a bus: it and those behind its bridges */

/* Whether the view has an entry; `path` is the kernel's. */
static bool view_has(const struct view_tree *tree, const char *path, bool *is_directory)
{
	struct stat status;

	if (fstatat(tree->fd, path + 1, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	*is_directory = S_ISDIR(status.st_mode);
	return true;
}

/*
 * Adds the entries of the directory whose names begin with `prefix`: as the same links that the
 * kernel has, or as links to them.
 */
static int add_entries(const struct view_tree *tree, const char *folder, const char *prefix,
		       bool are_links)
{
	DIR *directory = opendir(folder);
	char path[PATH_MAX], target[PATH_MAX];
	const struct dirent *entry;
	bool is_directory;
	int error = 0;

	if (directory == NULL)
		return 0;
	while (error == 0 && (entry = readdir(directory)) != NULL) {
		ssize_t length;

		if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		length = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (view_has(tree, path, &is_directory))
			continue;
		if (are_links)
			length = readlink(path, target, sizeof(target) - 1);
		else
			memcpy(target, path, sizeof(target));
		if (length <= 0)
			continue;
		target[length] = '\0';
		error = view_tree_add_link(tree, path + 1, target);
	}
	closedir(directory);
	return error;
}

/* A bus of the machine that is the device's too has the entries of both. */
static int add_shared_bus(const struct view_tree *tree, const char *bus)
{
	char path[PATH_MAX + sizeof("/" PCI_LISTINGS_SUBBUS)];
	int error = add_entries(tree, bus, "", false);

	snprintf(path, sizeof(path), "%s/" PCI_LISTINGS_SUBBUS, bus);
	return error == 0 ? add_entries(tree, path, "", false) : error;
}

/* The buses that the view has are the device's own. */
static int add_shared_buses(const struct view_tree *tree)
{
	DIR *directory = opendir(PCI_LISTINGS_DEVICES);
	const struct dirent *entry;
	char path[PATH_MAX];
	bool is_directory;
	int error = 0;

	while (error == 0 && directory != NULL && (entry = readdir(directory)) != NULL) {
		if (strncmp(entry->d_name, RNIC_VIEW_PCI_MARK, strlen(RNIC_VIEW_PCI_MARK)) != 0)
			continue;
		snprintf(path, sizeof(path), PCI_LISTINGS_DEVICES "/%s", entry->d_name);
		if (view_has(tree, path, &is_directory) && is_directory)
			error = add_shared_bus(tree, path);
	}
	if (directory != NULL)
		closedir(directory);
	return error;
}

int pci_listings_add(const struct view_tree *tree)
{
	static const char *const listings[] = {RNIC_VIEW_PCI_DEVICES, RNIC_VIEW_PCI_BUSES};
	int error = add_shared_buses(tree);

	if (error == 0)
		error = add_entries(tree, PCI_LISTINGS_DEVICES, RNIC_VIEW_PCI_MARK, false);
	for (size_t i = 0; error == 0 && i < RNIC_COUNT_OF(listings); i++)
		error = add_entries(tree, listings[i], "", true);
	return error;
}

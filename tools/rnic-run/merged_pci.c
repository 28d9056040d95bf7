/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/merged_pci.h"

#include "proto/base/bits.h"
#include "proto/base/path_view.h"
#include "tools/rnic-run/tree_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MERGED_PCI_LENGTH     12 /* of an address such as 0000:18:00.0 */
#define MERGED_PCI_BUS_LENGTH 7	 /* of the bus in it */

bool merged_pci_find(const struct rnic_listed_device *device,
		     char address[MERGED_PCI_ADDRESS_BYTES])
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *name;
	ssize_t length;

	if (tree_files_path(path, device->socket_path,
			    RNIC_VIEW_SUFFIX RNIC_VIEW_INFINIBAND "/%s/device",
			    device->own_name) != 0)
		return false;
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return false;
	target[length] = '\0';
	name = strrchr(target, '/');
	if (name == NULL || strlen(name + 1) != MERGED_PCI_LENGTH)
		return false;
	snprintf(address, MERGED_PCI_ADDRESS_BYTES, "%.12s", name + 1);
	return true;
}

/* The directory of the address's bus. */
static void find_host(const char *address, char host[64])
{
	snprintf(host, 64, RNIC_VIEW_PCI_HOST "%.*s", MERGED_PCI_BUS_LENGTH, address);
}

/* Copies the links in a directory of the daemon's view that are not there yet. */
static int copy_links(const char *tree, const char *socket_path, const char *folder)
{
	char path[PATH_MAX], target[PATH_MAX];
	int error = tree_files_path(path, socket_path, RNIC_VIEW_SUFFIX "%s", folder);
	DIR *directory = error == 0 ? opendir(path) : NULL;
	const struct dirent *entry;

	if (directory == NULL)
		return error;
	while (error == 0 && (entry = readdir(directory)) != NULL) {
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

		if (length <= 0)
			continue;
		target[length] = '\0';
		error = tree_files_add_link(tree, target, folder, entry->d_name);
	}
	closedir(directory);
	return error;
}

int merged_pci_copy(const char *tree, const struct rnic_listed_device *device)
{
	static const char *const folders[] = {"/sys/devices", RNIC_VIEW_PCI_DEVICES,
					      RNIC_VIEW_PCI_BUSES};
	char address[MERGED_PCI_ADDRESS_BYTES], host[64], subbus[80];
	int error;

	if (!merged_pci_find(device, address))
		return 0;
	find_host(address, host);
	snprintf(subbus, sizeof(subbus), "%s/pci_bus", host);
	error = copy_links(tree, device->socket_path, host);
	if (error == 0)
		error = copy_links(tree, device->socket_path, subbus);
	for (size_t i = 0; error == 0 && i < RNIC_COUNT_OF(folders); i++)
		error = copy_links(tree, device->socket_path, folders[i]);
	return error;
}

static int show_bus(const char *tree, const char *host)
{
	const char *bus = host + sizeof(RNIC_VIEW_PCI_HOST) - 1;
	char path[128], target[128];
	int error;

	snprintf(path, sizeof(path), "%s/pci_bus/%s", host, bus);
	error = tree_files_add_directory(tree, path);
	if (error == 0)
		error = tree_files_add_directory(tree, RNIC_VIEW_PCI_BUSES);
	snprintf(target, sizeof(target), "../../devices/pci%s/pci_bus/%s", bus, bus);
	return error == 0 ? tree_files_add_link(tree, target, RNIC_VIEW_PCI_BUSES, bus) : error;
}

/* The links come last, so that whoever follows them finds the device. */
int merged_pci_show(const char *tree, const struct rnic_listed_device *device, const char *address)
{
	static const struct {
		const char *directory, *way_up;
	} listings[] = {{RNIC_VIEW_PCI_DEVICES, "../../.."},
			{RNIC_VIEW_PCI_DRIVERS, "../../../.."}};
	char host[64], path[PATH_MAX], target[128];
	int error;

	find_host(address, host);
	error = show_bus(tree, host);
	if (error == 0)
		error = tree_files_path(path, device->socket_path, RNIC_VIEW_SUFFIX "%s/%s", host,
					address);
	if (error == 0)
		error = tree_files_add_link(tree, path, host, address);
	for (size_t i = 0; error == 0 && i < RNIC_COUNT_OF(listings); i++) {
		snprintf(target, sizeof(target), "%s%s/%s", listings[i].way_up,
			 host + sizeof("/sys") - 1, address);
		error = tree_files_add_directory(tree, listings[i].directory);
		if (error == 0)
			error = tree_files_add_link(tree, target, listings[i].directory, address);
	}
	return error;
}

int merged_pci_hide(const char *tree, const char *address)
{
	char host[64];
	int error = tree_files_remove(tree, RNIC_VIEW_PCI_DEVICES, address);

	find_host(address, host);
	if (error == 0)
		error = tree_files_remove(tree, RNIC_VIEW_PCI_DRIVERS, address);
	return error == 0 ? tree_files_remove(tree, host, address) : error;
}

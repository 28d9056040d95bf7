/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/merged_tree.h"

#include "proto/base/bits.h"
#include "proto/base/path_view.h"
#include "tools/rnic-run/merged_pci.h"
#include "tools/rnic-run/tree_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MERGED_TREE_MODE 0755

int merged_tree_create(const char *tree)
{
	static const char *const roots[] = {RNIC_VIEW_ROOTS};
	int error = chmod(tree, MERGED_TREE_MODE) == 0 ? 0 : -errno;

	for (size_t i = 0; error == 0 && i < RNIC_COUNT_OF(roots); i++)
		error = tree_files_add_directory(tree, roots[i]);
	if (error == 0)
		error = tree_files_add_text(tree, RNIC_VIEW_INFINIBAND_VERBS, "abi_version",
					    RNIC_VIEW_VERBS_ABI);
	if (error == 0)
		error = tree_files_add_link(tree, RNIC_VIEW_NULL_DEVICE, RNIC_VIEW_DEV, "rdma_cm");
	return error;
}

/* The device's directory in the view of its daemon. */
static int daemon_path(char path[PATH_MAX], const struct rnic_listed_device *device)
{
	return tree_files_path(path, device->socket_path,
			       RNIC_VIEW_SUFFIX RNIC_VIEW_INFINIBAND "/%s", device->own_name);
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
	error = tree_files_add_directory(tree, directory);
	if (error == 0)
		error = tree_files_add_text(tree, directory, "abi_version", RNIC_VIEW_UVERBS_ABI);
	if (error == 0)
		error = tree_files_add_text(tree, directory, "ibdev", device->attributes.name);
	if (error == 0)
		error = tree_files_add_text(tree, directory, "dev", RNIC_VIEW_NULL_NUMBER);
	if (error == 0)
		error = tree_files_add_link(tree, target, directory, "device");
	if (error == 0)
		error = tree_files_add_link(tree, RNIC_VIEW_NULL_DEVICE, RNIC_VIEW_DEV, name);
	return error;
}

/* Shows the device itself, and writes the target of its link in the class. */
static int show_own_device(const char *tree, const struct rnic_listed_device *device,
			   char target[128])
{
	char path[PATH_MAX], address[MERGED_PCI_ADDRESS_BYTES];
	int error = daemon_path(path, device);

	if (merged_pci_find(device, address)) {
		snprintf(target, 128, "../../devices/pci%.7s/%s/infiniband/%s", address, address,
			 device->own_name);
		return merged_pci_show(tree, device, address);
	}
	snprintf(target, 128, RNIC_VIEW_DEVICES_LINK "/%s", device->attributes.name);
	return error == 0
		       ? tree_files_add_link(tree, path, RNIC_VIEW_DEVICES, device->attributes.name)
		       : error;
}

static void net_directory(char directory[128], const struct rnic_listed_device *device)
{
	snprintf(directory, 128, RNIC_VIEW_NET "/%.*s/" RNIC_VIEW_NET_FOLDER,
		 (int)sizeof(device->attributes.netdev), device->attributes.netdev);
}

static int show_net(const char *tree, const struct rnic_listed_device *device)
{
	char directory[128], target[128];
	int error;

	net_directory(directory, device);
	snprintf(target, sizeof(target), RNIC_VIEW_NET_LINK "/%s", device->attributes.name);
	error = tree_files_add_directory(tree, directory);
	return error == 0 ? tree_files_add_link(tree, target, directory, device->attributes.name)
			  : error;
}

/* The link in the class comes last, so that whoever follows it finds the whole device. */
int merged_tree_show(const char *tree, const struct rnic_listed_device *device)
{
	char target[128];
	int error = show_own_device(tree, device, target);

	if (error == 0)
		error = show_uverbs(tree, device);
	if (error == 0)
		error = show_net(tree, device);
	return error == 0 ? tree_files_add_link(tree, target, RNIC_VIEW_INFINIBAND,
						device->attributes.name)
			  : error;
}

/* The address of a PCI device stands in its link of the class. */
static int hide_pci(const char *tree, const struct rnic_listed_device *device)
{
	char path[PATH_MAX], target[128], address[MERGED_PCI_ADDRESS_BYTES];
	int error =
		tree_files_path(path, tree, RNIC_VIEW_INFINIBAND "/%s", device->attributes.name);
	ssize_t length = error == 0 ? readlink(path, target, sizeof(target) - 1) : -1;

	target[length > 0 ? length : 0] = '\0';
	if (sscanf(target, "../../devices/pci%*[^/]/%15[^/]/", address) != 1)
		return error;
	return merged_pci_hide(tree, address);
}

int merged_tree_hide(const char *tree, const struct rnic_listed_device *device)
{
	char uverbs[16], directory[128];
	int error = hide_pci(tree, device);

	net_directory(directory, device);
	if (error == 0)
		error = tree_files_remove(tree, directory, device->attributes.name);
	if (error == 0)
		error = tree_files_remove(tree, RNIC_VIEW_INFINIBAND, device->attributes.name);
	snprintf(uverbs, sizeof(uverbs), "uverbs%u", device->index);
	if (error == 0)
		error = tree_files_remove(tree, RNIC_VIEW_INFINIBAND_VERBS, uverbs);
	if (error == 0)
		error = tree_files_remove(tree, RNIC_VIEW_DEV, uverbs);
	return error == 0 ? tree_files_remove(tree, RNIC_VIEW_DEVICES, device->attributes.name)
			  : error;
}

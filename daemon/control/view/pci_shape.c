/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/pci_shape.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PCI_SHAPE_MASK_BITS 32 /* of a group of a mask in sysfs */

bool pci_shape_is_address(const char *text)
{
	/* A digit stands for a hexadecimal digit up to it. */
	static const char pattern[] = "ffff:ff:1f.7";
	static const char digits[] = "0123456789abcdef";

	if (strlen(text) != sizeof(pattern) - 1)
		return false;
	for (size_t i = 0; pattern[i] != '\0'; i++) {
		const char *most = strchr(digits, pattern[i]);
		const char *found = strchr(digits, text[i]);

		if (most == NULL ? text[i] != pattern[i] : found == NULL || found > most)
			return false;
	}
	return true;
}

/* Reads a line of a node's file; false: there is none. */
static bool read_node(int numa_node, const char *name, char text[PCI_SHAPE_CPUS_BYTES])
{
	char path[96];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s", numa_node, name);
	fd = numa_node < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, PCI_SHAPE_CPUS_BYTES - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return length > 0;
}

/* The mask of processors 0 to count - 1, in groups of which the highest comes first. */
static void mask_of_all(long count, char text[PCI_SHAPE_CPUS_BYTES])
{
	size_t used = 0;

	for (long group = (count - 1) / PCI_SHAPE_MASK_BITS; group >= 0; group--) {
		const long bits = count - group * PCI_SHAPE_MASK_BITS;
		const unsigned mask = bits >= PCI_SHAPE_MASK_BITS ? ~0U : (1U << bits) - 1;

		if (used + sizeof("ffffffff,") > PCI_SHAPE_CPUS_BYTES)
			return;
		used += (size_t)snprintf(text + used, PCI_SHAPE_CPUS_BYTES - used, "%08x%s", mask,
					 group > 0 ? "," : "");
	}
}

void pci_shape_fill(struct pci_shape *shape, const char *address, int numa_node)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);

	*shape = (struct pci_shape){.numa_node = numa_node};
	snprintf(shape->address, sizeof(shape->address), "%s", address);
	if (count < 1)
		count = 1;
	if (!read_node(numa_node, "cpumap", shape->local_cpus))
		mask_of_all(count, shape->local_cpus);
	if (!read_node(numa_node, "cpulist", shape->local_cpulist))
		snprintf(shape->local_cpulist, sizeof(shape->local_cpulist),
			 count > 1 ? "0-%ld" : "%ld", count - 1);
}

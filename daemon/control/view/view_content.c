/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/view_content.h"

#include "proto/base/link_rate.h"
#include "proto/base/path_view.h"
#include "proto/wire/gid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VIEW_PATH_BYTES 192
#define VIEW_TEXT_BYTES (PCI_SHAPE_CPUS_BYTES + 2)

/* Paths in the view are relative to its directory. */
#define RELATIVE(path) (&(path)[1])

/* Port capabilities: communication management, GIDs that are IP addresses. */
#define VIEW_PORT_CAPABILITIES 0x04010000u

/* Of a PCI device: an Ethernet controller, as RoCE's are, at 16 lanes of generation 4. */
#define VIEW_PCI_CLASS "0x020000"
#define VIEW_PCI_SPEED "16.0 GT/s PCIe"
#define VIEW_PCI_WIDTH "16"

/* Entries under construction. An error stops the construction. */
struct view_builder {
	view_visit *visit;
	void *context;
	char device[VIEW_PATH_BYTES]; /* directory of the device */
	char base[VIEW_PATH_BYTES];   /* directory of new entries */
	int error;
};

static void view_visit_one(struct view_builder *builder, enum view_entry entry, const char *name,
			   const char *text)
{
	char path[VIEW_PATH_BYTES];

	if (builder->error != 0)
		return;
	snprintf(path, sizeof(path), "%.120s%s%.70s", builder->base, name[0] != '\0' ? "/" : "",
		 name);
	builder->error = builder->visit(builder->context, entry, path, text);
}

__attribute__((format(printf, 4, 5))) static void view_add(struct view_builder *builder,
							   enum view_entry entry, const char *name,
							   const char *format, ...)
{
	char text[VIEW_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	view_visit_one(builder, entry, name, text);
}

/* Makes a directory for the next entries. */
__attribute__((format(printf, 2, 3))) static void view_enter(struct view_builder *builder,
							     const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(builder->base, sizeof(builder->base), format, arguments);
	va_end(arguments);
	view_visit_one(builder, VIEW_DIRECTORY, "", NULL);
}

static void view_guid(struct view_builder *builder, const char *name, uint64_t guid)
{
	view_add(builder, VIEW_TEXT, name, "%04x:%04x:%04x:%04x\n", (unsigned)(guid >> 48),
		 (unsigned)(guid >> 32) & 0xffff, (unsigned)(guid >> 16) & 0xffff,
		 (unsigned)guid & 0xffff);
}

/* Where the files of the device are. */
static void view_device_path(const struct view_facts *facts, char path[VIEW_PATH_BYTES])
{
	const struct pci_shape *pci = facts->pci;

	if (pci == NULL)
		snprintf(path, VIEW_PATH_BYTES, "%s/%s", RELATIVE(RNIC_VIEW_DEVICES),
			 facts->device->name);
	else
		snprintf(path, VIEW_PATH_BYTES, "%s%.*s/%s/infiniband/%s",
			 RELATIVE(RNIC_VIEW_PCI_HOST), (int)PCI_SHAPE_BUS_LENGTH, pci->address,
			 pci->address, facts->device->name);
}

/* What the device is part of: nothing, or the PCI device. */
static void view_parent(struct view_builder *builder, const struct view_facts *facts)
{
	const char *netdev = facts->device->netdev;

	if (facts->pci != NULL) {
		view_add(builder, VIEW_LINK, "device", "../../../%s", facts->pci->address);
		return;
	}
	view_enter(builder, "%s/device", builder->device);
	view_add(builder, VIEW_TEXT, "numa_node", "-1\n");
	view_enter(builder, "%s/device/net", builder->device);
	view_add(builder, VIEW_LINK, netdev, "/sys/class/net/%s", netdev);
}

static void view_device(struct view_builder *builder, const struct rnic_device_attributes *device)
{
	view_enter(builder, "%s", builder->device);
	view_add(builder, VIEW_TEXT, "node_type", "1: CA\n");
	view_guid(builder, "node_guid", device->node_guid);
	view_guid(builder, "sys_image_guid", device->node_guid);
	view_add(builder, VIEW_TEXT, "fw_ver", "%s\n", device->firmware);
	view_add(builder, VIEW_TEXT, "hw_rev", "0x%x\n", device->hardware_version);
	view_add(builder, VIEW_TEXT, "hca_type", "rnicd\n");
	view_add(builder, VIEW_TEXT, "board_id", "rnicd\n");
	view_add(builder, VIEW_TEXT, "node_desc", "%s\n", device->name);
}

static void view_port(struct view_builder *builder, const struct rnic_device_attributes *device,
		      const struct rnic_ctl_port_reply *port)
{
	const char *root = builder->device;
	bool is_active = port->state == RNIC_PORT_ACTIVE;

	view_enter(builder, "%s/ports", root);
	view_enter(builder, "%s/ports/1", root);
	view_add(builder, VIEW_TEXT, "state", "%s\n", is_active ? "4: ACTIVE" : "1: DOWN");
	view_add(builder, VIEW_TEXT, "phys_state", "%s\n", is_active ? "5: LinkUp" : "3: Disabled");
	view_add(builder, VIEW_TEXT, "rate", "%s\n", rnic_link_rate(port->speed_mbps).text);
	view_add(builder, VIEW_TEXT, "lid", "0x0\n");
	view_add(builder, VIEW_TEXT, "lid_mask_count", "0\n");
	view_add(builder, VIEW_TEXT, "sm_lid", "0x0\n");
	view_add(builder, VIEW_TEXT, "sm_sl", "0\n");
	view_add(builder, VIEW_TEXT, "cap_mask", "0x%08x\n", VIEW_PORT_CAPABILITIES);
	view_add(builder, VIEW_TEXT, "link_layer", "Ethernet\n");
	view_enter(builder, "%s/ports/1/net", root);
	view_add(builder, VIEW_LINK, device->netdev, "/sys/class/net/%s", device->netdev);
	view_enter(builder, "%s/ports/1/counters", root);
	view_enter(builder, "%s/ports/1/hw_counters", root);
}

static void view_gid(struct view_builder *builder, const char *name, const struct rnic_gid *gid)
{
	const uint8_t *b = gid->bytes;

	view_add(builder, VIEW_TEXT, name,
		 "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
		 b[14], b[15]);
}

/* Every slot has a GID, of zeros when it is empty; only slots in use have attributes. */
static void view_gids(struct view_builder *builder, const struct view_facts *facts)
{
	static const char *const attributes[] = {"types", "ndevs"};
	const char *texts[] = {"RoCE v2", facts->device->netdev};
	const char *root = builder->device;
	char name[16];

	view_enter(builder, "%s/ports/1/gids", root);
	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		view_gid(builder, name, &facts->gids->entries[i].gid);
	}
	view_enter(builder, "%s/ports/1/gid_attrs", root);
	for (uint32_t kind = 0; kind < RNIC_COUNT_OF(attributes); kind++) {
		view_enter(builder, "%s/ports/1/gid_attrs/%s", root, attributes[kind]);
		for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++) {
			snprintf(name, sizeof(name), "%u", i);
			if (rnic_gid_is_zero(&facts->gids->entries[i].gid))
				view_visit_one(builder, VIEW_ABSENT, name, NULL);
			else
				view_add(builder, VIEW_TEXT, name, "%s\n", texts[kind]);
		}
	}
}

static void view_pkeys(struct view_builder *builder, const struct view_facts *facts)
{
	char name[16];

	view_enter(builder, "%s/ports/1/pkeys", builder->device);
	for (uint32_t i = 0; i < facts->device->pkey_count && i < RNIC_PKEYS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		view_add(builder, VIEW_TEXT, name, "0x%04x\n", facts->pkeys->pkeys[i]);
	}
}

/* The link comes last, so that whoever follows it finds the whole device. */
static void view_class(struct view_builder *builder, const struct rnic_device_attributes *device)
{
	view_enter(builder, "%s", RELATIVE(RNIC_VIEW_INFINIBAND));
	view_add(builder, VIEW_LINK, device->name, "../../%s", builder->device + sizeof("sys"));
}

/* A directory, and those above it. */
static void view_enter_below(struct view_builder *builder, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
		view_enter(builder, "%.*s", (int)(slash - path), path);
	view_enter(builder, "%s", path);
}

/* As hardware: the device below its network interface. */
static void view_net(struct view_builder *builder, const struct rnic_device_attributes *device)
{
	char path[VIEW_PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s/%s", RELATIVE(RNIC_VIEW_NET), device->netdev,
		 RNIC_VIEW_NET_FOLDER);
	view_enter_below(builder, path);
	view_add(builder, VIEW_LINK, device->name, "%s/%s", RNIC_VIEW_NET_LINK, device->name);
}

static void view_uverbs(struct view_builder *builder, const struct rnic_device_attributes *device)
{
	view_enter(builder, "%s", RELATIVE(RNIC_VIEW_INFINIBAND_VERBS));
	view_add(builder, VIEW_TEXT, "abi_version", RNIC_VIEW_VERBS_ABI "\n");
	view_enter(builder, "%s/uverbs0", RELATIVE(RNIC_VIEW_INFINIBAND_VERBS));
	view_add(builder, VIEW_TEXT, "abi_version", RNIC_VIEW_UVERBS_ABI "\n");
	view_add(builder, VIEW_TEXT, "ibdev", "%s\n", device->name);
	view_add(builder, VIEW_TEXT, "dev", RNIC_VIEW_NULL_NUMBER "\n");
	view_add(builder, VIEW_LINK, "device", "../../infiniband/%s/device", device->name);
}

static void view_dev(struct view_builder *builder)
{
	view_enter(builder, "dev");
	view_enter(builder, "%s", RELATIVE(RNIC_VIEW_DEV));
	view_add(builder, VIEW_LINK, "uverbs0", RNIC_VIEW_NULL_DEVICE);
	view_add(builder, VIEW_LINK, "rdma_cm", RNIC_VIEW_NULL_DEVICE);
}

/* The device of the bus, whose directory the builder is in. */
static void view_pci_device(struct view_builder *builder, const struct view_facts *facts)
{
	const struct pci_shape *pci = facts->pci;
	const struct rnic_device_attributes *device = facts->device;
	const unsigned vendor = device->vendor_id & 0xffff, part = device->vendor_part_id & 0xffff;

	view_add(builder, VIEW_TEXT, "vendor", "0x%04x\n", vendor);
	view_add(builder, VIEW_TEXT, "device", "0x%04x\n", part);
	view_add(builder, VIEW_TEXT, "subsystem_vendor", "0x%04x\n", vendor);
	view_add(builder, VIEW_TEXT, "subsystem_device", "0x%04x\n", part);
	view_add(builder, VIEW_TEXT, "revision", "0x%02x\n", device->hardware_version & 0xff);
	view_add(builder, VIEW_TEXT, "class", VIEW_PCI_CLASS "\n");
	view_add(builder, VIEW_TEXT, "enable", "1\n");
	view_add(builder, VIEW_TEXT, "numa_node", "%d\n", pci->numa_node);
	view_add(builder, VIEW_TEXT, "local_cpus", "%s\n", pci->local_cpus);
	view_add(builder, VIEW_TEXT, "local_cpulist", "%s\n", pci->local_cpulist);
	view_add(builder, VIEW_TEXT, "max_link_speed", VIEW_PCI_SPEED "\n");
	view_add(builder, VIEW_TEXT, "max_link_width", VIEW_PCI_WIDTH "\n");
	view_add(builder, VIEW_TEXT, "current_link_speed", VIEW_PCI_SPEED "\n");
	view_add(builder, VIEW_TEXT, "current_link_width", VIEW_PCI_WIDTH "\n");
	view_add(builder, VIEW_TEXT, "uevent",
		 "DRIVER=rnicd\nPCI_CLASS=20000\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
		 "PCI_SLOT_NAME=%s\n",
		 vendor, part, vendor, part, pci->address);
	view_add(builder, VIEW_LINK, "subsystem", "../../../bus/pci");
	view_add(builder, VIEW_LINK, "driver", "../../../bus/pci/drivers/rnicd");
}

/* The PCI device, and the ways to it that the kernel has. */
static void view_pci(struct view_builder *builder, const struct view_facts *facts)
{
	const char *address = facts->pci->address, *netdev = facts->device->netdev;
	char bus[PCI_SHAPE_BUS_LENGTH + 1], host[VIEW_PATH_BYTES], path[VIEW_PATH_BYTES];

	snprintf(bus, sizeof(bus), "%.*s", (int)PCI_SHAPE_BUS_LENGTH, address);
	snprintf(host, sizeof(host), "%s%s", RELATIVE(RNIC_VIEW_PCI_HOST), bus);
	snprintf(path, sizeof(path), "%.64s/%s", host, address);
	view_enter_below(builder, path);
	view_pci_device(builder, facts);
	view_enter(builder, "%s/net", path);
	view_add(builder, VIEW_LINK, netdev, "/sys/class/net/%s", netdev);
	view_enter(builder, "%s/infiniband", path);
	snprintf(path, sizeof(path), "%.64s/pci_bus/%s", host, bus);
	view_enter_below(builder, path);
	view_add(builder, VIEW_LINK, "device", "../../../pci%s", bus);
	view_add(builder, VIEW_TEXT, "cpuaffinity", "%s\n", facts->pci->local_cpus);
	view_add(builder, VIEW_TEXT, "cpulistaffinity", "%s\n", facts->pci->local_cpulist);
	view_enter_below(builder, RELATIVE(RNIC_VIEW_PCI_BUSES));
	view_add(builder, VIEW_LINK, bus, "../../devices/pci%s/pci_bus/%s", bus, bus);
	view_enter_below(builder, RELATIVE(RNIC_VIEW_PCI_DEVICES));
	view_add(builder, VIEW_LINK, address, "../../../devices/pci%s/%s", bus, address);
	view_enter_below(builder, RELATIVE(RNIC_VIEW_PCI_DRIVERS));
	view_add(builder, VIEW_LINK, address, "../../../../devices/pci%s/%s", bus, address);
}

int view_content(const struct view_facts *facts, view_visit *visit, void *context)
{
	struct view_builder builder = {.visit = visit, .context = context};

	view_device_path(facts, builder.device);
	view_enter(&builder, "sys");
	view_enter(&builder, "sys/class");
	view_enter(&builder, "sys/devices");
	view_enter(&builder, "sys/devices/virtual");
	view_enter(&builder, "%s", RELATIVE(RNIC_VIEW_DEVICES));
	if (facts->pci != NULL)
		view_pci(&builder, facts);
	view_device(&builder, facts->device);
	view_parent(&builder, facts);
	view_port(&builder, facts->device, facts->port);
	view_gids(&builder, facts);
	view_pkeys(&builder, facts);
	view_class(&builder, facts->device);
	view_uverbs(&builder, facts->device);
	view_net(&builder, facts->device);
	view_dev(&builder);
	return builder.error;
}

void view_counter_path(const struct view_facts *facts, const char *folder, const char *name,
		       char path[VIEW_COUNTER_PATH_BYTES])
{
	char device[VIEW_PATH_BYTES];

	view_device_path(facts, device);
	snprintf(path, VIEW_COUNTER_PATH_BYTES, "%.90s/ports/1/%.16s/%.64s", device, folder, name);
}

/* SPDX-License-Identifier: MIT */
#include "view/view_content.h"

#include "base/link_rate.h"
#include "base/path_view.h"
#include "wire/gid.h"

#include <stdarg.h>
#include <stdio.h>

#define VIEW_PATH_BYTES 192
#define VIEW_TEXT_BYTES 128

/* Paths in the view are relative to its directory. */
#define RELATIVE(path) (&(path)[1])

/* Port capabilities: communication management, GIDs that are IP addresses. */
#define VIEW_PORT_CAPABILITIES 0x04010000u

/* Entries under construction. An error stops the construction. */
struct view_builder {
	view_visit *visit;
	void *context;
	char base[VIEW_PATH_BYTES]; /* directory of new entries */
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

static void view_device(struct view_builder *builder, const struct rnic_device_attributes *device)
{
	view_enter(builder, "%s/%s", RELATIVE(RNIC_VIEW_DEVICES), device->name);
	view_add(builder, VIEW_TEXT, "node_type", "1: CA\n");
	view_guid(builder, "node_guid", device->node_guid);
	view_guid(builder, "sys_image_guid", device->node_guid);
	view_add(builder, VIEW_TEXT, "fw_ver", "%s\n", device->firmware);
	view_add(builder, VIEW_TEXT, "hw_rev", "0x%x\n", device->hardware_version);
	view_add(builder, VIEW_TEXT, "hca_type", "rnicd\n");
	view_add(builder, VIEW_TEXT, "board_id", "rnicd\n");
	view_add(builder, VIEW_TEXT, "node_desc", "%s\n", device->name);
	view_enter(builder, "%s/%s/device", RELATIVE(RNIC_VIEW_DEVICES), device->name);
	view_add(builder, VIEW_TEXT, "numa_node", "-1\n");
	view_enter(builder, "%s/%s/device/net", RELATIVE(RNIC_VIEW_DEVICES), device->name);
	view_add(builder, VIEW_LINK, device->netdev, "/sys/class/net/%s", device->netdev);
}

static void view_port(struct view_builder *builder, const struct rnic_device_attributes *device,
		      const struct rnic_ctl_port_reply *port)
{
	const char *root = RELATIVE(RNIC_VIEW_DEVICES);
	bool is_active = port->state == RNIC_PORT_ACTIVE;

	view_enter(builder, "%s/%s/ports", root, device->name);
	view_enter(builder, "%s/%s/ports/1", root, device->name);
	view_add(builder, VIEW_TEXT, "state", "%s\n", is_active ? "4: ACTIVE" : "1: DOWN");
	view_add(builder, VIEW_TEXT, "phys_state", "%s\n", is_active ? "5: LinkUp" : "3: Disabled");
	view_add(builder, VIEW_TEXT, "rate", "%s\n", rnic_link_rate(port->speed_mbps).text);
	view_add(builder, VIEW_TEXT, "lid", "0x0\n");
	view_add(builder, VIEW_TEXT, "lid_mask_count", "0\n");
	view_add(builder, VIEW_TEXT, "sm_lid", "0x0\n");
	view_add(builder, VIEW_TEXT, "sm_sl", "0\n");
	view_add(builder, VIEW_TEXT, "cap_mask", "0x%08x\n", VIEW_PORT_CAPABILITIES);
	view_add(builder, VIEW_TEXT, "link_layer", "Ethernet\n");
	view_enter(builder, "%s/%s/ports/1/net", root, device->name);
	view_add(builder, VIEW_LINK, device->netdev, "/sys/class/net/%s", device->netdev);
	view_enter(builder, "%s/%s/ports/1/counters", root, device->name);
	view_enter(builder, "%s/%s/ports/1/hw_counters", root, device->name);
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
	const char *root = RELATIVE(RNIC_VIEW_DEVICES);
	const char *device = facts->device->name;
	char name[16];

	view_enter(builder, "%s/%s/ports/1/gids", root, device);
	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		view_gid(builder, name, &facts->gids->entries[i].gid);
	}
	view_enter(builder, "%s/%s/ports/1/gid_attrs", root, device);
	for (uint32_t kind = 0; kind < RNIC_COUNT_OF(attributes); kind++) {
		view_enter(builder, "%s/%s/ports/1/gid_attrs/%s", root, device, attributes[kind]);
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

	view_enter(builder, "%s/%s/ports/1/pkeys", RELATIVE(RNIC_VIEW_DEVICES),
		   facts->device->name);
	for (uint32_t i = 0; i < facts->device->pkey_count && i < RNIC_PKEYS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		view_add(builder, VIEW_TEXT, name, "0x%04x\n", facts->pkeys->pkeys[i]);
	}
}

/* The link comes last, so that whoever follows it finds the whole device. */
static void view_class(struct view_builder *builder, const struct rnic_device_attributes *device)
{
	view_enter(builder, "%s", RELATIVE(RNIC_VIEW_INFINIBAND));
	view_add(builder, VIEW_LINK, device->name, RNIC_VIEW_DEVICES_LINK "/%s", device->name);
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

int view_content(const struct view_facts *facts, view_visit *visit, void *context)
{
	struct view_builder builder = {.visit = visit, .context = context};

	view_enter(&builder, "sys");
	view_enter(&builder, "sys/class");
	view_enter(&builder, "sys/devices");
	view_enter(&builder, "sys/devices/virtual");
	view_enter(&builder, "%s", RELATIVE(RNIC_VIEW_DEVICES));
	view_device(&builder, facts->device);
	view_port(&builder, facts->device, facts->port);
	view_gids(&builder, facts);
	view_pkeys(&builder, facts);
	view_class(&builder, facts->device);
	view_uverbs(&builder, facts->device);
	view_dev(&builder);
	return builder.error;
}

void view_counter_path(const struct rnic_device_attributes *device, const char *folder,
		       const char *name, char path[VIEW_COUNTER_PATH_BYTES])
{
	snprintf(path, VIEW_COUNTER_PATH_BYTES, "%s/%.40s/ports/1/%.16s/%.64s",
		 RELATIVE(RNIC_VIEW_DEVICES), device->name, folder, name);
}

/* SPDX-License-Identifier: MIT */
/*
 * The daemon's rows as attributes of the kernel's RDMA devices. Pure functions. A device has
 * one port.
 */
#ifndef LIB_DROPIN_VIEW_NETLINK_NLDEV_FILL_H
#define LIB_DROPIN_VIEW_NETLINK_NLDEV_FILL_H

#include "lib/client/native/device_list.h"
#include "lib/dropin/view/netlink/nldev_message.h"
#include "proto/ctl/ctl_cm.h"
#include "proto/ctl/ctl_message.h"

#define NLDEV_PORT_INDEX 1

/* A row of any kind of object. */
union nldev_row {
	uint32_t client_id; /* with which each begins */
	struct rnic_show_pd pd;
	struct rnic_show_cq cq;
	struct rnic_show_qp qp;
	struct rnic_show_cm cm;
	struct rnic_show_mr mr;
	struct rnic_show_srq srq;
};

/* A kind of object: how netlink lists it, and the rows of the daemon. */
struct nldev_objects {
	uint16_t command;				/* RDMA_NLDEV_CMD_RES_*_GET */
	uint16_t table;					/* the attribute of all entries */
	uint16_t entry;					/* and of one */
	const char *summary;				/* the name in the summary of resources */
	uint32_t kind;					/* enum rnic_show_kind */
	size_t row_bytes;				/* of the member of union nldev_row */
	uint32_t (*number)(const union nldev_row *row); /* by which a program asks for one */
	/* Writes the attributes of a row but those of its process. */
	void (*fill)(struct nldev_writer *writer, const union nldev_row *row);
};

/* What `rdma system` shows: what is true of all devices of rnic-run. */
void nldev_fill_system(struct nldev_writer *writer);

/* enum rdma_nl_event_type of the kernel, which older headers lack. */
enum nldev_event {
	NLDEV_REGISTER = 0,
	NLDEV_UNREGISTER = 1,
	NLDEV_NETDEV_ATTACH = 2,
	NLDEV_NETDEV_DETACH = 3,
};

/* Writes a whole message of `rdma monitor`, about the device or its network interface. */
void nldev_fill_event(struct nldev_writer *writer, enum nldev_event event,
		      const struct rnic_listed_device *device);

/* NULL: the command lists no objects that the daemon shows. */
const struct nldev_objects *nldev_objects_of(uint16_t command);

/* The kinds in the order of the summary of resources; NULL at the end. */
const struct nldev_objects *nldev_objects_at(size_t index);

/* Name and index of the device, with which every answer begins. */
void nldev_fill_name(struct nldev_writer *writer, const struct rnic_listed_device *device);
void nldev_fill_device(struct nldev_writer *writer, const struct rnic_show_device *row);
void nldev_fill_port(struct nldev_writer *writer, const struct rnic_show_device *row);
void nldev_fill_summary(struct nldev_writer *writer, const char *name, uint64_t count);
void nldev_fill_counter(struct nldev_writer *writer, const struct rnic_show_counter *row);

/*
 * The process of an object: its client's. `pid` 0: the client is gone, and the object is the
 * daemon's.
 */
void nldev_fill_process(struct nldev_writer *writer, uint32_t client_id, uint32_t pid);

#endif

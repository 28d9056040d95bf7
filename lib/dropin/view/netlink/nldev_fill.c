/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/netlink/nldev_fill.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"

#include <arpa/inet.h>
#include <linux/socket.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel's numbers, which no header of the user side has. */
enum {
	NLDEV_NODE_TYPE_CA = 1,	       /* enum rdma_node_type */
	NLDEV_PHYS_STATE_DISABLED = 3, /* IBTA 1.4, 14.2.5.6 */
	NLDEV_PHYS_STATE_LINK_UP = 5,
	NLDEV_MIGRATED = 0, /* enum ib_mig_state */
	NLDEV_SRQ_XRC = 1,  /* enum ib_srq_type */
};

/* Of Linux 6.7 to 6.13: headers of before lack them. */
enum {
	NLDEV_CMD_MONITOR = 28,
	NLDEV_SYS_PRIVILEGED_QKEY = 96,
	NLDEV_EVENT_TYPE = 102,
	NLDEV_SYS_MONITOR = 103,
};

/* enum rdma_cm_state of the kernel. */
enum nldev_cm_state {
	NLDEV_CM_IDLE = 0,
	NLDEV_CM_ADDR_QUERY = 1,
	NLDEV_CM_ADDR_RESOLVED = 2,
	NLDEV_CM_ROUTE_RESOLVED = 4,
	NLDEV_CM_CONNECT = 5,
	NLDEV_CM_DISCONNECT = 6,
	NLDEV_CM_ADDR_BOUND = 7,
	NLDEV_CM_LISTEN = 8,
	NLDEV_CM_DESTROYING = 10,
};

/* ---- the device ---- */

void nldev_fill_name(struct nldev_writer *writer, const struct rnic_listed_device *device)
{
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	nldev_put_text(writer, RDMA_NLDEV_ATTR_DEV_NAME, device->attributes.name,
		       sizeof(device->attributes.name));
}

void nldev_fill_device(struct nldev_writer *writer, const struct rnic_show_device *row)
{
	static const char protocol[] = "roce";

	/* Of a device this is the number of ports. */
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_PORT_INDEX, NLDEV_PORT_INDEX);
	nldev_put_text(writer, RDMA_NLDEV_ATTR_FW_VERSION, row->device.firmware,
		       sizeof(row->device.firmware));
	nldev_put_u64(writer, RDMA_NLDEV_ATTR_NODE_GUID, row->device.node_guid);
	nldev_put_u64(writer, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, row->device.node_guid);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NLDEV_NODE_TYPE_CA);
	nldev_put_text(writer, RDMA_NLDEV_ATTR_DEV_PROTOCOL, protocol, sizeof(protocol));
}

void nldev_fill_port(struct nldev_writer *writer, const struct rnic_show_device *row)
{
	const bool is_active = row->port.state == RNIC_PORT_ACTIVE;

	nldev_put_u32(writer, RDMA_NLDEV_ATTR_PORT_INDEX, NLDEV_PORT_INDEX);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_PORT_STATE, (uint8_t)row->port.state);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
		     is_active ? NLDEV_PHYS_STATE_LINK_UP : NLDEV_PHYS_STATE_DISABLED);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_NDEV_INDEX, row->device.netdev_index);
	nldev_put_text(writer, RDMA_NLDEV_ATTR_NDEV_NAME, row->device.netdev,
		       sizeof(row->device.netdev));
}

/* A program sees its devices from each network namespace, and all its memory after fork(). */
void nldev_fill_system(struct nldev_writer *writer)
{
	static const bool is_shared = true, may_fork = true, has_monitor = true, is_strict = false;

	nldev_put_u8(writer, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, is_shared);
	nldev_put_u8(writer, NLDEV_SYS_PRIVILEGED_QKEY, is_strict);
	nldev_put_u8(writer, NLDEV_SYS_MONITOR, has_monitor);
	nldev_put_u8(writer, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, may_fork);
}

void nldev_fill_event(struct nldev_writer *writer, enum nldev_event event,
		      const struct rnic_listed_device *device)
{
	const struct rnic_device_attributes *attributes = &device->attributes;

	nldev_begin(writer, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, NLDEV_CMD_MONITOR), 0, 0, 0);
	nldev_fill_name(writer, device);
	if (event == NLDEV_NETDEV_ATTACH || event == NLDEV_NETDEV_DETACH) {
		nldev_put_u32(writer, RDMA_NLDEV_ATTR_PORT_INDEX, NLDEV_PORT_INDEX);
		nldev_put_u32(writer, RDMA_NLDEV_ATTR_NDEV_INDEX, attributes->netdev_index);
		nldev_put_text(writer, RDMA_NLDEV_ATTR_NDEV_NAME, attributes->netdev,
			       sizeof(attributes->netdev));
	}
	nldev_put_u8(writer, NLDEV_EVENT_TYPE, (uint8_t)event);
	nldev_end(writer);
}

void nldev_fill_summary(struct nldev_writer *writer, const char *name, uint64_t count)
{
	size_t entry = nldev_nest(writer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);

	nldev_put_text(writer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name, strlen(name));
	nldev_put_u64(writer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, count);
	nldev_unnest(writer, entry);
}

void nldev_fill_counter(struct nldev_writer *writer, const struct rnic_show_counter *row)
{
	size_t entry = nldev_nest(writer, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);

	nldev_put_text(writer, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, row->name,
		       sizeof(row->name));
	nldev_put_u64(writer, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, row->value);
	nldev_unnest(writer, entry);
}

/* ---- objects ---- */

void nldev_fill_process(struct nldev_writer *writer, uint32_t client_id, uint32_t pid)
{
	static const char daemon[] = "rnicd";

	if (pid == 0) {
		nldev_put_text(writer, RDMA_NLDEV_ATTR_RES_KERN_NAME, daemon, sizeof(daemon));
		return;
	}
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_CTXN, client_id);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_PID, pid);
}

static uint32_t nldev_qp_number(const union nldev_row *row)
{
	return row->qp.qpn;
}

static void nldev_fill_qp(struct nldev_writer *writer, const union nldev_row *row)
{
	const struct rnic_show_qp *qp = &row->qp;

	nldev_put_u32(writer, RDMA_NLDEV_ATTR_PORT_INDEX, NLDEV_PORT_INDEX);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_LQPN, qp->qpn);
	if (qp->type == RNIC_QP_TYPE_RC || qp->type == RNIC_QP_TYPE_UC) {
		nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_RQPN, qp->peer_qpn);
		nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_RQ_PSN, qp->expected_psn);
		nldev_put_u8(writer, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, NLDEV_MIGRATED);
	}
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_SQ_PSN, qp->send_psn);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_RES_TYPE, (uint8_t)qp->type);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_RES_STATE, (uint8_t)qp->state);
}

static uint32_t nldev_cq_number(const union nldev_row *row)
{
	return row->cq.number;
}

static void nldev_fill_cq(struct nldev_writer *writer, const union nldev_row *row)
{
	const struct rnic_show_cq *cq = &row->cq;

	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_CQE, cq->entries);
	nldev_put_u64(writer, RDMA_NLDEV_ATTR_RES_USECNT, cq->users);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_CQN, nldev_cq_number(row));
}

/* A key names its region: no other one of the device has it. */
static uint32_t nldev_mr_number(const union nldev_row *row)
{
	return row->mr.lkey;
}

static void nldev_fill_mr(struct nldev_writer *writer, const union nldev_row *row)
{
	const struct rnic_show_mr *mr = &row->mr;

	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_RKEY, mr->rkey);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_LKEY, mr->lkey);
	nldev_put_u64(writer, RDMA_NLDEV_ATTR_RES_IOVA, mr->iova);
	nldev_put_u64(writer, RDMA_NLDEV_ATTR_RES_MRLEN, mr->length);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_MRN, nldev_mr_number(row));
}

static uint32_t nldev_pd_number(const union nldev_row *row)
{
	return row->pd.number;
}

static void nldev_fill_pd(struct nldev_writer *writer, const union nldev_row *row)
{
	const struct rnic_show_pd *pd = &row->pd;

	nldev_put_u64(writer, RDMA_NLDEV_ATTR_RES_USECNT, pd->users);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_PDN, nldev_pd_number(row));
}

static uint32_t nldev_srq_number(const union nldev_row *row)
{
	return row->srq.number;
}

static void nldev_fill_srq(struct nldev_writer *writer, const union nldev_row *row)
{
	const struct rnic_show_srq *srq = &row->srq;

	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_SRQN, srq->number);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_RES_TYPE, srq->is_xrc != 0 ? NLDEV_SRQ_XRC : 0);
	/* The QPs on the SRQ: rdma shows no SRQ without this list, and the daemon only counts them.
	 */
	nldev_unnest(writer, nldev_nest(writer, RDMA_NLDEV_ATTR_RES_QP));
}

/* ---- connections ---- */

/* The daemon names states by words, of which the kernel has fewer. */
static uint8_t nldev_cm_state_of(const char *name, size_t room)
{
	static const struct {
		const char *name;
		uint8_t state; /* enum nldev_cm_state */
	} states[] = {
		{"idle", NLDEV_CM_IDLE},
		{"bound", NLDEV_CM_ADDR_BOUND},
		{"addr query", NLDEV_CM_ADDR_QUERY},
		{"addr resolved", NLDEV_CM_ADDR_RESOLVED},
		{"route resolved", NLDEV_CM_ROUTE_RESOLVED},
		{"listening", NLDEV_CM_LISTEN},
		{"closed", NLDEV_CM_DISCONNECT},
		{"abandoned", NLDEV_CM_DESTROYING},
	};

	for (size_t i = 0; i < RNIC_COUNT_OF(states); i++)
		if (strncmp(name, states[i].name, room) == 0)
			return states[i].state;
	return NLDEV_CM_CONNECT;
}

static void nldev_put_address(struct nldev_writer *writer, uint16_t type,
			      const struct rnic_gid *gid, uint32_t port)
{
	union {
		struct __kernel_sockaddr_storage all;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address;

	memset(&address, 0, sizeof(address));
	if (rnic_gid_is_ipv4(gid)) {
		address.ipv4.sin_family = AF_INET;
		address.ipv4.sin_port = htons((uint16_t)port);
		memcpy(&address.ipv4.sin_addr, rnic_gid_ipv4(gid), sizeof(address.ipv4.sin_addr));
	} else {
		address.ipv6.sin6_family = AF_INET6;
		address.ipv6.sin6_port = htons((uint16_t)port);
		memcpy(&address.ipv6.sin6_addr, gid->bytes, sizeof(address.ipv6.sin6_addr));
	}
	nldev_put(writer, type, &address.all, sizeof(address.all));
}

static uint32_t nldev_cm_number(const union nldev_row *row)
{
	return row->cm.number;
}

static void nldev_fill_cm(struct nldev_writer *writer, const union nldev_row *row)
{
	const struct rnic_show_cm *id = &row->cm;
	const uint8_t state = nldev_cm_state_of(id->state, sizeof(id->state));

	nldev_put_u32(writer, RDMA_NLDEV_ATTR_PORT_INDEX, NLDEV_PORT_INDEX);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_RES_TYPE, (uint8_t)id->qp_type);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_PS, id->port_space);
	nldev_put_u8(writer, RDMA_NLDEV_ATTR_RES_STATE, state);
	if (state != NLDEV_CM_IDLE)
		nldev_put_address(writer, RDMA_NLDEV_ATTR_RES_SRC_ADDR, &id->local, id->local_port);
	if (state != NLDEV_CM_IDLE && state != NLDEV_CM_ADDR_BOUND && state != NLDEV_CM_LISTEN)
		nldev_put_address(writer, RDMA_NLDEV_ATTR_RES_DST_ADDR, &id->peer, id->peer_port);
	nldev_put_u32(writer, RDMA_NLDEV_ATTR_RES_CM_IDN, nldev_cm_number(row));
}

/* ---- all kinds ---- */

#define NLDEV_OBJECTS(name, NAME, show, word)                                                      \
	{                                                                                          \
		RDMA_NLDEV_CMD_RES_##NAME##_GET, RDMA_NLDEV_ATTR_RES_##NAME,                       \
			RDMA_NLDEV_ATTR_RES_##NAME##_ENTRY, word, show,                            \
			sizeof(struct rnic_show_##name), nldev_##name##_number, nldev_fill_##name  \
	}

static const struct nldev_objects nldev_objects[] = {
	NLDEV_OBJECTS(pd, PD, RNIC_SHOW_PDS, "pd"), NLDEV_OBJECTS(cq, CQ, RNIC_SHOW_CQS, "cq"),
	NLDEV_OBJECTS(qp, QP, RNIC_SHOW_QPS, "qp"), NLDEV_OBJECTS(cm, CM_ID, RNIC_SHOW_CM, "cm_id"),
	NLDEV_OBJECTS(mr, MR, RNIC_SHOW_MRS, "mr"), NLDEV_OBJECTS(srq, SRQ, RNIC_SHOW_SRQS, "srq"),
};

const struct nldev_objects *nldev_objects_of(uint16_t command)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(nldev_objects); i++)
		if (nldev_objects[i].command == command)
			return &nldev_objects[i];
	return NULL;
}

const struct nldev_objects *nldev_objects_at(size_t index)
{
	return index < RNIC_COUNT_OF(nldev_objects) ? &nldev_objects[index] : NULL;
}

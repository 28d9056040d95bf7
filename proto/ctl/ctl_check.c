/* SPDX-License-Identifier: MIT */
#include "proto/ctl/ctl_check.h"

#include "proto/base/bits.h"
#include "proto/ctl/ctl_cm.h"
#include "proto/ctl/ctl_message.h"

#include <errno.h>
#include <string.h>

/* What the messages of an operation carry. Payloads have exactly these sizes. */
struct operation {
	const char *name;
	uint16_t request_bytes;
	uint16_t reply_bytes;
	uint8_t reply_fd_count;
};

static const struct operation operations[RNIC_CTL_OPERATION_COUNT] = {
	[RNIC_CTL_HELLO] = {"HELLO", sizeof(struct rnic_ctl_hello),
			    sizeof(struct rnic_ctl_hello_reply), 1},
	[RNIC_CTL_QUERY_PORT] = {"QUERY_PORT", 0, sizeof(struct rnic_ctl_port_reply), 0},
	[RNIC_CTL_QUERY_GIDS] = {"QUERY_GIDS", 0, sizeof(struct rnic_ctl_gids_reply), 0},
	[RNIC_CTL_ALLOC_PD] = {"ALLOC_PD", 0, sizeof(struct rnic_ctl_pd_reply), 0},
	[RNIC_CTL_DEALLOC_PD] = {"DEALLOC_PD", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_REGISTER_MR] = {"REGISTER_MR", sizeof(struct rnic_ctl_register_mr),
				  sizeof(struct rnic_ctl_register_mr_reply), 0},
	[RNIC_CTL_DEREGISTER_MR] = {"DEREGISTER_MR", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_CREATE_CHANNEL] = {"CREATE_CHANNEL", 0, sizeof(struct rnic_ctl_channel_reply), 1},
	[RNIC_CTL_DESTROY_CHANNEL] = {"DESTROY_CHANNEL", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_CREATE_CQ] = {"CREATE_CQ", sizeof(struct rnic_ctl_create_cq),
				sizeof(struct rnic_ctl_cq_reply), 1},
	[RNIC_CTL_RESIZE_CQ] = {"RESIZE_CQ", sizeof(struct rnic_ctl_resize_cq),
				sizeof(struct rnic_ctl_cq_reply), 1},
	[RNIC_CTL_DESTROY_CQ] = {"DESTROY_CQ", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_CREATE_QP] = {"CREATE_QP", sizeof(struct rnic_ctl_create_qp),
				sizeof(struct rnic_ctl_create_qp_reply), 0},
	[RNIC_CTL_MODIFY_QP] = {"MODIFY_QP", sizeof(struct rnic_ctl_modify_qp), 0, 0},
	[RNIC_CTL_QUERY_QP] = {"QUERY_QP", sizeof(struct rnic_ctl_object),
			       sizeof(struct rnic_ctl_query_qp_reply), 0},
	[RNIC_CTL_DESTROY_QP] = {"DESTROY_QP", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_CREATE_AH] = {"CREATE_AH", sizeof(struct rnic_ctl_create_ah),
				sizeof(struct rnic_ctl_ah_reply), 0},
	[RNIC_CTL_DESTROY_AH] = {"DESTROY_AH", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_ATTACH_MCAST] = {"ATTACH_MCAST", sizeof(struct rnic_ctl_mcast), 0, 0},
	[RNIC_CTL_DETACH_MCAST] = {"DETACH_MCAST", sizeof(struct rnic_ctl_mcast), 0, 0},
	[RNIC_CTL_REREGISTER_MR] = {"REREGISTER_MR", sizeof(struct rnic_ctl_reregister_mr), 0, 0},
	[RNIC_CTL_QUERY_PKEYS] = {"QUERY_PKEYS", 0, sizeof(struct rnic_ctl_pkeys_reply), 0},
	[RNIC_CTL_ALLOC_MW] = {"ALLOC_MW", sizeof(struct rnic_ctl_alloc_mw),
			       sizeof(struct rnic_ctl_alloc_mw_reply), 0},
	[RNIC_CTL_DEALLOC_MW] = {"DEALLOC_MW", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_CREATE_SRQ] = {"CREATE_SRQ", sizeof(struct rnic_ctl_create_srq),
				 sizeof(struct rnic_ctl_create_srq_reply), 1},
	[RNIC_CTL_MODIFY_SRQ] = {"MODIFY_SRQ", sizeof(struct rnic_ctl_modify_srq), 0, 0},
	[RNIC_CTL_QUERY_SRQ] = {"QUERY_SRQ", sizeof(struct rnic_ctl_object),
				sizeof(struct rnic_ctl_query_srq_reply), 0},
	[RNIC_CTL_DESTROY_SRQ] = {"DESTROY_SRQ", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_OPEN_XRCD] = {"OPEN_XRCD", sizeof(struct rnic_ctl_open_xrcd),
				sizeof(struct rnic_ctl_xrcd_reply), 0},
	[RNIC_CTL_CLOSE_XRCD] = {"CLOSE_XRCD", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_OPEN_QP] = {"OPEN_QP", sizeof(struct rnic_ctl_open_qp),
			      sizeof(struct rnic_ctl_open_qp_reply), 0},
	[RNIC_CTL_CM_CREATE_CHANNEL] = {"CM_CREATE_CHANNEL", 0,
					sizeof(struct rnic_ctl_cm_channel_reply), 1},
	[RNIC_CTL_CM_DESTROY_CHANNEL] = {"CM_DESTROY_CHANNEL", sizeof(struct rnic_ctl_object), 0,
					 0},
	[RNIC_CTL_CM_SEND_EVENTS] = {"CM_SEND_EVENTS", sizeof(struct rnic_ctl_cm_send_events), 0,
				     0},
	[RNIC_CTL_CM_CREATE_ID] = {"CM_CREATE_ID", sizeof(struct rnic_ctl_cm_create_id),
				   sizeof(struct rnic_ctl_cm_id_reply), 0},
	[RNIC_CTL_CM_DESTROY_ID] = {"CM_DESTROY_ID", sizeof(struct rnic_ctl_cm_destroy_id), 0, 0},
	[RNIC_CTL_CM_MIGRATE] = {"CM_MIGRATE", sizeof(struct rnic_ctl_cm_migrate), 0, 0},
	[RNIC_CTL_CM_SET_OPTION] = {"CM_SET_OPTION", sizeof(struct rnic_ctl_cm_set_option), 0, 0},
	[RNIC_CTL_CM_QUERY] = {"CM_QUERY", sizeof(struct rnic_ctl_object),
			       sizeof(struct rnic_ctl_cm_endpoints_reply), 0},
	[RNIC_CTL_CM_BIND] = {"CM_BIND", sizeof(struct rnic_ctl_cm_bind),
			      sizeof(struct rnic_ctl_cm_endpoints_reply), 0},
	[RNIC_CTL_CM_RESOLVE_ADDRESS] = {"CM_RESOLVE_ADDRESS",
					 sizeof(struct rnic_ctl_cm_resolve_address), 0, 0},
	[RNIC_CTL_CM_RESOLVE_ROUTE] = {"CM_RESOLVE_ROUTE", sizeof(struct rnic_ctl_cm_resolve_route),
				       0, 0},
	[RNIC_CTL_CM_LISTEN] = {"CM_LISTEN", sizeof(struct rnic_ctl_cm_listen),
				sizeof(struct rnic_ctl_cm_endpoints_reply), 0},
	[RNIC_CTL_CM_CONNECT] = {"CM_CONNECT", sizeof(struct rnic_ctl_cm_connect), 0, 0},
	[RNIC_CTL_CM_ACCEPT] = {"CM_ACCEPT", sizeof(struct rnic_ctl_cm_connect), 0, 0},
	[RNIC_CTL_CM_REJECT] = {"CM_REJECT", sizeof(struct rnic_ctl_cm_connect), 0, 0},
	[RNIC_CTL_CM_ESTABLISH] = {"CM_ESTABLISH", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_CM_DISCONNECT] = {"CM_DISCONNECT", sizeof(struct rnic_ctl_object), 0, 0},
	[RNIC_CTL_CM_NOTIFY] = {"CM_NOTIFY", sizeof(struct rnic_ctl_cm_notify), 0, 0},
	[RNIC_CTL_CM_QP_ATTRIBUTES] = {"CM_QP_ATTRIBUTES", sizeof(struct rnic_ctl_cm_qp_attributes),
				       sizeof(struct rnic_ctl_cm_qp_attributes_reply), 0},
	[RNIC_CTL_CM_JOIN_MCAST] = {"CM_JOIN_MCAST", sizeof(struct rnic_ctl_cm_multicast), 0, 0},
	[RNIC_CTL_CM_LEAVE_MCAST] = {"CM_LEAVE_MCAST", sizeof(struct rnic_ctl_cm_multicast), 0, 0},
	[RNIC_CTL_RESIZE_SRQ] = {"RESIZE_SRQ", sizeof(struct rnic_ctl_modify_srq),
				 sizeof(struct rnic_ctl_resize_srq_reply), 1},
	[RNIC_CTL_SHARE] = {"SHARE", 0, 0, 0},
	[RNIC_CTL_IMPORT] = {"IMPORT", 0, 0, 0},
	[RNIC_CTL_IMPORT_PD] = {"IMPORT_PD", sizeof(struct rnic_ctl_import_pd),
				sizeof(struct rnic_ctl_pd_reply), 0},
	[RNIC_CTL_IMPORT_MR] = {"IMPORT_MR", sizeof(struct rnic_ctl_import_mr),
				sizeof(struct rnic_ctl_import_mr_reply), 0},
	[RNIC_CTL_OPEN_DEVICE] = {"OPEN_DEVICE", sizeof(struct rnic_ctl_open_device),
				  sizeof(struct rnic_ctl_open_device_reply), 4},
	[RNIC_CTL_CREATE_QUEUE_REGION] = {"CREATE_QUEUE_REGION",
					  sizeof(struct rnic_ctl_create_queue_region),
					  sizeof(struct rnic_ctl_queue_region_reply), 1},
	[RNIC_CTL_DESTROY_QUEUE_REGION] = {"DESTROY_QUEUE_REGION", sizeof(struct rnic_ctl_object),
					   0, 0},
	[RNIC_CTL_WATCH_MEMORY] = {"WATCH_MEMORY", sizeof(struct rnic_ctl_watch_memory), 0, 0},
	[RNIC_CTL_CONDITION] = {"CONDITION", sizeof(struct rnic_ctl_condition),
				sizeof(struct rnic_ctl_condition_reply), 0},
	[RNIC_CTL_VERB_RULES] = {"VERB_RULES", 0, sizeof(struct rnic_ctl_verb_rules_reply), 2},
	/* check_rows() checks the rows of the reply. */
	[RNIC_CTL_SHOW] = {"SHOW", sizeof(struct rnic_ctl_show), sizeof(struct rnic_ctl_show_reply),
			   0},
};

/* The kernel takes no larger number for an errno. */
#define ERRNO_MAX 4095

static const struct operation *operation_find(uint32_t number)
{
	if (number >= RNIC_COUNT_OF(operations) || operations[number].name == NULL)
		return NULL;
	return &operations[number];
}

const char *rnic_ctl_operation_name(uint32_t operation)
{
	const struct operation *found = operation_find(operation);

	return found == NULL ? "unknown" : found->name;
}

enum rnic_ctl_connection rnic_ctl_operation_connection(uint32_t operation)
{
	switch (operation) {
	case RNIC_CTL_HELLO:
	case RNIC_CTL_SHOW:
	case RNIC_CTL_CONDITION:
	case RNIC_CTL_VERB_RULES:
		return RNIC_CTL_CONTROL_CONNECTION;
	default:
		return operation >= RNIC_CTL_CM_CREATE_CHANNEL &&
				       operation <= RNIC_CTL_CM_LEAVE_MCAST
			       ? RNIC_CTL_CONTROL_CONNECTION
			       : RNIC_CTL_DEVICE_CONNECTION;
	}
}

uint32_t rnic_ctl_request_bytes(uint32_t operation)
{
	const struct operation *found = operation_find(operation);

	return found == NULL ? 0 : found->request_bytes;
}

uint32_t rnic_ctl_reply_bytes(uint32_t operation)
{
	const struct operation *found = operation_find(operation);

	return found == NULL ? 0 : found->reply_bytes;
}

/* Reads the header and checks what requests and replies have in common. */
static int ctl_check_header(const void *message, size_t received, struct rnic_ctl_header *header)
{
	if (received < sizeof(*header) || received > RNIC_CTL_MESSAGE_BYTES)
		return -EPROTO;
	memcpy(header, message, sizeof(*header));
	if (header->magic != RNIC_CTL_MAGIC || header->bytes != received || header->reserved != 0)
		return -EPROTO;
	return 0;
}

static bool version_is_known(uint16_t version)
{
	return version >= RNIC_CTL_VERSION_MIN && version <= RNIC_CTL_VERSION_MAX;
}

/* The number of descriptors that a request must bring. For some operations the client chooses. */
static unsigned request_fd_count(uint16_t operation, const void *payload)
{
	struct rnic_ctl_open_device open_device;
	struct rnic_ctl_watch_memory watch_memory;
	struct rnic_ctl_register_mr register_mr;
	struct rnic_ctl_open_xrcd open_xrcd;

	switch (operation) {
	case RNIC_CTL_OPEN_DEVICE:
		memcpy(&open_device, payload, sizeof(open_device));
		return (open_device.flags & RNIC_OPEN_MEMORY_FD) != 0;
	case RNIC_CTL_REGISTER_MR:
	case RNIC_CTL_REREGISTER_MR: /* begins with the same */
		memcpy(&register_mr, payload, sizeof(register_mr));
		return register_mr.mode == RNIC_MEMORY_MAPPED;
	case RNIC_CTL_OPEN_XRCD:
		memcpy(&open_xrcd, payload, sizeof(open_xrcd));
		return (open_xrcd.flags & RNIC_XRCD_FILE) != 0;
	case RNIC_CTL_WATCH_MEMORY:
		memcpy(&watch_memory, payload, sizeof(watch_memory));
		return watch_memory.has_descriptor != 0;
	case RNIC_CTL_SHARE:
	case RNIC_CTL_IMPORT:
		return 1;
	default:
		return 0;
	}
}

int rnic_ctl_check_request(const void *message, size_t received, unsigned fd_count)
{
	struct rnic_ctl_header header;
	const struct operation *operation;
	int error = ctl_check_header(message, received, &header);

	if (error != 0)
		return error;
	if (header.status != 0)
		return -EPROTO;
	operation = operation_find(header.operation);
	if (operation == NULL)
		return -EOPNOTSUPP;
	if (header.operation == RNIC_CTL_HELLO ? header.version != 0
					       : !version_is_known(header.version))
		return -EPROTO;
	if (received - sizeof(header) != operation->request_bytes)
		return -EPROTO;
	if (fd_count !=
	    request_fd_count(header.operation, (const uint8_t *)message + sizeof(header)))
		return -EPROTO;
	return 0;
}

static int check_refusal(const void *message, const struct rnic_ctl_header *header,
			 unsigned fd_count)
{
	struct rnic_ctl_refusal refusal;

	if (header->status > 0 || header->status < -ERRNO_MAX || fd_count != 0 ||
	    header->bytes != sizeof(*header) + sizeof(refusal))
		return -EPROTO;
	memcpy(&refusal, (const uint8_t *)message + sizeof(*header), sizeof(refusal));
	return memchr(refusal.reason, 0, sizeof(refusal.reason)) != NULL ? 0 : -EPROTO;
}

/* Whether the rows that a SHOW reply announces are all that follows. */
static int check_rows(const void *message, size_t received)
{
	const size_t head_bytes =
		sizeof(struct rnic_ctl_header) + sizeof(struct rnic_ctl_show_reply);
	struct rnic_ctl_show_reply reply;

	if (received < head_bytes)
		return -EPROTO;
	memcpy(&reply, (const uint8_t *)message + sizeof(struct rnic_ctl_header), sizeof(reply));
	return (uint64_t)reply.row_count * reply.row_bytes == received - head_bytes ? 0 : -EPROTO;
}

static bool reply_fd_count_fits(const struct rnic_ctl_header *header,
				const struct operation *operation, unsigned fd_count)
{
	/* An administrator's HELLO gets no connection; only the client knows which HELLO it sent.
	 */
	return fd_count == operation->reply_fd_count ||
	       (header->operation == RNIC_CTL_HELLO && fd_count == 0);
}

int rnic_ctl_check_reply(const void *message, size_t received, unsigned fd_count,
			 uint32_t operation, uint32_t request_id)
{
	const struct operation *found = operation_find(operation);
	struct rnic_ctl_header header;
	int error = ctl_check_header(message, received, &header);

	if (error != 0)
		return error;
	if (found == NULL || header.operation != operation || header.request_id != request_id)
		return -EPROTO;
	/* A daemon of another version may refuse a HELLO: its reason must be readable. */
	if (header.status != 0)
		return check_refusal(message, &header, fd_count);
	if (!version_is_known(header.version) || !reply_fd_count_fits(&header, found, fd_count))
		return -EPROTO;
	if (operation == RNIC_CTL_SHOW)
		return check_rows(message, received);
	return received - sizeof(header) == found->reply_bytes ? 0 : -EPROTO;
}

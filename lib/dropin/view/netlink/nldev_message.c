/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/netlink/nldev_message.h"

#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

/* ---- writing ---- */

/* Room for so many bytes and their padding, which is zero; NULL: there is none. */
static uint8_t *nldev_take(struct nldev_writer *writer, size_t bytes)
{
	const size_t aligned = NLMSG_ALIGN(bytes);
	uint8_t *taken = writer->bytes + writer->used;

	if (writer->is_full || aligned < bytes || aligned > writer->room - writer->used) {
		writer->is_full = true;
		return NULL;
	}
	memset(taken, 0, aligned);
	writer->used += aligned;
	return taken;
}

void nldev_begin(struct nldev_writer *writer, uint16_t type, uint16_t flags, uint32_t sequence,
		 uint32_t port_id)
{
	const struct nlmsghdr head = {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = type,
		.nlmsg_flags = flags,
		.nlmsg_seq = sequence,
		.nlmsg_pid = port_id,
	};

	writer->used = 0;
	writer->is_full = false;
	nldev_put_raw(writer, &head, sizeof(head));
}

void nldev_end(struct nldev_writer *writer)
{
	const uint32_t length = (uint32_t)writer->used;

	memcpy(writer->bytes + offsetof(struct nlmsghdr, nlmsg_len), &length, sizeof(length));
}

void nldev_put_raw(struct nldev_writer *writer, const void *data, size_t bytes)
{
	uint8_t *taken = nldev_take(writer, bytes);

	if (taken != NULL && bytes > 0)
		memcpy(taken, data, bytes);
}

void nldev_put(struct nldev_writer *writer, uint16_t type, const void *data, size_t bytes)
{
	const struct nlattr head = {
		.nla_len = (uint16_t)(NLA_HDRLEN + bytes),
		.nla_type = type,
	};
	uint8_t *taken = NULL;

	if (bytes <= UINT16_MAX - NLA_HDRLEN)
		taken = nldev_take(writer, NLA_HDRLEN + bytes);
	else
		writer->is_full = true;
	if (taken == NULL)
		return;
	memcpy(taken, &head, sizeof(head));
	if (bytes > 0)
		memcpy(taken + NLA_HDRLEN, data, bytes);
}

void nldev_put_u8(struct nldev_writer *writer, uint16_t type, uint8_t value)
{
	nldev_put(writer, type, &value, sizeof(value));
}

void nldev_put_u32(struct nldev_writer *writer, uint16_t type, uint32_t value)
{
	nldev_put(writer, type, &value, sizeof(value));
}

void nldev_put_u64(struct nldev_writer *writer, uint16_t type, uint64_t value)
{
	nldev_put(writer, type, &value, sizeof(value));
}

void nldev_put_text(struct nldev_writer *writer, uint16_t type, const char *text, size_t room)
{
	const size_t length = strnlen(text, room);
	uint8_t *taken = nldev_take(writer, NLA_HDRLEN + length + 1);
	const struct nlattr head = {
		.nla_len = (uint16_t)(NLA_HDRLEN + length + 1),
		.nla_type = type,
	};

	if (taken == NULL)
		return;
	memcpy(taken, &head, sizeof(head));
	memcpy(taken + NLA_HDRLEN, text, length);
}

size_t nldev_nest(struct nldev_writer *writer, uint16_t type)
{
	const size_t at = writer->used;

	nldev_put(writer, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void nldev_unnest(struct nldev_writer *writer, size_t at)
{
	const uint16_t length = (uint16_t)(writer->used - at);

	if (writer->is_full)
		return;
	memcpy(writer->bytes + at + offsetof(struct nlattr, nla_len), &length, sizeof(length));
}

/* ---- reading ---- */

static bool nldev_is_object_number(uint16_t type)
{
	return type == RDMA_NLDEV_ATTR_RES_LQPN || type == RDMA_NLDEV_ATTR_RES_CQN ||
	       type == RDMA_NLDEV_ATTR_RES_MRN || type == RDMA_NLDEV_ATTR_RES_PDN ||
	       type == RDMA_NLDEV_ATTR_RES_CM_IDN || type == RDMA_NLDEV_ATTR_RES_SRQN;
}

/* Where the number in an attribute of this type goes; NULL: no answer depends on it. */
static uint32_t *nldev_place_of(struct nldev_request *request, uint16_t type)
{
	switch (type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		request->has_device = true;
		return &request->device;
	case RDMA_NLDEV_ATTR_PORT_INDEX:
		request->has_port = true;
		return &request->port;
	case RDMA_NLDEV_ATTR_STAT_RES:
		request->has_resource = true;
		return &request->resource;
	default:
		if (!nldev_is_object_number(type))
			return NULL;
		request->has_object = true;
		return &request->object;
	}
}

static int nldev_read_attributes(const uint8_t *bytes, size_t length, struct nldev_request *request)
{
	while (length > 0) {
		struct nlattr head;
		uint32_t *place;
		size_t aligned;

		if (length < sizeof(head))
			return -EINVAL;
		memcpy(&head, bytes, sizeof(head));
		if (head.nla_len < NLA_HDRLEN || head.nla_len > length)
			return -EINVAL;
		place = nldev_place_of(request, head.nla_type & NLA_TYPE_MASK);
		if (place != NULL && head.nla_len != NLA_HDRLEN + sizeof(*place))
			return -EINVAL;
		if (place != NULL)
			memcpy(place, bytes + NLA_HDRLEN, sizeof(*place));
		aligned = NLA_ALIGN(head.nla_len);
		if (aligned >= length)
			return 0;
		bytes += aligned;
		length -= aligned;
	}
	return 0;
}

size_t nldev_read_request(const uint8_t *bytes, size_t length, struct nldev_request *request,
			  int *error)
{
	struct nlmsghdr head;

	if (length < NLMSG_HDRLEN)
		return 0;
	memcpy(&head, bytes, sizeof(head));
	if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > length)
		return 0;
	*request = (struct nldev_request){
		.head = head,
		.is_request = (head.nlmsg_flags & NLM_F_REQUEST) != 0 &&
			      head.nlmsg_type >= NLMSG_MIN_TYPE,
		.is_dump = (head.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP,
		.wants_ack = (head.nlmsg_flags & NLM_F_ACK) != 0,
	};
	*error = 0;
	/* Attributes of other clients have meanings of their own. */
	if (RDMA_NL_GET_CLIENT(head.nlmsg_type) == RDMA_NL_NLDEV) {
		request->command = RDMA_NL_GET_OP(head.nlmsg_type);
		*error = nldev_read_attributes(bytes + NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN,
					       request);
	}
	return NLMSG_ALIGN(head.nlmsg_len);
}

/* SPDX-License-Identifier: MIT */
#include "tests/interop/rxe/puppet.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void arguments_split(struct arguments *arguments, char *line)
{
	static char rest[4096];
	char *behind = strchr(line, ' ');
	char *piece, *place = NULL;

	arguments->count = 0;
	snprintf(rest, sizeof(rest), "%s", behind != NULL ? behind + 1 : "");
	arguments->rest = rest;
	if (behind == NULL)
		return;
	*behind = '\0';
	for (piece = strtok_r(behind + 1, " ", &place); piece != NULL;
	     piece = strtok_r(NULL, " ", &place)) {
		char *value = strchr(piece, '=');

		if (value == NULL || arguments->count == PUPPET_ARGUMENTS)
			continue;
		*value = '\0';
		arguments->names[arguments->count] = piece;
		arguments->texts[arguments->count++] = value + 1;
	}
}

const char *argument_text(const struct arguments *arguments, const char *name)
{
	for (int i = 0; i < arguments->count; i++) {
		if (strcmp(arguments->names[i], name) == 0)
			return arguments->texts[i];
	}
	return NULL;
}

uint64_t argument(const struct arguments *arguments, const char *name)
{
	const char *text = argument_text(arguments, name);

	return text != NULL ? strtoull(text, NULL, 0) : 0;
}

void answer(const char *format, ...)
{
	va_list values;

	fputs("ok ", stdout);
	va_start(values, format);
	vprintf(format, values);
	va_end(values);
	putchar('\n');
}

void answer_done(void)
{
	puts("ok");
}

struct puppet_object *puppet_find(struct puppet *puppet, enum puppet_kind kind, uint64_t number)
{
	if (number == 0 || number > PUPPET_OBJECTS || puppet->objects[number - 1].kind != kind)
		return NULL;
	return &puppet->objects[number - 1];
}

static struct puppet_object *find_place(struct puppet *puppet)
{
	for (int i = 0; i < PUPPET_OBJECTS; i++) {
		if (puppet->objects[i].kind == PUPPET_NONE)
			return &puppet->objects[i];
	}
	fputs("verbs_puppet: too many objects\n", stderr);
	exit(1);
}

static unsigned int number_of(const struct puppet *puppet, const struct puppet_object *object)
{
	return (unsigned int)(object - puppet->objects) + 1;
}

static struct ibv_pd *find_pd(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *pd = puppet_find(puppet, PUPPET_PD, argument(arguments, "pd"));

	return pd != NULL ? pd->pd : NULL;
}

/* open: the only device there is. */
int puppet_open(struct puppet *puppet, const struct arguments *arguments)
{
	int count = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);

	(void)arguments;
	if (devices != NULL && count == 1 && puppet->context == NULL)
		puppet->context = ibv_open_device(devices[0]);
	if (devices != NULL)
		ibv_free_device_list(devices);
	if (puppet->context == NULL)
		return ENODEV;
	answer("devices=%d", count);
	return 0;
}

/* gid index: its 16 bytes, in hexadecimal. */
int puppet_gid(struct puppet *puppet, const struct arguments *arguments)
{
	union ibv_gid gid;

	if (ibv_query_gid(puppet->context, 1, (int)argument(arguments, "index"), &gid) != 0)
		return ENOENT;
	fputs("ok gid=", stdout);
	for (int i = 0; i < 16; i++)
		printf("%02x", gid.raw[i]);
	putchar('\n');
	return 0;
}

/* pd */
int puppet_pd(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = find_place(puppet);

	(void)arguments;
	object->pd = ibv_alloc_pd(puppet->context);
	if (object->pd == NULL)
		return errno;
	object->kind = PUPPET_PD;
	answer("number=%u", number_of(puppet, object));
	return 0;
}

/* mr pd bytes access */
int puppet_mr(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = find_place(puppet);
	struct ibv_pd *pd = find_pd(puppet, arguments);
	void *memory;
	int error;

	object->bytes = argument(arguments, "bytes");
	if (pd == NULL || posix_memalign(&memory, 4096, object->bytes) != 0)
		return EINVAL;
	object->memory = memory;
	object->mr = ibv_reg_mr(pd, memory, object->bytes, (int)argument(arguments, "access"));
	if (object->mr == NULL) {
		error = errno;
		free(memory);
		return error;
	}
	object->kind = PUPPET_MR;
	answer("number=%u address=%lu rkey=%u", number_of(puppet, object), (uintptr_t)memory,
	       object->mr->rkey);
	return 0;
}

/* mw pd type */
int puppet_mw(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = find_place(puppet);
	struct ibv_pd *pd = find_pd(puppet, arguments);

	if (pd == NULL)
		return EINVAL;
	object->mw = ibv_alloc_mw(pd, (enum ibv_mw_type)argument(arguments, "type"));
	if (object->mw == NULL)
		return errno;
	object->kind = PUPPET_MW;
	answer("number=%u rkey=%u", number_of(puppet, object), object->mw->rkey);
	return 0;
}

/* cq entries */
int puppet_cq(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = find_place(puppet);
	int error;

	object->channel = ibv_create_comp_channel(puppet->context);
	if (object->channel == NULL)
		return errno;
	object->cq = ibv_create_cq(puppet->context, (int)argument(arguments, "entries"), NULL,
				   object->channel, 0);
	if (object->cq == NULL) {
		error = errno;
		ibv_destroy_comp_channel(object->channel);
		return error;
	}
	object->kind = PUPPET_CQ;
	answer("number=%u", number_of(puppet, object));
	return 0;
}

/* srq pd entries */
int puppet_srq(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = find_place(puppet);
	struct ibv_pd *pd = find_pd(puppet, arguments);
	struct ibv_srq_init_attr attributes = {
		.attr =
			{
				.max_wr = (uint32_t)argument(arguments, "entries"),
				.max_sge = PUPPET_SGES,
			},
	};

	if (pd == NULL)
		return EINVAL;
	object->srq = ibv_create_srq(pd, &attributes);
	if (object->srq == NULL)
		return errno;
	object->kind = PUPPET_SRQ;
	answer("number=%u", number_of(puppet, object));
	return 0;
}

/* qp pd send_cq recv_cq type sends receives srq operations: these are for ibv_qp_to_qp_ex() */
int puppet_qp(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = find_place(puppet);
	struct puppet_object *srq = puppet_find(puppet, PUPPET_SRQ, argument(arguments, "srq"));
	struct puppet_object *send_cq, *recv_cq;
	struct ibv_pd *pd = find_pd(puppet, arguments);
	struct ibv_qp_init_attr_ex attributes = {
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
		.send_ops_flags = argument(arguments, "operations"),
		.qp_type = (enum ibv_qp_type)argument(arguments, "type"),
		.cap =
			{
				.max_send_wr = (uint32_t)argument(arguments, "sends"),
				.max_recv_wr = (uint32_t)argument(arguments, "receives"),
				.max_send_sge = PUPPET_SGES,
				.max_recv_sge = PUPPET_SGES,
			},
	};

	send_cq = puppet_find(puppet, PUPPET_CQ, argument(arguments, "send_cq"));
	recv_cq = puppet_find(puppet, PUPPET_CQ, argument(arguments, "recv_cq"));
	if (pd == NULL || send_cq == NULL || recv_cq == NULL)
		return EINVAL;
	attributes.send_cq = send_cq->cq;
	attributes.recv_cq = recv_cq->cq;
	attributes.srq = srq != NULL ? srq->srq : NULL;
	if (attributes.send_ops_flags != 0)
		attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	object->qp = ibv_create_qp_ex(puppet->context, &attributes);
	if (object->qp == NULL)
		return errno;
	object->kind = PUPPET_QP;
	answer("number=%u qpn=%u", number_of(puppet, object), object->qp->qp_num);
	return 0;
}

/* "gid=HEX sgid_index=N traffic_class=N" */
static bool read_path(const struct arguments *arguments, struct ibv_ah_attr *path)
{
	const char *text = argument_text(arguments, "gid");

	if (text == NULL)
		return false;
	*path = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh =
			{
				.sgid_index = (uint8_t)argument(arguments, "sgid_index"),
				.traffic_class = (uint8_t)argument(arguments, "traffic_class"),
				.hop_limit = 64,
			},
	};
	for (int i = 0; i < 16; i++) {
		if (sscanf(text + 2 * i, "%2hhx", &path->grh.dgid.raw[i]) != 1)
			return false;
	}
	return true;
}

#define ATTRIBUTE(member_, mask_)                                                                  \
	{                                                                                          \
		.name = #member_, .mask = IBV_QP_##mask_,                                          \
		.offset = offsetof(struct ibv_qp_attr, member_),                                   \
		.bytes = sizeof(((struct ibv_qp_attr *)NULL)->member_),                            \
	}

static const struct {
	const char *name;
	int mask;
	size_t offset, bytes;
} qp_attributes[] = {
	ATTRIBUTE(qp_state, STATE),
	ATTRIBUTE(pkey_index, PKEY_INDEX),
	ATTRIBUTE(port_num, PORT),
	ATTRIBUTE(qkey, QKEY),
	ATTRIBUTE(qp_access_flags, ACCESS_FLAGS),
	ATTRIBUTE(path_mtu, PATH_MTU),
	ATTRIBUTE(dest_qp_num, DEST_QPN),
	ATTRIBUTE(rq_psn, RQ_PSN),
	ATTRIBUTE(sq_psn, SQ_PSN),
	ATTRIBUTE(max_rd_atomic, MAX_QP_RD_ATOMIC),
	ATTRIBUTE(max_dest_rd_atomic, MAX_DEST_RD_ATOMIC),
	ATTRIBUTE(min_rnr_timer, MIN_RNR_TIMER),
	ATTRIBUTE(timeout, TIMEOUT),
	ATTRIBUTE(retry_cnt, RETRY_CNT),
	ATTRIBUTE(rnr_retry, RNR_RETRY),
};

/* modify qp, any of the members above, gid sgid_index traffic_class */
int puppet_modify(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = puppet_find(puppet, PUPPET_QP, argument(arguments, "qp"));
	struct ibv_qp_attr attributes = {0};
	int error, mask = 0;

	if (object == NULL)
		return EINVAL;
	for (size_t i = 0; i < sizeof(qp_attributes) / sizeof(qp_attributes[0]); i++) {
		/* The machine stores the least significant byte first. */
		uint64_t value = argument(arguments, qp_attributes[i].name);

		if (argument_text(arguments, qp_attributes[i].name) == NULL)
			continue;
		mask |= qp_attributes[i].mask;
		memcpy((uint8_t *)&attributes + qp_attributes[i].offset, &value,
		       qp_attributes[i].bytes);
	}
	if (read_path(arguments, &attributes.ah_attr))
		mask |= IBV_QP_AV;
	error = ibv_modify_qp(object->qp, &attributes, mask);
	if (error == 0)
		answer_done();
	return error;
}

/* query qp: its state */
int puppet_query(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = puppet_find(puppet, PUPPET_QP, argument(arguments, "qp"));
	struct ibv_qp_init_attr creation;
	struct ibv_qp_attr attributes;
	int error;

	if (object == NULL)
		return EINVAL;
	error = ibv_query_qp(object->qp, &attributes, IBV_QP_STATE, &creation);
	if (error == 0)
		answer("state=%d", (int)attributes.qp_state);
	return error;
}

/* ah pd gid sgid_index traffic_class */
int puppet_ah(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = find_place(puppet);
	struct ibv_pd *pd = find_pd(puppet, arguments);
	struct ibv_ah_attr path;

	if (pd == NULL || !read_path(arguments, &path))
		return EINVAL;
	object->ah = ibv_create_ah(pd, &path);
	if (object->ah == NULL)
		return errno;
	object->kind = PUPPET_AH;
	answer("number=%u", number_of(puppet, object));
	return 0;
}

static int destroy_object(struct puppet_object *object)
{
	int error = 0;

	switch (object->kind) {
	case PUPPET_NONE:
		break;
	case PUPPET_PD:
		error = ibv_dealloc_pd(object->pd);
		break;
	case PUPPET_MR:
		error = ibv_dereg_mr(object->mr);
		if (error == 0)
			free(object->memory);
		break;
	case PUPPET_MW:
		error = ibv_dealloc_mw(object->mw);
		break;
	case PUPPET_CQ:
		error = ibv_destroy_cq(object->cq);
		if (error == 0)
			error = ibv_destroy_comp_channel(object->channel);
		break;
	case PUPPET_SRQ:
		error = ibv_destroy_srq(object->srq);
		break;
	case PUPPET_QP:
		error = ibv_destroy_qp(object->qp);
		break;
	case PUPPET_AH:
		error = ibv_destroy_ah(object->ah);
		break;
	}
	if (error == 0)
		*object = (struct puppet_object){0};
	return error;
}

/* destroy number */
int puppet_destroy(struct puppet *puppet, const struct arguments *arguments)
{
	uint64_t number = argument(arguments, "number");
	int error;

	if (number == 0 || number > PUPPET_OBJECTS)
		return EINVAL;
	error = destroy_object(&puppet->objects[number - 1]);
	if (error == 0)
		answer_done();
	return error;
}

/* What an application must do before it may destroy what an event is about. */
static void drop_events(struct ibv_context *context)
{
	struct pollfd ready = {.fd = context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	while (poll(&ready, 1, 0) == 1 && ibv_get_async_event(context, &event) == 0)
		ibv_ack_async_event(&event);
}

/*
 * Destroys all objects, those first that use others. A window that is bound uses its queue pair:
 * rxe waits 50 s for it.
 */
static int destroy_all(struct puppet *puppet)
{
	static const enum puppet_kind order[] = {PUPPET_MW, PUPPET_QP, PUPPET_SRQ, PUPPET_AH,
						 PUPPET_MR, PUPPET_CQ, PUPPET_PD};

	drop_events(puppet->context);
	for (size_t kind = 0; kind < sizeof(order) / sizeof(order[0]); kind++) {
		for (int i = 0; i < PUPPET_OBJECTS; i++) {
			int error = 0;

			if (puppet->objects[i].kind == order[kind])
				error = destroy_object(&puppet->objects[i]);
			if (error != 0)
				return error;
		}
	}
	return 0;
}

/* reset: destroys all objects. */
int puppet_reset(struct puppet *puppet, const struct arguments *arguments)
{
	int error = destroy_all(puppet);

	(void)arguments;
	if (error == 0)
		answer_done();
	return error;
}

/* close: lets go of the device, with all objects. "open" takes it again. */
int puppet_close(struct puppet *puppet, const struct arguments *arguments)
{
	int error = puppet->context != NULL ? destroy_all(puppet) : 0;

	(void)arguments;
	if (error == 0 && puppet->context != NULL)
		error = ibv_close_device(puppet->context);
	if (error != 0)
		return error;
	puppet->context = NULL;
	answer_done();
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "tools/lab/link/verbs_link.h"

#include "tools/lab/lab_text.h"
#include "tools/lab/link/verbs_gid.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Lambda mode sends three pieces, whatever the options say for other modes. */
enum { SEGMENTS_MIN = 3 };

/*
 * A mode has at most so many requests in flight in one direction, and twice that many completions.
 */
enum { QUEUE_DEPTH = 16, READS = 1, RNR_TIMER_0_64_MS = 12, RNR_RETRY_FOREVER = 7 };
enum { PKEY_INDEX = 0, HOP_LIMIT = 64 };

/* ---- the device ---- */

static int verbs_link_open_device(struct verbs_link *link, const char *name)
{
	int count = 0, error = -ENODEV;
	struct ibv_device **devices = ibv_get_device_list(&count);

	for (int i = 0; devices && i < count && !link->context; i++) {
		if (name && strcmp(name, ibv_get_device_name(devices[i])) != 0)
			continue;
		link->context = ibv_open_device(devices[i]);
		error = link->context ? 0 : -errno;
	}
	if (error == -ENODEV)
		lab_say("there is no RDMA device%s%s; for an emulated one: rnic-run rnic-lab ...",
			name ? " " : "", name ? name : "");
	else if (error)
		lab_say("cannot open the RDMA device: %s", strerror(-error));
	if (devices)
		ibv_free_device_list(devices);
	return error;
}

/* The first port that is up. */
static int find_port(struct verbs_link *link, const struct ibv_device_attr *device,
		     struct ibv_port_attr *port)
{
	for (uint8_t number = 1; number <= device->phys_port_cnt; number++) {
		if (ibv_query_port(link->context, number, port) == 0 &&
		    port->state == IBV_PORT_ACTIVE) {
			link->port = number;
			link->lid = port->lid;
			return 0;
		}
	}
	lab_say("no port of %s is up", ibv_get_device_name(link->context->device));
	return -ENETDOWN;
}

static int verbs_link_find_gid(struct verbs_link *link, const struct lab_options *options,
			       int count, const struct sockaddr *local)
{
	link->gid_index = options->gid_index;
	if (link->gid_index == LAB_GID_BY_ADDRESS)
		link->gid_index = verbs_gid_find(link->context, link->port, count, local);
	if (link->gid_index >= 0 &&
	    ibv_query_gid(link->context, link->port, link->gid_index, &link->gid) == 0)
		return 0;
	lab_say("port %u has no GID %d", link->port, options->gid_index);
	return -EADDRNOTAVAIL;
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (verbs_mtu_bytes(mtu) < bytes)
		mtu++;
	return mtu;
}

static int choose_path(struct verbs_link *link, const struct lab_options *options,
		       const struct sockaddr *local)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	int error;

	error = ibv_query_device(link->context, &device);
	if (error) {
		lab_say("cannot query the device: %s", strerror(error));
		return -error;
	}
	error = find_port(link, &device, &port);
	if (error)
		return error;
	link->mtu = port.active_mtu;
	if (options->mtu_bytes) {
		link->mtu = mtu_of(options->mtu_bytes);
		if (link->mtu > port.active_mtu) {
			lab_say("the port's MTU is %u", verbs_mtu_bytes(port.active_mtu));
			return -EINVAL;
		}
	}
	return verbs_link_find_gid(link, options, port.gid_tbl_len, local);
}

/* ---- the queue pair ---- */

static int verbs_link_create_queues(struct verbs_link *link, uint32_t segments)
{
	struct ibv_qp_init_attr wanted = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = QUEUE_DEPTH,
			.max_recv_wr = QUEUE_DEPTH,
			.max_send_sge = segments,
			.max_recv_sge = segments},
	};
	int flags;

	if (segments < SEGMENTS_MIN)
		wanted.cap.max_send_sge = SEGMENTS_MIN;
	link->pd = ibv_alloc_pd(link->context);
	link->channel = link->pd ? ibv_create_comp_channel(link->context) : NULL;
	if (!link->channel)
		return -errno;
	flags = fcntl(link->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(link->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	link->cq = ibv_create_cq(link->context, 2 * QUEUE_DEPTH, NULL, link->channel, 0);
	if (!link->cq)
		return -errno;
	wanted.send_cq = wanted.recv_cq = link->cq;
	link->qp = ibv_create_qp(link->pd, &wanted);
	return link->qp ? 0 : -errno;
}

static int verbs_link_to_init(struct verbs_link *link, unsigned int access)
{
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = PKEY_INDEX,
		.port_num = link->port,
		.qp_access_flags = access,
	};

	return -ibv_modify_qp(link->qp, &attributes,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int verbs_link_to_rtr(struct verbs_link *link, const struct lab_endpoint *peer)
{
	enum ibv_mtu theirs = (enum ibv_mtu)peer->mtu;
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = theirs < link->mtu ? theirs : link->mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = READS,
		.min_rnr_timer = RNR_TIMER_0_64_MS,
		.ah_attr = {.port_num = link->port,
			    .dlid = peer->lid,
			    .is_global = 1,
			    .grh = {.sgid_index = (uint8_t)link->gid_index,
				    .hop_limit = HOP_LIMIT}},
	};
	int error;

	memcpy(attributes.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	error = ibv_modify_qp(link->qp, &attributes,
			      IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV);
	if (error)
		lab_say("cannot bring the queue pair into RTR: %s", strerror(error));
	return -error;
}

int verbs_link_to_rts(struct verbs_link *link)
{
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = link->psn,
		.timeout = link->ack_timeout,
		.retry_cnt = link->retry_count,
		.rnr_retry = RNR_RETRY_FOREVER,
		.max_rd_atomic = READS,
	};
	int error = ibv_modify_qp(link->qp, &attributes,
				  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);

	if (error)
		lab_say("cannot bring the queue pair into RTS: %s", strerror(error));
	return -error;
}

int verbs_link_connect(struct verbs_link *link, const struct lab_endpoint *peer)
{
	int error = verbs_link_to_rtr(link, peer);

	return error ? error : verbs_link_to_rts(link);
}

int verbs_link_open(struct verbs_link *link, const struct lab_options *options, unsigned int access,
		    const struct sockaddr *local)
{
	int error;

	*link = (struct verbs_link){
		.ack_timeout = options->ack_timeout,
		.retry_count = options->retry_count,
	};
	error = verbs_link_open_device(link, options->device);
	if (error)
		return error;
	error = choose_path(link, options, local);
	if (error)
		goto close_link;
	error = verbs_link_create_queues(link, options->segments);
	if (error == 0)
		error = verbs_link_to_init(link, access);
	if (error == 0 && getrandom(&link->psn, sizeof(link->psn), 0) != sizeof(link->psn))
		error = -EIO;
	link->psn &= 0xffffff;
	if (error) {
		lab_say("cannot make a queue pair: %s", strerror(-error));
		goto close_link;
	}
	return 0;
close_link:
	verbs_link_close(link);
	return error;
}

void verbs_link_close(struct verbs_link *link)
{
	if (link->qp)
		ibv_destroy_qp(link->qp);
	if (link->cq) {
		ibv_ack_cq_events(link->cq, link->events);
		ibv_destroy_cq(link->cq);
	}
	if (link->channel)
		ibv_destroy_comp_channel(link->channel);
	if (link->pd)
		ibv_dealloc_pd(link->pd);
	if (link->context)
		ibv_close_device(link->context);
	*link = (struct verbs_link){0};
}

void verbs_link_describe(const struct verbs_link *link, struct lab_endpoint *endpoint)
{
	endpoint->mtu = (uint8_t)link->mtu;
	endpoint->lid = link->lid;
	endpoint->qpn = link->qp->qp_num;
	endpoint->psn = link->psn;
	memcpy(endpoint->gid, link->gid.raw, sizeof(endpoint->gid));
}

/* ---- memory ---- */

int verbs_region_create(struct verbs_link *link, size_t bytes, unsigned int access,
			struct verbs_region *region)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;
	int error;

	if (posix_memalign(&memory, page, bytes) != 0) {
		lab_say("no memory for a buffer of %zu bytes", bytes);
		return -ENOMEM;
	}
	memset(memory, 0, bytes);
	*region = (struct verbs_region){
		.memory = memory,
		.bytes = bytes,
		.mr = ibv_reg_mr(link->pd, memory, bytes, (int)access),
	};
	if (region->mr)
		return 0;
	error = -errno;
	lab_say("cannot register %zu bytes: %s", bytes, strerror(-error));
	free(memory);
	*region = (struct verbs_region){0};
	return error;
}

void verbs_region_destroy(struct verbs_region *region)
{
	if (region->mr)
		ibv_dereg_mr(region->mr);
	if (region->memory) {
		explicit_bzero(region->memory, region->bytes);
		free(region->memory);
	}
	*region = (struct verbs_region){0};
}

int verbs_region_elements(const struct verbs_region *region, const struct segment_buffer *buffer,
			  uint32_t bytes, struct ibv_sge elements[SEGMENTS_MAX])
{
	struct segment segments[SEGMENTS_MAX];
	uint32_t count = segment_buffer_list(buffer, bytes, segments);

	for (uint32_t i = 0; i < count; i++) {
		elements[i] = (struct ibv_sge){
			.addr = (uintptr_t)region->memory + segments[i].offset,
			.length = segments[i].bytes,
			.lkey = region->mr->lkey,
		};
	}
	return (int)count;
}

/* ---- work ---- */

int verbs_link_receive(struct verbs_link *link, struct ibv_sge *elements, int count)
{
	struct ibv_recv_wr request = {.sg_list = elements, .num_sge = count}, *bad;
	int error = ibv_post_recv(link->qp, &request, &bad);

	if (error)
		lab_say("cannot post a receive: %s", strerror(error));
	return -error;
}

int verbs_link_post(struct verbs_link *link, struct ibv_send_wr *request, struct ibv_sge *elements,
		    int count)
{
	struct ibv_send_wr *bad;
	int error;

	request->sg_list = elements;
	request->num_sge = count;
	request->send_flags |= IBV_SEND_SIGNALED;
	error = ibv_post_send(link->qp, request, &bad);
	if (error)
		lab_say("cannot post a request: %s", strerror(error));
	return -error;
}

/* Waits for the event of the armed queue. */
static int wait_for_event(struct verbs_link *link, struct lab_watch *watch, uint64_t deadline_ns)
{
	struct ibv_cq *cq;
	void *context;
	int error = lab_wait(watch, link->channel->fd, POLLIN, deadline_ns);

	if (error)
		return error;
	if (ibv_get_cq_event(link->channel, &cq, &context) == 0) {
		link->events++;
		link->is_armed = false;
		return 0;
	}
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

int verbs_link_next(struct verbs_link *link, struct lab_watch *watch, uint64_t deadline_ns,
		    struct ibv_wc *completion)
{
	int count, error, waited = 0;

	while ((count = ibv_poll_cq(link->cq, 1, completion)) == 0) {
		if (waited)
			return waited;
		if (!link->is_armed) {
			error = ibv_req_notify_cq(link->cq, 0);
			if (error)
				return -error;
			link->is_armed = true;
			continue;
		}
		/* A peer that did its work and left at once may still have caused a completion. */
		waited = wait_for_event(link, watch, deadline_ns);
	}
	if (count < 0) {
		lab_say("the completion queue is gone");
		return -EIO;
	}
	if (completion->status == IBV_WC_SUCCESS)
		return 0;
	lab_say("the RNIC reports: %s", ibv_wc_status_str(completion->status));
	return -EIO;
}

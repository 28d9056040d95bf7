/* SPDX-License-Identifier: MIT */
#include "rpc/ud_carrier.h"

#include "rpc/rpc_sender.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

enum {
	GRH_BYTES = 40,
	RECEIVE_BYTES = GRH_BYTES + UD_DATAGRAM_BYTES,
	/* Where a received packet's network header is within those 40 bytes (IBTA A17.4.5.1). */
	IPV4_SOURCE = 20 + 12,
	IPV4_DEST = 20 + 16,
	IPV6_SOURCE = 8,
	IPV6_DEST = 24,
	HOP_LIMIT = 64,
	RECEIVE_ID = 1 << 16, /* work requests of receives, beside those of sends */
};

#define MEMORY_BYTES (UD_RECEIVE_SLOTS * RECEIVE_BYTES + UD_SEND_SLOTS * UD_DATAGRAM_BYTES)

uint64_t ud_carrier_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

void ud_carrier_random(void *bytes, size_t count)
{
	ssize_t got = getrandom(bytes, count, 0);

	assert(got == (ssize_t)count); /* of up to 256 bytes, always */
}

static uint8_t *receive_slot(const struct ud_carrier *carrier, uint32_t slot)
{
	return carrier->memory + (size_t)slot * RECEIVE_BYTES;
}

static uint8_t *send_slot(const struct ud_carrier *carrier, uint32_t slot)
{
	return carrier->memory + (size_t)UD_RECEIVE_SLOTS * RECEIVE_BYTES +
	       (size_t)slot * UD_DATAGRAM_BYTES;
}

static int watch(struct ud_carrier *carrier, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(carrier->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int set_nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 ? 0 : -errno;
}

static int open_descriptors(struct ud_carrier *carrier)
{
	int channel_fd = rnic_channel_fd(carrier->channel);
	int cm_fd = rnic_cm_channel_fd(carrier->cm);
	int error;

	carrier->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	carrier->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (carrier->epoll_fd < 0 || carrier->timer_fd < 0)
		return -errno;
	error = set_nonblocking(channel_fd);
	if (error == 0)
		error = set_nonblocking(cm_fd);
	if (error == 0)
		error = watch(carrier, channel_fd);
	if (error == 0)
		error = watch(carrier, cm_fd);
	return error == 0 ? watch(carrier, carrier->timer_fd) : error;
}

static int open_qp(struct ud_carrier *carrier)
{
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_UD,
		.signal_all = true,
		.capacities = {.max_send_wr = UD_SEND_SLOTS,
			       .max_recv_wr = UD_RECEIVE_SLOTS,
			       .max_send_sge = 1,
			       .max_recv_sge = 1},
	};
	int error = rnic_create_cq(carrier->context, UD_SEND_SLOTS + UD_RECEIVE_SLOTS,
				   carrier->channel, 0, NULL, &carrier->cq);

	if (error != 0)
		return error;
	options.send_cq = carrier->cq;
	options.recv_cq = carrier->cq;
	return rnic_create_qp(carrier->pd, &options, &carrier->qp);
}

int ud_carrier_open(struct ud_carrier *carrier, const char *socket_path)
{
	int error;

	*carrier = (struct ud_carrier){.epoll_fd = -1, .timer_fd = -1, .lent = -1};
	for (uint16_t slot = 0; slot < UD_SEND_SLOTS; slot++)
		carrier->free_slots[carrier->free_count++] = slot;
	error = rnic_open(socket_path, &carrier->context);
	if (error == 0)
		error = rnic_alloc_pd(carrier->context, &carrier->pd);
	if (error == 0)
		error = rnic_create_channel(carrier->context, &carrier->channel);
	if (error == 0)
		error = rnic_cm_create_channel(carrier->context, &carrier->cm);
	if (error == 0)
		error = rnic_alloc(carrier->context, MEMORY_BYTES, (void **)&carrier->memory);
	if (error == 0)
		error = rnic_reg_mr(carrier->pd, carrier->memory, MEMORY_BYTES,
				    (uintptr_t)carrier->memory, RNIC_ACCESS_LOCAL_WRITE,
				    &carrier->mr);
	if (error == 0)
		error = open_qp(carrier);
	if (error == 0)
		error = open_descriptors(carrier);
	if (error != 0)
		ud_carrier_close(carrier);
	return error;
}

void ud_carrier_close(struct ud_carrier *carrier)
{
	if (carrier->qp != NULL)
		rnic_destroy_qp(carrier->qp);
	if (carrier->cq != NULL)
		rnic_destroy_cq(carrier->cq);
	if (carrier->mr != NULL)
		rnic_dereg_mr(carrier->mr);
	if (carrier->memory != NULL)
		rnic_free(carrier->context, carrier->memory);
	if (carrier->timer_fd >= 0)
		close(carrier->timer_fd);
	if (carrier->epoll_fd >= 0)
		close(carrier->epoll_fd);
	if (carrier->cm != NULL)
		rnic_cm_destroy_channel(carrier->cm);
	if (carrier->channel != NULL)
		rnic_destroy_channel(carrier->channel);
	if (carrier->pd != NULL)
		rnic_dealloc_pd(carrier->pd);
	if (carrier->context != NULL)
		rnic_close(carrier->context);
	*carrier = (struct ud_carrier){.epoll_fd = -1, .timer_fd = -1, .lent = -1};
}

static int post_receive(struct ud_carrier *carrier, uint32_t slot)
{
	struct rnic_sge sge = {
		.address = (uintptr_t)receive_slot(carrier, slot),
		.length = RECEIVE_BYTES,
		.lkey = rnic_mr_lkey(carrier->mr),
	};
	struct rnic_recv_wr wr = {
		.wr_id = RECEIVE_ID + slot, .sge_list = &sge, .sge_count = 1};
	const struct rnic_recv_wr *bad;

	return rnic_post_recv(carrier->qp, &wr, &bad);
}

/* IBTA 1.4, 10.3.1: a UD queue pair needs no peer to become ready. */
static int bring_up(struct ud_carrier *carrier, uint32_t qkey)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT, .port = 1, .qkey = qkey};
	int error = rnic_modify_qp(carrier->qp, &attributes,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_QKEY);

	for (uint32_t slot = 0; slot < UD_RECEIVE_SLOTS && error == 0; slot++)
		error = post_receive(carrier, slot);
	attributes.state = RNIC_QP_STATE_RTR;
	if (error == 0)
		error = rnic_modify_qp(carrier->qp, &attributes, RNIC_QP_ATTR_STATE);
	attributes.state = RNIC_QP_STATE_RTS;
	ud_carrier_random(&attributes.sq_psn, sizeof(attributes.sq_psn));
	attributes.sq_psn &= 0xffffff;
	if (error == 0)
		error = rnic_modify_qp(carrier->qp, &attributes,
				       RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_SQ_PSN);
	return error;
}

int ud_carrier_use_qkey(struct ud_carrier *carrier, uint32_t qkey)
{
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RTS, .qkey = qkey};
	int error;

	if (carrier->qkey == qkey)
		return 0;
	error = carrier->qkey == 0 ? bring_up(carrier, qkey)
				   : rnic_modify_qp(carrier->qp, &attributes,
						    RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_QKEY);
	if (error == 0)
		carrier->qkey = qkey;
	return error;
}

uint8_t *ud_carrier_room(struct ud_carrier *carrier)
{
	if (carrier->free_count == 0)
		return NULL;
	return send_slot(carrier, carrier->free_slots[carrier->free_count - 1]);
}

int ud_carrier_send(struct ud_carrier *carrier, struct rnic_ah *ah, uint32_t qpn, uint32_t bytes)
{
	uint16_t slot = carrier->free_slots[carrier->free_count - 1];
	struct rnic_sge sge = {
		.address = (uintptr_t)send_slot(carrier, slot),
		.length = bytes,
		.lkey = rnic_mr_lkey(carrier->mr),
	};
	struct rnic_send_wr wr = {
		.wr_id = slot,
		.sge_list = &sge,
		.sge_count = 1,
		.opcode = RNIC_WR_SEND,
		.datagram = {.ah = ah, .remote_qpn = qpn, .remote_qkey = carrier->qkey},
	};
	const struct rnic_send_wr *bad;
	int error = rnic_post_send(carrier->qp, &wr, &bad);

	if (error == 0)
		carrier->free_count--;
	return error;
}

static void read_gid(struct rnic_gid *gid, const uint8_t *grh, bool is_ipv4, int ipv4_at,
		     int ipv6_at)
{
	*gid = (struct rnic_gid){{0}};
	if (is_ipv4) {
		gid->bytes[10] = 0xff;
		gid->bytes[11] = 0xff;
		memcpy(gid->bytes + 12, grh + ipv4_at, 4);
	} else {
		memcpy(gid->bytes, grh + ipv6_at, sizeof(gid->bytes));
	}
}

static bool is_same(const struct rnic_gid *a, const struct rnic_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/*
 * The answer leaves from the address that was asked: finds its index, for which the daemon is asked
 * when another address was asked last. False: that address has gone.
 */
static bool find_local_gid(struct ud_carrier *carrier, const struct rnic_gid *wanted)
{
	uint32_t count = rnic_get_device_attributes(carrier->context)->gid_count;
	struct rnic_gid gid;

	if (carrier->knows_local_gid && is_same(&carrier->local_gid, wanted))
		return true;
	for (uint32_t index = 0; index < count && index <= UINT8_MAX; index++) {
		if (rnic_query_gid(carrier->context, index, &gid, NULL) != 0 ||
		    !is_same(&gid, wanted))
			continue;
		carrier->local_gid = gid;
		carrier->local_gid_index = (uint8_t)index;
		carrier->knows_local_gid = true;
		return true;
	}
	return false;
}

static bool describe_source(struct ud_carrier *carrier, const struct rnic_completion *completion,
			    const uint8_t *grh, struct rnic_path *source)
{
	bool is_ipv4 = completion->service_level == RNIC_WC_SL_IPV4;
	struct rnic_gid local;

	read_gid(&local, grh, is_ipv4, IPV4_DEST, IPV6_DEST);
	if (!find_local_gid(carrier, &local))
		return false;
	*source = (struct rnic_path){
		.source_gid_index = carrier->local_gid_index,
		.hop_limit = HOP_LIMIT,
		.port = 1,
		.is_global = 1,
	};
	read_gid(&source->dest_gid, grh, is_ipv4, IPV4_SOURCE, IPV6_SOURCE);
	return true;
}

/* A datagram that could not be sent counts as lost; the queue goes on (IBTA 1.4, 10.3.1.6). */
static void note_sent(struct ud_carrier *carrier, const struct rnic_completion *completion)
{
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RTS};

	carrier->free_slots[carrier->free_count++] = (uint16_t)completion->wr_id;
	if (completion->status != RNIC_WC_SUCCESS && carrier->free_count == UD_SEND_SLOTS)
		rnic_modify_qp(carrier->qp, &attributes, RNIC_QP_ATTR_STATE);
}

/* The next completion, or NULL. */
static const struct rnic_completion *next_completion(struct ud_carrier *carrier, int *error)
{
	*error = 0;
	if (carrier->completion_next == carrier->completion_count) {
		int count = rnic_poll_cq(carrier->cq, 32, carrier->completions);

		carrier->completion_next = 0;
		carrier->completion_count = count > 0 ? (uint32_t)count : 0;
		if (count <= 0) {
			*error = count;
			return NULL;
		}
	}
	return &carrier->completions[carrier->completion_next++];
}

int ud_carrier_receive(struct ud_carrier *carrier, struct ud_datagram *datagram)
{
	const struct rnic_completion *completion;
	int error;

	if (carrier->lent >= 0) {
		error = post_receive(carrier, (uint32_t)carrier->lent);
		carrier->lent = -1;
		if (error != 0)
			return error;
	}
	while ((completion = next_completion(carrier, &error)) != NULL) {
		uint32_t slot = (uint32_t)completion->wr_id - RECEIVE_ID;

		if (completion->wr_id < RECEIVE_ID) {
			note_sent(carrier, completion);
			continue;
		}
		if (completion->status != RNIC_WC_SUCCESS)
			return -EIO;
		if (!describe_source(carrier, completion, receive_slot(carrier, slot),
				     &datagram->source)) {
			error = post_receive(carrier, slot);
			if (error != 0)
				return error;
			continue;
		}
		carrier->lent = slot;
		datagram->bytes = receive_slot(carrier, slot) + GRH_BYTES;
		datagram->length = completion->byte_count - GRH_BYTES;
		datagram->source_qpn = completion->source_qpn;
		return 1;
	}
	return error;
}

int ud_carrier_wait(struct ud_carrier *carrier, int timeout_ms)
{
	struct epoll_event events[3];
	struct rnic_cq *cq;
	uint64_t expirations;
	int error;

	if (epoll_wait(carrier->epoll_fd, events, 3, timeout_ms) < 0)
		return -errno;
	if (read(carrier->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		return -errno;
	while ((error = rnic_get_cq_event(carrier->channel, &cq)) == 0)
		rnic_ack_cq_events(cq, 1);
	return error == -EAGAIN ? 0 : error;
}

int ud_carrier_arm(struct ud_carrier *carrier)
{
	return rnic_req_notify_cq(carrier->cq, false);
}

void ud_carrier_set_timer(struct ud_carrier *carrier, uint64_t deadline_ns)
{
	struct itimerspec at = {{0, 0}, {0, 0}};

	if (deadline_ns != RPC_NEVER) {
		if (deadline_ns == 0)
			deadline_ns = 1; /* 0 would stop it */
		at.it_value.tv_sec = (time_t)(deadline_ns / S);
		at.it_value.tv_nsec = (long)(deadline_ns % S);
	}
	timerfd_settime(carrier->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

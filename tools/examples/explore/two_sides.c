/* SPDX-License-Identifier: MIT */
#include "two_sides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ATTEMPTS_MAX	5
#define ATTEMPT_NS	UINT64_C(2000000000)
#define ALL_ATTEMPTS_NS UINT64_C(6000000000)
#define PAUSE_NS	10000000L /* after the first failure, and longer after each further one */
#define PORT		1

static const char *program = "program";

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void report_call(const char *call, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program, call, strerror(error));
}

void report_completion(enum side side, const struct ibv_wc *wc)
{
	fprintf(stderr, "%s: the %s has a completion with the status %s\n", program,
		side == CLIENT ? "client" : "server", ibv_wc_status_str(wc->status));
}

/* Most calls that make an object return NULL and leave the reason in errno. */
static bool made(const void *object, const char *call)
{
	if (object == NULL)
		report_call(call, errno);
	return object != NULL;
}

static bool succeeded(int error, const char *call)
{
	if (error != 0)
		report_call(call, error);
	return error == 0;
}

static bool open_first_device(struct two_sides *sides)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	if (!made(list, "ibv_get_device_list"))
		return false;
	if (count == 0) {
		fprintf(stderr, "%s: this host has no RDMA device: see rnic-run\n", program);
		exit(EXIT_NO_DEVICE);
	}
	sides->context = ibv_open_device(list[0]);
	bool opened = made(sides->context, "ibv_open_device");
	ibv_free_device_list(list);
	return opened;
}

/* The first GID of RoCE v2 that is not a link-local address. */
static bool find_gid(struct ibv_context *context, struct ibv_gid_entry *found)
{
	struct ibv_port_attr port;
	if (!succeeded(ibv_query_port(context, PORT, &port), "ibv_query_port"))
		return false;
	for (uint32_t i = 0; i < (uint32_t)port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(context, PORT, i, found, 0) != 0)
			continue;
		if (found->gid_type == IBV_GID_TYPE_ROCE_V2 && found->gid.raw[0] != 0xfe)
			return true;
	}
	return succeeded(EADDRNOTAVAIL, "ibv_query_gid_ex");
}

static bool make_side(struct two_sides *sides, enum side side, const struct side_memory *memory,
		      const struct connection_settings *settings)
{
	sides->mr[side] = ibv_reg_mr(sides->pd, memory->start, memory->size_bytes,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
					     IBV_ACCESS_REMOTE_WRITE);
	if (!made(sides->mr[side], "ibv_reg_mr"))
		return false;
	sides->cq[side] =
		ibv_create_cq(sides->context, 2 * (int)settings->entry_count, NULL, NULL, 0);
	if (!made(sides->cq[side], "ibv_create_cq"))
		return false;
	struct ibv_qp_init_attr attr = {
		.send_cq = sides->cq[side],
		.recv_cq = sides->cq[side],
		.cap = {.max_send_wr = settings->entry_count,
			.max_recv_wr = settings->entry_count,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	sides->qp[side] = ibv_create_qp(sides->pd, &attr);
	return made(sides->qp[side], "ibv_create_qp");
}

static int modify_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int modify_to_rtr(struct ibv_qp *qp, const struct ibv_qp *peer,
			 const struct ibv_gid_entry *gid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 12, /* 0.64 ms */
		.ah_attr = {.is_global = 1,
			    .port_num = PORT,
			    .grh = {.dgid = gid->gid,
				    .sgid_index = (uint8_t)gid->gid_index,
				    .hop_limit = 64}},
	};
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int modify_to_rts(struct ibv_qp *qp, const struct connection_settings *settings)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = settings->timeout,
		.retry_cnt = settings->retry_count,
		.rnr_retry = settings->rnr_retry,
		.max_rd_atomic = 8,
	};
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static bool connect_sides(struct two_sides *sides, const struct connection_settings *settings)
{
	struct ibv_gid_entry gid;
	if (!find_gid(sides->context, &gid))
		return false;
	for (int side = 0; side < SIDE_COUNT; side++) {
		struct ibv_qp *qp = sides->qp[side];
		if (!succeeded(modify_to_init(qp), "ibv_modify_qp to INIT") ||
		    !succeeded(modify_to_rtr(qp, sides->qp[!side], &gid), "ibv_modify_qp to RTR"))
			return false;
	}
	return succeeded(modify_to_rts(sides->qp[CLIENT], settings), "ibv_modify_qp to RTS") &&
	       succeeded(modify_to_rts(sides->qp[SERVER], settings), "ibv_modify_qp to RTS");
}

bool two_sides_open(struct two_sides *sides, const struct side_memory memory[SIDE_COUNT],
		    const struct connection_settings *settings)
{
	*sides = (struct two_sides){.deadline_ns = now_ns() + ATTEMPT_NS};
	if (!open_first_device(sides))
		return false;
	sides->pd = ibv_alloc_pd(sides->context);
	return made(sides->pd, "ibv_alloc_pd") &&
	       make_side(sides, CLIENT, &memory[CLIENT], settings) &&
	       make_side(sides, SERVER, &memory[SERVER], settings) &&
	       connect_sides(sides, settings);
}

void two_sides_close(struct two_sides *sides)
{
	for (int side = 0; side < SIDE_COUNT; side++)
		if (sides->qp[side] != NULL)
			succeeded(ibv_destroy_qp(sides->qp[side]), "ibv_destroy_qp");
	for (int side = 0; side < SIDE_COUNT; side++) {
		if (sides->cq[side] != NULL)
			succeeded(ibv_destroy_cq(sides->cq[side]), "ibv_destroy_cq");
		if (sides->mr[side] != NULL)
			succeeded(ibv_dereg_mr(sides->mr[side]), "ibv_dereg_mr");
	}
	if (sides->pd != NULL)
		succeeded(ibv_dealloc_pd(sides->pd), "ibv_dealloc_pd");
	if (sides->context != NULL && ibv_close_device(sides->context) != 0)
		report_call("ibv_close_device", errno);
	*sides = (struct two_sides){0};
}

bool two_sides_is_late(const struct two_sides *sides)
{
	if (now_ns() < sides->deadline_ns)
		return false;
	fprintf(stderr, "%s: the peer is silent\n", program);
	return true;
}

void run_attempts(const char *name, bool (*attempt)(void *state), void *state)
{
	program = name;
	uint64_t end_ns = now_ns() + ALL_ATTEMPTS_NS;
	for (int i = 0; i < ATTEMPTS_MAX && now_ns() < end_ns; i++) {
		if (attempt(state))
			return;
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS << i}, NULL);
	}
	fprintf(stderr, "%s: gives up: the peer counts as gone\n", program);
}

uint8_t pattern_byte(uint32_t number, size_t offset)
{
	return (uint8_t)(number + 1 + offset % 251);
}

void pattern_fill(uint8_t *bytes, size_t byte_count, uint32_t number)
{
	for (size_t i = 0; i < byte_count; i++)
		bytes[i] = pattern_byte(number, i);
}

bool pattern_matches(const uint8_t *bytes, size_t byte_count, uint32_t number)
{
	for (size_t i = 0; i < byte_count; i++)
		if (bytes[i] != pattern_byte(number, i))
			return false;
	return true;
}

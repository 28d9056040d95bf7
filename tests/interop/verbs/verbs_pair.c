/* SPDX-License-Identifier: MIT */
#include "tests/interop/verbs/verbs_pair.h"
#include "tests/interop/verbs/qp_steps.h"
#include "tests/unit/unit_test.h"

#include <stdlib.h>
#include <unistd.h>

static struct ibv_context *open_device(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context;

	assert_non_null(devices);
	assert_non_null(devices[0]);
	context = ibv_open_device(devices[0]);
	assert_non_null(context);
	ibv_free_device_list(devices);
	return context;
}

static void create_end(struct pair *pair, uint32_t end, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = type,
	};

	pair->ends[end].cq = ibv_create_cq(pair->context, 64, NULL, NULL, 0);
	assert_non_null(pair->ends[end].cq);
	wanted.send_cq = wanted.recv_cq = pair->ends[end].cq;
	pair->ends[end].qp = ibv_create_qp(pair->pd, &wanted);
	assert_non_null(pair->ends[end].qp);
}

void pair_connect(struct pair *pair, struct ibv_qp *qp, uint32_t dest_qpn, unsigned more_rights)
{
	struct ibv_qp_attr attributes = {
		.port_num = 1,
		.qkey = PAIR_QKEY,
		.qp_access_flags = PAIR_RIGHTS | more_rights,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.timeout = 12,
		.retry_cnt = 2,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = pair->gid.gid,
				    .sgid_index = (uint8_t)pair->gid.gid_index,
				    .hop_limit = 1}},
	};

	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attributes.qp_state = (enum ibv_qp_state)state;
		assert_int_equal(ibv_modify_qp(qp, &attributes,
					       qp_mask_to(attributes.qp_state, qp->qp_type)),
				 0);
	}
	if (pair->ah == NULL)
		pair->ah = ibv_create_ah(pair->pd, &attributes.ah_attr);
	assert_non_null(pair->ah);
}

/* What a pair has but its ends. */
static struct pair *open_pair(void)
{
	struct pair *pair = aligned_alloc(_Alignof(struct pair), sizeof(*pair));

	assert_non_null(pair);
	*pair = (struct pair){.context = open_device()};
	assert_int_equal(ibv_query_gid_ex(pair->context, 1, 0, &pair->gid, 0), 0);
	pair->pd = ibv_alloc_pd(pair->context);
	assert_non_null(pair->pd);
	pair->mr = ibv_reg_mr(pair->pd, pair->bytes, PAIR_BYTES, PAIR_RIGHTS | IBV_ACCESS_MW_BIND);
	assert_non_null(pair->mr);
	return pair;
}

struct pair *pair_start(enum ibv_qp_type type)
{
	struct pair *pair = open_pair();

	for (uint32_t end = 0; end < 2; end++)
		create_end(pair, end, type);
	for (uint32_t end = 0; end < 2; end++)
		pair_connect(pair, pair->ends[end].qp, pair->ends[1 - end].qp->qp_num, 0);
	return pair;
}

struct pair *pair_start_half(enum ibv_qp_type type, int socket)
{
	struct pair *pair = open_pair();
	uint32_t dest_qpn;

	create_end(pair, 0, type);
	assert_int_equal(write(socket, &pair->ends[0].qp->qp_num, sizeof(uint32_t)),
			 sizeof(uint32_t));
	assert_int_equal(read(socket, &dest_qpn, sizeof(dest_qpn)), sizeof(dest_qpn));
	pair_connect(pair, pair->ends[0].qp, dest_qpn, 0);
	return pair;
}

void pair_stop(struct pair *pair)
{
	for (uint32_t end = 0; end < 2 && pair->ends[end].qp != NULL; end++) {
		assert_int_equal(ibv_destroy_qp(pair->ends[end].qp), 0);
		assert_int_equal(ibv_destroy_cq(pair->ends[end].cq), 0);
	}
	assert_int_equal(ibv_destroy_ah(pair->ah), 0);
	assert_int_equal(ibv_dereg_mr(pair->mr), 0);
	assert_int_equal(ibv_dealloc_pd(pair->pd), 0);
	assert_int_equal(ibv_close_device(pair->context), 0);
	free(pair);
}

struct ibv_wc pair_wait(struct pair *pair, uint32_t end)
{
	struct ibv_wc wc = {0};
	int polled;

	do {
		polled = ibv_poll_cq(pair->ends[end].cq, 1, &wc);
		assert_true(polled >= 0);
	} while (polled == 0);
	return wc;
}

void pair_expect(struct pair *pair, uint32_t end, uint64_t wr_id, enum ibv_wc_status status)
{
	const struct ibv_wc wc = pair_wait(pair, end);

	assert_int_equal(wc.wr_id, wr_id);
	assert_string_equal(ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
}

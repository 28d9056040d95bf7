/* SPDX-License-Identifier: MIT */
/* The half of handle_beside_rdmacm that uses librdmacm. Here the other names are the long ones. */
#define RNIC_RDMA_PREFIXED_NAMES
#include <rnic/rdma.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <arpa/inet.h>
#include <stdio.h>

int make_qp_by_librdmacm(const char *address);

int make_qp_by_librdmacm(const char *address)
{
	struct sockaddr_in where = {.sin_family = AF_INET};
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct rdma_cm_id *id;
	int result;

	inet_pton(AF_INET, address, &where.sin_addr);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) != 0) {
		perror("rdma_create_id");
		return -1;
	}
	result = rdma_bind_addr(id, (struct sockaddr *)&where);
	if (result == 0)
		result = rdma_create_qp(id, NULL, &attributes);
	if (result == 0 && rnic_rdma_destroy_qp((int)id->qp->qp_num) != -1) {
		fputs("a queue pair of librdmacm is known to the handle API\n", stderr);
		result = -1;
	}
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return result;
}

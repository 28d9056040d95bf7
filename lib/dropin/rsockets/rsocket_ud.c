/* SPDX-License-Identifier: MIT */
/* The queue pair of a datagram socket: slots to send from and to receive into. */
#include "lib/dropin/rsockets/rsocket_datagram.h"

#include "proto/wire/ip_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SLOTS_MIN	   2u
#define RECEIVE_SLOT_BYTES (RNIC_GRH_BYTES + RNIC_RSOCKET_DATAGRAM_BYTES)
#define SMALLEST_MTU_BYTES 128u /* the codes of path MTUs double this, from 1 on */

/* --- making ---------------------------------------------------------------------------------- */

static uint32_t count_slots(uint32_t bytes, uint32_t requests, uint32_t most)
{
	uint32_t count = bytes / RNIC_RSOCKET_DATAGRAM_BYTES;

	if (count > requests)
		count = requests;
	if (count > most)
		count = most;
	return count < SLOTS_MIN ? SLOTS_MIN : count;
}

static int size_up(struct rnic_rsocket_datagram *datagram)
{
	const struct rnic_rsocket_options *options = &datagram->rs.options;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	int error = ibv_query_device(datagram->id->verbs, &device);

	if (error == 0)
		error = ibv_query_port(datagram->id->verbs, datagram->id->port_num, &port);
	if (error != 0)
		return -error;
	datagram->packet_bytes = SMALLEST_MTU_BYTES << port.active_mtu;
	datagram->send_count = count_slots(options->send_bytes, options->send_requests,
					   (uint32_t)device.max_qp_wr);
	datagram->receive_count = count_slots(options->receive_bytes, options->receive_requests,
					      (uint32_t)device.max_qp_wr);
	return 0;
}

static int create_slots(struct rnic_rsocket_datagram *datagram)
{
	const size_t send_bytes = (size_t)datagram->send_count * RNIC_RSOCKET_DATAGRAM_BYTES;

	datagram->block_bytes = send_bytes + (size_t)datagram->receive_count * RECEIVE_SLOT_BYTES;
	datagram->block = mmap(NULL, datagram->block_bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (datagram->block == MAP_FAILED) {
		datagram->block = NULL;
		return -errno;
	}
	datagram->send_slots = datagram->block;
	datagram->receive_slots = datagram->block + send_bytes;
	datagram->mr = ibv_reg_mr(datagram->id->pd, datagram->block, datagram->block_bytes,
				  IBV_ACCESS_LOCAL_WRITE);
	if (datagram->mr == NULL)
		return -errno;
	datagram->free_slots = calloc(datagram->send_count, sizeof(*datagram->free_slots));
	if (datagram->free_slots == NULL)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < datagram->send_count; slot++)
		datagram->free_slots[datagram->free_count++] = slot;
	return 0;
}

static int rsocket_ud_create_queues(struct rnic_rsocket_datagram *datagram)
{
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.cap =
			{
				.max_send_wr = datagram->send_count,
				.max_recv_wr = datagram->receive_count,
				.max_send_sge = 1,
				.max_recv_sge = 1,
			},
	};

	datagram->completions = ibv_create_comp_channel(datagram->id->verbs);
	if (datagram->completions == NULL ||
	    fcntl(datagram->completions->fd, F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	datagram->cq = ibv_create_cq(datagram->id->verbs,
				     (int)(datagram->send_count + datagram->receive_count), NULL,
				     datagram->completions, 0);
	if (datagram->cq == NULL)
		return -errno;
	attributes.send_cq = attributes.recv_cq = datagram->cq;
	return rdma_create_qp(datagram->id, NULL, &attributes) == 0 ? 0 : -errno;
}

int rnic_rsocket_ud_create(struct rnic_rsocket_datagram *datagram, struct rdma_cm_id *id)
{
	int error;

	datagram->id = id;
	error = size_up(datagram);
	if (error == 0)
		error = create_slots(datagram);
	if (error == 0)
		error = rsocket_ud_create_queues(datagram);
	for (uint32_t slot = 0; error == 0 && slot < datagram->receive_count; slot++)
		error = rnic_rsocket_ud_post_receive(datagram, slot);
	if (error == 0) {
		datagram->rs.has_queues = true;
		return 0;
	}
	datagram->id = NULL;
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	rnic_rsocket_ud_destroy(datagram);
	return error;
}

void rnic_rsocket_ud_destroy(struct rnic_rsocket_datagram *datagram)
{
	if (datagram->id != NULL && datagram->id->qp != NULL)
		rdma_destroy_qp(datagram->id);
	if (datagram->cq != NULL)
		ibv_destroy_cq(datagram->cq);
	if (datagram->completions != NULL)
		ibv_destroy_comp_channel(datagram->completions);
	if (datagram->mr != NULL)
		ibv_dereg_mr(datagram->mr);
	if (datagram->block != NULL)
		munmap(datagram->block, datagram->block_bytes);
	free(datagram->free_slots);
	if (datagram->id != NULL)
		rdma_destroy_id(datagram->id);
	datagram->cq = NULL;
	datagram->completions = NULL;
	datagram->mr = NULL;
	datagram->block = NULL;
	datagram->free_slots = NULL;
	datagram->free_count = 0;
	datagram->id = NULL;
}

/* --- work ------------------------------------------------------------------------------------ */

uint8_t *rnic_rsocket_ud_receive_slot(const struct rnic_rsocket_datagram *datagram, uint32_t slot)
{
	return datagram->receive_slots + (size_t)slot * RECEIVE_SLOT_BYTES;
}

int rnic_rsocket_ud_post_receive(struct rnic_rsocket_datagram *datagram, uint32_t slot)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)rnic_rsocket_ud_receive_slot(datagram, slot),
		.length = RECEIVE_SLOT_BYTES,
		.lkey = datagram->mr->lkey,
	};
	struct ibv_recv_wr request = {
		.wr_id = RNIC_RSOCKET_UD_RECEIVE | slot,
		.sg_list = &piece,
		.num_sge = 1,
	};
	struct ibv_recv_wr *bad;

	return -ibv_post_recv(datagram->id->qp, &request, &bad);
}

int rnic_rsocket_ud_send(struct rnic_rsocket_datagram *datagram,
			 const struct rnic_rsocket_peer *peer, uint32_t slot, uint32_t bytes)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)datagram->send_slots +
			(size_t)slot * RNIC_RSOCKET_DATAGRAM_BYTES,
		.length = bytes,
		.lkey = datagram->mr->lkey,
	};
	struct ibv_send_wr request = {
		.wr_id = slot,
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud =
			{
				.ah = peer->ah,
				.remote_qpn = peer->qpn,
				.remote_qkey = RDMA_UDP_QKEY,
			},
	};
	struct ibv_send_wr *bad;

	return -ibv_post_send(datagram->id->qp, &request, &bad);
}

/* SPDX-License-Identifier: MIT */
/* Packets that arrive at the queue pair of a datagram socket. */
#include "lib/dropin/rsockets/rsocket_datagram.h"

#include "proto/wire/ip_header.h"

#include <errno.h>

#define BATCH 16

/*
 * True: the application will read it there. Every program that knows the number of the queue pair
 * can send to it, and write any address into the label; only the packet's address is to be
 * believed.
 */
static bool take_received(struct rnic_rsocket_datagram *datagram, uint32_t slot, uint32_t bytes)
{
	struct rnic_rsocket_parcel parcel = {.slot = slot};
	struct rnic_rsocket_label label;
	const uint8_t *grh = rnic_rsocket_ud_receive_slot(datagram, slot);
	uint8_t *data = rnic_rsocket_ud_receive_slot(datagram, slot) + RNIC_GRH_BYTES;
	struct rnic_addresses way;
	int header;

	if (bytes < RNIC_GRH_BYTES)
		return false;
	bytes -= RNIC_GRH_BYTES;
	header = rnic_rsocket_label_decode(data, bytes, &label);
	if (header < 0)
		return false;
	rnic_rsocket_address_to(&label.address, label.port, &parcel.from);
	rnic_grh_read(grh, &way);
	if (!rnic_rsocket_is_from(datagram, &parcel.from, &way.source))
		return false;
	parcel.payload = data + header;
	parcel.bytes = bytes - (uint32_t)header;
	return rnic_rsocket_store(datagram, &parcel);
}

static void take_or_drop(struct rnic_rsocket_datagram *datagram, uint32_t slot, uint32_t bytes)
{
	if (take_received(datagram, slot, bytes))
		return;
	datagram->rs.drops++;
	rnic_rsocket_ud_post_receive(datagram, slot);
}

void rnic_rsocket_take_packets(struct rnic_rsocket_datagram *datagram)
{
	struct ibv_wc completions[BATCH];
	int count;

	if (datagram->cq == NULL)
		return;
	do {
		count = ibv_poll_cq(datagram->cq, BATCH, completions);
		for (int i = 0; i < count; i++) {
			const struct ibv_wc *completion = &completions[i];
			const uint32_t slot = (uint32_t)completion->wr_id;

			if (!(completion->wr_id & RNIC_RSOCKET_UD_RECEIVE))
				datagram->free_slots[datagram->free_count++] = slot;
			else if (completion->status == IBV_WC_SUCCESS)
				take_or_drop(datagram, slot, completion->byte_len);
		}
		datagram->has_news |= count > 0;
	} while (count == BATCH);
	if (count < 0 && datagram->rs.error == 0)
		datagram->rs.error = ENETDOWN;
}

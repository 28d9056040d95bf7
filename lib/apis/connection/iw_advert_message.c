/* SPDX-License-Identifier: MIT */
/* The messages of advertisements: their form on the wire, and the memory that receives them. */
#include "lib/apis/connection/iw_objects.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADVERT_MAGIC UINT32_C(0x52574956) /* "RWIV" */

/* The wire format: big-endian. */
struct advert_message {
	uint32_t magic;
	uint32_t rkey;
	uint64_t address;
	uint64_t length;
};

_Static_assert(sizeof(struct advert_message) == RNIC_IW_ADVERT_BYTES,
	       "an advertisement has 24 bytes");
_Static_assert(sizeof(struct advert_message) <= RNIC_IW_INLINE_BYTES, "it travels inline");

void rnic_iw_encode_advert(const struct iw_lmr *lmr, uint8_t bytes[RNIC_IW_ADVERT_BYTES])
{
	const struct advert_message message = {
		.magic = htobe32(ADVERT_MAGIC),
		.rkey = htobe32(rnic_mr_rkey(lmr->mr)),
		.address = htobe64((uintptr_t)lmr->address),
		.length = htobe64(lmr->length),
	};

	memcpy(bytes, &message, sizeof(message));
}

int rnic_iw_make_advert_memory(struct iw_ctx_conn *ctx)
{
	const size_t bytes = ctx->recv.slots * sizeof(struct advert_message);

	ctx->advert_memory = calloc(1, bytes);
	if (ctx->advert_memory == NULL)
		return -ENOMEM;
	return rnic_reg_mr(ctx->pd->native, ctx->advert_memory, bytes,
			   (uintptr_t)ctx->advert_memory, RNIC_ACCESS_LOCAL_WRITE, &ctx->advert_mr);
}

/* The place of a receive. Requests under way have different places. */
static uint8_t *place_of(const struct iw_ctx_conn *ctx, uint64_t sequence)
{
	return ctx->advert_memory + sequence % ctx->recv.slots * sizeof(struct advert_message);
}

struct rnic_sge rnic_iw_advert_place(const struct iw_ctx_conn *ctx, uint64_t sequence)
{
	return (struct rnic_sge){
		.address = (uintptr_t)place_of(ctx, sequence),
		.length = sizeof(struct advert_message),
		.lkey = rnic_mr_lkey(ctx->advert_mr),
	};
}

void rnic_iw_take_advert(struct iw_ctx_conn *ctx, uint64_t sequence,
			 const struct rnic_completion *completion)
{
	struct rnic_iw_advert advert = {0};
	struct advert_message message;

	memcpy(&message, place_of(ctx, sequence), sizeof(message));
	if (completion->status != RNIC_WC_SUCCESS) {
		advert.error = completion->status == RNIC_WC_LOC_LEN_ERR ? -EPROTO : -ENOTCONN;
	} else if (completion->byte_count != sizeof(message) ||
		   be32toh(message.magic) != ADVERT_MAGIC) {
		advert.error = -EPROTO;
	} else {
		advert.rmr = (struct iw_rmr){
			.address = be64toh(message.address),
			.length = be64toh(message.length),
			.rkey = be32toh(message.rkey),
		};
	}
	rnic_iw_queue_push_advert(&ctx->recv, &advert);
}

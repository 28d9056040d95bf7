/* SPDX-License-Identifier: MIT */
#include "proto/wire/headers.h"

#include "proto/base/be.h"

#include <string.h>

#define BTH_SOLICITED	0x80
#define BTH_MIGRATED	0x40
#define BTH_PAD_SHIFT	4
#define BTH_FECN	0x80
#define BTH_BECN	0x40
#define BTH_ACK_REQUEST 0x80

#define LOW_24_BITS  UINT32_C(0xffffff)
#define FETH_DEFINED UINT32_C(0x3f)

uint8_t *rnic_bth_encode(const struct rnic_bth *bth, uint8_t *out)
{
	out[0] = bth->opcode;
	out[1] = (uint8_t)((bth->solicited ? BTH_SOLICITED : 0) |
			   (bth->migrated ? BTH_MIGRATED : 0) |
			   (bth->pad_bytes & 3) << BTH_PAD_SHIFT | (bth->version & 15));
	rnic_be16_write(out + 2, bth->pkey);
	out[4] = (uint8_t)((bth->fecn ? BTH_FECN : 0) | (bth->becn ? BTH_BECN : 0));
	rnic_be24_write(out + 5, bth->dest_qpn);
	out[8] = bth->ack_request ? BTH_ACK_REQUEST : 0;
	rnic_be24_write(out + 9, bth->psn.value);
	return out + RNIC_BTH_BYTES;
}

const uint8_t *rnic_bth_decode(struct rnic_bth *out, const uint8_t *bytes)
{
	*out = (struct rnic_bth){
		.opcode = bytes[0],
		.solicited = (bytes[1] & BTH_SOLICITED) != 0,
		.migrated = (bytes[1] & BTH_MIGRATED) != 0,
		.pad_bytes = bytes[1] >> BTH_PAD_SHIFT & 3,
		.version = bytes[1] & 15,
		.pkey = rnic_be16_read(bytes + 2),
		.fecn = (bytes[4] & BTH_FECN) != 0,
		.becn = (bytes[4] & BTH_BECN) != 0,
		.dest_qpn = rnic_be24_read(bytes + 5),
		.ack_request = (bytes[8] & BTH_ACK_REQUEST) != 0,
		.psn = rnic_psn(rnic_be24_read(bytes + 9)),
	};
	return bytes + RNIC_BTH_BYTES;
}

uint8_t *rnic_deth_encode(const struct rnic_deth *deth, uint8_t *out)
{
	rnic_be32_write(out, deth->qkey);
	rnic_be32_write(out + 4, deth->source_qpn & LOW_24_BITS);
	return out + RNIC_DETH_BYTES;
}

const uint8_t *rnic_deth_decode(struct rnic_deth *out, const uint8_t *bytes)
{
	out->qkey = rnic_be32_read(bytes);
	out->source_qpn = rnic_be24_read(bytes + 5);
	return bytes + RNIC_DETH_BYTES;
}

uint8_t *rnic_xrceth_encode(uint32_t srqn, uint8_t *out)
{
	rnic_be32_write(out, srqn & LOW_24_BITS);
	return out + RNIC_XRCETH_BYTES;
}

const uint8_t *rnic_xrceth_decode(uint32_t *srqn, const uint8_t *bytes)
{
	*srqn = rnic_be24_read(bytes + 1);
	return bytes + RNIC_XRCETH_BYTES;
}

uint8_t *rnic_feth_encode(uint32_t flush_type, uint8_t *out)
{
	rnic_be32_write(out, flush_type & FETH_DEFINED);
	return out + RNIC_FETH_BYTES;
}

const uint8_t *rnic_feth_decode(uint32_t *flush_type, const uint8_t *bytes)
{
	*flush_type = rnic_be32_read(bytes) & FETH_DEFINED;
	return bytes + RNIC_FETH_BYTES;
}

uint8_t *rnic_reth_encode(const struct rnic_reth *reth, uint8_t *out)
{
	rnic_be64_write(out, reth->address);
	rnic_be32_write(out + 8, reth->rkey);
	rnic_be32_write(out + 12, reth->length);
	return out + RNIC_RETH_BYTES;
}

const uint8_t *rnic_reth_decode(struct rnic_reth *out, const uint8_t *bytes)
{
	out->address = rnic_be64_read(bytes);
	out->rkey = rnic_be32_read(bytes + 8);
	out->length = rnic_be32_read(bytes + 12);
	return bytes + RNIC_RETH_BYTES;
}

uint8_t *rnic_atomic_header_encode(const struct rnic_atomic_header *atomic, uint8_t *out)
{
	rnic_be64_write(out, atomic->address);
	rnic_be32_write(out + 8, atomic->rkey);
	rnic_be64_write(out + 12, atomic->swap_or_add);
	rnic_be64_write(out + 20, atomic->compare);
	return out + RNIC_ATOMIC_BYTES;
}

const uint8_t *rnic_atomic_header_decode(struct rnic_atomic_header *out, const uint8_t *bytes)
{
	out->address = rnic_be64_read(bytes);
	out->rkey = rnic_be32_read(bytes + 8);
	out->swap_or_add = rnic_be64_read(bytes + 12);
	out->compare = rnic_be64_read(bytes + 20);
	return bytes + RNIC_ATOMIC_BYTES;
}

uint8_t *rnic_aeth_encode(const struct rnic_aeth *aeth, uint8_t *out)
{
	out[0] = aeth->syndrome;
	rnic_be24_write(out + 1, aeth->msn);
	return out + RNIC_AETH_BYTES;
}

const uint8_t *rnic_aeth_decode(struct rnic_aeth *out, const uint8_t *bytes)
{
	out->syndrome = bytes[0];
	out->msn = rnic_be24_read(bytes + 1);
	return bytes + RNIC_AETH_BYTES;
}

uint8_t *rnic_atomic_ack_encode(uint64_t original, uint8_t *out)
{
	rnic_be64_write(out, original);
	return out + RNIC_ATOMIC_ACK_BYTES;
}

const uint8_t *rnic_atomic_ack_decode(uint64_t *original, const uint8_t *bytes)
{
	*original = rnic_be64_read(bytes);
	return bytes + RNIC_ATOMIC_ACK_BYTES;
}

uint8_t *rnic_immediate_encode(uint32_t immediate, uint8_t *out)
{
	rnic_be32_write(out, immediate);
	return out + RNIC_IMMEDIATE_BYTES;
}

const uint8_t *rnic_immediate_decode(uint32_t *immediate, const uint8_t *bytes)
{
	*immediate = rnic_be32_read(bytes);
	return bytes + RNIC_IMMEDIATE_BYTES;
}

uint8_t *rnic_invalidate_encode(uint32_t rkey, uint8_t *out)
{
	rnic_be32_write(out, rkey);
	return out + RNIC_INVALIDATE_BYTES;
}

const uint8_t *rnic_invalidate_decode(uint32_t *rkey, const uint8_t *bytes)
{
	*rkey = rnic_be32_read(bytes);
	return bytes + RNIC_INVALIDATE_BYTES;
}

uint8_t *rnic_congestion_encode(uint8_t *out)
{
	memset(out, 0, RNIC_CONGESTION_BYTES);
	return out + RNIC_CONGESTION_BYTES;
}

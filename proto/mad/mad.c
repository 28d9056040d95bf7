/* SPDX-License-Identifier: MIT */
#include "proto/mad/mad.h"

#include "proto/base/be.h"

#include <string.h>

void rnic_mad_header_decode(struct rnic_mad_header *out, const uint8_t *bytes)
{
	out->base_version = bytes[0];
	out->management_class = bytes[1];
	out->class_version = bytes[2];
	out->method = bytes[3];
	out->status = rnic_be16_read(bytes + 4);
	out->class_specific = rnic_be16_read(bytes + 6);
	out->transaction_id = rnic_be64_read(bytes + 8);
	out->attribute_id = rnic_be16_read(bytes + 16);
	out->attribute_modifier = rnic_be32_read(bytes + 20);
}

void rnic_mad_header_encode(const struct rnic_mad_header *header, uint8_t *out)
{
	memset(out, 0, RNIC_MAD_HEADER_BYTES);
	out[0] = header->base_version;
	out[1] = header->management_class;
	out[2] = header->class_version;
	out[3] = header->method;
	rnic_be16_write(out + 4, header->status);
	rnic_be16_write(out + 6, header->class_specific);
	rnic_be64_write(out + 8, header->transaction_id);
	rnic_be16_write(out + 16, header->attribute_id);
	rnic_be32_write(out + 20, header->attribute_modifier);
}

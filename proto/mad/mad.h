/* SPDX-License-Identifier: MIT */
/*
 * The header of every management datagram (IBTA 1.4, 13.4.2). This tree speaks one management
 * class: communication management (chapter 12), in UD datagrams of exactly 256 bytes between queue
 * pairs 1.
 */
#ifndef PROTO_MAD_MAD_H
#define PROTO_MAD_MAD_H

#include <stdint.h>

#define RNIC_MAD_BYTES	      256
#define RNIC_MAD_HEADER_BYTES 24
#define RNIC_MAD_DATA_BYTES   (RNIC_MAD_BYTES - RNIC_MAD_HEADER_BYTES)

#define RNIC_MAD_QPN  1
#define RNIC_MAD_QKEY UINT32_C(0x80010000) /* well known (10.2.5) */

#define RNIC_MAD_BASE_VERSION	  1
#define RNIC_MAD_CLASS_CM	  0x07
#define RNIC_MAD_CLASS_CM_VERSION 2
#define RNIC_MAD_METHOD_SEND	  0x03

struct rnic_mad_header {
	uint8_t base_version;
	uint8_t management_class;
	uint8_t class_version;
	uint8_t method;
	uint16_t status;
	uint16_t class_specific;
	uint64_t transaction_id;
	uint16_t attribute_id;
	uint32_t attribute_modifier;
};

/* Reads and writes exactly RNIC_MAD_HEADER_BYTES; checks nothing. */
void rnic_mad_header_decode(struct rnic_mad_header *out, const uint8_t *bytes);
void rnic_mad_header_encode(const struct rnic_mad_header *header, uint8_t *out);

#endif

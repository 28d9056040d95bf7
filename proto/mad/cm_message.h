/* SPDX-License-Identifier: MIT */
/*
 * Communication management messages between bytes and meaning (IBTA 1.4, 12.6). Only cm_fields.def
 * says which fields there are and where they lie.
 *
 * rnic_cm_decode() promises that the bytes are a message of the kind that it returns. It promises
 * nothing about values: a field holds whatever its bits can hold.
 */
#ifndef PROTO_MAD_CM_MESSAGE_H
#define PROTO_MAD_CM_MESSAGE_H

#include "proto/base/causes.h"
#include "proto/mad/cm_fields.def"
#include "proto/mad/mad.h"

#include <stddef.h>
#include <stdint.h>

/* Attribute identifiers, in the order of their numbers (table 98). */
enum rnic_cm_kind {
	RNIC_CM_REQ = 0x10,
	RNIC_CM_MRA,
	RNIC_CM_REJ,
	RNIC_CM_REP,
	RNIC_CM_RTU,
	RNIC_CM_DREQ,
	RNIC_CM_DREP,
	RNIC_CM_SIDR_REQ,
	RNIC_CM_SIDR_REP,
	RNIC_CM_LAP,
	RNIC_CM_APR,
};

/* The message to which an MRA or a REJ refers. */
enum rnic_cm_subject { RNIC_CM_ABOUT_REQ, RNIC_CM_ABOUT_REP, RNIC_CM_ABOUT_OTHER };

/* REQ's transport service; the last value refers to extended_transport. */
enum rnic_cm_transport {
	RNIC_CM_TRANSPORT_RC,
	RNIC_CM_TRANSPORT_UC,
	RNIC_CM_TRANSPORT_EXTENDED = 3
};
#define RNIC_CM_EXTENDED_TRANSPORT_XRC 1

/* Reasons of a REJ, 12.6.7.2: the ones that this tree sends or explains. */
enum rnic_cm_reject_reason {
	RNIC_CM_REJECT_NO_QP = 1,
	RNIC_CM_REJECT_NO_RESOURCES = 3,
	RNIC_CM_REJECT_TIMEOUT = 4,
	RNIC_CM_REJECT_UNSUPPORTED = 5,
	RNIC_CM_REJECT_INVALID_COMM_ID = 6,
	RNIC_CM_REJECT_INVALID_SERVICE_ID = 8,
	RNIC_CM_REJECT_INVALID_TRANSPORT = 9,
	RNIC_CM_REJECT_STALE_CONNECTION = 10,
	RNIC_CM_REJECT_INVALID_GID = 12,
	RNIC_CM_REJECT_INVALID_MTU = 26,
	RNIC_CM_REJECT_CONSUMER = 28,
	RNIC_CM_REJECT_DUPLICATE_COMM_ID = 30,
};

/* Status of a SIDR_REP, 12.11.1.2. */
enum rnic_cm_sidr_status {
	RNIC_CM_SIDR_SUCCESS,
	RNIC_CM_SIDR_UNSUPPORTED,
	RNIC_CM_SIDR_REJECT,
	RNIC_CM_SIDR_NO_QP,
};

/* Status of an APR, 12.8.2.1. */
enum rnic_cm_apr_status { RNIC_CM_APR_UNSUPPORTED = 2 };

/* The smallest type that holds a field of so many bits. */
#define RNIC_CM_TYPE_1	uint8_t
#define RNIC_CM_TYPE_2	uint8_t
#define RNIC_CM_TYPE_3	uint8_t
#define RNIC_CM_TYPE_4	uint8_t
#define RNIC_CM_TYPE_5	uint8_t
#define RNIC_CM_TYPE_6	uint8_t
#define RNIC_CM_TYPE_7	uint8_t
#define RNIC_CM_TYPE_8	uint8_t
#define RNIC_CM_TYPE_16 uint16_t
#define RNIC_CM_TYPE_20 uint32_t
#define RNIC_CM_TYPE_24 uint32_t
#define RNIC_CM_TYPE_32 uint32_t
#define RNIC_CM_TYPE_64 uint64_t

#define RNIC_CM_MEMBER(message, name, byte, bit, width) RNIC_CM_TYPE_##width name;
#define RNIC_CM_ARRAY(message, name, byte, length)	uint8_t name[length];

struct rnic_cm_req {
	RNIC_CM_FIELDS_REQ(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_mra {
	RNIC_CM_FIELDS_MRA(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_rej {
	RNIC_CM_FIELDS_REJ(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_rep {
	RNIC_CM_FIELDS_REP(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_rtu {
	RNIC_CM_FIELDS_RTU(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_dreq {
	RNIC_CM_FIELDS_DREQ(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_drep {
	RNIC_CM_FIELDS_DREP(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_sidr_req {
	RNIC_CM_FIELDS_SIDR_REQ(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_sidr_rep {
	RNIC_CM_FIELDS_SIDR_REP(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_lap {
	RNIC_CM_FIELDS_LAP(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};
struct rnic_cm_apr {
	RNIC_CM_FIELDS_APR(RNIC_CM_MEMBER, RNIC_CM_ARRAY)
};

#undef RNIC_CM_MEMBER
#undef RNIC_CM_ARRAY

struct rnic_cm_message {
	enum rnic_cm_kind kind;
	uint64_t transaction_id;
	uint32_t attribute_modifier; /* REQ, REP: what belongs to the vendor_id; else 0 */
	union {
		struct rnic_cm_req req;
		struct rnic_cm_mra mra;
		struct rnic_cm_rej rej;
		struct rnic_cm_rep rep;
		struct rnic_cm_rtu rtu;
		struct rnic_cm_dreq dreq;
		struct rnic_cm_drep drep;
		struct rnic_cm_sidr_req sidr_req;
		struct rnic_cm_sidr_rep sidr_rep;
		struct rnic_cm_lap lap;
		struct rnic_cm_apr apr;
	};
};

/*
 * Reads the payload of a datagram. Errors: -EBADMSG it is not as long as a MAD; -EPROTO another
 * management class, version or method; -EOPNOTSUPP no message of ours. On error `out` is untouched;
 * count it and drop it.
 */
int rnic_cm_decode(struct rnic_cm_message *out, const uint8_t *bytes, size_t length);

/* Writes a whole MAD, reserved bits zero. A value loses the bits beyond the field's width. */
void rnic_cm_encode(const struct rnic_cm_message *message, uint8_t out[RNIC_MAD_BYTES]);

/* "REQ"; NULL for a number that is no message. */
const char *rnic_cm_kind_text(uint32_t kind);

/* What a REJ of this reason, and a SIDR_REP of this status other than SUCCESS, stand for. */
enum rnic_cause rnic_cm_reject_cause(uint32_t reason);
enum rnic_cause rnic_cm_sidr_cause(uint32_t status);

#endif

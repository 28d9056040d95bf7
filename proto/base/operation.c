/* SPDX-License-Identifier: MIT */
#include "proto/base/operation.h"

const struct rnic_request_operation rnic_request_operations[RNIC_OPERATION_COUNT] = {
#define RNIC_REQUEST(operation_, rights_, length_, key_, answer_, execution_)                      \
	[RNIC_OPERATION_##operation_] = {.access = (rights_), .answer = RNIC_ANSWER_##answer_},
#include "proto/base/operations.def"
};

/* The answer to each request, as a constant for the table below. */
enum {
#define RNIC_REQUEST(operation_, rights_, length_, key_, answer_, execution_)                      \
	ANSWER_TO_##operation_ = RNIC_ANSWER_##answer_,
#include "proto/base/operations.def"
};

#define RC	  (1U << RNIC_QP_TYPE_RC)
#define UC	  (1U << RNIC_QP_TYPE_UC)
#define UD	  (1U << RNIC_QP_TYPE_UD)
#define XRC	  (1U << RNIC_QP_TYPE_XRC_INITIATOR)
#define RELIABLE  (RC | XRC)
#define CONNECTED (RELIABLE | UC)

/* sge_bytes_min, sge_bytes_max */
#define LENGTH_ANY			0, RNIC_MESSAGE_BYTES_MAX
#define LENGTH_NONE			0, 0
#define LENGTH_EIGHT			RNIC_ATOMIC_WORD_BYTES, RNIC_ATOMIC_WORD_BYTES
#define SET_LENGTHS(minimum_, maximum_) .sge_bytes_min = (minimum_), .sge_bytes_max = (maximum_)
#define LENGTHS(...)			SET_LENGTHS(__VA_ARGS__)

const struct rnic_wr_operation rnic_wr_operations[RNIC_WR_OPCODE_COUNT + 1] = {
#define RNIC_WR(opcode_, services_, payload_, length_, operands_, immediate_, operation_,          \
		completion_)                                                                       \
	[RNIC_WR_##opcode_] = {                                                                    \
		.services = (services_),                                                           \
		.payload = RNIC_WR_PAYLOAD_##payload_,                                             \
		.operands = RNIC_WR_OPERANDS_##operands_,                                          \
		.immediate = RNIC_WR_IMMEDIATE_##immediate_,                                       \
		.request = RNIC_OPERATION_##operation_,                                            \
		.completion = RNIC_WC_##completion_,                                               \
		.has_response = (int)ANSWER_TO_##operation_ != RNIC_ANSWER_ACKNOWLEDGE,            \
		.has_result = RNIC_WR_PAYLOAD_##payload_ == RNIC_WR_PAYLOAD_IN,                    \
		.may_solicit = RNIC_OPERATION_##operation_ == RNIC_OPERATION_SEND ||               \
			       RNIC_WR_IMMEDIATE_##immediate_ == RNIC_WR_IMMEDIATE_DATA,           \
		.sge_access = RNIC_WR_PAYLOAD_##payload_ == RNIC_WR_PAYLOAD_IN                     \
				      ? RNIC_ACCESS_LOCAL_WRITE                                    \
				      : 0,                                                         \
		LENGTHS(LENGTH_##length_),                                                         \
	},
#define RNIC_WR_LOCAL(opcode_, services_, operands_, immediate_, completion_, execution_)          \
	[RNIC_WR_##opcode_] = {                                                                    \
		.services = (services_),                                                           \
		.operands = RNIC_WR_OPERANDS_##operands_,                                          \
		.immediate = RNIC_WR_IMMEDIATE_##immediate_,                                       \
		.completion = RNIC_WC_##completion_,                                               \
		.is_local = true,                                                                  \
	},
#include "proto/base/operations.def"
};

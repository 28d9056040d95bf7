/* SPDX-License-Identifier: MIT */
/* The words of a script for the numbers of verbs and of the wire. */
#ifndef TESTS_SCRIPT_SCRIPT_NAMES_H
#define TESTS_SCRIPT_SCRIPT_NAMES_H

#include "proto/base/verbs_types.h"
#include "tests/script/script.h"

#define SCRIPT_NAK_CODES   5
#define SCRIPT_ACCESS_BITS 10
#define SCRIPT_WC_OPCODES  (RNIC_WC_RECV_RDMA_WITH_IMM + 1)

extern const char *const script_state_names[RNIC_QP_STATE_COUNT];
extern const char *const script_wr_opcode_names[RNIC_WR_OPCODE_COUNT];
extern const char *const script_wc_status_names[RNIC_WC_STATUS_COUNT];
extern const char *const script_wc_opcode_names[SCRIPT_WC_OPCODES];
extern const char *const script_event_names[RNIC_EVENT_COUNT];
extern const char *const script_nak_names[SCRIPT_NAK_CODES];
extern const char *const script_qp_names[SCRIPT_QP_COUNT];
extern const char *const script_access_names[SCRIPT_ACCESS_BITS]; /* index: bit of rnic_access */

#endif

/* SPDX-License-Identifier: MIT */
#include "tests/script/script_names.h"

#include "proto/wire/syndrome.h"

#include <stddef.h>

#define STATE(name)  [RNIC_QP_STATE_##name] = #name
#define WR(name)     [RNIC_WR_##name] = #name
#define STATUS(name) [RNIC_WC_##name] = #name
#define WC(name)     [RNIC_WC_##name] = #name
#define EVENT(name)  [RNIC_EVENT_##name] = #name
#define NAK(name)    [RNIC_NAK_##name] = #name

const char *const script_state_names[RNIC_QP_STATE_COUNT] = {
	STATE(RESET), STATE(INIT), STATE(RTR), STATE(RTS), STATE(SQD), STATE(SQE), STATE(ERR),
};

const char *const script_qp_names[SCRIPT_QP_COUNT] = {
	[SCRIPT_QP_RC] = "RC",
	[SCRIPT_QP_RC_SRQ] = "RC_SRQ",
	[SCRIPT_QP_XRC_TARGET] = "XRC_TARGET",
	[SCRIPT_QP_XRC_INITIATOR] = "XRC_INITIATOR",
	[SCRIPT_QP_UD] = "UD",
};

const char *const script_wr_opcode_names[RNIC_WR_OPCODE_COUNT] = {
#define RNIC_WR(opcode_, ...)	    WR(opcode_),
#define RNIC_WR_LOCAL(opcode_, ...) WR(opcode_),
#include "proto/base/operations.def"
};

const char *const script_wc_status_names[RNIC_WC_STATUS_COUNT] = {
	STATUS(SUCCESS),	   STATUS(LOC_LEN_ERR),
	STATUS(LOC_QP_OP_ERR),	   STATUS(LOC_EEC_OP_ERR),
	STATUS(LOC_PROT_ERR),	   STATUS(WR_FLUSH_ERR),
	STATUS(MW_BIND_ERR),	   STATUS(BAD_RESP_ERR),
	STATUS(LOC_ACCESS_ERR),	   STATUS(REM_INV_REQ_ERR),
	STATUS(REM_ACCESS_ERR),	   STATUS(REM_OP_ERR),
	STATUS(RETRY_EXC_ERR),	   STATUS(RNR_RETRY_EXC_ERR),
	STATUS(LOC_RDD_VIOL_ERR),  STATUS(REM_INV_RD_REQ_ERR),
	STATUS(REM_ABORT_ERR),	   STATUS(INV_EECN_ERR),
	STATUS(INV_EEC_STATE_ERR), STATUS(FATAL_ERR),
	STATUS(RESP_TIMEOUT_ERR),  STATUS(GENERAL_ERR),
};

const char *const script_wc_opcode_names[SCRIPT_WC_OPCODES] = {
	WC(SEND),	  WC(RDMA_WRITE), WC(RDMA_READ),	  WC(COMPARE_SWAP),
	WC(FETCH_ADD),	  WC(BIND_MW),	  WC(LOCAL_INVALIDATE),	  WC(FLUSH),
	WC(ATOMIC_WRITE), WC(RECV),	  WC(RECV_RDMA_WITH_IMM),
};

const char *const script_event_names[RNIC_EVENT_COUNT] = {
	EVENT(CQ_ERR),
	EVENT(QP_FATAL),
	EVENT(QP_REQ_ERR),
	EVENT(QP_ACCESS_ERR),
	EVENT(COMM_EST),
	EVENT(SQ_DRAINED),
	EVENT(PATH_MIG),
	EVENT(PATH_MIG_ERR),
	EVENT(DEVICE_FATAL),
	EVENT(PORT_ACTIVE),
	EVENT(PORT_ERR),
	EVENT(LID_CHANGE),
	EVENT(PKEY_CHANGE),
	EVENT(SM_CHANGE),
	EVENT(SRQ_ERR),
	EVENT(SRQ_LIMIT_REACHED),
	EVENT(QP_LAST_WQE_REACHED),
	EVENT(CLIENT_REREGISTER),
	EVENT(GID_CHANGE),
};

const char *const script_nak_names[SCRIPT_NAK_CODES] = {
	NAK(PSN_SEQUENCE_ERROR),       NAK(INVALID_REQUEST),	NAK(REMOTE_ACCESS_ERROR),
	NAK(REMOTE_OPERATIONAL_ERROR), NAK(INVALID_RD_REQUEST),
};

const char *const script_access_names[SCRIPT_ACCESS_BITS] = {
	"local", "write", "read", "atomic", "bind", "zero_based", NULL, NULL, "flush", "persistent",
};

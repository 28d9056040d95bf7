/* SPDX-License-Identifier: MIT */
#include "proto/base/wc_status.h"

#include "proto/base/verbs_types.h"

#include <stddef.h>

static const struct {
	const char *name;
	const char *text;
} statuses[RNIC_WC_STATUS_COUNT] = {
	[RNIC_WC_SUCCESS] = {"SUCCESS", "success"},
	[RNIC_WC_LOC_LEN_ERR] = {"LOC_LEN_ERR", "local length error"},
	[RNIC_WC_LOC_QP_OP_ERR] = {"LOC_QP_OP_ERR", "local QP operation error"},
	[RNIC_WC_LOC_EEC_OP_ERR] = {"LOC_EEC_OP_ERR", "local EE context operation error"},
	[RNIC_WC_LOC_PROT_ERR] = {"LOC_PROT_ERR", "local protection error"},
	[RNIC_WC_WR_FLUSH_ERR] = {"WR_FLUSH_ERR", "Work Request Flushed Error"},
	[RNIC_WC_MW_BIND_ERR] = {"MW_BIND_ERR", "memory management operation error"},
	[RNIC_WC_BAD_RESP_ERR] = {"BAD_RESP_ERR", "bad response error"},
	[RNIC_WC_LOC_ACCESS_ERR] = {"LOC_ACCESS_ERR", "local access error"},
	[RNIC_WC_REM_INV_REQ_ERR] = {"REM_INV_REQ_ERR", "remote invalid request error"},
	[RNIC_WC_REM_ACCESS_ERR] = {"REM_ACCESS_ERR", "remote access error"},
	[RNIC_WC_REM_OP_ERR] = {"REM_OP_ERR", "remote operation error"},
	[RNIC_WC_RETRY_EXC_ERR] = {"RETRY_EXC_ERR", "transport retry counter exceeded"},
	[RNIC_WC_RNR_RETRY_EXC_ERR] = {"RNR_RETRY_EXC_ERR", "RNR retry counter exceeded"},
	[RNIC_WC_LOC_RDD_VIOL_ERR] = {"LOC_RDD_VIOL_ERR", "local RDD violation error"},
	[RNIC_WC_REM_INV_RD_REQ_ERR] = {"REM_INV_RD_REQ_ERR", "remote invalid RD request"},
	[RNIC_WC_REM_ABORT_ERR] = {"REM_ABORT_ERR", "aborted error"},
	[RNIC_WC_INV_EECN_ERR] = {"INV_EECN_ERR", "invalid EE context number"},
	[RNIC_WC_INV_EEC_STATE_ERR] = {"INV_EEC_STATE_ERR", "invalid EE context state"},
	[RNIC_WC_FATAL_ERR] = {"FATAL_ERR", "fatal error"},
	[RNIC_WC_RESP_TIMEOUT_ERR] = {"RESP_TIMEOUT_ERR", "response timeout error"},
	[RNIC_WC_GENERAL_ERR] = {"GENERAL_ERR", "general error"},
};

const char *rnic_wc_status_name(uint32_t status)
{
	return status < RNIC_WC_STATUS_COUNT ? statuses[status].name : NULL;
}

const char *rnic_wc_status_text(uint32_t status)
{
	return status < RNIC_WC_STATUS_COUNT ? statuses[status].text : NULL;
}

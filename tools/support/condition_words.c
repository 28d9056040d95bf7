/* SPDX-License-Identifier: MIT */
#include "tools/support/condition_words.h"

const struct condition_word condition_link_words[] = {
	{"down", RNIC_CONDITION_LINK_DOWN, NULL},
	{"up", RNIC_CONDITION_LINK_UP, NULL},
	{"flap", RNIC_CONDITION_LINK_FLAP, "times (DOWN/UP, such as 500ms/2s)"},
	{"renumber", RNIC_CONDITION_GID_RENUMBER, NULL},
	{0},
};

const struct condition_word condition_event_words[] = {
	{"port-err", RNIC_CONDITION_PORT_ERR, NULL},
	{"port-active", RNIC_CONDITION_PORT_ACTIVE, NULL},
	{"gid-change", RNIC_CONDITION_GID_CHANGE, NULL},
	{"device-fatal", RNIC_CONDITION_DEVICE_FATAL, NULL},
	{"qp-fatal", RNIC_CONDITION_QP_FATAL, "queue pair (QPN)"},
	{"cq-err", RNIC_CONDITION_CQ_ERR, "completion queue (CQ)"},
	{"srq-err", RNIC_CONDITION_SRQ_ERR, "shared receive queue (SRQN)"},
	{0},
};

const struct condition_word condition_qp_words[] = {
	{"error", RNIC_CONDITION_QP_ERROR, "queue pair (QPN)"},
	{0},
};

/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/qp_transition.h"

enum service_column {
	COLUMN_RC,
	COLUMN_UC,
	COLUMN_UD,
	COLUMN_XRC_INITIATOR,
	COLUMN_XRC_TARGET,
	COLUMN_COUNT,
};

struct transition {
	bool is_allowed[COLUMN_COUNT];
	uint32_t required[COLUMN_COUNT];
	uint32_t optional[COLUMN_COUNT];
};

/* clang-format off */
#define STATE	     RNIC_QP_ATTR_STATE
#define CURRENT	     RNIC_QP_ATTR_CURRENT_STATE
#define ACCESS	     RNIC_QP_ATTR_ACCESS_FLAGS
#define PKEY	     RNIC_QP_ATTR_PKEY_INDEX
#define PORT	     RNIC_QP_ATTR_PORT
#define QKEY	     RNIC_QP_ATTR_QKEY
#define AV	     RNIC_QP_ATTR_AV
#define MTU	     RNIC_QP_ATTR_PATH_MTU
#define TIMEOUT	     RNIC_QP_ATTR_TIMEOUT
#define RETRY	     RNIC_QP_ATTR_RETRY_COUNT
#define RNR_RETRY    RNIC_QP_ATTR_RNR_RETRY
#define RQ_PSN	     RNIC_QP_ATTR_RQ_PSN
#define SQ_PSN	     RNIC_QP_ATTR_SQ_PSN
#define RD_ATOMIC    RNIC_QP_ATTR_MAX_RD_ATOMIC
#define DEST_ATOMIC  RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC
#define ALT	     RNIC_QP_ATTR_ALTERNATE_PATH
#define MIN_RNR	     RNIC_QP_ATTR_MIN_RNR_TIMER
#define MIGRATION    RNIC_QP_ATTR_PATH_MIGRATION_STATE
#define DEST_QPN     RNIC_QP_ATTR_DEST_QPN
#define SQD_NOTIFY   RNIC_QP_ATTR_EN_SQD_ASYNC_NOTIFY

#define ALL_ALLOWED {true, true, true, true, true}
#define TO_RESET    [RNIC_QP_STATE_RESET] = {.is_allowed = ALL_ALLOWED}
#define TO_ERR	    [RNIC_QP_STATE_ERR] = {.is_allowed = ALL_ALLOWED}

/* The same mask for all services but UD. */
#define CONNECTED_AND_UD(connected, ud) {(connected), (connected), (ud), (connected), (connected)}

#define PEER	    (AV | MTU | DEST_QPN | RQ_PSN)
#define RETRIES	    (TIMEOUT | RETRY | RNR_RETRY)
#define LIVE	    (CURRENT | ALT | ACCESS | MIGRATION)
#define DRAINED	    (ALT | ACCESS | PKEY | MIGRATION)
#define LIVE_MASKS  {LIVE | MIN_RNR, LIVE, CURRENT | QKEY, LIVE, LIVE | MIN_RNR}

/* Columns: RC, UC, UD, XRC initiator, XRC target. */
static const struct transition transitions[RNIC_QP_STATE_COUNT][RNIC_QP_STATE_COUNT] = {
	[RNIC_QP_STATE_RESET] = {
		TO_RESET,
		[RNIC_QP_STATE_INIT] = {
			.is_allowed = ALL_ALLOWED,
			.required = CONNECTED_AND_UD(PKEY | PORT | ACCESS, PKEY | PORT | QKEY),
		},
	},
	[RNIC_QP_STATE_INIT] = {
		TO_RESET,
		TO_ERR,
		[RNIC_QP_STATE_INIT] = {
			.is_allowed = ALL_ALLOWED,
			.optional = CONNECTED_AND_UD(PKEY | PORT | ACCESS, PKEY | PORT | QKEY),
		},
		[RNIC_QP_STATE_RTR] = {
			.is_allowed = ALL_ALLOWED,
			.required = {PEER | DEST_ATOMIC | MIN_RNR, PEER, 0, PEER,
				     PEER | DEST_ATOMIC | MIN_RNR},
			.optional = CONNECTED_AND_UD(ALT | ACCESS | PKEY, PKEY | QKEY),
		},
	},
	[RNIC_QP_STATE_RTR] = {
		TO_RESET,
		TO_ERR,
		[RNIC_QP_STATE_RTS] = {
			.is_allowed = ALL_ALLOWED,
			.required = {RETRIES | SQ_PSN | RD_ATOMIC, SQ_PSN, SQ_PSN,
				     RETRIES | SQ_PSN | RD_ATOMIC, TIMEOUT | SQ_PSN},
			.optional = LIVE_MASKS,
		},
	},
	[RNIC_QP_STATE_RTS] = {
		TO_RESET,
		TO_ERR,
		[RNIC_QP_STATE_RTS] = {.is_allowed = ALL_ALLOWED, .optional = LIVE_MASKS},
		[RNIC_QP_STATE_SQD] = {
			.is_allowed = ALL_ALLOWED,
			.optional = CONNECTED_AND_UD(SQD_NOTIFY, SQD_NOTIFY),
		},
	},
	[RNIC_QP_STATE_SQD] = {
		TO_RESET,
		TO_ERR,
		[RNIC_QP_STATE_RTS] = {.is_allowed = ALL_ALLOWED, .optional = LIVE_MASKS},
		[RNIC_QP_STATE_SQD] = {
			.is_allowed = ALL_ALLOWED,
			.optional = {DRAINED | PORT | AV | RETRIES | RD_ATOMIC | DEST_ATOMIC |
					     MIN_RNR,
				     DRAINED | AV, PKEY | QKEY,
				     DRAINED | PORT | AV | RETRIES | RD_ATOMIC,
				     DRAINED | PORT | AV | TIMEOUT | DEST_ATOMIC | MIN_RNR},
		},
	},
	[RNIC_QP_STATE_SQE] = {
		TO_RESET,
		TO_ERR,
		[RNIC_QP_STATE_RTS] = {
			.is_allowed = {[COLUMN_UC] = true, [COLUMN_UD] = true},
			.optional = {[COLUMN_UC] = CURRENT | ACCESS, [COLUMN_UD] = CURRENT | QKEY},
		},
	},
	[RNIC_QP_STATE_ERR] = {
		TO_RESET,
		TO_ERR,
	},
};
/* clang-format on */

static enum service_column column_of(enum rnic_qp_type type)
{
	switch (type) {
	case RNIC_QP_TYPE_RC:
		return COLUMN_RC;
	case RNIC_QP_TYPE_UC:
		return COLUMN_UC;
	case RNIC_QP_TYPE_UD:
		return COLUMN_UD;
	case RNIC_QP_TYPE_XRC_INITIATOR:
		return COLUMN_XRC_INITIATOR;
	case RNIC_QP_TYPE_XRC_TARGET:
		return COLUMN_XRC_TARGET;
	}
	return COLUMN_COUNT;
}

bool qp_transition_masks(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
			 uint32_t *required, uint32_t *optional)
{
	enum service_column column = column_of(type);
	const struct transition *transition;

	if (column == COLUMN_COUNT || from >= RNIC_QP_STATE_COUNT || to >= RNIC_QP_STATE_COUNT)
		return false;
	transition = &transitions[from][to];
	*required = transition->required[column];
	*optional = transition->optional[column];
	return transition->is_allowed[column];
}

bool qp_transition_check(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
			 uint32_t mask)
{
	uint32_t required, optional;

	return qp_transition_masks(type, from, to, &required, &optional) &&
	       (mask & required) == required && (mask & ~(required | optional | STATE)) == 0;
}

/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/ah.h"
#include "lib/nic/engine/verbs/qp.h"
#include "lib/nic/engine/verbs/qp_attributes.h"
#include "lib/nic/engine/verbs/qp_transition.h"
#include "proto/base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAMES_BYTES 112

/* As the person who reads it wrote them. */
static const char *const attribute_names[] = {
	"STATE",
	"CUR_STATE",
	"EN_SQD_ASYNC_NOTIFY",
	"ACCESS_FLAGS",
	"PKEY_INDEX",
	"PORT",
	"QKEY",
	"AV",
	"PATH_MTU",
	"TIMEOUT",
	"RETRY_CNT",
	"RNR_RETRY",
	"RQ_PSN",
	"MAX_QP_RD_ATOMIC",
	"ALT_PATH",
	"MIN_RNR_TIMER",
	"SQ_PSN",
	"MAX_DEST_RD_ATOMIC",
	"PATH_MIG_STATE",
	"CAP",
	"DEST_QPN",
};

const char *qp_name_of_state(uint32_t state)
{
	static const char *const names[RNIC_QP_STATE_COUNT] = {"RESET", "INIT", "RTR", "RTS",
							       "SQD",	"SQE",	"ERR"};

	return state < RNIC_QP_STATE_COUNT ? names[state] : "no state";
}

/* "IBV_QP_AV, IBV_QP_DEST_QPN"; what does not fit is left out. */
static void name_attributes(uint32_t mask, char names[NAMES_BYTES])
{
	size_t length = 0;

	snprintf(names, NAMES_BYTES, "attributes that are not known");
	for (size_t i = 0; i < RNIC_COUNT_OF(attribute_names); i++) {
		const char *separator = length > 0 ? ", " : "";

		if ((mask & UINT32_C(1) << i) == 0 ||
		    length + strlen(attribute_names[i]) + sizeof(", IBV_QP_") > NAMES_BYTES)
			continue;
		length += (size_t)snprintf(names + length, NAMES_BYTES - length, "%sIBV_QP_%s",
					   separator, attribute_names[i]);
	}
}

static void write_value_fault(const struct qp *qp, const struct rnic_qp_attributes *attributes,
			      uint32_t mask, char *text, uint32_t text_bytes)
{
	uint32_t bad = qp_attributes_refused(attributes, mask);
	char names[NAMES_BYTES];

	name_attributes(bad, names);
	if (bad & (RNIC_QP_ATTR_ALTERNATE_PATH | RNIC_QP_ATTR_PATH_MIGRATION_STATE))
		snprintf(text, text_bytes, "%s: no path migrates on a RoCE device", names);
	else if (bad != 0)
		snprintf(text, text_bytes, "the value of %s is out of range", names);
	else if ((mask & RNIC_QP_ATTR_CURRENT_STATE) && attributes->current_state != qp->state)
		snprintf(text, text_bytes, "cur_qp_state is %s, and the queue pair is in %s",
			 qp_name_of_state(attributes->current_state), qp_name_of_state(qp->state));
	else if ((mask & RNIC_QP_ATTR_PKEY_INDEX) &&
		 !pkey_is_valid(qp->engine->pkeys[attributes->pkey_index]))
		snprintf(text, text_bytes, "there is no partition key with index %u",
			 attributes->pkey_index);
	else if ((mask & RNIC_QP_ATTR_AV) &&
		 !ah_path_is_usable(qp->engine, &attributes->path, false))
		ah_path_refusal(qp->engine, &attributes->path, text, text_bytes);
	else
		snprintf(text, text_bytes,
			 "max_dest_rd_atomic is more than when the queue pair went to RTR");
}

void qp_modify_refusal(const struct qp *qp, const struct rnic_qp_attributes *attributes,
		       uint32_t mask, char *text, uint32_t text_bytes)
{
	uint32_t to = mask & RNIC_QP_ATTR_STATE ? attributes->state : qp->state;
	uint32_t required = 0, optional = 0, missing, superfluous;
	bool is_known =
		qp_transition_masks((enum rnic_qp_type)qp->type, (enum rnic_qp_state)qp->state,
				    (enum rnic_qp_state)to, &required, &optional);
	char names[NAMES_BYTES];

	missing = required & ~mask;
	superfluous = mask & ~(required | optional | RNIC_QP_ATTR_STATE);
	name_attributes(missing != 0 ? missing : superfluous, names);
	if (!is_known)
		snprintf(text, text_bytes, "a queue pair in %s cannot go to %s",
			 qp_name_of_state(qp->state), qp_name_of_state(to));
	else if (missing != 0)
		snprintf(text, text_bytes, "from %s to %s without %s", qp_name_of_state(qp->state),
			 qp_name_of_state(to), names);
	else if (superfluous != 0)
		snprintf(text, text_bytes, "from %s to %s not with %s", qp_name_of_state(qp->state),
			 qp_name_of_state(to), names);
	else
		write_value_fault(qp, attributes, mask, text, text_bytes);
}

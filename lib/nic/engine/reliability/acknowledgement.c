/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/acknowledgement.h"

#include "lib/nic/engine/objects/qp_record.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"

void acknowledgement_owe(struct qp *qp, uint8_t syndrome, struct rnic_psn psn)
{
	struct responder *responder = &qp->responder;

	if (rnic_syndrome_kind(syndrome) != RNIC_SYNDROME_ACK)
		qp_record_nak(qp, RNIC_RECORD_NAK_SENT, syndrome, psn.value);
	responder->has_acknowledge = true;
	responder->syndrome = syndrome;
	responder->acknowledge_psn = psn;
	responder->acknowledge_msn = responder->msn;
	ready_list_add(qp);
}

bool acknowledgement_owes_nak(const struct responder *responder)
{
	return responder->has_acknowledge &&
	       rnic_syndrome_kind(responder->syndrome) != RNIC_SYNDROME_ACK;
}

void acknowledgement_queue(struct qp *qp, struct rnic_psn psn)
{
	const struct responder *responder = &qp->responder;
	bool owes_more = responder->has_acknowledge &&
			 rnic_psn_distance(responder->acknowledge_psn, psn) > 0;

	if (!acknowledgement_owes_nak(responder) && !owes_more)
		acknowledgement_owe(qp, ACKNOWLEDGEMENT_SYNDROME, psn);
}

void acknowledgement_queue_last(struct qp *qp)
{
	const struct responder *responder = &qp->responder;
	const struct rnic_psn last = rnic_psn_add(responder->expected_psn, -1);

	if (qp->state != RNIC_QP_STATE_ERR && !responder->has_nak_pending &&
	    responder_resources_find(&qp->responder.resources, last) == NULL)
		acknowledgement_queue(qp, last);
}

void acknowledgement_end_before(struct qp *qp, struct rnic_psn psn, uint32_t msn)
{
	struct responder *responder = &qp->responder;
	const struct rnic_psn last = rnic_psn_add(psn, -1);
	const bool is_first = msn == 0 && rnic_psn_equal(psn, rnic_psn(qp->attributes.rq_psn));

	responder->has_acknowledge = false;
	if (is_first || responder_resources_find(&responder->resources, last) != NULL)
		return;
	acknowledgement_owe(qp, ACKNOWLEDGEMENT_SYNDROME, last);
	responder->acknowledge_msn = msn;
}

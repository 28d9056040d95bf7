/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/withheld_acknowledgement.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/acknowledgement.h"

void withheld_acknowledgement_begin(struct qp *qp)
{
	struct withheld_acknowledgement *withheld = &qp->withheld_acknowledgement;

	if (withheld_acknowledgement_is_on(qp))
		return;
	withheld->due_ns = qp->engine->now_ns + LIMIT_ACK_WITHHELD_NS;
	list_add_tail(&qp->engine->withheld_acknowledgements, &withheld->node);
}

bool withheld_acknowledgement_is_on(const struct qp *qp)
{
	return list_is_linked(&qp->withheld_acknowledgement.node);
}

void withheld_acknowledgement_drop(struct qp *qp)
{
	list_remove(&qp->withheld_acknowledgement.node);
}

void withheld_acknowledgement_tell(struct qp *qp)
{
	if (!withheld_acknowledgement_is_on(qp))
		return;
	withheld_acknowledgement_drop(qp);
	qp->responder.sends_again = false;
	acknowledgement_queue_last(qp);
}

static struct qp *first_withheld(const struct engine *engine)
{
	return list_first_entry(&engine->withheld_acknowledgements, struct qp,
				withheld_acknowledgement.node);
}

uint64_t withheld_acknowledgement_next_ns(const struct engine *engine)
{
	return list_is_empty(&engine->withheld_acknowledgements)
		       ? UINT64_MAX
		       : first_withheld(engine)->withheld_acknowledgement.due_ns;
}

void withheld_acknowledgement_expire(struct engine *engine)
{
	while (withheld_acknowledgement_next_ns(engine) <= engine->now_ns)
		withheld_acknowledgement_tell(first_withheld(engine));
}

void withheld_acknowledgement_tell_all(struct engine *engine)
{
	while (!list_is_empty(&engine->withheld_acknowledgements))
		withheld_acknowledgement_tell(first_withheld(engine));
}

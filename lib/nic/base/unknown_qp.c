/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/unknown_qp.h"

#include "proto/wire/gid.h"

void unknown_qp_note(struct unknown_qp *unknown, const struct rnic_gid *source, uint32_t qpn)
{
	if (unknown->qpn != qpn || !rnic_gid_equal(&unknown->source, source)) {
		/* One that is due stays until it is taken: a turn brings few packets. */
		if (unknown->is_due)
			return;
		*unknown = (struct unknown_qp){.source = *source, .qpn = qpn};
	}
	if (unknown->packets < UINT32_MAX && ++unknown->packets == UNKNOWN_QP_PACKETS)
		unknown->is_due = true;
}

bool unknown_qp_take(struct unknown_qp *unknown, struct unknown_qp *taken)
{
	if (!unknown->is_due)
		return false;
	*taken = *unknown;
	unknown->is_due = false;
	return true;
}

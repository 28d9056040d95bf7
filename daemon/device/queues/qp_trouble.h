/* SPDX-License-Identifier: MIT */
/* What went wrong for a queue pair, in words, for the host's list of troubles. */
#ifndef DAEMON_DEVICE_QUEUES_QP_TROUBLE_H
#define DAEMON_DEVICE_QUEUES_QP_TROUBLE_H

struct qp;

/* engine_sink.trouble; `context` is the session_set. */
void qp_trouble_note(void *context, const struct qp *qp);

#endif

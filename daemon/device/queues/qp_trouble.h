/* SPDX-License-Identifier: MIT */
/* Describes the failure of a queue pair in words, for the host's list of troubles. */
#ifndef DAEMON_DEVICE_QUEUES_QP_TROUBLE_H
#define DAEMON_DEVICE_QUEUES_QP_TROUBLE_H

struct qp;

/* The callback engine_sink.trouble; `context` is the session_set. */
void qp_trouble_note(void *context, const struct qp *qp);

#endif

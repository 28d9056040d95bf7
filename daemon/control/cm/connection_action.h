/* SPDX-License-Identifier: MIT */
/*
 * The actions on a connection: the cells of the table in connection_table.c. The table calls an
 * action only in the states of its cells. An action may free the connection. The result of an
 * action on a holder's call goes to the holder; an action on the wire or the clock returns 0.
 */
#ifndef DAEMON_CONTROL_CM_CONNECTION_ACTION_H
#define DAEMON_CONTROL_CM_CONNECTION_ACTION_H

#include "daemon/control/cm/cm_connection.h"

typedef int connection_action(struct cm_connection *connection,
			      const struct connection_input *input);

/* In connection_action.c: events of the peer and the clock. */
connection_action action_unexpected; /* a message that does not fit the state */
connection_action action_duplicate;  /* a message that was handled before */
connection_action action_nothing;
connection_action action_impossible; /* cannot come: no table or timer leads here */
connection_action action_extend;     /* MRA: the peer needs more time */
connection_action action_think;	     /* REQ or REP again before our holder answers: MRA */
connection_action action_repeat_rep;
connection_action action_repeat_rtu;
connection_action action_repeat_drep;
connection_action action_repeat_rej;
connection_action action_refused;      /* REJ before the connection is established */
connection_action action_taken_back;   /* DREQ before the answer to the REQ */
connection_action action_ended_here;   /* REJ once established: the peer does not know it */
connection_action action_response;     /* REP */
connection_action action_ready;	       /* RTU */
connection_action action_dreq_rcvd;    /* DREQ */
connection_action action_drep_rcvd;    /* DREP */
connection_action action_answer_dreq;  /* the holder's call that the peer's DREQ waits for */
connection_action action_drep_crossed; /* DREP to our DREQ, which crossed the peer's */
connection_action action_too_late;     /* a message of an earlier or later state */
connection_action action_no_path;      /* LAP */
connection_action action_retry_req;
connection_action action_retry_rep;
connection_action action_retry_dreq;
connection_action action_timewait_over;
connection_action action_end;

/* In peer_question.c: whether the peer is still there. */
connection_action action_ask_peer;	/* a message names the peer's QP */
connection_action action_peer_answered; /* the device's answer */
connection_action action_rtu_again;
connection_action action_standing; /* the timer: asks again, repeats the RTU, tells ESTABLISHED */

/* In connection_calls.c: calls of the holder. */
connection_action action_not_connected;
connection_action action_not_standing; /* disconnect after the end */
connection_action action_accept;
connection_action action_reject;
connection_action action_establish;
connection_action action_traffic;
connection_action action_disconnect;
connection_action action_give_up;   /* destroyed while waiting for the REP */
connection_action action_decline;   /* destroyed before the holder answered */
connection_action action_take_back; /* destroyed after the REP */
connection_action action_leave;	    /* destroyed while the connection ends */
connection_action action_free;

/* In sidr.c. */
connection_action action_sidr_resolved; /* SIDR_REP */
connection_action action_sidr_retry;
connection_action action_sidr_repeat;
connection_action action_sidr_accept;
connection_action action_sidr_reject;
connection_action action_sidr_decline;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What can happen to a connection: the cells of the table in connection_table.c. Each is called in
 * the states that the table says, and may free the connection. The result is the holder's, for its
 * own calls; what comes from the wire or the clock is answered by 0.
 */
#ifndef DAEMON_CM_CONNECTION_ACTION_H
#define DAEMON_CM_CONNECTION_ACTION_H

#include "cm/cm_connection.h"

typedef int connection_action(struct cm_connection *connection,
			      const struct connection_input *input);

/* In connection_action.c: what the peer and the clock do. */
connection_action action_unexpected; /* a message that means nothing here */
connection_action action_duplicate;  /* one that has done its work before */
connection_action action_nothing;
connection_action
	action_impossible; /* what cannot come: it is on no table, or its timer is not armed */
connection_action action_extend; /* MRA: the peer needs more time */
connection_action action_think;	 /* asked again while our holder thinks: MRA */
connection_action action_repeat_rep;
connection_action action_repeat_rtu;
connection_action action_repeat_drep;
connection_action action_repeat_rej;
connection_action action_refused;    /* REJ before the connection stands */
connection_action action_ended_here; /* REJ of one that stands: the peer does not know it */
connection_action action_response;   /* REP */
connection_action action_ready;	     /* RTU */
connection_action action_dreq_rcvd;  /* DREQ */
connection_action action_drep_rcvd;  /* DREP */
connection_action action_too_late;   /* one that belongs to another time of the connection */
connection_action action_no_path;    /* LAP */
connection_action action_retry_req;
connection_action action_retry_rep;
connection_action action_retry_dreq;
connection_action action_tell_established;
connection_action action_timewait_over;
connection_action action_end;

/* In connection_calls.c: what the holder does. */
connection_action action_not_connected;
connection_action action_not_standing; /* disconnected after the end */
connection_action action_accept;
connection_action action_reject;
connection_action action_establish;
connection_action action_traffic;
connection_action action_disconnect;
connection_action action_give_up;   /* destroyed while waiting for REP */
connection_action action_decline;   /* destroyed instead of answered */
connection_action action_take_back; /* destroyed after REP */
connection_action action_leave;	    /* destroyed while it ends by itself */
connection_action action_free;

/* In sidr.c. */
connection_action action_sidr_resolved; /* SIDR_REP */
connection_action action_sidr_retry;
connection_action action_sidr_repeat;
connection_action action_sidr_accept;
connection_action action_sidr_reject;
connection_action action_sidr_decline;

#endif

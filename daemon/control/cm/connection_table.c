/* SPDX-License-Identifier: MIT */
/*
 * The action for every event in every state (IBTA 1.4, 12.9.5 to 12.9.8; holders' calls: as
 * librdmacm).
 */
#include "daemon/control/cm/connection_action.h"

#include <assert.h>

/* clang-format off */
/* Short names for the cells; connection_action.h describes the actions. */
#define UNEXP   action_unexpected
#define AGAIN   action_duplicate
#define NONE    action_nothing
#define NEVER   action_impossible
#define NOT     action_not_connected
#define EXTEND  action_extend
#define MRA     action_think
#define REP     action_repeat_rep
#define RTU     action_repeat_rtu
#define DREP    action_repeat_drep
#define REJ     action_repeat_rej
#define REFUSE  action_refused
#define TAKEN   action_taken_back
#define GONE    action_ended_here
#define RESP    action_response
#define READY   action_ready
#define DREQ_R  action_dreq_rcvd
#define DREP_R  action_drep_rcvd
#define CROSS   action_drep_crossed
#define ANSWER  action_answer_dreq
#define LATE    action_too_late
#define APR     action_no_path
#define RE_REQ  action_retry_req
#define RE_REP  action_retry_rep
#define RE_DRQ  action_retry_dreq
#define ASK     action_ask_peer
#define HEARD   action_peer_answered
#define RTU_2   action_rtu_again
#define STANDS  action_standing
#define EXIT    action_timewait_over
#define END     action_end
#define WAS_UP  action_not_standing
#define ACCEPT  action_accept
#define REJECT  action_reject
#define ESTAB   action_establish
#define NOTE    action_traffic
#define DREQ    action_disconnect
#define GIVEUP  action_give_up
#define DECLIN  action_decline
#define UNDO    action_take_back
#define LEAVE   action_leave
#define FREE    action_free
#define SOLVED  action_sidr_resolved
#define RETRY   action_sidr_retry
#define REPEAT  action_sidr_repeat
#define S_ACC   action_sidr_accept
#define S_REJ   action_sidr_reject
#define S_DECL  action_sidr_decline

#define ROW(event, ...) [EVENT_##event] = {__VA_ARGS__}

static connection_action *const connection_table[EVENT_COUNT][STATE_ENDED + 1] = {
    /* in state:    req     rep     req     rep     estab-  dreq    dreq    time-   re-     ended
     *              sent    rcvd    rcvd    sent    lished  sent    rcvd    wait    jected */
    ROW(REQ,        UNEXP,  UNEXP,  MRA,    REP,    AGAIN,  AGAIN,  AGAIN,  LATE,   REJ,    NEVER),
    ROW(MRA,        EXTEND, UNEXP,  UNEXP,  EXTEND, UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  NEVER),
    ROW(REJ,        REFUSE, REFUSE, REFUSE, REFUSE, GONE,   GONE,   UNEXP,  UNEXP,  UNEXP,  NEVER),
    ROW(REP,        RESP,   MRA,    UNEXP,  UNEXP,  RTU,    RTU,    AGAIN,  LATE,   REJ,    NEVER),
    ROW(RTU,        UNEXP,  UNEXP,  UNEXP,  READY,  RTU_2,  AGAIN,  AGAIN,  AGAIN,  UNEXP,  NEVER),
    ROW(DREQ,       TAKEN,  DREQ_R, UNEXP,  DREQ_R, DREQ_R, DREQ_R, AGAIN,  DREP,   LATE,   NEVER),
    ROW(DREP,       UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  DREP_R, CROSS,  AGAIN,  UNEXP,  NEVER),
    ROW(SIDR_REQ,   UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  NEVER),
    ROW(SIDR_REP,   UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  NEVER),
    ROW(LAP,        UNEXP,  UNEXP,  UNEXP,  UNEXP,  APR,    UNEXP,  UNEXP,  UNEXP,  UNEXP,  NEVER),
    ROW(APR,        UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  UNEXP,  NEVER),
    ROW(TIMEOUT,    RE_REQ, NEVER,  NEVER,  RE_REP, STANDS, RE_DRQ, NEVER,  EXIT,   END,    NEVER),
    ROW(NAMED,      NONE,   NONE,   NONE,   NONE,   ASK,    NONE,   NONE,   NONE,   NONE,   NEVER),
    ROW(ANSWERED,   NONE,   NONE,   NONE,   NONE,   HEARD,  NONE,   NONE,   NONE,   NONE,   NEVER),
    ROW(ACCEPT,     NOT,    NOT,    ACCEPT, NOT,    NOT,    NOT,    NOT,    NOT,    NOT,    NOT),
    ROW(REJECT,     NOT,    REJECT, REJECT, NOT,    NOT,    NOT,    NOT,    NOT,    NOT,    NOT),
    ROW(ESTABLISH,  NOT,    ESTAB,  NOT,    NOT,    NOT,    NOT,    NOT,    NOT,    NOT,    NOT),
    ROW(TRAFFIC,    NONE,   NONE,   NONE,   NOTE,   NONE,   NONE,   NONE,   NONE,   NONE,   NONE),
    ROW(DISCONNECT, NOT,    NOT,    NOT,    NOT,    DREQ,   NONE,   ANSWER, NONE,   NOT,    WAS_UP),
    ROW(DESTROY,    GIVEUP, DECLIN, DECLIN, UNDO,   DREQ,   LEAVE,  ANSWER, LEAVE,  LEAVE,  FREE),
};

static connection_action *const sidr_table[EVENT_COUNT][STATE_COUNT - STATE_SIDR_SENT] = {
	/* in state:    sent    rcvd    answered */
	ROW(REQ,        UNEXP,  UNEXP,  UNEXP),
	ROW(MRA,        UNEXP,  UNEXP,  UNEXP),
	ROW(REJ,        UNEXP,  UNEXP,  UNEXP),
	ROW(REP,        UNEXP,  UNEXP,  UNEXP),
	ROW(RTU,        UNEXP,  UNEXP,  UNEXP),
	ROW(DREQ,       UNEXP,  UNEXP,  UNEXP),
	ROW(DREP,       UNEXP,  UNEXP,  UNEXP),
	ROW(SIDR_REQ,   UNEXP,  AGAIN,  REPEAT),
	ROW(SIDR_REP,   SOLVED, UNEXP,  UNEXP),
	ROW(LAP,        UNEXP,  UNEXP,  UNEXP),
	ROW(APR,        UNEXP,  UNEXP,  UNEXP),
	ROW(TIMEOUT,    RETRY,  NEVER,  END),
	ROW(NAMED,      NEVER,  NEVER,  NEVER),
	ROW(ANSWERED,   NONE,   NONE,   NONE),
	ROW(ACCEPT,     NOT,    S_ACC,  NOT),
	ROW(REJECT,     NOT,    S_REJ,  NOT),
	ROW(ESTABLISH,  NOT,    NOT,    NOT),
	ROW(TRAFFIC,    NONE,   NONE,   NONE),
	ROW(DISCONNECT, NOT,    NOT,    NOT),
	ROW(DESTROY,    FREE,   S_DECL, LEAVE),
};
/* clang-format on */

int connection_step(struct cm_connection *connection, enum connection_event event,
		    const struct connection_input *input)
{
	connection_action *action =
		connection->state < STATE_SIDR_SENT
			? connection_table[event][connection->state]
			: sidr_table[event][connection->state - STATE_SIDR_SENT];

	assert(action != NULL);
	return action(connection, input);
}

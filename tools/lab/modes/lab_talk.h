/* SPDX-License-Identifier: MIT */
/* The user's side of a client: a prompt on a terminal, lines, and the delivery of each. */
#ifndef TOOLS_LAB_MODES_LAB_TALK_H
#define TOOLS_LAB_MODES_LAB_TALK_H

#include "tools/lab/modes/lab_meeting.h"

/*
 * Delivers a line of `bytes` bytes, which a zero follows. A negative errno ends the talk; a
 * positive number means that this line could not be served.
 */
typedef int lab_deliver(struct lab_meeting *meeting, void *context, char *line, uint32_t bytes);

/*
 * Delivers lines of at most `room` bytes of the standard input until it ends. Returns 0, a positive
 * number when some lines could not be served, or a negative errno.
 */
int lab_talk(struct lab_meeting *meeting, const char *prompt, uint32_t room, lab_deliver *deliver,
	     void *context);

/*
 * Reads one line of the standard input, with a prompt on a terminal. The caller frees *text.
 * -ENODATA: there is no line. -EMSGSIZE: the line has more than `room` bytes.
 */
int lab_ask(struct lab_watch *watch, const char *prompt, uint32_t room, char **text,
	    uint32_t *bytes);

#endif

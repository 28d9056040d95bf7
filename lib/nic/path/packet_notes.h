/* SPDX-License-Identifier: MIT */
/*
 * What the engine knows of a packet, in words, for the comments of a capture: of a packet to be
 * sent the program, the work request and the retransmission; of a received one why the engine did
 * not take the packet. Made only while a capture runs.
 */
#ifndef LIB_NIC_PATH_PACKET_NOTES_H
#define LIB_NIC_PATH_PACKET_NOTES_H

#include "lib/nic/engine/engine.h"
#include "lib/nic/port/conditions/capture.h"

#include <stddef.h>

/* Writes the name and pid of the program that has the queue pair, at most `bytes`; "" for none. */
typedef void packet_notes_program(void *context, const struct qp *qp, char *text, size_t bytes);

struct packet_notes {
	struct capture *capture; /* NULL: there is none, and nothing else is used */
	packet_notes_program *program;
	void *context;
	uint64_t sent_again; /* the engine's counter, before the packet that is noted next */
};

/* Describes a packet that the engine has just built. */
void packet_notes_sent(struct packet_notes *notes, struct engine *engine,
		       const struct packet_builder *built, char text[CAPTURE_NOTE_BYTES]);

/* Tells the capture why the engine refused the received packet that was given to it last. */
void packet_notes_received(const struct packet_notes *notes, struct engine *engine,
			   const uint8_t *bytes);

#endif

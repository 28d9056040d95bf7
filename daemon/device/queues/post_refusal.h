/* SPDX-License-Identifier: MIT */
/*
 * Says in words which requests the client's library refused by itself, from the words that the
 * client leaves in the session region (region.h). They are the client's word alone: a sentence for
 * people, and nothing else, depends on them.
 *
 * A full queue counts only while nothing was posted since: many programs post until the queue is
 * full, poll, and go on.
 */
#ifndef DAEMON_DEVICE_QUEUES_POST_REFUSAL_H
#define DAEMON_DEVICE_QUEUES_POST_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct session_qp;

/*
 * Writes what the client's library refused last of `qp`, the send side first, and why; "" when it
 * refused nothing that counts.
 */
void post_refusal_text(const struct session_qp *qp, char *text, uint32_t text_bytes);

/*
 * Notes the refusals of `qp`, which is to end or goes to RESET, as troubles of its program. Returns
 * whether there was one.
 */
bool post_refusal_note(const struct session_qp *qp);

/*
 * The same for the queue pairs of a client that ends, at most POST_REFUSAL_NOTES of them: further
 * ones hardly tell more, and a client may have many.
 */
#define POST_REFUSAL_NOTES 8
void post_refusal_note_all(const struct session *session);

#endif

/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/trouble_log.h"

#include "daemon/shared/base/log.h"
#include "proto/base/time_units.h"

#include <string.h>

#define LOG_AGAIN_NS (10 * RNIC_NS_PER_MINUTE)

const struct trouble *trouble_nth(const struct trouble_log *trouble_log, uint32_t n)
{
	if (n >= trouble_log->count || n >= TROUBLE_LOG_MAX)
		return NULL;
	return &trouble_log->entries[(trouble_log->count - 1 - n) % TROUBLE_LOG_MAX];
}

static bool trouble_log_is_same(const struct trouble *one, const struct trouble *other)
{
	return one->pid == other->pid && strcmp(one->subject, other->subject) == 0 &&
	       one->undelivered_error == other->undelivered_error &&
	       (one->undelivered_error != 0 || strcmp(one->reason, other->reason) == 0);
}

static struct trouble *trouble_log_at(struct trouble_log *trouble_log, uint32_t n)
{
	return &trouble_log->entries[(trouble_log->count - 1 - n) % TROUBLE_LOG_MAX];
}

/* Moves the trouble with `n` newer ones to the front: it becomes the latest. */
static void trouble_log_move_to_front(struct trouble_log *trouble_log, uint32_t n)
{
	struct trouble moved = *trouble_log_at(trouble_log, n);

	for (; n > 0; n--)
		*trouble_log_at(trouble_log, n) = *trouble_log_at(trouble_log, n - 1);
	*trouble_log_at(trouble_log, 0) = moved;
}

/* Finds the trouble equal to `trouble` and makes it the latest; NULL: there is none. */
static struct trouble *trouble_log_find(struct trouble_log *trouble_log,
					const struct trouble *trouble)
{
	for (uint32_t n = 0; trouble_nth(trouble_log, n) != NULL; n++) {
		if (!trouble_log_is_same(trouble_log_at(trouble_log, n), trouble))
			continue;
		trouble_log_move_to_front(trouble_log, n);
		return trouble_log_at(trouble_log, 0);
	}
	return NULL;
}

/*
 * Returns the place of a new trouble of `pid`, which becomes the latest. The new trouble replaces
 * the oldest one: the oldest of all, or the oldest of this program when the program has half of the
 * list. So a program does not hide the troubles of others, which may be the cause.
 */
static struct trouble *trouble_log_make_place(struct trouble_log *trouble_log, pid_t pid)
{
	uint32_t own_count = 0, own_oldest = 0;

	if (trouble_log->count >= TROUBLE_LOG_MAX) {
		for (uint32_t n = 0; n < TROUBLE_LOG_MAX; n++) {
			if (trouble_log_at(trouble_log, n)->pid != pid)
				continue;
			own_count++;
			own_oldest = n;
		}
	}
	if (own_count >= TROUBLE_LOG_MAX / 2) {
		trouble_log_move_to_front(trouble_log, own_oldest);
		return trouble_log_at(trouble_log, 0);
	}
	return &trouble_log->entries[trouble_log->count++ % TROUBLE_LOG_MAX];
}

/*
 * A repeated trouble only updates count and time, and appears in the log now and then: endless
 * attempts, of any number of programs, fill neither log nor list.
 */
void trouble_log_note(struct trouble_log *trouble_log, const struct trouble *trouble)
{
	struct trouble *noted = trouble_log_find(trouble_log, trouble);
	bool is_logged = noted != NULL && trouble->at_ns - noted->logged_ns < LOG_AGAIN_NS;
	uint64_t logged_ns = is_logged ? noted->logged_ns : trouble->at_ns;

	if (noted == NULL)
		noted = trouble_log_make_place(trouble_log, trouble->pid);
	*noted = *trouble;
	noted->logged_ns = logged_ns;
	if (is_logged)
		return;
	log_from_client(
		trouble->is_of_all ? LOG_NO_USER : trouble->uid, "%s (pid %d, user %u), %s: %s",
		trouble->program[0] != '\0' ? trouble->program : "unnamed", (int)trouble->pid,
		(unsigned)trouble->uid, trouble->subject, trouble->reason);
}

bool trouble_log_may_note(struct trouble_log *trouble_log, const struct trouble *trouble)
{
	uint64_t *noted_ns = &trouble_log->undelivered_ns[trouble_log->undelivered_count %
							  TROUBLE_LOG_DELIVERIES_MAX];

	if (trouble_log_find(trouble_log, trouble) != NULL)
		return true;
	if (trouble_log->undelivered_count >= TROUBLE_LOG_DELIVERIES_MAX &&
	    trouble->at_ns - *noted_ns < RNIC_NS_PER_MINUTE)
		return false;
	*noted_ns = trouble->at_ns;
	trouble_log->undelivered_count++;
	return true;
}

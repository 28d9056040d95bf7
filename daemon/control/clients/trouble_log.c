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

/* Whether both are of one user. What concerns the device is of the network, not of a user. */
static bool trouble_log_is_users(const struct trouble *one, const struct trouble *other)
{
	return one->is_of_all == other->is_of_all &&
	       (one->is_of_all || one->account == other->account);
}

static bool trouble_log_is_programs(const struct trouble *one, const struct trouble *other)
{
	return trouble_log_is_users(one, other) && one->pid == other->pid;
}

typedef bool trouble_relation(const struct trouble *one, const struct trouble *other);

/* How many entries, with the new trouble, are related to `one`. */
static uint32_t trouble_log_share(struct trouble_log *trouble_log, const struct trouble *new,
				  const struct trouble *one, trouble_relation *is_related)
{
	uint32_t share = is_related(new, one);

	for (uint32_t n = 0; n < TROUBLE_LOG_MAX; n++)
		share += is_related(trouble_log_at(trouble_log, n), one);
	return share;
}

/*
 * Returns which entry of a full list gives way: the oldest of the program that has most, of the
 * programs of the user who has most. So neither a user nor a program hides the troubles of others,
 * which may be the cause.
 */
static uint32_t trouble_log_find_place(struct trouble_log *trouble_log, const struct trouble *new)
{
	uint32_t found = 0;
	uint64_t most = 0;

	for (uint32_t n = 0; n < TROUBLE_LOG_MAX; n++) {
		const struct trouble *old = trouble_log_at(trouble_log, n);
		const uint64_t share =
			(uint64_t)trouble_log_share(trouble_log, new, old, trouble_log_is_users)
				<< 32 |
			trouble_log_share(trouble_log, new, old, trouble_log_is_programs);

		if (share < most)
			continue;
		most = share;
		found = n;
	}
	return found;
}

/* Returns the place of a new trouble, which becomes the latest. */
static struct trouble *trouble_log_make_place(struct trouble_log *trouble_log,
					      const struct trouble *new)
{
	if (trouble_log->count < TROUBLE_LOG_MAX)
		return &trouble_log->entries[trouble_log->count++];
	trouble_log_move_to_front(trouble_log, trouble_log_find_place(trouble_log, new));
	return trouble_log_at(trouble_log, 0);
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
		noted = trouble_log_make_place(trouble_log, trouble);
	*noted = *trouble;
	noted->logged_ns = logged_ns;
	if (is_logged)
		return;
	log_from_client(trouble->is_of_all ? LOG_NO_USER : trouble->uid,
			"%s (pid %d, user %u), %s: %s (%s)",
			trouble->program[0] != '\0' ? trouble->program : "unnamed",
			(int)trouble->pid, (unsigned)trouble->uid, trouble->subject,
			trouble->reason, rnic_cause_of(trouble->cause)->name);
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

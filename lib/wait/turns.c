/* SPDX-License-Identifier: MIT */
#include "lib/wait/turns.h"

/* --- the states ------------------------------------------------------------------------------- */

enum turns_event { BEGIN_WAIT, RESUME_WAIT, END_WAIT, BEGIN_WATCH, END_WATCH, TURNS_EVENTS };

static const enum turns_state next_states[TURNS_EVENTS][TURNS_STATES] = {
	/*		LEASED		WATCHED		    WAITED		WAITED_WATCH */
	[BEGIN_WAIT] = {TURNS_WAITED, TURNS_WAITED, TURNS_WAITED, TURNS_WAITED},
	[RESUME_WAIT] = {TURNS_WAITED, TURNS_WAITED_WATCH, TURNS_WAITED, TURNS_WAITED_WATCH},
	[END_WAIT] = {TURNS_LEASED, TURNS_WATCHED, TURNS_LEASED, TURNS_WATCHED},
	[BEGIN_WATCH] = {TURNS_WATCHED, TURNS_WATCHED, TURNS_WAITED_WATCH, TURNS_WAITED_WATCH},
	[END_WATCH] = {TURNS_LEASED, TURNS_LEASED, TURNS_WAITED, TURNS_WAITED},
};

static void turns_happen(struct turns *turns, enum turns_event event)
{
	turns->state = next_states[event][turns->state];
}

bool turns_have_waiter(const struct turns *turns)
{
	return turns->state == TURNS_WAITED || turns->state == TURNS_WAITED_WATCH;
}

bool turns_are_watched(const struct turns *turns)
{
	return turns->state == TURNS_WATCHED || turns->state == TURNS_WAITED_WATCH;
}

/* --- the lease -------------------------------------------------------------------------------- */

bool turns_are_programs(const struct turns *turns, uint64_t now_ns)
{
	return turns_have_waiter(turns) ||
	       (turns->lease_ns > now_ns && (turns->posts == 0 || turns->due_ns > now_ns));
}

/* There is no lease where threads wait for an event: nobody else would take the turns for them. */
static void turns_give_lease(struct turns *turns, uint64_t now_ns)
{
	const bool has_waiters = turns_have_waiter(turns) || turns->bystanders > 0;

	turns->lease_ns = has_waiters ? now_ns : now_ns + TURNS_LEASE_NS;
}

uint64_t turns_deadline_ns(const struct turns *turns, bool has_work, uint64_t device_ns,
			   uint64_t now_ns)
{
	const uint64_t earliest_ns = turns->lease_ns > now_ns ? turns->lease_ns : now_ns + 1;

	if (turns->posts > 0)
		return turns->due_ns > now_ns ? turns->due_ns : now_ns + 1;
	return has_work || device_ns < earliest_ns ? earliest_ns : device_ns;
}

enum turns_sleeper turns_sleeper(const struct turns *turns)
{
	if (turns->sleeps_on_lease && !turns_have_waiter(turns))
		return TURNS_SLEEPER_ON_LEASE;
	return turns->sleepers > 0 ? TURNS_SLEEPER_ON_DESCRIPTORS : TURNS_NOBODY;
}

/* Once the program has come for long, the alarm is behind the lease, and moves in long steps. */
static uint64_t turns_long_alarm_ns(const struct turns *turns, uint64_t armed_ns)
{
	const bool is_far =
		armed_ns != UINT64_MAX && armed_ns >= turns->lease_ns + TURNS_LONG_SLEEP_NS / 2;

	return is_far ? UINT64_MAX : turns->lease_ns + TURNS_LONG_SLEEP_NS;
}

uint64_t turns_lease_alarm_ns(const struct turns *turns, uint64_t armed_ns, uint64_t now_ns)
{
	const bool is_due_first = turns->posts > 0 && turns->due_ns < turns->lease_ns;
	const uint64_t wake_ns = is_due_first ? turns->due_ns : turns->lease_ns;

	if (!is_due_first && turns->lease_ns > now_ns && turns->renewals >= TURNS_RENEWALS)
		return turns_long_alarm_ns(turns, armed_ns);
	return armed_ns > wake_ns ? wake_ns : UINT64_MAX;
}

bool turns_should_look(const struct turns *turns, bool has_received, bool has_resumes,
		       uint64_t now_ns)
{
	return (turns->has_news && !has_received) || now_ns - turns->looked_ns >= TURNS_LOOK_NS ||
	       has_resumes;
}

/* --- the watch -------------------------------------------------------------------------------- */

static void turns_begin_watch(struct turns *turns)
{
	turns_happen(turns, BEGIN_WATCH);
	turns->takes = 0;
}

/*
 * Datagrams came while the thread keeps watch. The watch ends when the program has long been there
 * to receive, by turns that follow one another.
 */
static void turns_note_arrival_in_watch(struct turns *turns, uint64_t now_ns)
{
	if (now_ns > turns->polled_ns + TURNS_POLLING_NS) {
		turns->takes /= 2;
	} else if (++turns->takes >= TURNS_TAKES) {
		turns_happen(turns, END_WATCH);
		turns->misses = 0;
		turns_give_lease(turns, now_ns);
	}
}

/* --- posts ------------------------------------------------------------------------------------ */

/* Counts the posts that follow one another closely; the latest one comes now. */
static void turns_count_burst(struct turns *turns, uint64_t now_ns)
{
	const bool is_next = turns->posted_ns != 0 && now_ns - turns->posted_ns < TURNS_BURST_NS;

	turns->burst = is_next ? turns->burst + 1 : 1;
}

/* Whether the latest post may wait for a later turn, which sends it with others. */
static bool turns_may_defer(const struct turns *turns, bool wakes, bool is_awaited)
{
	if (wakes || (is_awaited && turns->burst <= TURNS_EAGER_POSTS))
		return false;
	return turns->burst > 1 && turns->posts < TURNS_BURST_POSTS;
}

/*
 * When the posts from now on are to have their turn. A wake-up of the device's thread costs more
 * than the posts do, so a program that has long come back in time may come back until the thread
 * wakes.
 */
static uint64_t turns_due_ns(const struct turns *turns, uint64_t now_ns)
{
	const uint64_t due_ns = now_ns + TURNS_POST_NS;
	const bool is_punctual = turns->punctual >= TURNS_PUNCTUAL;

	return is_punctual && turns->lease_ns > due_ns ? turns->lease_ns : due_ns;
}

/*
 * A program that goes on posting takes a turn itself, well before the earlier posts are due. So no
 * thread has to wake for them.
 */
static bool turns_are_nearly_due(const struct turns *turns, uint64_t now_ns)
{
	return turns->posts > 0 && turns->due_ns < now_ns + TURNS_POST_NS / 2;
}

/*
 * A program that answers has just received: a look for arrivals would only delay the answer, and
 * the program's next poll looks anyway.
 */
enum turns_post turns_take_post(struct turns *turns, bool wakes, bool is_awaited, uint64_t now_ns)
{
	turns_count_burst(turns, now_ns);
	if (turns_are_nearly_due(turns, now_ns)) {
		/* This turn does not show whether the program comes back in time without a post. */
		turns->posts = 0;
	} else if (turns_may_defer(turns, wakes, is_awaited)) {
		if (turns->posts++ == 0)
			turns->due_ns = turns_due_ns(turns, now_ns);
		turns->posted_ns = now_ns;
		return TURNS_POST_WAITS;
	}
	return now_ns - turns->received_ns < TURNS_ANSWER_NS ? TURNS_POST_SENDS : TURNS_POST_TURNS;
}

bool turns_request_looks(const struct turns *turns, uint64_t now_ns)
{
	return now_ns - turns->received_ns >= TURNS_REQUEST_NS;
}

void turns_note_posted(struct turns *turns, uint64_t now_ns)
{
	turns->posted_ns = now_ns;
}

/*
 * Notes whether the posts that waited for this turn had the turn in time. A late turn only halves
 * the number. With a low number each burst of posts sets a timer, and setting the timer may take
 * longer than a turn: the next turn would be late for that alone.
 */
static void turns_note_punctuality(struct turns *turns, uint64_t now_ns)
{
	if (now_ns >= turns->due_ns)
		turns->punctual /= 2;
	else if (turns->punctual < TURNS_PUNCTUAL_MAX)
		turns->punctual++;
}

/* --- turns ------------------------------------------------------------------------------------ */

void turns_note_receive(struct turns *turns, uint64_t now_ns)
{
	turns->received_ns = now_ns;
}

void turns_note_active(struct turns *turns, uint64_t now_ns)
{
	turns->active_ns = now_ns;
}

void turns_note_turn(struct turns *turns, bool is_active, uint64_t now_ns)
{
	if (is_active)
		turns_note_active(turns, now_ns);
	if (turns->posts > 0)
		turns_note_punctuality(turns, now_ns);
	turns->posts = 0;
	turns->posted_ns = 0;
}

void turns_note_look(struct turns *turns, uint64_t now_ns)
{
	turns->has_news = false;
	turns->looked_ns = now_ns;
}

void turns_note_wake(struct turns *turns)
{
	turns->has_news = true;
}

/* A program that was late takes turns in time again before the thread's sleep may be long. */
static void turns_note_late(struct turns *turns)
{
	if (turns->renewals > TURNS_RENEWALS)
		turns->renewals = TURNS_RENEWALS;
	turns->renewals /= 2;
}

void turns_go_on(struct turns *turns, bool has_received, uint64_t began_ns, uint64_t ended_ns)
{
	turns->polled_ns = ended_ns;
	if (began_ns >= turns->lease_ns && !turns_have_waiter(turns))
		turns_note_late(turns);
	if (turns_are_watched(turns) && has_received)
		turns_note_arrival_in_watch(turns, began_ns);
	if (!turns_are_watched(turns))
		turns_give_lease(turns, ended_ns);
}

bool turns_hand_over(struct turns *turns, uint64_t now_ns)
{
	if (turns->is_attended && turns->lease_ns > now_ns)
		return false;
	turns_begin_watch(turns);
	turns->lease_ns = now_ns;
	return true;
}

/* --- the waiter ------------------------------------------------------------------------------- */

void turns_begin_wait(struct turns *turns)
{
	turns_happen(turns, BEGIN_WAIT);
	turns->is_attended = true;
	turns->misses = 0;
	turns->lease_ns = 0;
}

void turns_resume_wait(struct turns *turns)
{
	turns_happen(turns, RESUME_WAIT);
}

void turns_end_wait(struct turns *turns, uint64_t now_ns)
{
	turns_happen(turns, END_WAIT);
	turns_give_lease(turns, now_ns);
}

/* --- the device's thread ---------------------------------------------------------------------- */

void turns_note_lease_sleep(struct turns *turns)
{
	turns->sleeps_on_lease = true;
}

void turns_note_lease_wake(struct turns *turns)
{
	turns->sleeps_on_lease = false;
	turns->renewals++;
}

void turns_end_leases(struct turns *turns)
{
	turns->renewals = 0;
}

void turns_note_threads_turn(struct turns *turns, bool has_received, bool after_lease,
			     uint64_t now_ns)
{
	if (turns->lease_ns <= now_ns)
		turns->is_attended = false;
	if (turns_are_watched(turns)) {
		if (has_received)
			turns_note_arrival_in_watch(turns, now_ns);
	} else if (after_lease) {
		turns->misses = has_received ? turns->misses + 1 : 0;
		if (turns->misses >= TURNS_MISSES)
			turns_begin_watch(turns);
	}
}

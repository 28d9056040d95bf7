/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is, where a device is inside a program and several threads could drive it: threads
 * of the program that post and poll, a thread of the program that waits for an event (the waiter),
 * and the device's own thread. Pure: the caller has a lock, reads the clock, runs the turns, sets
 * timers and sleeps. awake.h says how long a thread that found nothing stays awake.
 *
 *   state          posts and polls       the device's thread            the waiter
 *   -------------  --------------------  -----------------------------  --------------------------
 *   LEASED         take turns, and       sleeps until the lease ends,   (there is none)
 *                  renew the lease       then takes turns and sleeps
 *                                        on the descriptors
 *   WATCHED        take turns            takes turns, sleeps on the     (there is none)
 *                                        descriptors
 *   WAITED         take turns            sleeps until the waiter left   takes turns, sleeps on the
 *   WAITED_WATCH                                                        descriptors and its event
 *
 *   event \ state                    LEASED        WATCHED       WAITED        WAITED_WATCH
 *   -------------------------------  ------------  ------------  ------------  ------------
 *   BEGIN_WAIT: a waiter comes       WAITED        WAITED        WAITED        WAITED
 *   RESUME_WAIT: its inner wait, of  WAITED        WAITED_WATCH  WAITED        WAITED_WATCH
 *     a signal's handler, is over
 *   END_WAIT: the waiter leaves      LEASED        WATCHED       LEASED        WATCHED
 *   BEGIN_WATCH: the program sleeps  WATCHED       WATCHED       WAITED_WATCH  WAITED_WATCH
 *     elsewhere, or has missed
 *     TURNS_MISSES arrivals
 *   END_WATCH: the program has met   LEASED        LEASED        WAITED        WAITED
 *     TURNS_TAKES arrivals
 *
 * The lease: the device's thread sleeps while a lease holds, so that the two do not compete for
 * what arrives. Where a program has long gone on polling, the thread sleeps TURNS_LONG_SLEEP_NS
 * longer, and the program moves the end of the sleep ahead. Where a program waits for bytes in its
 * memory instead, the program takes no turns, and arrivals wait for the end of the thread's sleep:
 * after a few of them the thread keeps watch, until a program that polls meets most arrivals again.
 *
 * Posts: a program that posts one work request after another gets one turn for many, because the
 * kernel takes a batch of packets at the cost of one. The device's thread sees to it that the last
 * posts do not wait longer than TURNS_POST_NS, whatever the program does then; or longer than the
 * thread's sleep, where the program has always come back in time. Where the program has armed an
 * event, the program is likely to sleep, and its first posts get a turn each.
 */
#ifndef LIB_WAIT_TURNS_H
#define LIB_WAIT_TURNS_H

#include "proto/base/time_units.h"

#include <stdbool.h>
#include <stdint.h>

#define TURNS_LEASE_NS	   (200 * RNIC_NS_PER_US)
#define TURNS_POST_NS	   (20 * RNIC_NS_PER_US) /* that a post waits for others at most */
#define TURNS_BURST_NS	   (3 * RNIC_NS_PER_US)	 /* between two posts of a burst */
#define TURNS_BURST_POSTS  32			 /* a turn comes after so many */
#define TURNS_EAGER_POSTS  4  /* of a burst, which do not wait where an event is armed */
#define TURNS_PUNCTUAL	   16 /* turns in time, before a post may wait until the thread wakes */
#define TURNS_PUNCTUAL_MAX 64 /* turns in time that count */
#define TURNS_RENEWALS	   32 /* sleeps on the lease, before a long one */
#define TURNS_MISSES	   2  /* arrivals after a lease, before the thread keeps watch */
#define TURNS_TAKES	   16 /* arrivals that the program meets, before there are leases again */
#define TURNS_ANSWER_NS	   (5 * RNIC_NS_PER_US)	  /* after a turn that looked for arrivals */
#define TURNS_REQUEST_NS   (50 * RNIC_NS_PER_US)  /* between looks for arrivals before requests */
#define TURNS_POLLING_NS   (5 * RNIC_NS_PER_US)	  /* of absence of a program that polls */
#define TURNS_LOOK_NS	   (500 * RNIC_NS_PER_US) /* between polls of the descriptors */

/*
 * How long the device's thread sleeps after the end of the lease, at most. Lease and sleep together
 * are less than half of the delay of answers that peers are told of (LIMIT_LOCAL_ACK_DELAY).
 */
#define TURNS_LONG_SLEEP_NS (3 * RNIC_NS_PER_MS / 2)

enum turns_state { TURNS_LEASED, TURNS_WATCHED, TURNS_WAITED, TURNS_WAITED_WATCH, TURNS_STATES };

/* Who sleeps until a timer fires. */
enum turns_sleeper {
	TURNS_NOBODY, /* a thread that is awake looks at all deadlines before its next sleep */
	TURNS_SLEEPER_ON_LEASE,
	TURNS_SLEEPER_ON_DESCRIPTORS,
};

/* What a post gets. */
enum turns_post {
	TURNS_POST_WAITS, /* for a later turn, which sends the post with others */
	TURNS_POST_SENDS, /* a turn that sends only: the program has just looked for arrivals */
	TURNS_POST_TURNS,
};

/*
 * Zero at first. The owner may read all members. It writes `bystanders` and `sleepers`, which are
 * counts of its threads, and no other.
 */
struct turns {
	enum turns_state state;
	uint64_t lease_ns;    /* until then the program takes the turns */
	uint32_t renewals;    /* sleeps of the thread on the lease, in a row */
	uint32_t misses;      /* turns after a lease that received, in a row */
	uint32_t takes;	      /* in a watch: arrivals that the program met, fewer with others */
	uint64_t polled_ns;   /* when the program's latest turn ended */
	bool is_attended;     /* a waiter has left, and is expected back before lease_ns */
	uint32_t bystanders;  /* threads that wait for an event and take no turns */
	uint32_t sleepers;    /* threads that sleep on the descriptors */
	bool sleeps_on_lease; /* the device's thread does */

	/* Posts that wait for a turn. */
	uint32_t posts;
	uint64_t posted_ns; /* time of the latest post, when no turn came after it; else 0 */
	uint64_t due_ns;    /* when the first of `posts` is to have its turn */
	uint32_t burst;	    /* posts in a row with TURNS_BURST_NS between two at most */
	uint32_t punctual;  /* turns in time for `posts`; each one that is late halves the number */

	uint64_t active_ns;   /* time of the latest turn with work */
	uint64_t received_ns; /* time of the latest turn that looked for arrivals */
	uint64_t looked_ns;   /* time of the latest poll of the descriptors */
	bool has_news;	      /* one of the descriptors has ended a sleep since then */
};

/* --- questions -------------------------------------------------------------------------------- */

bool turns_have_waiter(const struct turns *turns);
bool turns_are_watched(const struct turns *turns);

/* Whether the program takes the turns at `now_ns`, and no post has waited too long for one. */
bool turns_are_programs(const struct turns *turns, uint64_t now_ns);

/*
 * When the device's thread, or a waiter, is to go on. `device_ns` is the device's own next
 * deadline, `has_work` says that the device would work at once. UINT64_MAX: never.
 */
uint64_t turns_deadline_ns(const struct turns *turns, bool has_work, uint64_t device_ns,
			   uint64_t now_ns);

enum turns_sleeper turns_sleeper(const struct turns *turns);

/*
 * The time for the timer that ends the thread's sleep on the lease, which is set to `armed_ns` now;
 * UINT64_MAX: leave the timer alone. In a virtual machine setting a timer takes up to 25 us, and
 * waking a thread that finds nothing takes more, so a program sets the timer seldom.
 */
uint64_t turns_lease_alarm_ns(const struct turns *turns, uint64_t armed_ns, uint64_t now_ns);

/*
 * Whether the turn before a request looks for arrivals, too. Each look is a system call, and
 * programs make thousands of requests in a row: they register memory.
 */
bool turns_request_looks(const struct turns *turns, uint64_t now_ns);

/*
 * Whether to look at the descriptors after a turn, which `has_received` or not. A look is a system
 * call, and a turn receives without one. `has_resumes`: requests of the program go on.
 */
bool turns_should_look(const struct turns *turns, bool has_received, bool has_resumes,
		       uint64_t now_ns);

/* --- the program ------------------------------------------------------------------------------ */

/*
 * A post comes. `wakes`: the post is to wake somebody, so others must not wait for it.
 * `is_awaited`: an event is armed. After TURNS_POST_SENDS or TURNS_POST_TURNS the caller runs the
 * turn, and calls turns_note_turn(), turns_go_on() and turns_note_posted().
 */
enum turns_post turns_take_post(struct turns *turns, bool wakes, bool is_awaited, uint64_t now_ns);
void turns_note_posted(struct turns *turns, uint64_t now_ns);

/* A thread of the program, which goes on taking turns, has taken the turn of that time. */
void turns_go_on(struct turns *turns, bool has_received, uint64_t began_ns, uint64_t ended_ns);

/*
 * The program is about to sleep elsewhere. The device's thread keeps watch from now on; but not
 * where a waiter was here just now: it will be back, and take the turns itself. Returns whether the
 * thread keeps watch.
 */
bool turns_hand_over(struct turns *turns, uint64_t now_ns);

/* --- every turn ------------------------------------------------------------------------------- */

/* A turn that looked for arrivals begins. */
void turns_note_receive(struct turns *turns, uint64_t now_ns);

/* The turn is over. It gave all posts their turn. `is_active`: there was, or is, work. */
void turns_note_turn(struct turns *turns, bool is_active, uint64_t now_ns);

/* There was work of another kind. */
void turns_note_active(struct turns *turns, uint64_t now_ns);

/* Looked at the descriptors; and a sleep on them is over. */
void turns_note_look(struct turns *turns, uint64_t now_ns);
void turns_note_wake(struct turns *turns);

/* --- the waiter ------------------------------------------------------------------------------- */

void turns_begin_wait(struct turns *turns);
void turns_resume_wait(struct turns *turns);
void turns_end_wait(struct turns *turns, uint64_t now_ns);

/* --- the device's thread ---------------------------------------------------------------------- */

/* The thread goes to sleep on the lease; and takes turns itself. */
void turns_note_lease_sleep(struct turns *turns);
void turns_note_lease_wake(struct turns *turns);
void turns_end_leases(struct turns *turns);

/* The thread has taken a turn; `after_lease`: the first one after a sleep on the lease. */
void turns_note_threads_turn(struct turns *turns, bool has_received, bool after_lease,
			     uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * How long a thread that has found nothing stays awake: the one policy of librnic, the drop-ins,
 * the device inside programs and the daemon. It is pure: the caller reads the clock, yields and
 * sleeps.
 *
 *   A thread that has found nothing, and ...                            ... then
 *   -----------------------------------------------------------------   ---------------------------
 *   has looked fewer than `turns` times since it found something        AWAKE_TURN
 *   stays awake, and its row yields never, or unless alone and it is    AWAKE_TURN
 *   stays awake otherwise                                               AWAKE_YIELD
 *   no longer stays awake, but is due within `near_ns`                  what its row says: `near`
 *   no longer stays awake                                               AWAKE_SLEEP
 *
 *   A thread stays awake as long as all of these hold: it has looked fewer than `looks` times, less
 *   than `awake_ns` ago it was active or began to wait, its latest wait took `short_ns` at most,
 *   and no yield has cost it a time slice not long ago.
 *
 *   who (enum awake_who)     turns  looks      awake_ns  short_ns  near_ns  near   yields
 *   -----------------------  -----  -----  ------------  --------  -------  -----  ------------
 *   AWAKE_DEVICE_PROCESS         0      -        200 us         -    20 us  turn   always
 *   AWAKE_CONTROL_PLANE          0      -        100 us         -        0  turn   always
 *   AWAKE_DEVICE_THREAD          0      -         50 us         -    20 us  yield  always
 *   AWAKE_DEVICE_WAITER          0      -        200 us    500 us    20 us  yield  unless alone
 *   AWAKE_POLLER                 4   4096             -         -        0  turn   always
 *   AWAKE_POLLER_IN_DEVICE       4   4096             -         -        0  turn   unless alone
 *   AWAKE_CALLER                 0      -         50 us         -        0  turn   always
 *   AWAKE_EXPECTANT_CALLER       0      -         50 us    500 us        0  turn   always
 *   AWAKE_RSOCKET                0      -  polling_time         -        0  turn   never
 *   AWAKE_RSOCKET_WRITER         0      -        400 us         -        0  turn   never
 *
 * Why yield: where all threads of a core poll and yield, as the daemon and programs do, each runs
 * again within microseconds, and no message needs a wake-up, the dearest part of its way. A thread
 * that computes keeps the core for milliseconds; then the polling thread should sleep, because a
 * woken thread runs at once. So the thread pays for a long yield by sleeping: the lost time is a
 * bounded share. A yield that returns at once has most likely found nobody else to run on this
 * core: a thread whose next look costs no more than a yield may do without one then, for a moment.
 * doc/decisions/awake-or-asleep.md has what was measured.
 */
#ifndef LIB_WAIT_AWAKE_H
#define LIB_WAIT_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

#define AWAKE_LONG_YIELD_NS  UINT64_C(500000) /* longer than a polling thread's turn */
#define AWAKE_SHARE	     8		      /* at most 1 part of the time in so many */
#define AWAKE_QUICK_YIELD_NS UINT64_C(1500)   /* hardly anybody runs in so short a yield */
#define AWAKE_ALONE_NS	     UINT64_C(5000)
#define AWAKE_SLEEP_MOST_NS  UINT64_C(5000000)

enum awake_step {
	AWAKE_TURN,  /* look again at once */
	AWAKE_YIELD, /* let other threads of the core run (clock.h), then look again */
	AWAKE_SLEEP, /* sleep until something comes, or until the deadline */
};

enum awake_who {
	AWAKE_DEVICE_PROCESS,	/* the loop of a device process, since its latest work */
	AWAKE_CONTROL_PLANE,	/* the loop of rnicd, since its latest work */
	AWAKE_DEVICE_THREAD,	/* the thread of a device inside a program, since its latest work */
	AWAKE_DEVICE_WAITER,	/* a thread that waits for an event there, since it began to wait */
	AWAKE_POLLER,		/* a thread that polls completion queues of a device process */
	AWAKE_POLLER_IN_DEVICE, /* the same where the device is inside the program */
	AWAKE_CALLER, /* a thread that waits for the daemon's answer or a connection's event */
	AWAKE_EXPECTANT_CALLER, /* the same for an event that may be long in coming */
	AWAKE_RSOCKET,		/* a call of rsockets that waits; its looks yield by themselves */
	AWAKE_RSOCKET_WRITER,	/* riowrite() until the peer answers; likewise */
	AWAKE_WHO_COUNT,
};

/* What --poll says of a loop of the daemon. */
enum poll_mode {
	POLL_ADAPTIVE, /* the rule as it stands */
	POLL_BUSY,     /* never sleep, never yield */
	POLL_SLEEP,    /* sleep at once */
};

enum awake_yields { YIELD_ALWAYS, YIELD_UNLESS_ALONE, YIELD_NEVER };

/* A row of the table above; UINT32_MAX and UINT64_MAX: no bound. */
struct awake_rule {
	uint64_t awake_ns;
	uint64_t short_ns;
	uint64_t near_ns;
	uint32_t turns;
	uint32_t looks;
	bool yields_near;
	enum awake_yields yields;
};

/* What one thread knows of its waits. Zero at first. */
struct awake {
	uint64_t since_ns;	 /* of the latest activity, or the beginning of the wait */
	uint64_t last_wait_ns;	 /* how long the latest wait took */
	uint64_t sleep_until_ns; /* after a long yield */
	uint64_t alone_until_ns; /* after a quick yield */
	uint64_t late_ns;	 /* how late the latest sleep ended; 0: less than a long yield */
	uint32_t looks;		 /* that found nothing in a row, where the thread counts them */
};

extern const struct awake_rule awake_rules[AWAKE_WHO_COUNT];

/* The rule of a loop of the daemon that --poll may change. */
struct awake_rule awake_rule_of(enum awake_who who, enum poll_mode mode);

/* --- events ----------------------------------------------------------------------------------- */

/* The thread has found something, or begins to wait. */
static inline void awake_begin(struct awake *awake, uint64_t now_ns)
{
	awake->since_ns = now_ns;
	awake->looks = 0;
}

/* A wait is over. */
static inline void awake_note_wait(struct awake *awake, uint64_t began_ns, uint64_t ended_ns)
{
	awake->last_wait_ns = ended_ns - began_ns;
}

/* A look found nothing. For threads whose rule counts looks. */
static inline void awake_note_look(struct awake *awake)
{
	if (awake->looks < UINT32_MAX)
		awake->looks++;
}

/* A yield began and ended. */
void awake_note_yield(struct awake *awake, uint64_t began_ns, uint64_t ended_ns);

/* A sleep of `wanted_ns` took `took_ns`, and no wake-up ended the sleep. */
void awake_note_sleep(struct awake *awake, uint64_t wanted_ns, uint64_t took_ns);

/* --- the decision ----------------------------------------------------------------------------- */

/*
 * Whether the thread looks again whatever the time is. A thread whose looks are cheaper than a look
 * at the clock asks this first.
 */
static inline bool awake_turns_at_once(const struct awake *awake, const struct awake_rule *rule)
{
	return awake->looks < rule->turns;
}

/* What the thread does next. Before a sleep, a thread with a deadline asks awake_before_sleep(). */
enum awake_step awake_next(const struct awake *awake, const struct awake_rule *rule,
			   uint64_t now_ns);

/*
 * What a thread does that is about to sleep, and has something to do again at `deadline_ns`
 * (UINT64_MAX: never). A sleep and the wake-up take as long as the time to a near deadline.
 */
enum awake_step awake_before_sleep(const struct awake_rule *rule, uint64_t now_ns,
				   uint64_t deadline_ns);

/*
 * How long a thread sleeps between two looks, when the thread would sleep for `wanted_ns`. A sleep
 * that ended late means too many threads for the cores. The next sleep is as long as this one was
 * late, so that the daemon gets a turn among any number of threads.
 */
static inline uint64_t awake_sleep_ns(const struct awake *awake, uint64_t wanted_ns)
{
	return awake->late_ns > wanted_ns ? awake->late_ns : wanted_ns;
}

#endif

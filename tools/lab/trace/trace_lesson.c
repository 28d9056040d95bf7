/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_lesson.h"

#include "tools/lab/lab_text.h"
#include "tools/lab/link/verbs_link.h"
#include "tools/lab/trace/trace_record.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS    UINT64_C(1000000)
#define EAGER_NS     (20 * NS_PER_MS) /* so long the lesson polls without a pause */
#define ATOMIC_BYTES 8
#define A_RIGHTS     IBV_ACCESS_LOCAL_WRITE
#define B_RIGHTS                                                                                   \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* The first PSNs: round ones, which a reader finds again. Real programs draw them at random. */
static const uint32_t first_psn[TRACE_SIDES] = {1000, 2000};

static const char *const devices[TRACE_SIDES] = {"rnic0", "rnic1"};

struct trace_lesson {
	const struct lab_options *options;
	struct lab_watch *watch;
	int fd;
	struct verbs_link links[TRACE_SIDES];
	struct verbs_region regions[TRACE_SIDES];
	uint32_t bytes;
	uint32_t packets;	/* of each work request */
	uint32_t done;		/* completions of A */
	uint32_t received;	/* completions of B */
	bool has_failed;	/* a completion was an error */
	uint64_t receive_at_ns; /* when B posts its receives; 0: it has */
	uint64_t last_ns;	/* when the lesson last saw something */
};

/* ---- steps ---- */

static uint64_t trace_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int lesson_note(struct trace_lesson *lesson, const struct trace_step *step)
{
	lesson->last_ns = lab_now_ns();
	return write(lesson->fd, step, sizeof(*step)) == sizeof(*step) ? 0 : -EIO;
}

static int lesson_note_state(struct trace_lesson *lesson, enum trace_side side,
			     enum ibv_qp_state state)
{
	const struct trace_step step = {
		.time_ns = trace_now_ns(),
		.kind = TRACE_STATE,
		.side = (uint8_t)side,
		.state = (uint8_t)state,
		.qpn = lesson->links[side].qp->qp_num,
		.psn = first_psn[side],
	};

	return lesson_note(lesson, &step);
}

/* A work request, a receive, or the completion of one. */
static struct trace_step lesson_work(const struct trace_lesson *lesson, enum trace_step_kind kind,
				     uint32_t number)
{
	const bool is_of_b = kind == TRACE_RECEIVE || kind == TRACE_RECEIVED;

	return (struct trace_step){
		.time_ns = trace_now_ns(),
		.kind = (uint8_t)kind,
		.side = is_of_b ? TRACE_B : TRACE_A,
		.number = number,
		.psn = first_psn[TRACE_A] + (number - 1) * lesson->packets,
		.packets = lesson->packets,
		.bytes = lesson->bytes,
	};
}

/* ---- the connection ---- */

static int lesson_open_side(struct trace_lesson *lesson, enum trace_side side)
{
	struct lab_options options = *lesson->options;
	const unsigned int access = side == TRACE_A ? A_RIGHTS : B_RIGHTS;
	int error;

	options.device = devices[side];
	error = verbs_link_open(&lesson->links[side], &options, access, NULL);
	if (error)
		return error;
	lesson->links[side].psn = first_psn[side];
	error = verbs_region_create(&lesson->links[side], lesson->bytes, access,
				    &lesson->regions[side]);
	return error ? error : lesson_note_state(lesson, side, IBV_QPS_INIT);
}

static int lesson_connect(struct trace_lesson *lesson)
{
	struct lab_endpoint ends[TRACE_SIDES] = {{0}};
	int error = 0;

	for (enum trace_side side = 0; side < TRACE_SIDES && !error; side++)
		error = lesson_open_side(lesson, side);
	for (enum trace_side side = 0; side < TRACE_SIDES && !error; side++)
		verbs_link_describe(&lesson->links[side], &ends[side]);
	for (enum trace_side side = 0; side < TRACE_SIDES && !error; side++) {
		error = verbs_link_to_rtr(&lesson->links[side], &ends[1 - side]);
		if (error == 0)
			error = lesson_note_state(lesson, side, IBV_QPS_RTR);
	}
	for (enum trace_side side = 0; side < TRACE_SIDES && !error; side++) {
		error = verbs_link_to_rts(&lesson->links[side]);
		if (error == 0)
			error = lesson_note_state(lesson, side, IBV_QPS_RTS);
	}
	return error;
}

static void lesson_close(struct trace_lesson *lesson)
{
	for (enum trace_side side = 0; side < TRACE_SIDES; side++) {
		verbs_region_destroy(&lesson->regions[side]);
		verbs_link_close(&lesson->links[side]);
	}
}

/* ---- work ---- */

static struct ibv_sge lesson_memory(const struct trace_lesson *lesson, enum trace_side side)
{
	return (struct ibv_sge){.addr = (uintptr_t)lesson->regions[side].memory,
				.length = lesson->bytes,
				.lkey = lesson->regions[side].mr->lkey};
}

static int lesson_post_receives(struct trace_lesson *lesson)
{
	struct ibv_sge memory = lesson_memory(lesson, TRACE_B);
	int error = 0;

	lesson->receive_at_ns = 0;
	if (!lesson->options->operation->takes_receive)
		return 0;
	for (uint32_t number = 1; number <= lesson->options->count && !error; number++) {
		const struct trace_step step = lesson_work(lesson, TRACE_RECEIVE, number);

		error = verbs_link_receive(&lesson->links[TRACE_B], &memory, 1);
		if (error == 0)
			error = lesson_note(lesson, &step);
	}
	return error;
}

static int lesson_post_request(struct trace_lesson *lesson, uint32_t number)
{
	const struct trace_operation *operation = lesson->options->operation;
	const struct verbs_region *target = &lesson->regions[TRACE_B];
	const uint64_t address = (uintptr_t)target->memory;
	struct ibv_sge memory = lesson_memory(lesson, TRACE_A);
	struct ibv_send_wr request = {.wr_id = number,
				      .opcode = (enum ibv_wr_opcode)operation->opcode};
	const struct trace_step step = lesson_work(lesson, TRACE_REQUEST, number);
	int error;

	if (operation->is_atomic) {
		request.wr.atomic.remote_addr = address;
		request.wr.atomic.rkey = target->mr->rkey;
		request.wr.atomic.compare_add = 1;
	} else {
		request.wr.rdma.remote_addr = address;
		request.wr.rdma.rkey = target->mr->rkey;
	}
	error = verbs_link_post(&lesson->links[TRACE_A], &request, &memory, 1);
	return error ? error : lesson_note(lesson, &step);
}

static int lesson_post(struct trace_lesson *lesson)
{
	const uint32_t late_ms = lesson->options->receive_after_ms;
	int error = 0;

	if (late_ms == 0)
		error = lesson_post_receives(lesson);
	else
		lesson->receive_at_ns = lab_now_ns() + late_ms * NS_PER_MS;
	for (uint32_t number = 1; number <= lesson->options->count && !error; number++)
		error = lesson_post_request(lesson, number);
	return error;
}

/* ---- completions ---- */

static int lesson_note_completions(struct trace_lesson *lesson, enum trace_step_kind kind,
				   const struct ibv_wc *completions, int count, uint32_t *seen)
{
	int error = 0;

	for (int i = 0; i < count && !error; i++) {
		struct trace_step step = lesson_work(lesson, kind, ++*seen);

		step.status = (uint8_t)completions[i].status;
		lesson->has_failed |= completions[i].status != IBV_WC_SUCCESS;
		error = lesson_note(lesson, &step);
	}
	return error;
}

/*
 * Takes what is there. A's queue is asked first and told last: where both have a completion, B's
 * came first, for it was before the acknowledgement.
 */
static int lesson_poll(struct trace_lesson *lesson)
{
	struct ibv_wc of_a, of_b;
	const int count_a = ibv_poll_cq(lesson->links[TRACE_A].cq, 1, &of_a);
	const int count_b = ibv_poll_cq(lesson->links[TRACE_B].cq, 1, &of_b);
	int error;

	if (count_a < 0 || count_b < 0) {
		lab_say("the completion queue is gone");
		return -EIO;
	}
	error = lesson_note_completions(lesson, TRACE_RECEIVED, &of_b, count_b, &lesson->received);
	if (error)
		return error;
	return lesson_note_completions(lesson, TRACE_DONE, &of_a, count_a, &lesson->done);
}

static bool lesson_is_over(const struct trace_lesson *lesson)
{
	const uint32_t count = lesson->options->count;
	const bool wants_receives =
		lesson->options->operation->takes_receive && !lesson->has_failed;

	return lesson->done == count && (!wants_receives || lesson->received == count);
}

/* Polls at once while there is something to see, and each millisecond during long timeouts. */
static int lesson_rest(struct trace_lesson *lesson)
{
	const uint64_t now_ns = lab_now_ns();
	const bool is_eager = now_ns - lesson->last_ns < EAGER_NS;
	const int result = lab_wait(lesson->watch, -1, 0, is_eager ? now_ns : now_ns + NS_PER_MS);

	return result == -ETIMEDOUT ? 0 : result;
}

static int lesson_await(struct trace_lesson *lesson)
{
	const uint64_t deadline_ns = lab_deadline_ns(lesson->options->timeout_s);
	int error = 0;

	while (!error && !lesson_is_over(lesson)) {
		if (lesson->receive_at_ns != 0 && lab_now_ns() >= lesson->receive_at_ns)
			error = lesson_post_receives(lesson);
		if (error == 0)
			error = lesson_poll(lesson);
		if (error == 0)
			error = lesson_rest(lesson);
		if (error == 0 && lab_now_ns() > deadline_ns) {
			lab_say("the operation did not end within %u s: the trace ends here",
				lesson->options->timeout_s);
			error = -ETIMEDOUT;
		}
	}
	return error;
}

int trace_lesson_run(const struct lab_options *options, struct lab_watch *watch, int fd)
{
	struct trace_lesson lesson = {
		.options = options,
		.watch = watch,
		.fd = fd,
		.bytes = options->operation->is_atomic ? ATOMIC_BYTES : options->bytes,
	};
	int error;

	lesson.packets = trace_packets_of(lesson.bytes, options->mtu_bytes);
	error = lesson_connect(&lesson);
	if (error == 0)
		error = lesson_post(&lesson);
	if (error == 0)
		error = lesson_await(&lesson);
	lesson_close(&lesson);
	return error;
}

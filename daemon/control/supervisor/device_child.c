/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/device_child.h"

#include "daemon/control/supervisor/device_launch.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/link/process_link.h"
#include "proto/base/causes.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_WAIT_NS (10 * RNIC_NS_PER_SECOND)
#define END_WAIT_NS   (1 * RNIC_NS_PER_SECOND) /* for an end by itself */
#define KILL_WAIT_NS  (2 * RNIC_NS_PER_SECOND)
/* For an end without PID descriptors, and to send START again. */
#define LOOK_AGAIN_NS (20 * RNIC_NS_PER_MS)

/* SAME: the event means nothing in this state. */
#define SAME DEVICE_CHILD_STATE_COUNT
#define ROW(ready, unfit, hang_up, violation, late, end, exit)                                     \
	{                                                                                          \
		[DEVICE_CHILD_READY] = (ready), [DEVICE_CHILD_UNFIT] = (unfit),                    \
		[DEVICE_CHILD_HANG_UP] = (hang_up), [DEVICE_CHILD_VIOLATION] = (violation),        \
		[DEVICE_CHILD_LATE] = (late), [DEVICE_CHILD_END] = (end),                          \
		[DEVICE_CHILD_EXIT] = (exit)                                                       \
	}
#define SERVING	  DEVICE_CHILD_SERVING
#define ENDING	  DEVICE_CHILD_ENDING
#define KILLED	  DEVICE_CHILD_KILLED
#define ABANDONED DEVICE_CHILD_ABANDONED
#define DEAD	  DEVICE_CHILD_DEAD

static const enum device_child_state
	child_next_states[DEVICE_CHILD_STATE_COUNT][DEVICE_CHILD_EVENT_COUNT] = {
		/* by event:                    READY    UNFIT   HANG_UP VIOLATION LATE       END
		   EXIT */
		[DEVICE_CHILD_STARTING] =
			ROW(SERVING, ENDING, ENDING, KILLED, KILLED, ENDING, DEAD),
		[DEVICE_CHILD_SERVING] = ROW(KILLED, KILLED, ENDING, KILLED, SAME, ENDING, DEAD),
		[DEVICE_CHILD_ENDING] = ROW(SAME, SAME, SAME, SAME, KILLED, SAME, DEAD),
		[DEVICE_CHILD_KILLED] = ROW(SAME, SAME, SAME, SAME, ABANDONED, SAME, DEAD),
		[DEVICE_CHILD_ABANDONED] = ROW(SAME, SAME, SAME, SAME, SAME, SAME, DEAD),
		[DEVICE_CHILD_DEAD] = ROW(SAME, SAME, SAME, SAME, SAME, SAME, SAME),
};

#undef SERVING
#undef ENDING
#undef KILLED
#undef ABANDONED
#undef DEAD

/* --- starting -------------------------------------------------------------------------------- */

static int child_open_pages(struct device_child *process, char *reason)
{
	int result = shared_page_open(&process->facts_page, "rnic-facts",
				      sizeof(struct rnic_facts_page), SHARED_PAGE_OF_CONTROL);

	if (result == 0)
		result = shared_page_open(&process->stats_page, "rnic-statistics",
					  sizeof(struct rnic_stats_file), SHARED_PAGE_OF_DEVICE);
	if (result == 0)
		result = verb_pages_open(&process->verbs);
	if (result != 0) {
		snprintf(reason, DEVICE_TEXT_BYTES, "no memory for a device process: %s",
			 strerror(-result));
		return result;
	}
	((struct rnic_facts_page *)process->facts_page.address)->magic = RNIC_PROCESS_MAGIC;
	stats_reader_begin(&process->stats, process->stats_page.address, process->common->now_ns);
	verb_pages_write(&process->verbs, &process->common->rules, process->uid,
			 process->common->now_ns);
	return 0;
}

/* Opens the link and stores the other end, the caller's. */
static int child_open_link(struct device_child *process, int *other_fd, char *reason)
{
	int fds[2];
	int result = process_link_open(fds);

	if (result != 0) {
		snprintf(reason, DEVICE_TEXT_BYTES, "cannot make a socket for a device process: %s",
			 strerror(-result));
		return result;
	}
	process->link_fd = fds[0];
	*other_fd = fds[1];
	return 0;
}

static int child_launch(struct device_child *process, char *reason)
{
	const struct device_common *common = process->common;
	int log_fd = -1;
	int other_fd;
	int result = child_open_link(process, &other_fd, reason);

	if (result != 0)
		return result;
	if (process->uid != geteuid())
		result = child_log_open(&process->log, process->uid, common->epoll_fd, process,
					&log_fd);
	if (result == 0)
		result = common->launch(common->program, other_fd, log_fd, common->capture_fd < 0,
					&process->pid, &process->pid_fd);
	close(other_fd);
	if (log_fd >= 0)
		close(log_fd);
	if (result != 0) {
		snprintf(reason, DEVICE_TEXT_BYTES, "cannot start a device process, %.110s: %s%s",
			 common->program_path, strerror(-result), device_launch_remedy(result));
		return result;
	}
	/* The priority that the control plane has is no other user's. */
	if (process->uid != geteuid())
		setpriority(PRIO_PROCESS, (id_t)process->pid, 0);
	return 0;
}

static int child_send_start(struct device_child *process)
{
	const struct device_common *common = process->common;
	struct rnic_process_start start = *common->start;
	const int fds[] = {process->facts_page.fd, process->stats_page.fd, common->capture_fd};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_START,
		.payload = &start,
		.payload_bytes = sizeof(start),
		.fds = fds,
		.fd_count = common->capture_fd < 0 ? 2 : 3,
	};
	int result;

	start.lane = process->lane;
	process->rules.lane = process->lane;
	start.uid = process->uid;
	start.memory_bytes = process->memory_bytes;
	result = process_link_send(process->link_fd, &letter);
	if (result == -EAGAIN)
		return result;
	shared_page_close_fd(&process->facts_page);
	shared_page_close_fd(&process->stats_page);
	return result;
}

/* Sends START. While too many descriptors are on their way, the next check sends START. */
static void child_start(struct device_child *process)
{
	int result = child_send_start(process);

	process->owes_start = result == -EAGAIN;
	if (result != 0 && !process->owes_start)
		device_child_happen(process, DEVICE_CHILD_HANG_UP, strerror(-result));
}

static int child_watch(struct device_child *process)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = process};
	const int epoll_fd = process->common->epoll_fd;
	const int fds[] = {process->pid_fd, process->link_fd};

	for (unsigned i = 0; i < RNIC_COUNT_OF(fds); i++)
		if (fds[i] >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i], &event) != 0)
			return -errno;
	return 0;
}

/*
 * Ends the watch of a descriptor. A child that is being started may have a duplicate, so that the
 * close alone would not end the watch.
 */
static void child_unwatch(const struct device_child *process, int fd)
{
	epoll_ctl(process->common->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/*
 * Hangs up. The socket may hold messages with descriptors, which the close of the socket closes,
 * and that may block: it is a thread's, which no other process waits for.
 */
static void child_hang_up(struct device_child *process)
{
	if (process->link_fd < 0)
		return;
	child_unwatch(process, process->link_fd);
	shutdown(process->link_fd, SHUT_RDWR);
	deferred_close_take(&process->deferred_close, process->link_fd);
	process->link_fd = -1;
}

/*
 * Tells a program to let go of its device. The link stays until the program hangs up, which says
 * that it has; what the program still says meanwhile is not read.
 */
static void child_ask_program(struct device_child *process)
{
	struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = process};

	shutdown(process->link_fd, SHUT_WR);
	epoll_ctl(process->common->epoll_fd, EPOLL_CTL_MOD, process->link_fd, &event);
}

static void child_close_pid_fd(struct device_child *process)
{
	if (process->pid_fd < 0)
		return;
	child_unwatch(process, process->pid_fd);
	close(process->pid_fd);
	process->pid_fd = -1;
}

static void child_close_link(struct device_child *process)
{
	if (process->is_program && process->state != DEVICE_CHILD_DEAD && process->link_fd >= 0)
		child_ask_program(process);
	else
		child_hang_up(process);
	if (process->outbox.answer_fd >= 0)
		close(process->outbox.answer_fd);
	process->outbox.answer_fd = -1;
	process->outbox.has_answer = false;
	process->outbox.retry_ns = UINT64_MAX;
	client_ledger_clear(&process->held);
}

void device_child_count(struct device_child *process)
{
	if (process->stats.stats != NULL)
		rule_table_count(&process->common->rules, &process->rules, process->stats.stats);
	verb_pages_count(&process->verbs, &process->common->rules, &process->rules);
	if (stats_reader_update(&process->stats, &process->common->totals, process->common->now_ns))
		return;
	log_from_client(process->uid,
			"the device process of user %u (pid %d) counts what cannot have happened; "
			"no total follows its counters any more",
			process->uid, (int)process->pid);
	stats_reader_end(&process->stats);
}

/* Ends the process's use of lane and statistics page, once. */
static void child_fold(struct device_child *process)
{
	device_child_count(process);
	stats_reader_end(&process->stats);
	if (process->lane != 0)
		process->common->host->give_lane_back(process->common->host->context,
						      process->lane);
	process->lane = 0;
}

/*
 * A program has memory of its own, and the kernel counts what it uses of large queues. Other
 * programs leave it no less.
 */
static void child_take_budget(struct device_child *process)
{
	process->memory_bytes =
		process->is_program ? UINT64_MAX : memory_budget_take(&process->common->memory);
	process->has_budget = !process->is_program;
}

/* An abandoned process keeps its budget: it still has the memory. */
static void child_give_budget_back(struct device_child *process)
{
	if (process->has_budget)
		memory_budget_give_back(&process->common->memory, process->memory_bytes);
	process->has_budget = false;
}

static struct device_child *child_allocate(struct device_common *common, uid_t uid)
{
	struct device_child *process = calloc(1, sizeof(*process));

	if (process == NULL)
		return NULL;
	process->common = common;
	process->uid = uid;
	process->pid_fd = -1;
	process->link_fd = -1;
	child_log_init(&process->log);
	process->facts_page.fd = -1;
	process->stats_page.fd = -1;
	verb_pages_init(&process->verbs);
	process->idle_ns = common->now_ns;
	process->outbox.answer_fd = -1;
	process->outbox.retry_ns = UINT64_MAX;
	process->outbox.behind_since_ns = UINT64_MAX;
	process->outbox.has_facts = true;
	process->outbox.has_rules = rule_table_concerns(&process->common->rules, process->uid);
	process->deadline_ns = common->now_ns + START_WAIT_NS;
	return process;
}

/* Takes a lane and what else the process needs before there is one. */
static int child_prepare(struct device_child *process, char *reason)
{
	const struct device_set_host *host = process->common->host;
	int result = host->take_lane(host->context, process->uid, &process->lane, reason);

	if (result != 0)
		return result;
	process->recorded_lane = process->lane;
	child_take_budget(process);
	return child_open_pages(process, reason);
}

/* Begins to serve the process, which exists: from here on it ends by an event. */
static void child_begin(struct device_child *process)
{
	int result = child_watch(process);

	if (result == 0)
		child_start(process);
	else
		device_child_happen(process, DEVICE_CHILD_HANG_UP, strerror(-result));
}

/* Frees an object whose process has not come to be. */
static void child_discard(struct device_child *process)
{
	child_fold(process);
	child_give_budget_back(process);
	/* Nobody had the other end. */
	if (process->link_fd >= 0)
		close(process->link_fd);
	child_log_close(&process->log);
	shared_page_close(&process->facts_page);
	shared_page_close(&process->stats_page);
	verb_pages_close(&process->verbs);
	free(process);
}

static int child_hold_program(struct device_child *process, const struct device_program *program,
			      int *fd, char *reason)
{
	int result;

	process->pid = program->pid;
	process->pid_fd = fcntl(program->pid_fd, F_DUPFD_CLOEXEC, 0);
	if (process->pid_fd < 0) {
		result = -errno;
		snprintf(reason, DEVICE_TEXT_BYTES, "cannot hold the program: %s",
			 strerror(-result));
		return result;
	}
	result = child_open_link(process, fd, reason);
	if (result != 0)
		close(process->pid_fd);
	return result;
}

/* `program` NULL: a child is launched; else `fd` gets the program's end of the link. */
static int child_create(struct device_common *common, uid_t uid,
			const struct device_program *program, struct device_child **out, int *fd,
			char *reason)
{
	struct device_child *process = child_allocate(common, uid);
	int result;

	if (process == NULL) {
		snprintf(reason, DEVICE_TEXT_BYTES, "no memory for a device process");
		return -ENOMEM;
	}
	process->is_program = program != NULL;
	result = child_prepare(process, reason);
	if (result == 0)
		result = program == NULL ? child_launch(process, reason)
					 : child_hold_program(process, program, fd, reason);
	if (result != 0) {
		child_discard(process);
		return result;
	}
	child_begin(process);
	*out = process;
	return 0;
}

int device_child_start(struct device_common *common, uid_t uid, struct device_child **process,
		       char reason[DEVICE_TEXT_BYTES])
{
	return child_create(common, uid, NULL, process, NULL, reason);
}

int device_child_adopt(struct device_common *common, const struct device_program *program,
		       struct device_child **process, int *fd, char reason[DEVICE_TEXT_BYTES])
{
	return child_create(common, program->uid, program, process, fd, reason);
}

void device_child_free(struct device_child *process)
{
	list_remove(&process->node);
	deferred_close_close(&process->deferred_close);
	free(process);
}

/* --- states ---------------------------------------------------------------------------------- */

/* Says why the process ends, or does not end, where the control plane did not want that. */
__attribute__((format(printf, 2, 3))) static void child_tell_end(struct device_child *process,
								 const char *format, ...)
{
	const struct device_set_host *host = process->common->host;
	struct rnic_process_trouble trouble = {.cause = RNIC_CAUSE_DEVICE_FAILED};
	va_list arguments;

	if (process->is_told)
		return;
	process->is_told = true;
	process->has_failed = true;
	va_start(arguments, format);
	vsnprintf(trouble.reason, sizeof(trouble.reason), format, arguments);
	va_end(arguments);
	snprintf(trouble.subject, sizeof(trouble.subject), "device process of user %u",
		 process->uid);
	host->trouble(host->context, process, &trouble);
}

static void child_kill(struct device_child *process)
{
	child_close_link(process);
	/* The child is not reaped yet, so the PID is the child's. The end of the link tells a
	 * program. */
	if (!process->is_program)
		kill(process->pid, SIGKILL);
}

static void child_abandon(struct device_child *process)
{
	process->is_told = false;
	if (process->is_program) {
		child_tell_end(process, "it does not let go of its device, which another program "
					"may get; is it stopped?");
	} else {
		child_tell_end(
			process,
			"it hangs in the kernel and cannot be killed; it waits perhaps for a "
			"file system of a user (/sys/fs/fuse/connections/*/abort)");
	}
	child_fold(process);
}

/* What was recorded outlives the process: the cause of a failure is looked for afterwards. */
static void child_shelve_record(const struct device_child *process)
{
	const struct rnic_stats_file *file = process->stats_page.address;
	const struct shelved_record shelved = {
		.uid = process->uid,
		.pid = process->pid,
		.lane = process->recorded_lane,
		.is_program = process->is_program,
		.has_failed = process->has_failed,
		.ended_ns = process->dead_ns,
	};

	if (file != NULL)
		record_shelf_put(&process->common->records, &shelved, &file->record);
}

/* Releases everything but the object. */
static void child_bury(struct device_child *process)
{
	process->dead_ns = process->common->now_ns;
	child_shelve_record(process);
	child_close_link(process);
	child_fold(process);
	child_give_budget_back(process);
	child_close_pid_fd(process);
	child_log_close(&process->log);
	shared_page_close(&process->facts_page);
	shared_page_close(&process->stats_page);
	verb_pages_close(&process->verbs);
	pending_query_clear(&process->rows);
}

static void child_enter(struct device_child *process)
{
	const uint64_t now_ns = process->common->now_ns;

	process->deadline_ns = UINT64_MAX;
	switch (process->state) {
	case DEVICE_CHILD_ENDING:
		child_close_link(process);
		process->deadline_ns = now_ns + END_WAIT_NS;
		break;
	case DEVICE_CHILD_KILLED:
		child_kill(process);
		process->deadline_ns = now_ns + KILL_WAIT_NS;
		break;
	case DEVICE_CHILD_ABANDONED:
		child_abandon(process);
		break;
	case DEVICE_CHILD_DEAD:
		child_bury(process);
		break;
	default:
		break;
	}
}

void device_child_happen(struct device_child *process, enum device_child_event event,
			 const char *reason)
{
	enum device_child_state next;

	/* A program closes the link last of all that it has of the device. */
	if (event == DEVICE_CHILD_HANG_UP && process->is_program)
		event = DEVICE_CHILD_EXIT;
	next = child_next_states[process->state][event];
	if (next == SAME)
		return;
	if (reason != NULL)
		snprintf(process->reason, sizeof(process->reason), "%s", reason);
	if (event == DEVICE_CHILD_VIOLATION || event == DEVICE_CHILD_UNFIT ||
	    (event == DEVICE_CHILD_LATE && process->state == DEVICE_CHILD_STARTING))
		child_tell_end(process, "it is ended: %s", process->reason);
	if (event == DEVICE_CHILD_END)
		process->is_told = true;
	process->has_served = process->has_served || next == DEVICE_CHILD_SERVING;
	process->state = next;
	process->common->has_news = true;
	child_enter(process);
}

/* --- looking after --------------------------------------------------------------------------- */

/* How the process ended. */
static void child_describe_end(const siginfo_t *end, char text[DEVICE_TEXT_BYTES])
{
	if (end->si_code == CLD_EXITED)
		snprintf(text, DEVICE_TEXT_BYTES, "ended with status %d", end->si_status);
	else
		snprintf(text, DEVICE_TEXT_BYTES, "was ended by signal %d (%s)", end->si_status,
			 strsignal(end->si_status));
}

/* A program is another process's child, or nobody's: only the descriptor tells of its end. */
static void child_look_at_program(struct device_child *process)
{
	struct pollfd end = {.fd = process->pid_fd, .events = POLLIN};

	if (process->state != DEVICE_CHILD_DEAD && poll(&end, 1, 0) > 0)
		device_child_happen(process, DEVICE_CHILD_EXIT, "the program has ended");
}

static void child_reap(struct device_child *process)
{
	char text[DEVICE_TEXT_BYTES];
	siginfo_t end = {.si_pid = 0};

	if (process->state == DEVICE_CHILD_DEAD ||
	    waitid(P_PID, (id_t)process->pid, &end, WEXITED | WNOHANG) != 0 || end.si_pid == 0)
		return;
	child_describe_end(&end, text);
	child_tell_end(process, "it %s; its programs lost their device", text);
	if (process->reason[0] == '\0')
		snprintf(process->reason, sizeof(process->reason), "the device process %.200s",
			 text);
	device_child_happen(process, DEVICE_CHILD_EXIT, NULL);
}

void device_child_check(struct device_child *process)
{
	if (process->owes_start && process->state == DEVICE_CHILD_STARTING)
		child_start(process);
	/* The descriptor of a PID tells the end; to ask would cost a system call in each turn. */
	if (process->pid_fd < 0 || process->may_have_ended ||
	    process->common->now_ns >= process->deadline_ns) {
		if (process->is_program)
			child_look_at_program(process);
		else
			child_reap(process);
	}
	process->may_have_ended = false;
	if (process->common->now_ns < process->deadline_ns)
		return;
	device_child_happen(process, DEVICE_CHILD_LATE,
			    process->state == DEVICE_CHILD_STARTING
				    ? "the device process did not start in time"
				    : NULL);
}

/* Returns whether only a look can tell that START can be sent, or that the process has ended. */
static bool child_wants_a_look(const struct device_child *process)
{
	if (process->state == DEVICE_CHILD_STARTING)
		return process->owes_start;
	return process->pid_fd < 0 &&
	       (process->state == DEVICE_CHILD_ENDING || process->state == DEVICE_CHILD_KILLED);
}

uint64_t device_child_next_deadline_ns(const struct device_child *process)
{
	const uint64_t look_ns = process->common->now_ns + LOOK_AGAIN_NS;
	uint64_t deadline_ns = process->deadline_ns;

	if (process->outbox.retry_ns < deadline_ns)
		deadline_ns = process->outbox.retry_ns;
	if (child_wants_a_look(process) && look_ns < deadline_ns)
		deadline_ns = look_ns;
	return deadline_ns;
}

uint32_t device_child_qp_owner(const struct device_child *process, uint32_t qpn)
{
	const struct rnic_stats_file *file = process->stats_page.address;

	if (process->state != DEVICE_CHILD_SERVING || qpn >> RNIC_LANE_BITS != process->lane)
		return 0;
	return atomic_load_explicit(&file->qp_owners[qpn % RNIC_LANE_QPNS], memory_order_acquire);
}

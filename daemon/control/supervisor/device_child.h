/* SPDX-License-Identifier: MIT */
/*
 * A device process as a child of the control plane, from its start to its end: the process itself,
 * the end of its link, its lane, the shared pages. The process is not trusted. It may
 * stop, hang in the kernel or send anything: none of that makes the control plane wait or costs
 * another user's process anything.
 *
 * A program may be its own device process (RNIC_HELLO_DIRECT). Such a process is no child: the
 * control plane neither reaps nor kills it, and a closed link says that the program holds nothing.
 *
 * The states are a table in device_child.c. A process that holds a client's reference stays as an
 * object after its death, so that the client learns the reason. device_link.h has the messages.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_DEVICE_CHILD_H
#define DAEMON_CONTROL_SUPERVISOR_DEVICE_CHILD_H

#include "daemon/control/supervisor/child_log.h"
#include "daemon/control/supervisor/client_ledger.h"
#include "daemon/control/supervisor/device_set_host.h"
#include "daemon/control/supervisor/memory_budget.h"
#include "daemon/control/supervisor/pending_order.h"
#include "daemon/control/supervisor/pending_query.h"
#include "daemon/control/supervisor/record_shelf.h"
#include "daemon/control/supervisor/rule_table.h"
#include "daemon/control/supervisor/shared_page.h"
#include "daemon/control/supervisor/stats_totals.h"
#include "daemon/control/supervisor/verb_pages.h"
#include "daemon/shared/base/deferred_close.h"
#include "daemon/shared/link/device_facts.h"
#include "lib/nic/base/list.h"
#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum device_child_state {
	DEVICE_CHILD_STARTING,	/* it has START, and has not answered */
	DEVICE_CHILD_SERVING,	/* it has answered READY */
	DEVICE_CHILD_ENDING,	/* the link is closed; the process has a moment to end by itself */
	DEVICE_CHILD_KILLED,	/* SIGKILL was sent */
	DEVICE_CHILD_ABANDONED, /* SIGKILL has no effect: the process hangs in the kernel */
	DEVICE_CHILD_DEAD,	/* reaped */
	DEVICE_CHILD_STATE_COUNT,
};

enum device_child_event {
	DEVICE_CHILD_READY,	/* READY with status 0 came */
	DEVICE_CHILD_UNFIT,	/* READY with a failure came */
	DEVICE_CHILD_HANG_UP,	/* the link broke */
	DEVICE_CHILD_VIOLATION, /* a message broke the protocol */
	DEVICE_CHILD_LATE,	/* the state's deadline has passed */
	DEVICE_CHILD_END,	/* nobody needs the process any more */
	DEVICE_CHILD_EXIT,	/* the process has ended, and was reaped */
	DEVICE_CHILD_EVENT_COUNT,
};

/* Starts a program as device_launch_start() does. */
typedef int device_launcher(const char *program, int link_fd, int log_fd, bool limits_files,
			    pid_t *pid, int *pid_fd);

/* A program that is to be its own device process. */
struct device_program {
	uid_t uid;
	pid_t pid;
	int pid_fd; /* of `pid` */
};

/* What all device processes of a set share. The device set owns it. */
struct device_common {
	const struct device_set_host *host;
	const struct rnic_process_start
		*start; /* lane, uid, memory are filled in for each process */
	const struct device_facts *facts;
	const char *program;	  /* what `launch` takes */
	const char *program_path; /* for messages */
	device_launcher *launch;
	int capture_fd; /* -1: none */
	bool has_lanes; /* lane 0 has sockets of its own, and there may be several processes */
	int epoll_fd;
	uint64_t now_ns; /* of the turn under way */
	uint32_t path_mtu_bytes;
	struct rnic_gid gids[RNIC_GIDS_MAX]; /* that every device process is to know */
	struct stats_totals totals;
	struct rule_table rules;
	uint64_t lost_packets; /* of lanes without a process, and beyond the bounds of links */
	struct memory_budget memory;
	struct record_shelf records;
	uint32_t next_request_id; /* of ROWS */
	bool has_news;		  /* a deferred request may go on */
};

/* What is still to be sent, and was sent. Nothing is queued but the latest state. */
struct device_outbox {
	struct rnic_gid known[RNIC_GIDS_MAX]; /* GIDs that were sent */
	uint32_t stale;		  /* of `known`, by index: emptied before they are sent again */
	uint64_t sequence;	  /* of the latest FACTS that was sent; 0: none */
	uint64_t behind_since_ns; /* since then a FACTS is not applied; UINT64_MAX: all are */
	bool has_facts;		  /* a FACTS is to be sent */
	bool has_rules;		  /* a RULES is to be sent */
	bool knows_rules;	  /* the latest RULES had some */
	bool has_answer;	  /* a JOINED is to be sent */
	struct rnic_process_group answer;
	int answer_fd;	       /* -1: none */
	uint64_t retry_ns;     /* when the link may have room again; UINT64_MAX: it has */
	uint64_t retry_gap_ns; /* between the latest attempts; 0: the link took the latest */
};

/* What is used of a rate: as if each packet took its interval, up to this time. */
struct device_allowance {
	uint64_t used_ns;
};

/* How much the process sends, so that it cannot keep the control plane busy. */
struct device_inbox {
	uint64_t window_ns; /* when the present window began */
	uint32_t count;	    /* messages in the window */
	struct device_allowance packets;
	struct device_allowance lane_zero_packets; /* where lanes are told apart */
	bool is_muted; /* the link is not read until the next window, or until JOINED is sent */
};

struct device_child {
	struct list node; /* of device_set.processes */
	struct device_common *common;
	enum device_child_state state;
	uint64_t deadline_ns; /* of the state; UINT64_MAX: none */
	uint32_t references;  /* clients that use the process */
	struct client_ledger held;
	uint64_t idle_ns; /* since then there is no reference */
	uid_t uid;
	pid_t pid;
	int pid_fd;	       /* -1: the kernel has none, or dead */
	bool is_program;       /* a client that is its own device process, and no child */
	bool may_have_ended;   /* a descriptor of the process has news */
	int link_fd;	       /* -1: closed */
	uint8_t lane;	       /* 0: given back */
	uint8_t recorded_lane; /* of its record: stays when `lane` is given back */
	bool owes_start;       /* STARTING: START could not be sent yet */
	bool has_served;       /* READY came */
	bool is_told;	       /* the log has a line about its end, or needs none */
	bool has_failed;       /* it ended, or hangs, where nobody wanted that */
	uint64_t memory_bytes; /* its budget */
	bool has_budget;       /* not given back yet */
	struct shared_page facts_page;
	struct shared_page stats_page;
	struct stats_reader stats;
	struct verb_pages verbs;
	struct rule_reader rules;
	struct device_outbox outbox;
	struct device_inbox inbox;
	struct child_log log;
	struct pending_query rows;
	struct pending_order order;
	struct deferred_close deferred_close; /* for the link; what is in there is the user's */
	uint64_t dead_ns;		      /* since then it is DEAD */
	char udp_port[RNIC_CTL_NAME_BYTES];   /* of READY */
	char reason[DEVICE_TEXT_BYTES];	      /* why the process does not serve: for refusals */
};

/*
 * Starts the device process of user `uid` and sends START. Negative errno with a sentence in
 * `reason`: nothing is left open.
 */
int device_child_start(struct device_common *common, uid_t uid, struct device_child **process,
		       char reason[DEVICE_TEXT_BYTES]);

/*
 * Makes the program of user `uid` its own device process: sends START, and stores the program's end
 * of the link at `fd`, the caller's. `pid_fd` is a descriptor of `pid` and stays the caller's.
 * Negative errno with a sentence in `reason`: nothing is left open.
 */
int device_child_adopt(struct device_common *common, const struct device_program *program,
		       struct device_child **process, int *fd, char reason[DEVICE_TEXT_BYTES]);

/* Whether a DEAD process still holds its link, whose close waits for a descriptor in there. */
static inline bool device_child_is_closing(const struct device_child *process)
{
	return deferred_close_pending(&process->deferred_close) > 0;
}

/* Frees a process that is DEAD. */
void device_child_free(struct device_child *process);

/*
 * Lets `event` happen: the table names the next state. `reason` is for refusals and the log; NULL:
 * the process keeps its reason.
 */
void device_child_happen(struct device_child *process, enum device_child_event event,
			 const char *reason);

/* Adds to the totals what the process has counted since the last call. */
void device_child_count(struct device_child *process);

/* Looks whether the process has ended, or the deadline of its state has passed. */
void device_child_check(struct device_child *process);

/*
 * The client_id of the client that has the queue pair, as the process says, which can say so of the
 * QPNs of its lane alone. 0: the process has no such queue pair.
 */
uint32_t device_child_qp_owner(const struct device_child *process, uint32_t qpn);

/* The time at which device_child_check() has something to do; UINT64_MAX: never. */
uint64_t device_child_next_deadline_ns(const struct device_child *process);

/* Whether the process has an end of the link, and is neither ending nor dead. */
static inline bool device_child_is_alive(const struct device_child *process)
{
	return process->state == DEVICE_CHILD_STARTING || process->state == DEVICE_CHILD_SERVING;
}

#endif

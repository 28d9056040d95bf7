/* SPDX-License-Identifier: MIT */
/*
 * Rows of device processes for SHOW, in the order of their lanes. A cursor names the lane and the
 * row there. The listing of a viewer with the right to all asks the next DEVICE_ROWS_AHEAD
 * processes at once, and for their next rows early: each keeps one answer in its slot
 * (pending_query.h) until its turn comes, its deadline passes, or the viewer goes. Other viewers
 * make one process at a time work.
 *
 * A process gets one second to answer, and a few for all answers to one listing. A process that
 * did not answer is skipped, and not asked again before its late answer has come: a stopped process
 * delays a listing once. Each reply waits for one answer at most, so that no viewer gives up; the
 * answers that came meanwhile are in the same reply.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_DEVICE_ROWS_H
#define DAEMON_CONTROL_SUPERVISOR_DEVICE_ROWS_H

#include "daemon/control/supervisor/device_child.h"
#include "daemon/shared/reports/show_rows.h"

#include <stdbool.h>
#include <stdint.h>

struct device_set;

#define DEVICE_ROWS_WAIT_NS UINT64_C(1000000000)
#define DEVICE_ROWS_ALL_NS  UINT64_C(5000000000)

/* So many answers may wait for their turn, each of RNIC_PROCESS_MESSAGE_BYTES at most. */
#define DEVICE_ROWS_AHEAD 32

/* One reply to SHOW under way. */
struct device_listing {
	uint32_t asker; /* the client_id of the viewer */
	uint32_t kind;	/* enum rnic_show_kind */
	uint32_t row_bytes;
	/* Of the reply: the cursor of the next request, 0 at the end. Before, and while the listing
	 * goes on in a later turn: where to go on. */
	uint32_t cursor;
	uint8_t *rows; /* room for `max` */
	uint32_t count;
	uint32_t max;
	uint32_t ahead; /* processes to ask before their turn; 0: each when its turn has come */
	struct show_patience *patience; /* of the viewer */
	/* Whether to ask the process at all. */
	bool (*may_have_rows)(void *context, const struct device_child *process);
	/* Whether to show the row, which the function may complete. */
	bool (*accept)(void *context, const struct device_child *process, void *row);
	/* The process is skipped: it does not answer. */
	void (*skip)(void *context, const struct device_child *process);
	void *context;
};

/*
 * Fills the listing with rows of one device process, and of those whose answers are there, or with
 * none. The cursor is 0 after the last
 * process. 0: the reply is ready. -EINPROGRESS: a process is still to answer; call again with the
 * same cursor when device_set_take_news() says so.
 */
int device_rows_list(struct device_set *set, struct device_listing *listing);

#endif

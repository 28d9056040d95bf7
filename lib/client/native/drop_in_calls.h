/* SPDX-License-Identifier: MIT */
/*
 * Calls that the drop-in libraries need beside those of <rnic/rnic.h> and <rnic/rnic_cm.h>: their
 * objects outlive devices, and move from one device to another.
 */
#ifndef LIB_CLIENT_NATIVE_DROP_IN_CALLS_H
#define LIB_CLIENT_NATIVE_DROP_IN_CALLS_H

#include <stdbool.h>

struct rnic_cm_id;
struct rnic_context;

/*
 * Looks, without a request, whether the device is still there: a daemon that does not answer is.
 * Returns 0 or the negative errno of all further calls.
 */
int rnic_context_check(struct rnic_context *context);

/* A descriptor for epoll alone: it reports EPOLLRDHUP once rnic_context_check() fails. */
int rnic_context_loss_fd(const struct rnic_context *context);

/*
 * Ends the identifier at the daemon, which reports nothing about it from then on. Its memory stays,
 * for the events that were taken before; rnic_cm_destroy_id() frees it, and all other calls fail.
 * The daemon's errors, but none when the device is lost.
 */
int rnic_cm_end_id(struct rnic_cm_id *id);

/* Whether rnic_cm_destroy_id() would wait: an event of the identifier is not acknowledged. */
bool rnic_cm_has_open_events(struct rnic_cm_id *id);

/*
 * Programs destroy a channel while another thread still waits there, and then exit. With a kernel's
 * channel the thread goes on waiting; a thread that came back with an error would end the program
 * badly. It may be cancelled.
 */
void rnic_wait_for_end_of_process(void);

#endif

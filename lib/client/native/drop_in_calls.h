/* SPDX-License-Identifier: MIT */
/*
 * Calls that the drop-in libraries need beside those of <rnic/rnic.h> and <rnic/rnic_cm.h>: their
 * objects outlive devices, and move from one device to another.
 */
#ifndef LIB_CLIENT_NATIVE_DROP_IN_CALLS_H
#define LIB_CLIENT_NATIVE_DROP_IN_CALLS_H

#include <stdbool.h>

struct rnic_cm_channel;
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

/*
 * To be called before rnic_cm_connect() or rnic_cm_accept(): when the peer ends the connection, the
 * peer waits until this side calls rnic_cm_disconnect(), or ends the identifier. Otherwise the
 * daemon answers at once.
 */
void rnic_cm_end_by_call(struct rnic_cm_id *id);

/* Whether rnic_cm_destroy_id() would wait: an event of the identifier is not acknowledged. */
bool rnic_cm_has_open_events(struct rnic_cm_id *id);

/*
 * To be called before rnic_cm_end_id() by a thread of a program whose channel blocks. Where the
 * channel is readable for an event of the identifier, another thread may have seen that by poll(2),
 * and be about to take the event. The end takes the event back, and the other thread would wait for
 * ever. So this call first lets that thread take the event, for 200 ms at most. The call does
 * nothing where no other thread takes events.
 */
void rnic_cm_let_take(struct rnic_cm_id *id);

/*
 * Whether the channel was readable for nothing but events that were taken back since the last
 * event was taken, or since the last call: an empty channel may have been announced as readable.
 */
bool rnic_cm_took_back(struct rnic_cm_channel *channel);

/*
 * Programs destroy a channel while another thread still waits there, and then exit. With a kernel's
 * channel the thread goes on waiting; a thread that came back with an error would end the program
 * badly. It may be cancelled.
 */
void rnic_wait_for_end_of_process(void);

#endif

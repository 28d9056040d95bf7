/* SPDX-License-Identifier: MIT */
/*
 * One daemon, read by a thread of its own whenever the page asks. A daemon that does not answer
 * holds up that thread alone: whoever asks for the rows waits for a moment, once, and is told of
 * the silence from then on. Any number of threads may ask.
 *
 * A watch lasts until the program ends: its thread may be waiting for the daemon then.
 */
#ifndef TOOLS_SERVE_DEVICE_WATCH_H
#define TOOLS_SERVE_DEVICE_WATCH_H

#include <stdint.h>
#include <stdio.h>

struct device_watch;

/*
 * Reads the daemon at `socket` once it is asked to; the path outlives the watch. Returns 0,
 * -ENOMEM, or the negative errno of pthread_create().
 */
int device_watch_start(struct device_watch **out, const char *socket);

/* The path of the daemon's socket. */
const char *device_watch_socket(const struct device_watch *watch);

/* Begins to read, unless the rows of before are still young, or a reading is under way. */
void device_watch_ask(struct device_watch *watch);

/*
 * Writes the device's JSON object, as state_document.h has it, to `to`. A reading that is under way
 * and not overdue is waited for until `until_ns` of the monotonic clock.
 */
void device_watch_write(struct device_watch *watch, uint64_t until_ns, FILE *to);

#endif

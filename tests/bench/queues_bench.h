/* SPDX-License-Identifier: MIT */
/*
 * One end of a ping-pong of small messages by an interface that polls a send queue and a receive
 * queue. Each way keeps one connection, in static variables; what fails ends the program.
 */
#ifndef TESTS_BENCH_QUEUES_BENCH_H
#define TESTS_BENCH_QUEUES_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#define QUEUES_MESSAGE_BYTES 8

struct queues_way {
	const char *name;
	void (*serve)(uint16_t port); /* says "ready" when it listens; returns with a peer */
	void (*call)(const char *host, uint16_t port);
	/* Sends a message; the next receive is posted. The last message says so. */
	void (*send)(bool is_last);
	/* Polls both queues until a message has come; whether that was the last one. */
	bool (*receive)(void);
	void (*close)(void);
};

extern const struct queues_way queues_handle, queues_context, queues_verbs;

/* Ends the program when `is_well` is false; `what` has failed. */
void queues_require(bool is_well, const char *what);

void queues_say_ready(void);

#endif

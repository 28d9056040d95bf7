/* SPDX-License-Identifier: MIT */
/*
 * The terminal on standard input and output, key by key, with a screen of its own. Whatever ends
 * the program, apart from SIGKILL, terminal_close() leaves the terminal as it was: from
 * terminal_open() on, signals are events of terminal_wait() and interrupt nothing.
 */
#ifndef TOOLS_RNICCTL_TOP_TERMINAL_H
#define TOOLS_RNICCTL_TOP_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

/* Other events are the characters of keys. */
enum terminal_event {
	TERMINAL_NOTHING = 0, /* the time is over */
	TERMINAL_UP = 256,
	TERMINAL_DOWN,
	TERMINAL_LEFT,
	TERMINAL_RIGHT,
	TERMINAL_PAGE_UP,
	TERMINAL_PAGE_DOWN,
	TERMINAL_HOME,
	TERMINAL_END,
	TERMINAL_UNKNOWN, /* a key without a meaning here */
	TERMINAL_REDRAW,  /* the size has changed, or the program goes on after a stop */
	TERMINAL_CLOSED,  /* by a signal that ends programs, or the terminal is gone */
};

struct terminal {
	struct termios before;
	sigset_t mask_before;
	int signal_fd;
	int ended_by; /* the signal; 0: none */
	char keys[64];
	size_t key_count, keys_taken;
};

/*
 * Takes the terminal. -ENOTTY when standard input or output is none, or when TERM says that it
 * cannot move its cursor; other negative errno of the system. Nothing has changed then.
 */
int terminal_open(struct terminal *terminal);
void terminal_close(struct terminal *terminal);

/* Rows and columns; 24 and 80 where the terminal does not know. */
void terminal_size(size_t *rows, size_t *columns);

/* Waits for a key or a signal, `timeout_ms` at most, and returns the event. */
int terminal_wait(struct terminal *terminal, int timeout_ms);

/* Writes all bytes. False when the terminal is gone. */
bool terminal_write(const char *bytes, size_t count);

#endif

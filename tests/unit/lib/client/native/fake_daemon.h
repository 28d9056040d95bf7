/* SPDX-License-Identifier: MIT */
/*
 * A daemon that serves one client up to OPEN_DEVICE: it answers HELLO on its socket and OPEN_DEVICE
 * on the device connection that it made. The test says how it answers, and holds its ends of the
 * connections from then on. A client that was hung up on may come again.
 */
#ifndef TESTS_UNIT_LIB_CLIENT_NATIVE_FAKE_DAEMON_H
#define TESTS_UNIT_LIB_CLIENT_NATIVE_FAKE_DAEMON_H

#include <pthread.h>
#include <stdint.h>

struct fake_daemon {
	int32_t hello_status;	  /* 0 or a negative errno, with a sentence that names HELLO */
	int32_t open_status;	  /* likewise, of OPEN_DEVICE */
	int16_t shm_version_step; /* how far the version of its regions is from the library's */
	int hang_ups;		  /* that many OPEN_DEVICEs get no answer but a hang-up */

	char path[96]; /* of its socket */
	int listening;
	int control; /* its ends; -1: none yet */
	int device;
	int events;	    /* the writing end of the pipe of asynchronous events */
	unsigned hello_fds; /* descriptors that came with the request */
	unsigned open_fds;
	pthread_t thread;
};

/* Listens, and serves the next client in a thread. */
void fake_daemon_start(struct fake_daemon *daemon);

/* Waits until the client is served or refused. */
void fake_daemon_join(struct fake_daemon *daemon);

/* Hangs up where it has not yet. */
void fake_daemon_stop(struct fake_daemon *daemon);

#endif

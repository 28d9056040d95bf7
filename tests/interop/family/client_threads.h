/* SPDX-License-Identifier: MIT */
/*
 * What family_client does in threads, and to its own connections. A thread says a line when it
 * comes back.
 */
#ifndef TESTS_INTEROP_FAMILY_CLIENT_THREADS_H
#define TESTS_INTEROP_FAMILY_CLIENT_THREADS_H

struct bench;

/* One thread waits for a connection event, and one for a completion event; none will come. */
void threads_wait(struct bench *bench);

/* One thread makes an identifier of rdma_cm, and destroys it. */
void threads_create_id(void);

/*
 * Sends what is no request on all connections of this process to device processes ("device"), or
 * to the control plane ("control").
 */
void threads_garble(const char *whose);

#endif

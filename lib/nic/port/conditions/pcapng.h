/* SPDX-License-Identifier: MIT */
/*
 * Writes a pcapng file of IP packets: section header, one interface (link type RAW, nanoseconds)
 * and enhanced packet blocks, in this machine's byte order. (draft-ietf-opsawg-pcapng, sections 4.1
 * to 4.3.)
 *
 * A buffer collects blocks and goes to the file when it is full or the caller flushes. The first
 * failed write ends the file; the file never has half a block in its middle.
 *
 * Several processes may append to one file, of which one began it: whole blocks go in one write(2)
 * each time, and a write that the system cuts short ends the writing. On a pipe that would leave
 * half a block before the blocks of others, so a process writes only while the reader is near: the
 * buffer fills meanwhile, and a full buffer ends the writing.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_PCAPNG_H
#define LIB_NIC_PORT_CONDITIONS_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCAPNG_BUFFER_BYTES 65536

/* A packet and its comment fit the buffer together; the writer cuts a longer comment. */
#define PCAPNG_PACKET_BYTES_MAX	 16384
#define PCAPNG_COMMENT_BYTES_MAX 1024

struct pcapng {
	int fd;
	int error;	     /* negative errno of the write that ended the file */
	bool is_shared;	     /* by processes that append to it */
	uint32_t pipe_bytes; /* of a shared pipe; 0: it is a file */
	size_t used;
	uint8_t buffer[PCAPNG_BUFFER_BYTES];
};

struct pcapng_packet {
	uint64_t time_ns; /* since 1970 */
	bool is_outbound;
	const char *comment;	  /* or NULL */
	const uint8_t *pieces[2]; /* the bytes from the IP header on, in two parts */
	size_t piece_bytes[2];
};

/*
 * Begins a file on `fd`, which stays the caller's. The file shows `interface` as the name for its
 * packets.
 */
void pcapng_init(struct pcapng *file, int fd, const char *interface);

/* Makes a pipe as large as pcapng_init_shared() needs it; does nothing to a file. */
void pcapng_enlarge_pipe(int fd);

/* Goes on with a file that others began and append to, opened with O_APPEND, or with a pipe. */
void pcapng_init_shared(struct pcapng *file, int fd);

/*
 * Both return 0 or, from the first failed write on, its negative errno: the caller then stops and
 * reports it.
 */
int pcapng_write(struct pcapng *file, const struct pcapng_packet *packet);
int pcapng_flush(struct pcapng *file);

#endif

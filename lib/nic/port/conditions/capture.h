/* SPDX-License-Identifier: MIT */
/*
 * A port that writes every datagram to a pcapng file as the IP packet that it is. The capture owns
 * the port below, which does everything else.
 *
 * Inbound the capture sees datagrams pass. Outbound they pass without ICRC and before the GSO
 * batches are formed, so the port below reports its sent packets, after sealing, to capture_sink().
 * The file therefore has damaged packets as damaged. A packet that a fault above dropped comes from
 * capture_write_dropped(): as it would have been sent, and its comment says that it was not. A
 * packet with a wrong ICRC has a comment about it, and others have those of capture_expect_notes().
 *
 * A failed write ends the capture, never the device. On a pipe nothing waits for the reader: a slow
 * reader ends the capture too. The program ignores SIGPIPE.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_CAPTURE_H
#define LIB_NIC_PORT_CONDITIONS_CAPTURE_H

#include "lib/nic/port/port.h"
#include "lib/nic/port/udp/segment.h"

struct capture;

/* Room for a note about a packet, with its final zero. */
#define CAPTURE_NOTE_BYTES 224

/* Returns the words about a packet to be sent whose bytes begin there; NULL or "": none. */
typedef const char *capture_describe(void *context, const uint8_t *bytes);

/*
 * Creates or empties the file `path`. The file shows `interface` as its name; `now_ns` is the
 * present time of the clock of the port's calls. Errors, with a sentence in `text`: those of
 * capture_file_open(), -ENOMEM.
 */
int capture_open(struct capture **out, const char *path, const char *interface, uint64_t now_ns,
		 char text[PORT_TEXT_BYTES]);

/*
 * Creates or empties the file `path` for several captures, writes what a file begins with, and
 * stores a descriptor to give to them, which the caller closes. Errors, with a sentence in `text`:
 * those of capture_file_open() and write(2), -ENOMEM.
 */
int capture_create_file(int *fd, const char *path, const char *interface,
			char text[PORT_TEXT_BYTES]);

/*
 * A capture that appends to a file of capture_create_file(), or writes to a pipe, by the descriptor
 * `fd`, which it closes, also when it fails. Blocks of several captures stay whole: each write(2)
 * has whole blocks. Where the file may be opened by its name, other holders of `fd` cannot change
 * the flags of this capture's open file. -ENOMEM, with a sentence in `text`.
 */
int capture_open_fd(struct capture **out, int fd, uint64_t now_ns, char text[PORT_TEXT_BYTES]);

/*
 * From now on the owner says what the packets are: `describe` those that leave, and received ones
 * by capture_note(). The owner calls capture_write_received() after each receive, before the next
 * one.
 */
void capture_expect_notes(struct capture *capture, capture_describe *describe, void *context);

/*
 * Puts words to a received packet, whose bytes begin there, when it is of the last receive; the
 * first words stay.
 */
void capture_note(struct capture *capture, const uint8_t *bytes, const char *text);

/* Writes the received packets with their notes. Their bytes may change afterwards. */
void capture_write_received(struct capture *capture);

/*
 * Writes a packet that is not going to be sent, with the words about it and `reason`. The packet
 * gets its ICRC, in the room behind its bytes, and keeps the source port that it has.
 */
void capture_write_dropped(struct capture *capture, const struct datagram *datagram,
			   const char *reason, uint64_t now_ns);

/* Closes a capture that is not stacked yet; port_ops.close closes a stacked one. */
void capture_close(struct capture *capture);

/* The sink for the port that will be below; valid as long as `capture`. */
const struct segment_sink *capture_sink(const struct capture *capture);

/* Puts the capture on top of `next`. */
struct port *capture_stack(struct capture *capture, struct port *next);

/* Whether a write failed: true once, with a sentence for the log in `text`. */
bool capture_take_failure(struct capture *capture, char text[PORT_TEXT_BYTES]);

#endif

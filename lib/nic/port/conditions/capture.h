/* SPDX-License-Identifier: MIT */
/*
 * A port that writes every datagram to a pcapng file as the IP packet it is, and otherwise leaves
 * everything to the port below it, which it owns.
 *
 * Inbound it sees datagrams pass. Outbound they have no ICRC yet when they pass, and nobody knows
 * their GSO batches, so the port below reports what it sent, after sealing, to capture_sink(). What
 * a fault above dropped is therefore not in the file, and what it damaged is there as damaged. A
 * packet whose ICRC is wrong has a comment that says so.
 *
 * A write that fails ends the capture, never the device. On a pipe nothing waits for the reader:
 * one that falls behind ends the capture too. The program ignores SIGPIPE.
 */
#ifndef NIC_PORT_CONDITIONS_CAPTURE_H
#define NIC_PORT_CONDITIONS_CAPTURE_H

#include "port/port.h"
#include "port/udp/segment.h"

struct capture;

/*
 * Creates or empties the file `path`. `interface` is the name shown in it; `now_ns` is the clock
 * that the port will be called with, read just now. Errors, with a sentence in `text`: those of
 * open(2), -ENOMEM.
 */
int capture_open(struct capture **out, const char *path, const char *interface, uint64_t now_ns,
		 char text[PORT_TEXT_BYTES]);

/* For a capture that was not stacked yet; once it is, port_ops.close does it. */
void capture_close(struct capture *capture);

/* To be given to the port that will be below; lives as long as `capture`. */
const struct segment_sink *capture_sink(const struct capture *capture);

/* Puts the capture on top of `next`. */
struct port *capture_stack(struct capture *capture, struct port *next);

/* Whether a write failed: true once, with a sentence for the log in `text`. */
bool capture_take_failure(struct capture *capture, char text[PORT_TEXT_BYTES]);

#endif

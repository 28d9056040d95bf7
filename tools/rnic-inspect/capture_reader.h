/* SPDX-License-Identifier: MIT */
/*
 * Reads capture files frame by frame: pcap (both byte orders, micro- and nanoseconds) and pcapng
 * (sections, interfaces, enhanced and simple packet blocks; the reader skips other blocks).
 *
 * The reader maps the file, and frames point into the mapping. It does not trust the file: it
 * checks every length against the bytes of the file.
 */
#ifndef TOOLS_RNIC_INSPECT_CAPTURE_READER_H
#define TOOLS_RNIC_INSPECT_CAPTURE_READER_H

#include <stddef.h>
#include <stdint.h>

enum capture_direction { CAPTURE_UNKNOWN, CAPTURE_INBOUND, CAPTURE_OUTBOUND };

struct capture_frame {
	uint64_t time_ns;     /* since the epoch; 0 when the file has no time */
	uint32_t link_type;   /* LINKTYPE_ number of the tcpdump registry */
	const uint8_t *bytes; /* valid until capture_reader_close() */
	size_t captured_bytes;
	size_t original_bytes; /* more than captured when a snapshot length cut the frame */
	enum capture_direction direction;
	const uint8_t *comment; /* the first one, without a final zero; NULL: none */
	size_t comment_bytes;
};

struct capture_reader;

/*
 * Opens `path`. Returns 0; -EBADMSG when the file is no capture; or the error of opening or mapping
 * the file. The caller closes the reader.
 */
int capture_reader_open(struct capture_reader **out, const char *path);

/* Returns 1 and a frame, 0 at the end, or -EBADMSG where the file is damaged or ends within a
 * frame. */
int capture_reader_next(struct capture_reader *reader, struct capture_frame *frame);

void capture_reader_close(struct capture_reader *reader);

#endif

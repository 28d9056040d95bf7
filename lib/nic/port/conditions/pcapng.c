/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/pcapng.h"

#include "proto/base/bits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum block_type {
	BLOCK_SECTION_HEADER = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_ENHANCED_PACKET = 6,
};

enum option_code {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_PACKET_FLAGS = 2,
	OPTION_INTERFACE_NAME = 2,
	OPTION_INTERFACE_TIME_RESOLUTION = 9,
};

#define BYTE_ORDER_MAGIC    0x1a2b3c4d
#define LINK_TYPE_RAW	    101
#define DECIMAL_NANOSECONDS 9
#define FLAG_INBOUND	    1
#define FLAG_OUTBOUND	    2

#define INTERFACE_NAME_BYTES_MAX 64
/* More than all fixed fields and option headers of a packet. */
#define BLOCK_OVERHEAD_BYTES 64

#define PIPE_BYTES (1 << 20)

#define BLOCK_BYTES_MAX (PCAPNG_PACKET_BYTES_MAX + PCAPNG_COMMENT_BYTES_MAX + BLOCK_OVERHEAD_BYTES)

_Static_assert(BLOCK_BYTES_MAX <= PCAPNG_BUFFER_BYTES, "a block fits the buffer");

static void pcapng_put(struct pcapng *file, const void *bytes, size_t length)
{
	assert(length <= PCAPNG_BUFFER_BYTES - file->used);
	memcpy(file->buffer + file->used, bytes, length);
	file->used += length;
}

static void put_u16(struct pcapng *file, uint16_t value)
{
	pcapng_put(file, &value, sizeof(value));
}

static void put_u32(struct pcapng *file, uint32_t value)
{
	pcapng_put(file, &value, sizeof(value));
}

/* Every field of a block begins at a multiple of 4 bytes. */
static void put_padding(struct pcapng *file, size_t length)
{
	static const uint8_t zeros[4];

	pcapng_put(file, zeros, -length & 3);
}

static void put_option(struct pcapng *file, enum option_code code, const void *value, size_t length)
{
	put_u16(file, (uint16_t)code);
	put_u16(file, (uint16_t)length);
	pcapng_put(file, value, length);
	put_padding(file, length);
}

/* A block's length stands at both of its ends; block_end() writes it. */
static size_t block_begin(struct pcapng *file, enum block_type type)
{
	size_t start = file->used;

	put_u32(file, type);
	put_u32(file, 0);
	return start;
}

static void block_end(struct pcapng *file, size_t start)
{
	uint32_t length = (uint32_t)(file->used - start + sizeof(length));

	put_u32(file, length);
	memcpy(file->buffer + start + sizeof(uint32_t), &length, sizeof(length));
}

static void pcapng_reset(struct pcapng *file, int fd, bool is_shared)
{
	file->fd = fd;
	file->error = 0;
	file->is_shared = is_shared;
	file->pipe_bytes = 0;
	file->used = 0;
}

void pcapng_enlarge_pipe(int fd)
{
	/* The size that every user may ask for. A smaller pipe ends a capture sooner. */
	if (fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES) < 0)
		errno = 0;
}

void pcapng_init_shared(struct pcapng *file, int fd)
{
	const int pipe_bytes = fcntl(fd, F_GETPIPE_SZ);

	pcapng_reset(file, fd, true);
	file->pipe_bytes = pipe_bytes > 0 ? (uint32_t)pipe_bytes : 0;
}

void pcapng_init(struct pcapng *file, int fd, const char *interface)
{
	static const uint8_t resolution = DECIMAL_NANOSECONDS;
	size_t start;

	pcapng_reset(file, fd, false);

	start = block_begin(file, BLOCK_SECTION_HEADER);
	put_u32(file, BYTE_ORDER_MAGIC);
	put_u16(file, 1); /* version 1.0 */
	put_u16(file, 0);
	put_u32(file, UINT32_MAX); /* section length: not known */
	put_u32(file, UINT32_MAX);
	block_end(file, start);

	start = block_begin(file, BLOCK_INTERFACE);
	put_u16(file, LINK_TYPE_RAW);
	put_u16(file, 0); /* reserved */
	put_u32(file, 0); /* packets are never cut */
	put_option(file, OPTION_INTERFACE_NAME, interface,
		   strnlen(interface, INTERFACE_NAME_BYTES_MAX));
	put_option(file, OPTION_INTERFACE_TIME_RESOLUTION, &resolution, sizeof(resolution));
	put_option(file, OPTION_END, "", 0);
	block_end(file, start);
}

/*
 * Whether the file surely takes the buffer whole. A pipe's pages may be half empty, so a quarter of
 * its bytes may be half of its pages; the other half is for us, and for others who write just now.
 */
static bool pcapng_has_room(const struct pcapng *file)
{
	int unread;

	if (file->pipe_bytes == 0)
		return true;
	if (ioctl(file->fd, FIONREAD, &unread) != 0 || (uint32_t)unread > file->pipe_bytes / 4)
		return false;
	return unread == 0 || 2 * (size_t)unread + file->used <= file->pipe_bytes;
}

int pcapng_flush(struct pcapng *file)
{
	size_t written = 0;

	if (!pcapng_has_room(file)) {
		if (PCAPNG_BUFFER_BYTES - file->used < BLOCK_BYTES_MAX)
			file->error = -EAGAIN;
		return file->error;
	}
	while (file->error == 0 && written < file->used) {
		ssize_t result = write(file->fd, file->buffer + written, file->used - written);

		if (result > 0)
			written += (size_t)result;
		else if (result == 0 || errno != EINTR)
			file->error = result == 0 ? -ENOSPC : -errno;
		if (file->is_shared && written > 0 && written < file->used)
			file->error = -ENOSPC; /* the rest would follow another's block */
	}
	file->used = 0;
	return file->error;
}

int pcapng_write(struct pcapng *file, const struct pcapng_packet *packet)
{
	size_t length = packet->piece_bytes[0] + packet->piece_bytes[1];
	uint32_t flags = packet->is_outbound ? FLAG_OUTBOUND : FLAG_INBOUND;
	size_t start;

	assert(length <= PCAPNG_PACKET_BYTES_MAX);
	if (PCAPNG_BUFFER_BYTES - file->used < BLOCK_BYTES_MAX && pcapng_flush(file) < 0)
		return file->error;

	start = block_begin(file, BLOCK_ENHANCED_PACKET);
	put_u32(file, 0); /* interface */
	put_u32(file, (uint32_t)(packet->time_ns >> 32));
	put_u32(file, (uint32_t)packet->time_ns);
	put_u32(file, (uint32_t)length); /* captured */
	put_u32(file, (uint32_t)length); /* on the wire */
	pcapng_put(file, packet->pieces[0], packet->piece_bytes[0]);
	pcapng_put(file, packet->pieces[1], packet->piece_bytes[1]);
	put_padding(file, length);
	put_option(file, OPTION_PACKET_FLAGS, &flags, sizeof(flags));
	if (packet->comment != NULL)
		put_option(file, OPTION_COMMENT, packet->comment,
			   strnlen(packet->comment, PCAPNG_COMMENT_BYTES_MAX));
	put_option(file, OPTION_END, "", 0);
	block_end(file, start);
	return file->error;
}

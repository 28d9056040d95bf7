/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/capture.h"

#include "lib/nic/port/conditions/capture_file.h"
#include "lib/nic/port/conditions/pcapng.h"
#include "lib/nic/port/port_text.h"
#include "proto/base/bits.h"
#include "proto/wire/icrc.h"
#include "proto/wire/ip_header.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The longest time that a packet waits in the buffer before a reader of the file can see it. */
#define FLUSH_AFTER_NS UINT64_C(100000000)

/* Received packets that wait for their notes; a receive of more writes the rest at once. */
#define CAPTURE_WAITING_MAX 256

struct waiting_packet {
	struct datagram datagram;
	char note[CAPTURE_NOTE_BYTES];
};

struct capture {
	struct port port;
	struct port *next;
	struct segment_sink sink;
	uint64_t epoch_offset_ns; /* the port's clock plus this is the time since 1970 */
	uint64_t flush_at_ns;	  /* UINT64_MAX: the buffer is empty */
	bool is_failed;
	bool is_failure_taken;
	bool expects_notes;
	capture_describe *describe;
	void *describe_context;
	uint64_t received_ns; /* when the waiting packets came */
	uint32_t waiting_count;
	uint32_t noted; /* the place of the last note: the next one is mostly behind */
	struct waiting_packet waiting[CAPTURE_WAITING_MAX];
	struct pcapng file;
};

static struct capture *capture_from_port(struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct capture, port);
}

/* Stops writing; the device loses nothing. */
static void capture_end(struct capture *capture)
{
	capture->is_failed = true;
	capture->flush_at_ns = UINT64_MAX;
}

/*
 * Writes `packet`, whose second piece is the bytes from the BTH to the ICRC, with headers before
 * it.
 */
static void packet_write(struct capture *capture, struct pcapng_packet *packet,
			 const struct rnic_addresses *addresses, uint16_t ipv4_identification,
			 uint64_t now_ns)
{
	uint8_t headers[RNIC_IPV6_HEADER_BYTES + RNIC_UDP_HEADER_BYTES];
	const uint8_t *bytes = packet->pieces[1];
	size_t length = packet->piece_bytes[1];
	size_t ip_bytes = rnic_ip_header_write(addresses, ipv4_identification, length, headers);

	rnic_udp_header_write(addresses, rnic_udp_checksum(addresses, bytes, length), length,
			      headers + ip_bytes);
	packet->pieces[0] = headers;
	packet->piece_bytes[0] = ip_bytes + RNIC_UDP_HEADER_BYTES;
	packet->time_ns = now_ns + capture->epoch_offset_ns;
	if (pcapng_write(&capture->file, packet) < 0)
		capture_end(capture);
	else if (capture->flush_at_ns == UINT64_MAX)
		capture->flush_at_ns = now_ns + FLUSH_AFTER_NS;
	packet->pieces[0] = NULL; /* the headers end here */
}

/* The words about a packet to be sent; NULL or "": none. */
static const char *words_about(const struct capture *capture, const struct datagram *datagram)
{
	return capture->describe != NULL
		       ? capture->describe(capture->describe_context, datagram->bytes)
		       : NULL;
}

/* Writes a sealed packet. */
static void outbound_write(struct capture *capture, const struct datagram *datagram,
			   uint16_t ipv4_identification, const char *comment, uint64_t now_ns)
{
	struct pcapng_packet packet = {
		.is_outbound = true,
		.comment = comment,
		.pieces[1] = datagram->bytes,
		.piece_bytes[1] = datagram->length + RNIC_ICRC_BYTES,
	};

	if (!capture->is_failed)
		packet_write(capture, &packet, &datagram->addresses, ipv4_identification, now_ns);
}

static void capture_sent(void *context, const struct datagram *datagram,
			 uint16_t ipv4_identification, uint64_t now_ns)
{
	struct capture *capture = context;

	outbound_write(capture, datagram, ipv4_identification,
		       datagram->damage != 0 ? "damaged on purpose"
					     : words_about(capture, datagram),
		       now_ns);
}

void capture_write_dropped(struct capture *capture, const struct datagram *datagram,
			   const char *reason, uint64_t now_ns)
{
	const char *words = words_about(capture, datagram);
	const bool has_words = words != NULL && words[0] != '\0';
	struct datagram sealed = *datagram;
	char comment[2 * CAPTURE_NOTE_BYTES];

	snprintf(comment, sizeof(comment), "%s%s%s", has_words ? words : "", has_words ? ", " : "",
		 reason);
	sealed.damage = 0;
	segment_seal(&sealed, 1, sealed.addresses.source_port);
	outbound_write(capture, &sealed, 0, comment, now_ns);
}

/*
 * A socket does not show the identification, but the ICRC determines it (icrc.h). A datagram longer
 * than any packet is not RoCEv2; the capture skips it.
 */
static void received_write(struct capture *capture, const struct datagram *datagram,
			   const char *note, uint64_t now_ns)
{
	struct pcapng_packet packet = {
		.comment = note[0] != '\0' ? note : NULL,
		.pieces[1] = datagram->bytes,
		.piece_bytes[1] = datagram->length,
	};
	uint16_t identification = 0;

	if (datagram->length > RNIC_PACKET_BYTES_MAX)
		return;
	if (rnic_icrc_check(&datagram->addresses, datagram->bytes, datagram->length,
			    &identification) == RNIC_ICRC_BAD)
		packet.comment = "the ICRC is wrong";
	packet_write(capture, &packet, &datagram->addresses, identification, now_ns);
}

static void flush_when_due(struct capture *capture, uint64_t now_ns)
{
	if (now_ns < capture->flush_at_ns)
		return;
	capture->flush_at_ns = UINT64_MAX;
	if (pcapng_flush(&capture->file) < 0)
		capture_end(capture);
	else if (capture->file.used > 0) /* the reader of a pipe is behind */
		capture->flush_at_ns = now_ns + FLUSH_AFTER_NS;
}

static void received_take(struct capture *capture, const struct datagram *datagram, uint64_t now_ns)
{
	struct waiting_packet *waiting = &capture->waiting[capture->waiting_count];

	if (!capture->expects_notes || capture->waiting_count == CAPTURE_WAITING_MAX) {
		received_write(capture, datagram, "", now_ns);
		return;
	}
	waiting->datagram = *datagram;
	waiting->note[0] = '\0';
	capture->received_ns = now_ns;
	capture->waiting_count++;
}

void capture_write_received(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->waiting_count && !capture->is_failed; i++)
		received_write(capture, &capture->waiting[i].datagram, capture->waiting[i].note,
			       capture->received_ns);
	capture->waiting_count = 0;
}

void capture_note(struct capture *capture, const uint8_t *bytes, const char *text)
{
	for (uint32_t i = 0; i < capture->waiting_count; i++) {
		const uint32_t place = (capture->noted + i) % capture->waiting_count;
		struct waiting_packet *waiting = &capture->waiting[place];

		if (waiting->datagram.bytes != bytes)
			continue;
		capture->noted = place;
		if (waiting->note[0] == '\0')
			snprintf(waiting->note, sizeof(waiting->note), "%s", text);
		return;
	}
}

void capture_expect_notes(struct capture *capture, capture_describe *describe, void *context)
{
	capture->describe = describe;
	capture->describe_context = context;
	capture->expects_notes = true;
}

static uint32_t capture_receive(struct port *port, struct datagram *into, uint32_t max,
				uint64_t now_ns)
{
	struct capture *capture = capture_from_port(port);
	uint32_t count;

	capture_write_received(capture);
	count = capture->next->ops->receive(capture->next, into, max, now_ns);
	for (uint32_t i = 0; i < count && !capture->is_failed; i++)
		received_take(capture, &into[i], now_ns);
	flush_when_due(capture, now_ns);
	return count;
}

static uint32_t capture_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				 uint64_t now_ns)
{
	struct capture *capture = capture_from_port(port);

	return capture->next->ops->transmit(capture->next, datagrams, count, now_ns);
}

static uint64_t capture_next_deadline_ns(const struct port *port)
{
	const struct capture *capture = RNIC_CONTAINER_OF(port, const struct capture, port);
	uint64_t next_ns = capture->next->ops->next_deadline_ns(capture->next);

	return next_ns < capture->flush_at_ns ? next_ns : capture->flush_at_ns;
}

static void capture_watch(struct port *port, void (*watch)(void *context, int fd, bool for_writing),
			  void *context)
{
	struct capture *capture = capture_from_port(port);

	capture->next->ops->watch(capture->next, watch, context);
}

static int capture_set_gid(struct port *port, uint32_t index, const struct rnic_gid *gid,
			   const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	struct port *next = capture_from_port(port)->next;

	return next->ops->set_gid(next, index, gid, sockets, text);
}

static void capture_close_port(struct port *port)
{
	struct capture *capture = capture_from_port(port);

	capture->next->ops->close(capture->next);
	capture_close(capture);
}

static const struct port_ops capture_ops = {
	.name = "capture",
	.receive = capture_receive,
	.transmit = capture_transmit,
	.next_deadline_ns = capture_next_deadline_ns,
	.watch = capture_watch,
	.set_gid = capture_set_gid,
	.close = capture_close_port,
};

static struct capture *capture_allocate(uint64_t now_ns)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	struct timespec now;

	if (capture == NULL)
		return NULL;
	clock_gettime(CLOCK_REALTIME, &now);
	capture->port.ops = &capture_ops;
	capture->sink = (struct segment_sink){.sent = capture_sent, .context = capture};
	capture->epoch_offset_ns =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - now_ns;
	return capture;
}

int capture_open(struct capture **out, const char *path, const char *interface, uint64_t now_ns,
		 char text[PORT_TEXT_BYTES])
{
	struct capture *capture = capture_allocate(now_ns);
	int fd;

	if (capture == NULL)
		return port_text_error(text, -ENOMEM, "no memory for a capture");
	fd = capture_file_open(path, 0, text);
	if (fd < 0) {
		free(capture);
		return fd;
	}
	capture->flush_at_ns = now_ns;
	pcapng_init(&capture->file, fd, interface);
	*out = capture;
	return 0;
}

int capture_create_file(int *fd, const char *path, const char *interface,
			char text[PORT_TEXT_BYTES])
{
	struct pcapng *file = malloc(sizeof(*file));
	int result;

	if (file == NULL)
		return port_text_error(text, -ENOMEM, "no memory for a capture");
	*fd = capture_file_open(path, O_APPEND, text);
	if (*fd < 0) {
		result = *fd;
		goto free_file;
	}
	pcapng_enlarge_pipe(*fd);
	pcapng_init(file, *fd, interface);
	result = pcapng_flush(file);
	if (result < 0) {
		port_text_error(text, result, "cannot write a capture to %s: %s", path,
				strerror(-result));
		close(*fd);
	}
free_file:
	free(file);
	return result;
}

/*
 * Opens the file of `fd` anew and closes `fd`, or returns `fd` where that cannot be: another user's
 * file, a pipe without a reader. Processes that share an open file share its flags, and whoever
 * takes O_NONBLOCK away would let the others wait for the reader of a pipe.
 */
static int file_unshare(int fd)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
	if (own < 0)
		return fd;
	close(fd);
	return own;
}

int capture_open_fd(struct capture **out, int fd, uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	struct capture *capture = capture_allocate(now_ns);

	if (capture == NULL) {
		close(fd);
		return port_text_error(text, -ENOMEM, "no memory for a capture");
	}
	capture->flush_at_ns = UINT64_MAX;
	pcapng_init_shared(&capture->file, file_unshare(fd));
	*out = capture;
	return 0;
}

void capture_close(struct capture *capture)
{
	capture->waiting_count = 0; /* the port below, which has their bytes, is closed */
	pcapng_flush(&capture->file);
	close(capture->file.fd);
	free(capture);
}

const struct segment_sink *capture_sink(const struct capture *capture)
{
	return &capture->sink;
}

struct port *capture_stack(struct capture *capture, struct port *next)
{
	capture->next = next;
	return &capture->port;
}

bool capture_take_failure(struct capture *capture, char text[PORT_TEXT_BYTES])
{
	if (!capture->is_failed || capture->is_failure_taken)
		return false;
	capture->is_failure_taken = true;
	port_text_error(text, capture->file.error, "the capture ends here: %s",
			strerror(-capture->file.error));
	return true;
}

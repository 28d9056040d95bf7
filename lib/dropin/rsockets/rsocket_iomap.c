/* SPDX-License-Identifier: MIT */
/* Memory that the peer writes to directly: riomap(), riounmap(), riowrite(). */
#include "lib/dropin/rsockets/rsocket_stream.h"
#include "lib/wait/awake.h"
#include "lib/wait/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>

#define GLIMPSE_REGIONS 4
#define GLIMPSE_BYTES	8
#define GLIMPSE_PRIME	UINT64_C(0x100000001b3) /* of FNV-1a */
#define UNANSWERED_MAX	8u
#define HURRIED_CALLS	32u

/* Holds the stream of that number. NULL: errno says why. */
static struct rnic_rsocket_stream *get_stream(int socket)
{
	struct rnic_rsocket *rs = rnic_rsocket_get(socket);

	if (rs == NULL)
		return NULL;
	if (rs->kind->listen == NULL) {
		rnic_rsocket_put(rs);
		errno = EOPNOTSUPP;
		return NULL;
	}
	return rnic_rsocket_stream(rs);
}

/* --- mapping --------------------------------------------------------------------------------- */

/* An entry of the peer's map that none of our regions has. -ENOSPC. */
static int64_t free_index(const struct rnic_rsocket_stream *stream)
{
	for (uint32_t index = 0; index < stream->peer_iomap.length; index++) {
		const struct rnic_rsocket_region *region = stream->regions;

		while (region != NULL && region->index != index)
			region = region->next;
		if (region == NULL)
			return index;
	}
	return -ENOSPC;
}

static int map(struct rnic_rsocket_stream *stream, void *buf, size_t len, int prot, off_t offset)
{
	const bool is_remote = (prot & PROT_WRITE) != 0;
	struct rnic_rsocket_region *region;
	int64_t index = -1;

	if ((prot & ~PROT_WRITE) != 0 || len == 0 || len > UINT32_MAX ||
	    (stream->state != RNIC_RSOCKET_ACCEPTING && stream->state != RNIC_RSOCKET_CONNECTED))
		return -EINVAL;
	if (is_remote) {
		index = free_index(stream);
		if (index < 0)
			return (int)index;
	}
	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return -ENOMEM;
	region->mr = ibv_reg_mr(stream->id->pd, buf, len,
				IBV_ACCESS_LOCAL_WRITE | (is_remote ? IBV_ACCESS_REMOTE_WRITE : 0));
	if (region->mr == NULL) {
		free(region);
		return -errno;
	}
	region->offset = (uint64_t)offset;
	region->index = index;
	region->is_told = !is_remote;
	region->next = stream->regions;
	stream->regions = region;
	stream->regions_untold += is_remote;
	return 0;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket_stream *stream = get_stream(socket);
	int error;

	(void)flags;
	if (stream == NULL)
		return -1;
	if (offset == -1)
		offset = (off_t)(uintptr_t)buf;
	rnic_rsocket_lock(&stream->rs);
	error = map(stream, buf, len, prot, offset);
	rnic_rsocket_unlock(&stream->rs);
	rnic_rsocket_put(&stream->rs);
	if (error == 0)
		return offset;
	errno = -error;
	return -1;
}

int rnic_rsocket_tell_mappings(struct rnic_rsocket_stream *stream, int64_t deadline_ns)
{
	/* A mapping may go while this call waits for room. */
	while (stream->regions_untold > 0) {
		struct rnic_rsocket_region *region = stream->regions;
		int error = rnic_rsocket_await_room(stream, deadline_ns);

		if (error != 0)
			return error;
		while (region != NULL && region->is_told)
			region = region->next;
		if (region == NULL)
			break;
		region->is_told = true;
		stream->regions_untold--;
		error = rnic_rsocket_post_mapping(stream, region);
		if (error != 0)
			return error;
	}
	return 0;
}

/* --- unmapping ------------------------------------------------------------------------------- */

static void rsocket_iomap_release(struct rnic_rsocket_stream *stream,
				  struct rnic_rsocket_region **link)
{
	struct rnic_rsocket_region *region = *link;

	*link = region->next;
	stream->regions_untold -= !region->is_told;
	ibv_dereg_mr(region->mr);
	free(region);
}

void rnic_rsocket_release_regions(struct rnic_rsocket_stream *stream)
{
	while (stream->regions != NULL)
		rsocket_iomap_release(stream, &stream->regions);
}

static int unmap(struct rnic_rsocket_stream *stream, const void *buf, size_t len)
{
	for (struct rnic_rsocket_region **link = &stream->regions; *link != NULL;
	     link = &(*link)->next) {
		if ((*link)->mr->addr != buf || (*link)->mr->length != len)
			continue;
		rsocket_iomap_release(stream, link);
		return 0;
	}
	return -EINVAL;
}

int riounmap(int socket, void *buf, size_t len)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket_stream *stream = get_stream(socket);
	int error;

	if (stream == NULL)
		return -1;
	rnic_rsocket_lock(&stream->rs);
	error = unmap(stream, buf, len);
	rnic_rsocket_unlock(&stream->rs);
	rnic_rsocket_put(&stream->rs);
	errno = -error;
	return error == 0 ? 0 : -1;
}

/* --- writing --------------------------------------------------------------------------------- */

static const struct rnic_rsocket_mapping *find_mapping(const struct rnic_rsocket_stream *stream,
						       uint64_t offset)
{
	for (uint32_t i = 0; i < stream->iomap_entries; i++) {
		const struct rnic_rsocket_mapping *mapping = &stream->mappings[i];

		if (offset >= mapping->offset && offset - mapping->offset < mapping->target.length)
			return mapping;
	}
	return NULL;
}

static bool rsocket_iomap_can_write(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	return !stream->is_writable || rnic_rsocket_flow_direct_room(&stream->flow) > 0;
}

/* Bytes for one write. -EFAULT: the peer has mapped nothing there. */
static ssize_t write_directly(struct rnic_rsocket_stream *stream, const uint8_t *from, size_t left,
			      uint64_t offset, int64_t deadline_ns)
{
	const struct rnic_rsocket_mapping *mapping;
	struct rnic_rsocket_write write;
	uint64_t bytes;
	int error = 0;

	if (!rsocket_iomap_can_write(&stream->rs))
		error = rnic_rsocket_await(&stream->rs, rsocket_iomap_can_write, deadline_ns);
	if (error != 0)
		return error;
	if (!stream->is_writable)
		return rnic_rsocket_why_ended(&stream->rs, -EPIPE);
	mapping = find_mapping(stream, offset);
	if (mapping == NULL) {
		stream->rs.kind->progress(&stream->rs);
		mapping = find_mapping(stream, offset);
	}
	if (mapping == NULL)
		return -EFAULT;
	bytes = mapping->offset + mapping->target.length - offset;
	if (bytes > left)
		bytes = left;
	if (bytes > rnic_rsocket_flow_direct_room(&stream->flow))
		bytes = rnic_rsocket_flow_direct_room(&stream->flow);
	rnic_rsocket_flow_write_direct(&stream->flow, (uint32_t)bytes, &write);
	write.address = mapping->target.address + (offset - mapping->offset);
	write.key = mapping->target.key;
	memcpy(stream->buffers.send_ring + write.at[0], from, write.bytes[0]);
	memcpy(stream->buffers.send_ring + write.at[1], from + write.bytes[0], write.bytes[1]);
	error = rnic_rsocket_post_write(stream, &write, false);
	return error == 0 ? (ssize_t)bytes : error;
}

static ssize_t write_all(struct rnic_rsocket_stream *stream, const uint8_t *from, size_t count,
			 uint64_t offset, int flags)
{
	const int64_t deadline =
		rnic_rsocket_deadline(&stream->rs, flags, stream->rs.options.send_timeout_ns);
	size_t done = 0;
	ssize_t result = rnic_rsocket_await_connection(stream, deadline);

	if (result == 0 && stream->regions_untold > 0)
		result = rnic_rsocket_tell_mappings(stream, deadline);
	while (result >= 0 && done < count) {
		result = write_directly(stream, from + done, count - done, offset + done, deadline);
		if (result > 0)
			done += (size_t)result;
	}
	return done > 0 || count == 0 ? (ssize_t)done : result;
}

/*
 * The bytes at both ends of what the peer may write to directly: where programs have the flag by
 * which they learn of a write. They may change at any time.
 */
static uint64_t glimpse_of(const struct rnic_rsocket_stream *stream)
{
	const struct rnic_rsocket_region *region = stream->regions;
	uint64_t glimpse = 0;

	for (int i = 0; i < GLIMPSE_REGIONS && region != NULL; i++, region = region->next) {
		const volatile uint8_t *first = region->mr->addr;
		const size_t length = region->mr->length;

		for (size_t j = 0; j < GLIMPSE_BYTES && j < length; j++)
			glimpse = (glimpse + first[j]) * GLIMPSE_PRIME + first[length - 1 - j];
	}
	return glimpse;
}

static bool awaits_answer(const struct rnic_rsocket_stream *stream, uint64_t glimpse)
{
	return stream->state == RNIC_RSOCKET_CONNECTED &&
	       (stream->regions != NULL ? glimpse_of(stream) == glimpse
					: !rnic_rsocket_flow_is_idle(&stream->flow));
}

/*
 * A program learns of the peer's direct write by reading its own memory again and again. It does
 * not call the library meanwhile, which would yield and take the device's turns. On few cores the
 * device then waits for the scheduler, a hundred microseconds and more each way. So a call stays
 * for a short time until the answer is there, or without memory for an answer until its own write
 * has arrived. A program that sends a stream gets no answers, and its calls return at once, but for
 * one now and then.
 */
static void await_answer(struct rnic_rsocket_stream *stream, uint64_t glimpse)
{
	const struct awake_rule *rule = &awake_rules[AWAKE_RSOCKET_WRITER];
	struct awake awake = {0};
	bool is_awaited = true;

	if (stream->hurried > 0) {
		stream->hurried--;
		return;
	}
	awake_begin(&awake, clock_now_ns());
	do {
		rnic_rsocket_unlock(&stream->rs);
		rnic_rsocket_lock(&stream->rs);
		rnic_rsocket_take_completions(stream);
		is_awaited = awaits_answer(stream, glimpse);
	} while (is_awaited && awake_next(&awake, rule, clock_now_ns()) != AWAKE_SLEEP);
	stream->unanswered = is_awaited ? stream->unanswered + 1 : 0;
	if (stream->unanswered >= UNANSWERED_MAX)
		stream->hurried = HURRIED_CALLS << MIN(stream->unanswered - UNANSWERED_MAX, 7u);
}

static void end_writing(void *argument)
{
	struct rnic_rsocket_stream *stream = argument;

	pthread_mutex_unlock(&stream->sending);
	rnic_rsocket_put(&stream->rs);
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket_stream *stream = get_stream(socket);
	uint64_t glimpse;
	ssize_t result;

	if (stream == NULL)
		return (size_t)-1;
	errno = pthread_mutex_lock(&stream->sending);
	if (errno != 0) {
		rnic_rsocket_put(&stream->rs);
		return (size_t)-1;
	}
	pthread_cleanup_push(end_writing, stream);
	rnic_rsocket_lock(&stream->rs);
	glimpse = stream->hurried > 0 ? 0 : glimpse_of(stream);
	result = write_all(stream, buf, count, (uint64_t)offset, flags);
	if (result > 0)
		await_answer(stream, glimpse);
	rnic_rsocket_unlock(&stream->rs);
	pthread_cleanup_pop(true);
	if (result >= 0)
		return (size_t)result;
	errno = (int)-result;
	return (size_t)-1;
}

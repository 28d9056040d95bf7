/* SPDX-License-Identifier: MIT */
#include "tests/sim/oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oracle_fini(struct oracle *oracle)
{
	free(oracle->expected);
	oracle->expected = NULL;
}

void oracle_fail(struct oracle *oracle, const char *format, ...)
{
	int length;
	va_list arguments;

	if (oracle_has_failed(oracle))
		return;
	length = snprintf(oracle->failure, sizeof(oracle->failure),
			  "at %" PRIu64 " ns: ", oracle->now_ns);
	va_start(arguments, format);
	vsnprintf(oracle->failure + length, sizeof(oracle->failure) - (size_t)length, format,
		  arguments);
	va_end(arguments);
}

void oracle_end_init(struct oracle_end *end, struct oracle *oracle, struct sim_memory *memory,
		     const char *name)
{
	*end = (struct oracle_end){.oracle = oracle, .memory = memory};
	snprintf(end->name, sizeof(end->name), "%s", name);
}

void oracle_end_fini(struct oracle_end *end)
{
	free(end->wqes);
	free(end->receives);
	end->wqes = NULL;
	end->receives = NULL;
}

static void *grow(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = 2 * *capacity + 16;
	array = realloc(array, *capacity * size);
	if (array == NULL)
		abort();
	return array;
}

struct model_work *oracle_add_work(struct oracle_end *end)
{
	end->wqes = grow(end->wqes, end->work_count, &end->work_capacity, sizeof(*end->wqes));
	end->wqes[end->work_count] = (struct model_work){0};
	return &end->wqes[end->work_count++];
}

struct model_receive *oracle_add_receive(struct oracle_end *end)
{
	end->receives = grow(end->receives, end->receive_count, &end->receive_capacity,
			     sizeof(*end->receives));
	end->receives[end->receive_count] = (struct model_receive){0};
	return &end->receives[end->receive_count++];
}

static uint8_t *scratch(struct oracle *oracle, uint32_t bytes)
{
	if (bytes > oracle->expected_capacity) {
		oracle->expected = realloc(oracle->expected, bytes);
		oracle->expected_capacity = bytes;
		if (oracle->expected == NULL)
			abort();
	}
	return oracle->expected;
}

static bool is_send(const struct model_work *wqe)
{
	return wqe->opcode == RNIC_WR_SEND || wqe->opcode == RNIC_WR_SEND_WITH_IMM ||
	       wqe->opcode == RNIC_WR_SEND_WITH_INVALIDATE;
}

static bool takes_receive(const struct model_work *wqe)
{
	return is_send(wqe) || wqe->opcode == RNIC_WR_RDMA_WRITE_WITH_IMM;
}

/* Moves no bytes. */
static bool is_empty(const struct model_work *wqe)
{
	return wqe->opcode == RNIC_WR_BIND_MW || wqe->opcode == RNIC_WR_LOCAL_INVALIDATE ||
	       wqe->opcode == RNIC_WR_FLUSH;
}

/* A write through a window that was closed since: its bytes were replaced. */
static bool is_overtaken(const struct oracle_end *end, const struct model_work *wqe)
{
	return wqe->is_window_access && wqe->opcode != RNIC_WR_RDMA_READ &&
	       wqe->window_generation != end->peer->window.generation;
}

/* The program uses the memory for something else, which no access may see or touch. */
static void close_window(struct oracle_end *end)
{
	struct model_window *window = &end->window;
	int filler = (int)(0x80 | (++window->generation & 0x7f));

	memset(end->memory->arena + window->span.offset, filler, window->span.length);
	memset(end->memory->shadow + window->span.offset, filler, window->span.length);
	window->state = WINDOW_FREE;
}

/* A bind or an invalidation is complete. */
static void move_window(struct oracle_end *end, const struct model_work *wqe)
{
	if (wqe->closes_window)
		close_window(end);
	if (wqe->opcode == RNIC_WR_BIND_MW)
		end->window.key = wqe->window_key;
	if (wqe->opens_window) {
		end->window.state = WINDOW_OPEN;
		end->window.written = 0;
	}
}

static bool is_atomic(const struct model_work *wqe)
{
	return wqe->opcode == RNIC_WR_ATOMIC_COMPARE_SWAP ||
	       wqe->opcode == RNIC_WR_ATOMIC_FETCH_ADD;
}

/* The bytes that `work` moves, wherever they come from. */
static const uint8_t *expected_bytes(struct oracle_end *end, const struct model_work *wqe)
{
	uint8_t *bytes = scratch(end->oracle, wqe->bytes + 8);
	uint32_t done = 0;

	if (is_atomic(wqe))
		return memcpy(bytes, &wqe->atomic_original, sizeof(wqe->atomic_original));
	if (wqe->inline_bytes != NULL)
		return wqe->inline_bytes;
	if (wqe->window_bytes != NULL)
		return wqe->window_bytes;
	if (wqe->opcode == RNIC_WR_RDMA_READ)
		return memcpy(bytes, end->peer->memory->shadow + wqe->remote.offset, wqe->bytes);
	for (uint32_t i = 0; i < wqe->piece_count; i++) {
		memcpy(bytes + done, end->memory->shadow + wqe->pieces[i].offset,
		       wqe->pieces[i].length);
		done += wqe->pieces[i].length;
	}
	return bytes;
}

/*
 * Compares `bytes` with consecutive `pieces` of the arena. With `may_be_old`, the shadow's bytes
 * will do too. The bytes found become the shadow.
 */
static bool pieces_hold(struct sim_memory *memory, const struct span *pieces, uint32_t count,
			const uint8_t *bytes, uint32_t length, bool may_be_old)
{
	bool equal = true;

	for (uint32_t i = 0; i < count && length != 0; i++) {
		uint32_t part = pieces[i].length < length ? pieces[i].length : length;
		uint8_t *arena = memory->arena + pieces[i].offset;
		uint8_t *shadow = memory->shadow + pieces[i].offset;

		if (!may_be_old) {
			equal = equal && memcmp(arena, bytes, part) == 0;
		} else {
			for (uint32_t at = 0; at < part; at++)
				equal = equal &&
					(arena[at] == bytes[at] || arena[at] == shadow[at]);
		}
		memcpy(shadow, arena, part);
		bytes += part;
		length -= part;
	}
	return equal && length == 0;
}

/* Whether messages may get lost, of which the sender hears nothing. */
static bool is_lossy(const struct oracle_end *end)
{
	return end->type == RNIC_QP_TYPE_UC || end->type == RNIC_QP_TYPE_UD;
}

uint32_t oracle_header_bytes(const struct oracle_end *end)
{
	return end->type == RNIC_QP_TYPE_UD ? 40 : 0;
}

/* Whether the arena holds `bytes` in `pieces`, behind the first `skip` bytes of the pieces. */
static bool pieces_equal(const struct sim_memory *memory, const struct span *pieces, uint32_t count,
			 uint32_t skip, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < count && length != 0; i++) {
		uint32_t passed = pieces[i].length < skip ? pieces[i].length : skip;
		uint32_t part = pieces[i].length - passed;

		if (part > length)
			part = length;
		skip -= passed;
		if (memcmp(memory->arena + pieces[i].offset + passed, bytes, part) != 0)
			return false;
		bytes += part;
		length -= part;
	}
	return length == 0;
}

/* All bytes of `pieces` are right from now on. */
void oracle_adopt(struct sim_memory *memory, const struct span *pieces, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		memcpy(memory->shadow + pieces[i].offset, memory->arena + pieces[i].offset,
		       pieces[i].length);
}

/* Whether the peer's word or hot range shows a state that work `index` or a later one left. */
static bool shared_range_is_at(struct oracle_end *end, uint32_t index)
{
	struct model_work *first = &end->wqes[index];
	const uint8_t *arena = end->peer->memory->arena;

	for (uint32_t i = index; i < end->work_count; i++) {
		const struct model_work *wqe = &end->wqes[i];

		if (is_atomic(first) && is_atomic(wqe) &&
		    memcmp(arena + end->atomic_word.offset, &wqe->atomic_result, 8) == 0)
			return true;
		if (first->is_hot && wqe->is_hot &&
		    memcmp(arena + wqe->remote.offset, expected_bytes(end, wqe), wqe->bytes) == 0)
			return true;
	}
	return false;
}

static void check_atomic(struct oracle_end *end, uint32_t index)
{
	const struct model_work *wqe = &end->wqes[index];
	uint64_t returned;

	memcpy(&returned, end->memory->arena + wqe->pieces[0].offset, sizeof(returned));
	if (returned != wqe->atomic_original)
		oracle_fail(end->oracle,
			    "%s: atomic %u returned %" PRIx64 ", the model has %" PRIx64, end->name,
			    index, returned, wqe->atomic_original);
	else if (!shared_range_is_at(end, index))
		oracle_fail(end->oracle, "%s: after atomic %u the word has no legal value",
			    end->name, index);
	memcpy(end->memory->shadow + wqe->pieces[0].offset, &returned, sizeof(returned));
}

static void check_success(struct oracle_end *end, uint32_t index)
{
	struct model_work *wqe = &end->wqes[index];
	const char *wrong = NULL;

	if (is_lossy(end))
		return;
	if (takes_receive(wqe) && !wqe->is_placed)
		oracle_fail(end->oracle, "%s: message %u succeeded before the peer received it",
			    end->name, index);
	move_window(end, wqe);
	if (wqe->is_pattern || is_send(wqe) || is_empty(wqe) || is_overtaken(end, wqe))
		return;
	if (is_atomic(wqe)) {
		check_atomic(end, index);
		return;
	}
	if (wqe->is_hot) {
		if (!shared_range_is_at(end, index))
			wrong = "the range shows an older write";
	} else if (wqe->opcode == RNIC_WR_RDMA_READ) {
		if (!pieces_hold(end->memory, wqe->pieces, wqe->piece_count,
				 expected_bytes(end, wqe), wqe->bytes, false))
			wrong = "the bytes read are wrong";
	} else if (!pieces_hold(end->peer->memory, &wqe->remote, 1, expected_bytes(end, wqe),
				wqe->bytes, false)) {
		wrong = "the bytes written are wrong";
	}
	if (wrong != NULL)
		oracle_fail(end->oracle, "%s: work %u (opcode %u, %u bytes) succeeded, but %s",
			    end->name, index, wqe->opcode, wqe->bytes, wrong);
}

void oracle_retire(struct oracle_end *end, uint32_t retired)
{
	if (retired > end->work_count) {
		oracle_fail(end->oracle, "%s: %u works retired of %u", end->name, retired,
			    end->work_count);
		return;
	}
	for (; end->completed < retired; end->completed++) {
		struct model_work *wqe = &end->wqes[end->completed];

		if ((wqe->flags & RNIC_SEND_SIGNALED) != 0)
			oracle_fail(end->oracle, "%s: work %u has no completion", end->name,
				    end->completed);
		if ((wqe->legal & STATUS_BIT(RNIC_WC_SUCCESS)) == 0)
			oracle_fail(end->oracle, "%s: work %u must not succeed", end->name,
				    end->completed);
		wqe->is_complete = true;
		wqe->status = RNIC_WC_SUCCESS;
		check_success(end, end->completed);
	}
}

/*
 * The engine flushes what waits behind payload that finds no memory, and fails the work of the
 * payload then: the other queue may be flushed before this one names the error.
 */
static bool is_late_cause(const struct oracle_end *end, bool queue_has_stopped, uint8_t status,
			  uint32_t surroundings)
{
	return status == RNIC_WC_LOC_PROT_ERR && (surroundings & STATUS_BIT(status)) != 0 &&
	       !queue_has_stopped && !end->has_cause;
}

static bool status_is_legal(const struct oracle_end *end, bool has_stopped, uint8_t status,
			    uint32_t legal)
{
	if (has_stopped || status == RNIC_WC_WR_FLUSH_ERR)
		return status == RNIC_WC_WR_FLUSH_ERR && (end->may_stop || has_stopped);
	if (status == RNIC_WC_RETRY_EXC_ERR && (end->peer->has_stopped || end->peer->may_stop))
		return true;
	return (legal & STATUS_BIT(status)) != 0;
}

static bool send_status_is_legal(const struct oracle_end *end, const struct model_work *wqe,
				 uint8_t status)
{
	bool has_stopped = end->has_stopped || end->sends_have_stopped;

	if (has_stopped && is_late_cause(end, end->sends_have_stopped, status, end->legal_errors))
		return true;
	return status_is_legal(end, has_stopped, status, wqe->legal | end->legal_errors);
}

static bool opcode_matches(const struct model_work *wqe, uint8_t opcode)
{
	switch (wqe->opcode) {
	case RNIC_WR_RDMA_WRITE:
	case RNIC_WR_RDMA_WRITE_WITH_IMM:
		return opcode == RNIC_WC_RDMA_WRITE;
	case RNIC_WR_RDMA_READ:
		return opcode == RNIC_WC_RDMA_READ;
	case RNIC_WR_ATOMIC_COMPARE_SWAP:
		return opcode == RNIC_WC_COMPARE_SWAP;
	case RNIC_WR_ATOMIC_FETCH_ADD:
		return opcode == RNIC_WC_FETCH_ADD;
	case RNIC_WR_BIND_MW:
		return opcode == RNIC_WC_BIND_MW;
	case RNIC_WR_LOCAL_INVALIDATE:
		return opcode == RNIC_WC_LOCAL_INVALIDATE;
	case RNIC_WR_FLUSH:
		return opcode == RNIC_WC_FLUSH;
	case RNIC_WR_ATOMIC_WRITE:
		return opcode == RNIC_WC_ATOMIC_WRITE;
	default:
		return opcode == RNIC_WC_SEND;
	}
}

/* The QP is in error, as a completion with `status` shows. */
static void note_stop(struct oracle_end *end, uint8_t status)
{
	end->has_stopped = true;
	end->has_cause = end->has_cause || status != RNIC_WC_WR_FLUSH_ERR;
}

static void complete_work(struct oracle_end *end, const struct cqe *cqe)
{
	uint64_t index = cqe->wr_id;
	struct model_work *wqe;

	if (index >= end->work_count || index < end->completed) {
		oracle_fail(end->oracle, "%s: completion of work %" PRIu64 " (%u posted, %u done)",
			    end->name, index, end->work_count, end->completed);
		return;
	}
	oracle_retire(end, (uint32_t)index);
	wqe = &end->wqes[index];
	if (!send_status_is_legal(end, wqe, cqe->status)) {
		oracle_fail(end->oracle,
			    "%s: work %" PRIu64 " (opcode %u, %u bytes) has status %u, verdict %u",
			    end->name, index, wqe->opcode, wqe->bytes, cqe->status,
			    cqe->vendor_error);
		return;
	}
	wqe->is_complete = true;
	wqe->status = cqe->status;
	end->completed = (uint32_t)index + 1;
	if (cqe->status != RNIC_WC_SUCCESS) {
		end->sends_have_stopped = true;
		if (!is_lossy(end))
			note_stop(end, cqe->status);
		return;
	}
	if ((wqe->flags & RNIC_SEND_SIGNALED) == 0)
		oracle_fail(end->oracle, "%s: unsignaled work %" PRIu64 " has a completion",
			    end->name, index);
	if (!opcode_matches(wqe, cqe->opcode))
		oracle_fail(end->oracle, "%s: work %" PRIu64 " completes with opcode %u", end->name,
			    index, cqe->opcode);
	check_success(end, (uint32_t)index);
}

/* The peer's next message that uses up a receive; NULL when it has posted none. */
static struct model_work *next_message(struct oracle_end *end)
{
	struct oracle_end *peer = end->peer;

	while (end->next_message < peer->work_count &&
	       !takes_receive(&peer->wqes[end->next_message]))
		end->next_message++;
	return end->next_message < peer->work_count ? &peer->wqes[end->next_message] : NULL;
}

/* The parts of a message beside its bytes. */
static uint8_t extra_of(const struct model_work *message)
{
	switch (message->opcode) {
	case RNIC_WR_SEND_WITH_IMM:
	case RNIC_WR_RDMA_WRITE_WITH_IMM:
		return RNIC_WC_WITH_IMM;
	case RNIC_WR_SEND_WITH_INVALIDATE:
		return RNIC_WC_WITH_INVALIDATE;
	default:
		return 0;
	}
}

static void check_received(struct oracle_end *end, struct model_receive *receive,
			   struct model_work *message, const struct cqe *cqe)
{
	bool wants_solicited = (message->flags & RNIC_SEND_SOLICITED) != 0;
	const uint8_t *bytes;
	bool equal;

	if (cqe->byte_count != message->bytes ||
	    cqe->opcode != (is_send(message) ? RNIC_WC_RECV : RNIC_WC_RECV_RDMA_WITH_IMM) ||
	    (cqe->wc_flags & (RNIC_WC_WITH_IMM | RNIC_WC_WITH_INVALIDATE)) != extra_of(message) ||
	    (extra_of(message) != 0 && cqe->immediate != message->immediate) ||
	    cqe->is_solicited != wants_solicited) {
		oracle_fail(end->oracle, "%s: receive %u does not describe message %u", end->name,
			    end->received, end->next_message);
		return;
	}
	if (message->is_pattern)
		return;
	bytes = expected_bytes(end->peer, message);
	if (is_send(message))
		equal = pieces_hold(end->memory, receive->pieces, receive->piece_count, bytes,
				    message->bytes, false);
	else
		equal = pieces_hold(end->memory, &message->remote, 1, bytes, message->bytes, false);
	if (!equal)
		oracle_fail(end->oracle, "%s: receive %u: the bytes of message %u are wrong",
			    end->name, end->received, end->next_message);
}

/* Whether `completion` of `receive` describes `message`, and its bytes are there. */
static bool is_message(struct oracle_end *end, const struct model_receive *receive,
		       const struct model_work *message, const struct cqe *cqe)
{
	bool has_immediate = message->opcode != RNIC_WR_SEND;
	uint32_t header_bytes = oracle_header_bytes(end);
	const uint8_t *bytes;

	if (cqe->byte_count != message->bytes + header_bytes ||
	    cqe->opcode != (is_send(message) ? RNIC_WC_RECV : RNIC_WC_RECV_RDMA_WITH_IMM) ||
	    ((cqe->wc_flags & RNIC_WC_WITH_IMM) != 0) != has_immediate ||
	    ((cqe->wc_flags & RNIC_WC_GRH) != 0) != (header_bytes != 0) ||
	    (has_immediate && cqe->immediate != message->immediate) ||
	    cqe->is_solicited != ((message->flags & RNIC_SEND_SOLICITED) != 0))
		return false;
	bytes = expected_bytes(end->peer, message);
	if (is_send(message))
		return pieces_equal(end->memory, receive->pieces, receive->piece_count,
				    header_bytes, bytes, message->bytes);
	return pieces_equal(end->memory, &message->remote, 1, 0, bytes, message->bytes);
}

/*
 * A receive of UC or UD: some message of the peer, of UC a later one than the last. Parts of others
 * may lie behind it.
 */
static void check_received_lossy(struct oracle_end *end, struct model_receive *receive,
				 const struct cqe *cqe)
{
	const struct oracle_end *peer = end->peer;
	uint32_t index = end->type == RNIC_QP_TYPE_UC ? end->next_message : 0;

	while (index < peer->work_count && !(takes_receive(&peer->wqes[index]) &&
					     is_message(end, receive, &peer->wqes[index], cqe)))
		index++;
	if (index == peer->work_count) {
		oracle_fail(end->oracle, "%s: receive %u holds no message of the peer's", end->name,
			    end->received);
		return;
	}
	end->next_message = index + 1;
	oracle_adopt(end->memory, receive->pieces, receive->piece_count);
}

/*
 * Whether the message that comes next is a WRITE with immediate that may be refused. The peer may
 * have flushed the work by then.
 */
static bool may_refuse_immediate(struct oracle_end *end)
{
	const struct model_work *message = next_message(end);

	return message != NULL && message->opcode == RNIC_WR_RDMA_WRITE_WITH_IMM &&
	       ((message->legal | end->peer->legal_errors) & STATUS_BIT(RNIC_WC_REM_ACCESS_ERR)) !=
		       0;
}

static uint32_t legal_receive_statuses(struct oracle_end *end, const struct model_receive *receive)
{
	uint32_t legal = receive->legal | end->legal_receive_errors;

	return may_refuse_immediate(end) ? legal | STATUS_BIT(RNIC_WC_LOC_ACCESS_ERR) : legal;
}

static bool receive_status_is_legal(struct oracle_end *end, const struct model_receive *receive,
				    uint8_t status)
{
	if (end->has_stopped &&
	    is_late_cause(end, end->receives_have_stopped, status, end->legal_receive_errors))
		return true;
	return status_is_legal(end, end->has_stopped, status, legal_receive_statuses(end, receive));
}

static void complete_receive(struct oracle_end *end, const struct cqe *cqe)
{
	struct model_receive *receive;
	struct model_work *message;

	if (cqe->wr_id != end->received || end->received >= end->receive_count) {
		oracle_fail(end->oracle,
			    "%s: completion of receive %" PRIu64 " (%u posted, %u done)", end->name,
			    cqe->wr_id, end->receive_count, end->received);
		return;
	}
	receive = &end->receives[end->received];
	if (!receive_status_is_legal(end, receive, cqe->status)) {
		oracle_fail(end->oracle, "%s: receive %u has status %u, verdict %u", end->name,
			    end->received, cqe->status, cqe->vendor_error);
		return;
	}
	receive->is_complete = true;
	receive->status = cqe->status;
	if (cqe->status == RNIC_WC_SUCCESS && is_lossy(end)) {
		check_received_lossy(end, receive, cqe);
	} else if (cqe->status == RNIC_WC_SUCCESS) {
		message = next_message(end);
		if (message == NULL) {
			oracle_fail(end->oracle, "%s: receive %u has no message", end->name,
				    end->received);
			return;
		}
		check_received(end, receive, message, cqe);
		message->is_placed = true;
		if (message->opcode == RNIC_WR_SEND_WITH_INVALIDATE)
			close_window(end);
		end->next_message++;
	} else {
		end->receives_have_stopped = true;
		note_stop(end, cqe->status);
	}
	end->received++;
}

void oracle_complete(struct oracle_end *end, const struct cqe *cqe)
{
	uint32_t expected_retired;

	if (cqe->is_recv)
		complete_receive(end, cqe);
	else
		complete_work(end, cqe);
	expected_retired = cqe->is_recv ? end->received : end->completed;
	if (cqe->retired != expected_retired)
		oracle_fail(end->oracle, "%s: completion of %s %" PRIu64 " reports %u retired",
			    end->name, cqe->is_recv ? "receive" : "work", cqe->wr_id, cqe->retired);
}

/*
 * A work without success: its bytes may be old, new or part of both. A READ may go as several
 * requests, each of which is checked by itself: what one of them may see comes although another is
 * refused.
 */
static void judge_unfinished(struct oracle_end *end, uint32_t index)
{
	struct model_work *wqe = &end->wqes[index];
	bool may_succeed = (wqe->legal & STATUS_BIT(RNIC_WC_SUCCESS)) != 0;
	bool explained = true;

	if (wqe->is_pattern || wqe->is_hot || is_send(wqe) || is_empty(wqe) ||
	    is_overtaken(end, wqe) || (!may_succeed && wqe->granted.length == 0))
		return;
	if (!may_succeed)
		explained = pieces_hold(end->memory, wqe->pieces, wqe->piece_count,
					end->peer->memory->arena + wqe->granted.offset,
					wqe->granted.length, true);
	else if (wqe->opcode == RNIC_WR_RDMA_READ || is_atomic(wqe))
		explained = pieces_hold(end->memory, wqe->pieces, wqe->piece_count,
					expected_bytes(end, wqe), wqe->bytes, true);
	else
		explained = pieces_hold(end->peer->memory, &wqe->remote, 1,
					expected_bytes(end, wqe), wqe->bytes, true);
	if (!explained)
		oracle_fail(end->oracle, "%s: unfinished work %u left bytes that nobody sent",
			    end->name, index);
}

/* The atomic word and the hot range are written by many; the last that surely happened decides. */
static void judge_shared(struct oracle_end *end, bool atomics)
{
	struct span range = atomics ? end->atomic_word : end->hot;
	uint8_t *arena = end->peer->memory->arena + range.offset;
	uint8_t *shadow = end->peer->memory->shadow + range.offset;
	uint32_t last = UINT32_MAX, first = UINT32_MAX;

	for (uint32_t i = 0; i < end->work_count; i++) {
		struct model_work *wqe = &end->wqes[i];

		if (!(atomics ? is_atomic(wqe) : wqe->is_hot))
			continue;
		if (first == UINT32_MAX)
			first = i;
		if (wqe->status == RNIC_WC_SUCCESS && wqe->is_complete)
			last = i;
	}
	if (last == UINT32_MAX && memcmp(arena, shadow, range.length) == 0)
		return;
	if (first == UINT32_MAX || !shared_range_is_at(end, last == UINT32_MAX ? first : last))
		oracle_fail(end->oracle, "%s: the %s ends with a value that no order explains",
			    end->name, atomics ? "atomic word" : "range written often");
	memcpy(shadow, arena, range.length);
}

/* The receive that was under way when the QP stopped may hold a part of the message. */
static void judge_open_receive(struct oracle_end *end)
{
	struct model_work *message = next_message(end);

	for (uint32_t i = 0; i < end->receive_count; i++) {
		struct model_receive *receive = &end->receives[i];
		uint32_t bytes;

		if (receive->status == RNIC_WC_SUCCESS)
			continue;
		if (message == NULL || !is_send(message) || message->is_pattern)
			return;
		bytes = message->bytes < receive->bytes ? message->bytes : receive->bytes;
		if (!pieces_hold(end->memory, receive->pieces, receive->piece_count,
				 expected_bytes(end->peer, message), bytes, true))
			oracle_fail(end->oracle, "%s: unfinished receive %u has foreign bytes",
				    end->name, i);
		return;
	}
}

/* UC and UD: a WRITE may have been lost wholly or in part; receives may hold parts of messages. */
static void judge_lossy(struct oracle_end *end)
{
	for (uint32_t i = 0; i < end->work_count; i++) {
		const struct model_work *wqe = &end->wqes[i];

		if (!is_send(wqe) && !pieces_hold(end->peer->memory, &wqe->remote, 1,
						  expected_bytes(end, wqe), wqe->bytes, true))
			oracle_fail(end->oracle, "%s: work %u left bytes that nobody sent",
				    end->name, i);
	}
	for (uint32_t i = 0; i < end->receive_count; i++)
		if (end->receives[i].status != RNIC_WC_SUCCESS)
			oracle_adopt(end->memory, end->receives[i].pieces,
				     end->receives[i].piece_count);
}

void oracle_finish(struct oracle_end *end)
{
	if (oracle_has_failed(end->oracle))
		return;
	if (end->completed != end->work_count)
		oracle_fail(end->oracle, "%s: work %u never completed", end->name, end->completed);
	if (end->received != end->receive_count)
		oracle_fail(end->oracle, "%s: receive %u never completed", end->name,
			    end->received);
	if (is_lossy(end)) {
		judge_lossy(end);
		return;
	}
	for (uint32_t i = 0; i < end->work_count; i++) {
		if (end->wqes[i].status != RNIC_WC_SUCCESS)
			judge_unfinished(end, i);
	}
	judge_shared(end, true);
	judge_shared(end, false);
	judge_open_receive(end);
}

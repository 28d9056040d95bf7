/* SPDX-License-Identifier: MIT */
/*
 * One end of a connection, moved by lines of text: "COMMAND NAME=NUMBER ..." on standard input, "ok
 * NAME=NUMBER ..." or "error ERRNO TEXT" on standard output, one answer a command, in order. The
 * same program runs on rnicd and, in the emulated machine, on Linux rxe; rxe_peer.py writes the
 * lines.
 *
 * An object is named by the number that its command answered, until "destroy" or "reset". Members
 * that a line leaves out are 0. Numbers are those of <infiniband/verbs.h>.
 */
#include "tests/interop/rxe/puppet.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

/*
 * Headers of rdma-core 44 lack FLUSH, whose function follows wr_atomic_write() in struct ibv_qp_ex
 * of later libraries.
 */
struct qp_with_flush {
	struct ibv_qp_ex up_to_atomic_write;
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, size_t length,
			 uint8_t type, uint8_t level);
};

/* Bytes 8 * index on of the endless pattern that a seed names: no two places of it look alike. */
static uint64_t pattern_word(uint64_t seed, uint64_t index)
{
	uint64_t mixed = (seed << 40) + index + 1;

	mixed *= 0x9e3779b97f4a7c15;
	mixed ^= mixed >> 29;
	mixed *= 0xbf58476d1ce4e5b9;
	return mixed ^ mixed >> 32;
}

/* The pattern from byte origin on. */
static void write_pattern(uint8_t *bytes, uint64_t length, uint64_t seed, uint64_t origin)
{
	while (length > 0) {
		uint64_t word = pattern_word(seed, origin / 8);
		uint64_t skipped = origin % 8;
		uint64_t count = 8 - skipped < length ? 8 - skipped : length;

		memcpy(bytes, (uint8_t *)&word + skipped, count);
		bytes += count;
		origin += count;
		length -= count;
	}
}

/* The bytes that offset= and length= name, or NULL. */
static uint8_t *find_bytes(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *mr = puppet_find(puppet, PUPPET_MR, argument(arguments, "mr"));
	uint64_t offset = argument(arguments, "offset");
	uint64_t length = argument(arguments, "length");

	if (mr == NULL || offset > mr->bytes || length > mr->bytes - offset)
		return NULL;
	return mr->memory + offset;
}

/* fill mr offset length seed origin: the pattern from byte origin on. */
static int do_fill(struct puppet *puppet, const struct arguments *arguments)
{
	uint8_t *bytes = find_bytes(puppet, arguments);

	if (bytes == NULL)
		return EINVAL;
	write_pattern(bytes, argument(arguments, "length"), argument(arguments, "seed"),
		      argument(arguments, "origin"));
	answer_done();
	return 0;
}

/* check mr offset length seed origin: answers how many bytes differ, and the first. */
static int do_check(struct puppet *puppet, const struct arguments *arguments)
{
	const uint8_t *bytes = find_bytes(puppet, arguments);
	uint64_t length = argument(arguments, "length");
	uint64_t wrong = 0, first = 0;
	uint8_t *pattern;

	pattern = malloc(length + 1);
	if (bytes == NULL || pattern == NULL) {
		free(pattern);
		return EINVAL;
	}
	write_pattern(pattern, length, argument(arguments, "seed"), argument(arguments, "origin"));
	for (uint64_t i = 0; i < length; i++) {
		if (bytes[i] != pattern[i] && wrong++ == 0)
			first = i;
	}
	free(pattern);
	answer("wrong=%lu first=%lu", wrong, first);
	return 0;
}

/* peek mr offset, poke mr offset value: 8 bytes in the order of this machine. */
static int do_peek(struct puppet *puppet, const struct arguments *arguments)
{
	const uint8_t *bytes = find_bytes(puppet, arguments);
	uint64_t value;

	if (bytes == NULL)
		return EINVAL;
	memcpy(&value, bytes, sizeof(value));
	answer("value=%lu", value);
	return 0;
}

static int do_poke(struct puppet *puppet, const struct arguments *arguments)
{
	uint8_t *bytes = find_bytes(puppet, arguments);
	uint64_t value = argument(arguments, "value");

	if (bytes == NULL)
		return EINVAL;
	memcpy(bytes, &value, sizeof(value));
	answer_done();
	return 0;
}

/* discard mr offset length: whole pages, which are all zeros then. */
static int do_discard(struct puppet *puppet, const struct arguments *arguments)
{
	uint8_t *bytes = find_bytes(puppet, arguments);

	if (bytes == NULL)
		return EINVAL;
	if (madvise(bytes, argument(arguments, "length"), MADV_DONTNEED) != 0)
		return errno;
	answer_done();
	return 0;
}

/*
 * "sge=MR:OFFSET:LENGTH", any number of them; a fourth number is added to the lkey. Returns how
 * many there are, or -1.
 */
static int read_sges(struct puppet *puppet, const struct arguments *arguments, struct ibv_sge *list)
{
	int count = 0;

	for (int i = 0; i < arguments->count; i++) {
		uint64_t mr_id, offset, length, off_by = 0;
		struct puppet_object *mr;

		if (strcmp(arguments->names[i], "sge") != 0)
			continue;
		if (count == PUPPET_SGES || sscanf(arguments->texts[i], "%lu:%lu:%lu:%lu", &mr_id,
						   &offset, &length, &off_by) < 3)
			return -1;
		mr = puppet_find(puppet, PUPPET_MR, mr_id);
		if (mr == NULL)
			return -1;
		list[count++] = (struct ibv_sge){
			.addr = (uintptr_t)mr->memory + offset,
			.length = (uint32_t)length,
			.lkey = mr->mr->lkey + (uint32_t)off_by,
		};
	}
	return count;
}

/* receive qp|srq wr_id sge... */
static int do_receive(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *srq = puppet_find(puppet, PUPPET_SRQ, argument(arguments, "srq"));
	struct puppet_object *qp = puppet_find(puppet, PUPPET_QP, argument(arguments, "qp"));
	struct ibv_sge sges[PUPPET_SGES];
	struct ibv_recv_wr *bad, request = {
					 .wr_id = argument(arguments, "wr_id"),
					 .sg_list = sges,
					 .num_sge = read_sges(puppet, arguments, sges),
				 };
	int error = EINVAL;

	if (request.num_sge >= 0 && srq != NULL)
		error = ibv_post_srq_recv(srq->srq, &request, &bad);
	else if (request.num_sge >= 0 && qp != NULL)
		error = ibv_post_recv(qp->qp, &request, &bad);
	if (error == 0)
		answer_done();
	return error;
}

/* The members that depend on what the operation is. */
static int fill_request(struct puppet *puppet, const struct arguments *arguments,
			struct ibv_send_wr *request)
{
	uint64_t address = argument(arguments, "address");
	uint32_t rkey = (uint32_t)argument(arguments, "rkey");
	struct puppet_object *object;

	switch (request->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		request->wr.atomic.remote_addr = address;
		request->wr.atomic.rkey = rkey;
		request->wr.atomic.compare_add = argument(arguments, "compare_add");
		request->wr.atomic.swap = argument(arguments, "swap");
		return 0;
	case IBV_WR_BIND_MW:
		object = puppet_find(puppet, PUPPET_MR, argument(arguments, "mr"));
		if (object == NULL)
			return EINVAL;
		request->bind_mw.bind_info = (struct ibv_mw_bind_info){
			.mr = object->mr,
			.addr = (uintptr_t)object->memory + argument(arguments, "offset"),
			.length = argument(arguments, "length"),
			.mw_access_flags = (unsigned int)argument(arguments, "access"),
		};
		object = puppet_find(puppet, PUPPET_MW, argument(arguments, "mw"));
		if (object == NULL)
			return EINVAL;
		request->bind_mw.mw = object->mw;
		request->bind_mw.rkey = rkey;
		return 0;
	default:
		break;
	}
	request->wr.rdma.remote_addr = address;
	request->wr.rdma.rkey = rkey;
	object = puppet_find(puppet, PUPPET_AH, argument(arguments, "ah"));
	if (object != NULL) {
		request->wr.ud.ah = object->ah;
		request->wr.ud.remote_qpn = (uint32_t)argument(arguments, "qpn");
		request->wr.ud.remote_qkey = (uint32_t)argument(arguments, "qkey");
	}
	return 0;
}

/* send qp wr_id opcode flags sge... and what the operation needs */
static int do_send(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *qp = puppet_find(puppet, PUPPET_QP, argument(arguments, "qp"));
	struct ibv_sge sges[PUPPET_SGES];
	struct ibv_send_wr *bad,
		request = {
			.wr_id = argument(arguments, "wr_id"),
			.sg_list = sges,
			.num_sge = read_sges(puppet, arguments, sges),
			.opcode = (enum ibv_wr_opcode)argument(arguments, "opcode"),
			.send_flags = (unsigned int)argument(arguments, "flags"),
		};
	int error;

	if (qp == NULL || request.num_sge < 0)
		return EINVAL;
	if (request.opcode == IBV_WR_SEND_WITH_INV || request.opcode == IBV_WR_LOCAL_INV)
		request.invalidate_rkey = (uint32_t)argument(arguments, "invalidate");
	else
		request.imm_data = htobe32((uint32_t)argument(arguments, "immediate"));
	error = fill_request(puppet, arguments, &request);
	if (error == 0)
		error = ibv_post_send(qp->qp, &request, &bad);
	if (error == 0)
		answer_done();
	return error;
}

/* The queue pair that the line names, with a request begun; NULL when it was not made for that. */
static struct ibv_qp_ex *begin_request(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *object = puppet_find(puppet, PUPPET_QP, argument(arguments, "qp"));
	struct ibv_qp_ex *qp = object != NULL ? ibv_qp_to_qp_ex(object->qp) : NULL;

	if (qp == NULL)
		return NULL;
	ibv_wr_start(qp);
	qp->wr_id = argument(arguments, "wr_id");
	qp->wr_flags = (unsigned int)argument(arguments, "flags");
	return qp;
}

static int end_request(struct ibv_qp_ex *qp)
{
	int error = ibv_wr_complete(qp);

	if (error == 0)
		answer_done();
	return error;
}

/* flush qp wr_id flags rkey address length type level */
static int do_flush(struct puppet *puppet, const struct arguments *arguments)
{
	struct ibv_qp_ex *qp = begin_request(puppet, arguments);

	if (qp == NULL)
		return EINVAL;
	((struct qp_with_flush *)qp)
		->wr_flush(qp, (uint32_t)argument(arguments, "rkey"),
			   argument(arguments, "address"), argument(arguments, "length"),
			   (uint8_t)argument(arguments, "type"),
			   (uint8_t)argument(arguments, "level"));
	return end_request(qp);
}

/* atomic_write qp wr_id flags rkey address value */
static int do_atomic_write(struct puppet *puppet, const struct arguments *arguments)
{
	struct ibv_qp_ex *qp = begin_request(puppet, arguments);
	uint64_t value = argument(arguments, "value");

	if (qp == NULL)
		return EINVAL;
	ibv_wr_atomic_write(qp, (uint32_t)argument(arguments, "rkey"),
			    argument(arguments, "address"), &value);
	return end_request(qp);
}

static void print_completion(const struct ibv_wc *wc)
{
	uint32_t immediate = 0;

	if (wc->wc_flags & IBV_WC_WITH_IMM)
		immediate = be32toh(wc->imm_data);
	else if (wc->wc_flags & (IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK)) /* rxe mistakes these */
		immediate = wc->invalidated_rkey;
	printf(" %lu,%d,%d,%u,%u,%u,%u,%u", wc->wr_id, (int)wc->status, (int)wc->opcode,
	       wc->byte_len, wc->wc_flags, immediate, wc->qp_num, wc->src_qp);
}

/* False when nothing came in time. */
static bool wait_for_completion(struct puppet_object *cq, int timeout_ms)
{
	struct pollfd ready = {.fd = cq->channel->fd, .events = POLLIN};
	struct ibv_cq *event_cq;
	void *context;

	if (poll(&ready, 1, timeout_ms) != 1)
		return false;
	if (ibv_get_cq_event(cq->channel, &event_cq, &context) == 0)
		ibv_ack_cq_events(event_cq, 1);
	return true;
}

/*
 * poll cq count timeout_ms: answers completions, at most count, as soon as there are that many or
 * none came for timeout_ms.
 */
static int do_poll(struct puppet *puppet, const struct arguments *arguments)
{
	struct puppet_object *cq = puppet_find(puppet, PUPPET_CQ, argument(arguments, "cq"));
	uint64_t missing = argument(arguments, "count");
	int timeout_ms = (int)argument(arguments, "timeout_ms");
	bool waited = false;
	struct ibv_wc wc;

	if (cq == NULL)
		return EINVAL;
	fputs("ok", stdout);
	while (missing > 0) {
		int found = ibv_poll_cq(cq->cq, 1, &wc);

		if (found < 0)
			break;
		if (found > 0) {
			print_completion(&wc);
			missing--;
			waited = false;
		} else if (!waited) {
			/* What came before the request for a notice is found by one poll more. */
			if (ibv_req_notify_cq(cq->cq, 0) != 0)
				break;
			waited = true;
		} else if (!wait_for_completion(cq, timeout_ms)) {
			break;
		} else {
			waited = false;
		}
	}
	putchar('\n');
	return 0;
}

static bool is_about_qp(const struct ibv_async_event *event)
{
	return (event->event_type >= IBV_EVENT_QP_FATAL &&
		event->event_type <= IBV_EVENT_PATH_MIG_ERR) ||
	       event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
}

/* event timeout_ms: the next asynchronous event of a queue pair, or type=-1. */
static int do_event(struct puppet *puppet, const struct arguments *arguments)
{
	struct pollfd ready = {.fd = puppet->context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	while (poll(&ready, 1, (int)argument(arguments, "timeout_ms")) == 1 &&
	       ibv_get_async_event(puppet->context, &event) == 0) {
		bool is_wanted = is_about_qp(&event);
		uint32_t qpn = is_wanted ? event.element.qp->qp_num : 0;

		ibv_ack_async_event(&event);
		if (is_wanted) {
			answer("type=%d qpn=%u", (int)event.event_type, qpn);
			return 0;
		}
	}
	answer("type=-1");
	return 0;
}

/* run command...: by the shell; its output goes to standard error. */
static int do_run(struct puppet *puppet, const struct arguments *arguments)
{
	(void)puppet;
	answer("status=%d", system(arguments->rest));
	return 0;
}

static int do_hello(struct puppet *puppet, const struct arguments *arguments)
{
	(void)puppet;
	answer("echo=%lu", argument(arguments, "number"));
	return 0;
}

/* kernel: the release that this program runs on. */
static int do_kernel(struct puppet *puppet, const struct arguments *arguments)
{
	unsigned int major, minor;
	struct utsname system;

	(void)puppet;
	(void)arguments;
	if (uname(&system) != 0 || sscanf(system.release, "%u.%u", &major, &minor) != 2)
		return ENOENT;
	answer("major=%u minor=%u", major, minor);
	return 0;
}

static const struct command commands[] = {
	{"hello", do_hello},	     {"open", puppet_open},   {"gid", puppet_gid},
	{"pd", puppet_pd},	     {"mr", puppet_mr},	      {"mw", puppet_mw},
	{"cq", puppet_cq},	     {"srq", puppet_srq},     {"qp", puppet_qp},
	{"modify", puppet_modify},   {"query", puppet_query}, {"ah", puppet_ah},
	{"destroy", puppet_destroy}, {"reset", puppet_reset}, {"fill", do_fill},
	{"check", do_check},	     {"peek", do_peek},	      {"poke", do_poke},
	{"receive", do_receive},     {"send", do_send},	      {"poll", do_poll},
	{"event", do_event},	     {"run", do_run},	      {"close", puppet_close},
	{"kernel", do_kernel},	     {"flush", do_flush},     {"atomic_write", do_atomic_write},
	{"discard", do_discard},
};

static int obey(struct puppet *puppet, char *line)
{
	struct arguments arguments;

	arguments_split(&arguments, line);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, line) == 0)
			return commands[i].run(puppet, &arguments);
	}
	return ENOSYS;
}

int main(void)
{
	static struct puppet puppet;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	while ((length = getline(&line, &room, stdin)) > 0) {
		int error;

		line[strcspn(line, "\n")] = '\0';
		error = obey(&puppet, line);
		if (error != 0)
			printf("error %d %s\n", error, strerror(error));
		fflush(stdout);
	}
	free(line);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/cqe_delivery.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/objects/object_requests.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "daemon/device/session_turn.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/shm/cqe.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENTRIES	     4
#define MANY_ENTRIES 256

/* A session with one CQ and its channel, and a queue pair that only completions speak of. */
struct fixture {
	struct family family;
	struct session *session;
	struct session_cq *cq;
	struct rnic_cq_control *control;
	const struct rnic_cq_region *region;
	const struct rnic_cqe *entries;
	struct session_qp session_qp;
	struct qp qp;
	int peer_fd;
	int channel_fd;
	int async_fd;
};

static struct fixture fixture;

static void create_cq(struct fixture *f)
{
	static struct ctl_call call;
	struct rnic_ctl_create_cq *request = (void *)call.request.payload;
	struct rnic_ctl_channel_reply channel;
	struct rnic_ctl_cq_reply reply;

	call.session = f->session;
	assert_int_equal(ctl_create_channel(&call), 0);
	memcpy(&channel, call.reply.payload, sizeof(channel));
	f->channel_fd = call.reply_fds[0];
	assert_int_equal(fcntl(f->channel_fd, F_SETFL, O_NONBLOCK), 0);
	*request = (struct rnic_ctl_create_cq){
		.entries = ENTRIES,
		.channel = channel.channel,
		.flags = RNIC_CQ_TIMESTAMPS,
	};
	assert_int_equal(ctl_create_cq(&call), 0);
	memcpy(&reply, call.reply.payload, sizeof(reply));
	close(call.reply_fds[0]);
	assert_int_equal(reply.slots, ENTRIES);
	f->cq = handle_table_get(&f->session->cqs, reply.cq);
	f->control = &session_region(f->session)->cqs[reply.cq.slot];
	f->region = f->cq->region.address;
	f->entries = f->cq->entries;
}

static int set_up(void **state)
{
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	f->family.facts.device.max_cqe = 1024;
	f->family.facts.device.completion_vectors = 1;
	family_init(&f->family, NULL, NULL);
	f->session = client_fixture_open(client_fixture_connect_device(&f->family, 1, &f->peer_fd),
					 NULL, &f->async_fd);
	assert_int_equal(fcntl(f->async_fd, F_SETFL, O_NONBLOCK), 0);
	create_cq(f);
	f->session_qp.session = f->session;
	f->session_qp.handle = (struct rnic_handle){5, 1};
	f->qp.user = &f->session_qp;
	f->qp.qpn = 0x1234;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	close(f->peer_fd);
	close(f->channel_fd);
	close(f->async_fd);
	return 0;
}

static bool complete(struct fixture *f, uint64_t wr_id, bool is_solicited, uint8_t status)
{
	const struct cqe cqe = {
		.wr_id = wr_id,
		.qp = &f->qp,
		.byte_count = 10,
		.retired = 3,
		.status = status,
		.is_recv = true,
		.is_solicited = is_solicited,
	};

	return cqe_delivery_cqe(&f->family.device.sessions, &f->cq->cq, &cqe);
}

static uint32_t events_read(struct fixture *f)
{
	struct rnic_event_record record;
	uint32_t count = 0;

	while (read(f->channel_fd, &record, sizeof(record)) == sizeof(record)) {
		assert_int_equal(record.slot, f->cq->handle.slot);
		assert_int_equal(record.generation, f->cq->handle.generation);
		count++;
	}
	return count;
}

static void test_completion_reaches_the_ring(void **state)
{
	struct fixture *f = *state;

	f->family.device.sessions.now_ns = 77;
	f->session_qp.recv_base = 100;
	assert_true(complete(f, 42, true, RNIC_WC_SUCCESS));
	assert_int_equal(f->region->producer, 1);
	assert_int_equal(f->entries[0].wr_id, 42);
	assert_int_equal(f->cq->times_ns[0], 77);
	assert_int_equal(f->entries[0].qpn, 0x1234);
	assert_int_equal(f->entries[0].qp_slot, 5);
	assert_int_equal(f->entries[0].retired, 103);
	assert_int_equal(f->entries[0].flags, RNIC_COMPLETION_RECV | RNIC_COMPLETION_SOLICITED);
}

static void create_again(struct fixture *f, struct ctl_call *call, uint32_t flags, int result)
{
	struct rnic_ctl_create_cq *request = (void *)call->request.payload;

	call->session = f->session;
	*request = (struct rnic_ctl_create_cq){.entries = 1, .flags = flags};
	assert_int_equal(ctl_create_cq(call), result);
}

static void test_times_only_where_they_are_wanted(void **state)
{
	static struct ctl_call call;
	struct rnic_ctl_cq_reply *reply = (void *)call.reply.payload;
	struct fixture *f = *state;
	struct session_cq *other;
	const struct cqe cqe = {.qp = &f->qp, .is_recv = true};

	create_again(f, &call, 2, -EINVAL);
	create_again(f, &call, 0, 0);
	close(call.reply_fds[0]);
	other = handle_table_get(&f->session->cqs, reply->cq);
	assert_null(other->times_ns);
	assert_true(other->region.bytes < f->cq->region.bytes);
	assert_true(cqe_delivery_cqe(&f->family.device.sessions, &other->cq, &cqe));
}

static void test_resizing_keeps_entries_and_times(void **state)
{
	static struct ctl_call call;
	struct rnic_ctl_resize_cq *request = (void *)call.request.payload;
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 3; i++) {
		f->family.device.sessions.now_ns = 100 + i;
		assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
	}
	f->control->consumer = 1;
	call.session = f->session;
	*request = (struct rnic_ctl_resize_cq){.cq = f->cq->handle, .entries = 2};
	assert_int_equal(ctl_resize_cq(&call), 0);
	close(call.reply_fds[0]);
	assert_int_equal(f->cq->slots, 2);
	assert_int_equal(((struct rnic_cq_region *)f->cq->region.address)->slot_zero, 1);
	for (uint64_t i = 1; i < 3; i++) {
		assert_int_equal(f->cq->entries[i - 1].wr_id, i);
		assert_int_equal(f->cq->times_ns[i - 1], 100 + i);
	}
}

static void resize(struct fixture *f, uint32_t entries)
{
	static struct ctl_call call;
	struct rnic_ctl_resize_cq *request = (void *)call.request.payload;

	call.session = f->session;
	*request = (struct rnic_ctl_resize_cq){.cq = f->cq->handle, .entries = entries};
	assert_int_equal(ctl_resize_cq(&call), 0);
	close(call.reply_fds[0]);
	f->region = f->cq->region.address;
	f->entries = f->cq->entries;
}

/* Gives the fixture's CQ room for MANY_ENTRIES. */
static void make_large(struct fixture *f)
{
	resize(f, MANY_ENTRIES);
}

/* CQEs whose ID is their index, and whose time is 1000 later. */
static void complete_many(struct fixture *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t index = f->cq->producer;

		f->family.device.sessions.now_ns = (uint64_t)index + 1000;
		assert_true(complete(f, index, false, RNIC_WC_SUCCESS));
	}
}

/* The client polls each CQE before the next one comes. */
static void complete_and_poll(struct fixture *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		complete_many(f, 1);
		f->control->consumer = f->region->producer;
	}
}

/* Reads as a client does. */
static void expect_unpolled(const struct fixture *f, uint32_t count)
{
	assert_int_equal(f->region->producer, f->control->consumer + count);
	for (uint32_t i = f->control->consumer; i != f->region->producer; i++) {
		const uint32_t slot = rnic_ring_slot(i, f->region->slot_zero, f->cq->slots);

		assert_int_equal(f->entries[slot].wr_id, i);
		assert_int_equal(f->cq->times_ns[slot], (uint64_t)i + 1000);
	}
}

static void test_an_empty_queue_goes_back_to_its_first_slot(void **state)
{
	struct fixture *f = *state;

	make_large(f);
	for (uint64_t i = 0; i < LIMIT_CQ_FIRST_SLOTS; i++) {
		assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
		f->control->consumer++;
	}
	assert_int_equal(f->region->slot_zero, 0);
	f->family.device.sessions.now_ns = 77;
	assert_true(complete(f, 1000, false, RNIC_WC_SUCCESS));
	assert_int_equal(f->region->slot_zero, LIMIT_CQ_FIRST_SLOTS);
	assert_int_equal(f->region->producer, LIMIT_CQ_FIRST_SLOTS + 1);
	assert_int_equal(f->entries[0].wr_id, 1000);
	assert_int_equal(f->cq->times_ns[0], 77);
}

/* The CQEs lie on both sides of the last slot, and slot 0 is not that of index 0. */
static void test_resizing_keeps_entries_that_wrap(void **state)
{
	static const uint32_t sizes[] = {MANY_ENTRIES, 2 * MANY_ENTRIES, MANY_ENTRIES / 2};
	struct fixture *f = *state;

	make_large(f);
	complete_and_poll(f, LIMIT_CQ_FIRST_SLOTS);
	complete_many(f, MANY_ENTRIES);
	assert_int_equal(f->region->slot_zero, LIMIT_CQ_FIRST_SLOTS);
	f->control->consumer += MANY_ENTRIES - 60;
	complete_many(f, 40);
	for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
		resize(f, sizes[i]);
		assert_int_equal(f->cq->slots, sizes[i]);
		expect_unpolled(f, 100);
		complete_many(f, 10);
		expect_unpolled(f, 110);
		f->control->consumer += 10;
	}
	assert_false(f->session->is_broken);
}

/* Sets the indices of the queue, which is empty, as if that many CQEs had been polled. */
static void start_at(struct fixture *f, uint32_t index)
{
	f->cq->producer = f->cq->consumer = index;
	f->control->consumer = index;
	rnic_word_publish(&((struct rnic_cq_region *)f->cq->region.address)->producer, index);
	cqe_delivery_set_slot_zero(f->cq, index);
}

/* The index passes from UINT32_MAX to 0 before, at and after the return to slot 0. */
static void test_going_back_where_the_index_wraps(void **state)
{
	static const uint32_t steps_before_wrap[] = {1, 50, LIMIT_CQ_FIRST_SLOTS,
						     LIMIT_CQ_FIRST_SLOTS + 1, 150};
	struct fixture *f = *state;

	make_large(f);
	for (unsigned i = 0; i < COUNT_OF(steps_before_wrap); i++) {
		const uint32_t start = -steps_before_wrap[i];

		start_at(f, start);
		complete_and_poll(f, LIMIT_CQ_FIRST_SLOTS);
		assert_int_equal(f->region->slot_zero, start);
		complete_many(f, 1);
		assert_int_equal(f->region->slot_zero, start + LIMIT_CQ_FIRST_SLOTS);
		assert_int_equal(f->entries[0].wr_id, start + LIMIT_CQ_FIRST_SLOTS);
		/* A look finds the queue not empty. */
		complete_many(f, MANY_ENTRIES - 1);
		assert_int_equal(f->region->slot_zero, start + LIMIT_CQ_FIRST_SLOTS);
		expect_unpolled(f, MANY_ENTRIES);
	}
	assert_false(f->session->is_broken);
}

/* The queue looks empty to the client, who would read later CQEs in place of those that wait. */
static void test_no_going_back_before_errors_are_published(void **state)
{
	struct fixture *f = *state;
	struct session_set *set = &f->family.device.sessions;

	make_large(f);
	complete_and_poll(f, LIMIT_CQ_FIRST_SLOTS - 1);
	session_turn_begin(set, 77);
	assert_true(complete(f, 1000, false, RNIC_WC_LOC_ACCESS_ERR));
	assert_true(complete(f, 1001, false, RNIC_WC_SUCCESS));
	assert_int_equal(f->region->producer, f->control->consumer);
	session_turn_deliver(set, true);
	assert_int_equal(f->region->producer, LIMIT_CQ_FIRST_SLOTS + 1);
	assert_int_equal(f->region->slot_zero, 0);
	assert_int_equal(f->entries[LIMIT_CQ_FIRST_SLOTS - 1].wr_id, 1000);
	assert_int_equal(f->entries[LIMIT_CQ_FIRST_SLOTS].wr_id, 1001);
}

static void test_a_queue_with_entries_uses_all_its_slots(void **state)
{
	struct fixture *f = *state;

	make_large(f);
	for (uint64_t i = 0; i < MANY_ENTRIES; i++)
		assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
	assert_false(complete(f, MANY_ENTRIES, false, RNIC_WC_SUCCESS));
	assert_int_equal(f->region->slot_zero, 0);
	for (uint64_t i = 0; i < MANY_ENTRIES; i++)
		assert_int_equal(f->entries[i].wr_id, i);
}

/* The packet that tells the peer of an error leaves before the client can leave. */
static void test_errors_wait_for_the_end_of_the_turn(void **state)
{
	struct fixture *f = *state;
	struct session_set *set = &f->family.device.sessions;
	struct session_channel *channel = f->cq->channel;

	for (unsigned i = 0; i < 2; i++) {
		const uint32_t before = f->region->producer;

		f->cq->channel = i == 0 ? channel : NULL;
		session_turn_begin(set, 77);
		assert_true(complete(f, 1, false, RNIC_WC_SUCCESS));
		assert_int_equal(f->region->producer, before + 1);
		assert_true(complete(f, 2, false, RNIC_WC_LOC_ACCESS_ERR));
		assert_true(complete(f, 3, false, RNIC_WC_SUCCESS));
		assert_int_equal(f->region->producer, before + 1);
		session_turn_deliver(set, true);
		assert_int_equal(f->region->producer, before + 3);
		assert_true(complete(f, 4, false, RNIC_WC_WR_FLUSH_ERR));
		assert_int_equal(f->region->producer, before + 4);
		f->control->consumer = before + 4;
	}
	f->cq->channel = channel;
}

static void test_full_ring_refuses_until_polled(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < ENTRIES; i++)
		assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
	assert_false(complete(f, ENTRIES, false, RNIC_WC_SUCCESS));
	assert_int_equal(f->region->producer, ENTRIES);
	assert_false(f->session->is_broken);
	f->control->consumer = 1;
	assert_true(complete(f, ENTRIES, false, RNIC_WC_SUCCESS));
	assert_int_equal(f->entries[0].wr_id, ENTRIES);
}

static void test_lying_consumer_breaks_the_session(void **state)
{
	static const uint32_t lies[] = {ENTRIES + 1, 0x80000000, UINT32_MAX};
	struct fixture *f = *state;

	for (uint64_t i = 0; i < ENTRIES; i++)
		assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint32_t armed;

		f->control->consumer = lies[i];
		assert_int_equal(cqe_delivery_peek(f->cq, &armed), 0);
	}
	assert_true(complete(f, 9, false, RNIC_WC_SUCCESS));
	assert_true(f->session->is_broken);
	assert_int_equal(f->region->producer, ENTRIES);
}

static void test_arming(void **state)
{
	static const struct {
		uint32_t armed;
		bool is_solicited;
		uint8_t status;
		uint32_t events;
	} cases[] = {
		{RNIC_CQ_UNARMED, true, RNIC_WC_SUCCESS, 0},
		{RNIC_CQ_ARMED_ANY, false, RNIC_WC_SUCCESS, 1},
		{RNIC_CQ_ARMED_ANY, true, RNIC_WC_SUCCESS, 1},
		{RNIC_CQ_ARMED_SOLICITED, false, RNIC_WC_SUCCESS, 0},
		{RNIC_CQ_ARMED_SOLICITED, true, RNIC_WC_SUCCESS, 1},
		{RNIC_CQ_ARMED_SOLICITED, false, RNIC_WC_WR_FLUSH_ERR, 1},
		{0xdeadbeef, false, RNIC_WC_SUCCESS, 1},
	};
	struct fixture *f = *state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f->control->armed = cases[i].armed;
		assert_true(complete(f, i, cases[i].is_solicited, cases[i].status));
		cqe_delivery_run(&f->family.device.sessions, false);
		assert_int_equal(events_read(f), cases[i].events);
		if (cases[i].events != 0)
			assert_int_equal(f->control->armed, RNIC_CQ_UNARMED);
		else
			assert_int_equal(f->control->armed, cases[i].armed);
		f->control->consumer = i + 1;
	}
}

/* One arming is one event, however many completions follow. */
static void test_one_event_for_many_completions(void **state)
{
	struct fixture *f = *state;

	f->control->armed = RNIC_CQ_ARMED_ANY;
	for (uint64_t i = 0; i < ENTRIES; i++)
		assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
	cqe_delivery_run(&f->family.device.sessions, false);
	cqe_delivery_run(&f->family.device.sessions, false);
	assert_int_equal(events_read(f), 1);
}

static uint32_t async_events_read(struct fixture *f)
{
	struct rnic_event_record record;
	uint32_t count = 0;

	while (read(f->async_fd, &record, sizeof(record)) == sizeof(record))
		count++;
	return count;
}

/* A request runs outside a turn: without another turn nobody would hear of what it raises. */
static void test_what_a_request_raises_asks_for_a_turn(void **state)
{
	struct fixture *f = *state;
	struct session_set *set = &f->family.device.sessions;

	assert_false(session_turn_has_work(set));
	cqe_delivery_async_event(set, RNIC_EVENT_CQ_ERR, &f->cq->cq);
	assert_true(session_turn_has_work(set));
	session_turn_begin(set, 77);
	session_turn_deliver(set, true);
	assert_int_equal(async_events_read(f), 1);
	assert_false(session_turn_has_work(set));

	f->control->armed = RNIC_CQ_ARMED_ANY;
	assert_true(complete(f, 1, false, RNIC_WC_WR_FLUSH_ERR));
	assert_true(session_turn_has_work(set));
	session_turn_begin(set, 78);
	session_turn_deliver(set, true);
	assert_int_equal(events_read(f), 1);
	assert_false(session_turn_has_work(set));
}

/* Who sleeps in a poll is woken once, and not for each completion while the loop is busy. */
static void test_waking_of_a_sleeping_poller(void **state)
{
	static const struct {
		bool completes;
		bool is_busy;
		uint64_t now_ns;
		bool is_taken;
	} steps[] = {
		{false, false, 0, false}, /* for nothing */
		{true, true, 0, false},
		{true, true, LIMIT_POLL_WAKE_NS - 1, false}, /* the first one counts */
		{false, true, LIMIT_POLL_WAKE_NS, true},
		{false, false, 0, false}, /* woken for both */
		{true, false, 0, true},
	};
	struct fixture *f = *state;
	_Atomic uint32_t *poll_waits = &session_region(f->session)->poll_waits.value;

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		f->family.device.sessions.now_ns = steps[i].now_ns;
		*poll_waits = 1;
		if (steps[i].completes)
			assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
		cqe_delivery_run(&f->family.device.sessions, steps[i].is_busy);
		assert_int_equal(*poll_waits, steps[i].is_taken ? 0 : 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Port events reach whoever has a pipe; of a full one it is the last state that is told. */
static void test_port_events(void **state)
{
	struct fixture *f = *state;
	struct rnic_event_record record;
	uint32_t written = 0;

	cqe_delivery_port_event(&f->family.device.sessions, RNIC_EVENT_PORT_ERR);
	assert_int_equal(read(f->async_fd, &record, sizeof(record)), sizeof(record));
	assert_int_equal(record.type, RNIC_EVENT_PORT_ERR);
	assert_int_equal(record.slot, 1);
	while (!f->session->async_pipe.is_full && written++ < 100000)
		cqe_delivery_port_event(&f->family.device.sessions, RNIC_EVENT_GID_CHANGE);
	assert_true(f->session->async_pipe.is_full);
	cqe_delivery_port_event(&f->family.device.sessions, RNIC_EVENT_PORT_ACTIVE);
	cqe_delivery_port_event(&f->family.device.sessions, RNIC_EVENT_PORT_ERR);
	while (read(f->async_fd, &record, sizeof(record)) == sizeof(record))
		assert_int_equal(record.type, RNIC_EVENT_GID_CHANGE);
	cqe_delivery_retry(f->session);
	assert_int_equal(read(f->async_fd, &record, sizeof(record)), sizeof(record));
	assert_int_equal(record.type, RNIC_EVENT_PORT_ERR);
	assert_int_equal(read(f->async_fd, &record, sizeof(record)), sizeof(record));
	assert_int_equal(record.type, RNIC_EVENT_GID_CHANGE);
	assert_true(read(f->async_fd, &record, sizeof(record)) < 0);
}

/* Nobody waits while millions of completions are moved. */
static void test_resizing_with_many_entries(void **state)
{
	static struct ctl_call call;
	struct rnic_ctl_resize_cq *request = (void *)call.request.payload;
	struct fixture *f = *state;

	f->family.facts.device.max_cqe = 4 * LIMIT_RESIZE_CQ_ENTRIES;
	call.session = f->session;
	*request = (struct rnic_ctl_resize_cq){
		.cq = f->cq->handle,
		.entries = 2 * LIMIT_RESIZE_CQ_ENTRIES,
	};
	assert_int_equal(ctl_resize_cq(&call), 0);
	close(call.reply_fds[0]);
	for (uint32_t i = 0; i <= LIMIT_RESIZE_CQ_ENTRIES; i++)
		assert_true(complete(f, i, false, RNIC_WC_SUCCESS));
	assert_int_equal(ctl_resize_cq(&call), -EBUSY);
	atomic_store(&f->control->consumer, 1);
	assert_int_equal(ctl_resize_cq(&call), 0);
	close(call.reply_fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_completion_reaches_the_ring),
		TEST(test_errors_wait_for_the_end_of_the_turn),
		TEST(test_times_only_where_they_are_wanted),
		TEST(test_resizing_keeps_entries_and_times),
		TEST(test_full_ring_refuses_until_polled),
		TEST(test_an_empty_queue_goes_back_to_its_first_slot),
		TEST(test_resizing_keeps_entries_that_wrap),
		TEST(test_going_back_where_the_index_wraps),
		TEST(test_no_going_back_before_errors_are_published),
		TEST(test_a_queue_with_entries_uses_all_its_slots),
		TEST(test_port_events),
		TEST(test_resizing_with_many_entries),
		TEST(test_lying_consumer_breaks_the_session),
		TEST(test_arming),
		TEST(test_what_a_request_raises_asks_for_a_turn),
		TEST(test_one_event_for_many_completions),
		TEST(test_waking_of_a_sleeping_poller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

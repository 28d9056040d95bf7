/* SPDX-License-Identifier: MIT */
/*
 * What librdmacm offers and no program of the distribution asks for. Both ends are in this process:
 *
 *     cm_program ADDRESS
 *
 * under rnic-run, on a device that has that IPv4 address. Connections of the first test have the
 * type of service TOS, for whoever looks at the wire.
 */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TOS		      0x68
#define ACK_TIMEOUT	      18
#define TIMEOUT_MS	      2000
#define CONNECT_PRIVATE_BYTES 56
#define ACCEPT_PRIVATE_BYTES  196
#define REJECT_PRIVATE_BYTES  148

static struct sockaddr_in own_address;

/* A listener, and the two ends of one connection to it. */
struct pair {
	struct rdma_event_channel *server_channel, *client_channel;
	struct rdma_cm_id *listener, *server, *client;
};

/* --- events ---------------------------------------------------------------------------------- */

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
					enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	if (event->event != type)
		fail_msg("%s (status %d) instead of %s", rdma_event_str(event->event),
			 event->status, rdma_event_str(type));
	return event;
}

static void expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	assert_int_equal(rdma_ack_cm_event(next_event(channel, type)), 0);
}

static void expect_no_event(const struct rdma_event_channel *channel)
{
	struct pollfd polled = {.fd = channel->fd, .events = POLLIN};

	assert_int_equal(poll(&polled, 1, 0), 0);
}

/* --- connections ----------------------------------------------------------------------------- */

static void start(struct pair *pair)
{
	struct sockaddr_in address = own_address;

	*pair = (struct pair){
		.server_channel = rdma_create_event_channel(),
		.client_channel = rdma_create_event_channel(),
	};
	assert_non_null(pair->server_channel);
	assert_non_null(pair->client_channel);
	assert_int_equal(rdma_create_id(pair->server_channel, &pair->listener, pair, RDMA_PS_TCP),
			 0);
	assert_int_equal(rdma_bind_addr(pair->listener, (struct sockaddr *)&address), 0);
	assert_int_equal(rdma_listen(pair->listener, 0), 0);
	assert_int_equal(rdma_create_id(pair->client_channel, &pair->client, pair, RDMA_PS_TCP), 0);
}

static void begin_resolving(struct pair *pair)
{
	struct sockaddr_in address = own_address;

	address.sin_port = rdma_get_src_port(pair->listener);
	assert_int_not_equal(address.sin_port, 0);
	assert_int_equal(
		rdma_resolve_addr(pair->client, NULL, (struct sockaddr *)&address, TIMEOUT_MS), 0);
}

static void resolve(struct pair *pair)
{
	begin_resolving(pair);
	expect_event(pair->client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(pair->client, TIMEOUT_MS), 0);
	expect_event(pair->client_channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr wanted = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};

	assert_int_equal(rdma_create_qp(id, NULL, &wanted), 0);
}

/* The client asks; the request that comes is the caller's to acknowledge. */
static struct rdma_cm_event *ask(struct pair *pair, struct rdma_conn_param *parameters)
{
	struct rdma_cm_event *request;

	assert_int_equal(rdma_connect(pair->client, parameters), 0);
	request = next_event(pair->server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(request->listen_id, pair->listener);
	assert_ptr_equal(request->id->context, pair);
	pair->server = request->id;
	return request;
}

static void establish(struct pair *pair)
{
	struct rdma_conn_param parameters = {.retry_count = 7};

	make_qp(pair->client);
	rdma_ack_cm_event(ask(pair, &parameters));
	make_qp(pair->server);
	assert_int_equal(rdma_accept(pair->server, &parameters), 0);
	expect_event(pair->client_channel, RDMA_CM_EVENT_ESTABLISHED);
	expect_event(pair->server_channel, RDMA_CM_EVENT_ESTABLISHED);
}

static void end_id(struct rdma_cm_id *id)
{
	if (id == NULL)
		return;
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void stop(struct pair *pair)
{
	end_id(pair->client);
	end_id(pair->server);
	end_id(pair->listener);
	rdma_destroy_event_channel(pair->client_channel);
	rdma_destroy_event_channel(pair->server_channel);
}

/* One message from the client to the server. */
static void send_word(struct pair *pair)
{
	static char word[8] = "word", received[8];
	struct ibv_mr *from = rdma_reg_msgs(pair->client, word, sizeof(word));
	struct ibv_mr *to = rdma_reg_msgs(pair->server, received, sizeof(received));
	struct ibv_wc done;

	memset(received, 0, sizeof(received));
	assert_int_equal(rdma_post_recv(pair->server, NULL, received, sizeof(received), to), 0);
	assert_int_equal(
		rdma_post_send(pair->client, NULL, word, sizeof(word), from, IBV_SEND_SIGNALED), 0);
	assert_int_equal(rdma_get_send_comp(pair->client, &done), 1);
	assert_int_equal(done.status, IBV_WC_SUCCESS);
	assert_int_equal(rdma_get_recv_comp(pair->server, &done), 1);
	assert_int_equal(done.status, IBV_WC_SUCCESS);
	assert_string_equal(received, "word");
	assert_int_equal(rdma_dereg_mr(from), 0);
	assert_int_equal(rdma_dereg_mr(to), 0);
}

/* --- options --------------------------------------------------------------------------------- */

static struct ibv_qp_attr attributes_of(const struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr unused;
	struct ibv_qp_attr attributes;

	assert_int_equal(ibv_query_qp(id->qp, &attributes, IBV_QP_AV | IBV_QP_TIMEOUT, &unused), 0);
	return attributes;
}

/* The peer of who sets them has them too: the request says so. */
static void type_of_service_and_ack_timeout_reach_both_queue_pairs(void **state)
{
	uint8_t tos = TOS, timeout = ACK_TIMEOUT;
	struct pair pair;

	(void)state;
	start(&pair);
	assert_int_equal(
		rdma_set_option(pair.client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)),
		0);
	assert_int_equal(rdma_set_option(pair.client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					 &timeout, sizeof(timeout)),
			 0);
	resolve(&pair);
	establish(&pair);
	assert_int_equal(attributes_of(pair.client).ah_attr.grh.traffic_class, TOS);
	assert_int_equal(attributes_of(pair.server).ah_attr.grh.traffic_class, TOS);
	assert_int_equal(attributes_of(pair.client).timeout, ACK_TIMEOUT);
	assert_int_equal(attributes_of(pair.server).timeout, ACK_TIMEOUT);
	send_word(&pair);
	stop(&pair);
}

static void set_reuse(struct rdma_cm_id *id)
{
	int yes = 1;

	assert_int_equal(
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof(yes)),
		0);
}

/* Two have one address when both say so; one of them listens. */
static void an_address_can_be_reused(void **state)
{
	struct sockaddr_in address = own_address;
	struct rdma_cm_id *ids[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(rdma_create_id(NULL, &ids[i], NULL, RDMA_PS_TCP), 0);
	set_reuse(ids[0]);
	set_reuse(ids[1]);
	assert_int_equal(rdma_bind_addr(ids[0], (struct sockaddr *)&address), 0);
	address.sin_port = rdma_get_src_port(ids[0]);
	assert_int_equal(rdma_bind_addr(ids[1], (struct sockaddr *)&address), 0);
	assert_int_equal(rdma_bind_addr(ids[2], (struct sockaddr *)&address), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(rdma_listen(ids[0], 0), 0);
	assert_int_equal(rdma_listen(ids[1], 0), -1);
	assert_int_equal(errno, EADDRINUSE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rdma_destroy_id(ids[i]), 0);
}

/* --- channels -------------------------------------------------------------------------------- */

static void events_move_with_their_identifier(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_conn_param parameters = {0};
	struct rdma_cm_event *request;
	struct pair pair;

	(void)state;
	assert_non_null(other);
	start(&pair);
	begin_resolving(&pair);
	assert_int_equal(rdma_migrate_id(pair.client, other), 0);
	assert_ptr_equal(pair.client->channel, other);
	expect_event(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(pair.client, TIMEOUT_MS), 0);
	expect_event(other, RDMA_CM_EVENT_ROUTE_RESOLVED);
	/* A request that waits for its listener's program moves with the listener. */
	assert_int_equal(rdma_connect(pair.client, &parameters), 0);
	assert_int_equal(poll(&(struct pollfd){pair.server_channel->fd, POLLIN, 0}, 1, TIMEOUT_MS),
			 1);
	assert_int_equal(rdma_migrate_id(pair.listener, other), 0);
	request = next_event(other, RDMA_CM_EVENT_CONNECT_REQUEST);
	pair.server = request->id;
	assert_ptr_equal(pair.server->channel, other);
	assert_int_equal(rdma_ack_cm_event(request), 0);
	expect_no_event(pair.client_channel);
	stop(&pair);
	rdma_destroy_event_channel(other);
}

static void events_end_with_their_identifier(void **state)
{
	struct pair pair;

	(void)state;
	start(&pair);
	begin_resolving(&pair);
	assert_int_equal(rdma_destroy_id(pair.client), 0);
	pair.client = NULL;
	expect_no_event(pair.client_channel);
	/* Those of others stay. */
	assert_int_equal(rdma_create_id(pair.client_channel, &pair.client, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_create_id(pair.client_channel, &pair.server, NULL, RDMA_PS_TCP), 0);
	begin_resolving(&pair);
	assert_int_equal(rdma_destroy_id(pair.server), 0);
	pair.server = NULL;
	expect_event(pair.client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	expect_no_event(pair.client_channel);
	stop(&pair);
}

static void a_channel_need_not_block(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;

	(void)state;
	assert_non_null(channel);
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
	rdma_destroy_event_channel(channel);
}

/* --- what requests and answers carry --------------------------------------------------------- */

static void private_data_has_the_room_that_the_wire_has(void **state)
{
	uint8_t data[ACCEPT_PRIVATE_BYTES + 1];
	struct rdma_conn_param parameters = {
		.private_data = data,
		.private_data_len = CONNECT_PRIVATE_BYTES + 1,
		.qp_num = 1,
	};
	struct rdma_cm_event *event;
	struct pair pair;

	(void)state;
	memset(data, 0x5a, sizeof(data));
	start(&pair);
	resolve(&pair);
	assert_int_equal(rdma_connect(pair.client, &parameters), -1);
	assert_int_equal(errno, EINVAL);
	parameters.private_data_len = CONNECT_PRIVATE_BYTES;
	event = ask(&pair, &parameters);
	assert_int_equal(event->param.conn.private_data_len, CONNECT_PRIVATE_BYTES);
	assert_memory_equal(event->param.conn.private_data, data, CONNECT_PRIVATE_BYTES);
	rdma_ack_cm_event(event);
	parameters.private_data_len = ACCEPT_PRIVATE_BYTES + 1;
	assert_int_equal(rdma_accept(pair.server, &parameters), -1);
	assert_int_equal(errno, EINVAL);
	parameters.private_data_len = ACCEPT_PRIVATE_BYTES;
	parameters.qp_num = 2;
	assert_int_equal(rdma_accept(pair.server, &parameters), 0);
	event = next_event(pair.client_channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event->param.conn.private_data_len, ACCEPT_PRIVATE_BYTES);
	assert_memory_equal(event->param.conn.private_data, data, ACCEPT_PRIVATE_BYTES);
	rdma_ack_cm_event(event);
	stop(&pair);
}

static void a_refusal_tells_why(void **state)
{
	struct rdma_conn_param parameters = {.qp_num = 1};
	uint8_t data[REJECT_PRIVATE_BYTES];
	struct rdma_cm_event *event;
	struct pair pair;

	(void)state;
	memset(data, 0xa5, sizeof(data));
	start(&pair);
	resolve(&pair);
	rdma_ack_cm_event(ask(&pair, &parameters));
	assert_int_equal(rdma_reject(pair.server, data, sizeof(data)), 0);
	event = next_event(pair.client_channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	assert_int_equal(event->param.conn.private_data_len, REJECT_PRIVATE_BYTES);
	assert_memory_equal(event->param.conn.private_data, data, sizeof(data));
	rdma_ack_cm_event(event);
	stop(&pair);
}

/* Extensions that a vendor's queue pairs may agree on travel with request and answer. */
static void extensions_are_exchanged(void **state)
{
	struct ibv_ece offered = {.vendor_id = 0x15b3, .options = 0x55aa};
	struct ibv_ece taken = {.vendor_id = 0x15b3, .options = 0x11};
	struct rdma_conn_param parameters = {.qp_num = 1};
	struct ibv_ece seen;
	struct pair pair;

	(void)state;
	start(&pair);
	resolve(&pair);
	assert_int_equal(rdma_set_local_ece(pair.client, &offered), 0);
	rdma_ack_cm_event(ask(&pair, &parameters));
	assert_int_equal(rdma_get_remote_ece(pair.server, &seen), 0);
	assert_int_equal(seen.vendor_id, offered.vendor_id);
	assert_int_equal(seen.options, offered.options);
	assert_int_equal(rdma_set_local_ece(pair.server, &taken), 0);
	parameters.qp_num = 2;
	assert_int_equal(rdma_accept(pair.server, &parameters), 0);
	expect_event(pair.client_channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_get_remote_ece(pair.client, &seen), 0);
	assert_int_equal(seen.vendor_id, taken.vendor_id);
	assert_int_equal(seen.options, taken.options);
	stop(&pair);
}

/* --- a queue pair of the program's own ------------------------------------------------------- */

static struct ibv_qp *own_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp *qp = ibv_create_qp(id->pd, &wanted);

	assert_non_null(qp);
	return qp;
}

static void drive(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attributes = {.qp_state = state};
	int mask;

	assert_int_equal(rdma_init_qp_attr(id, &attributes, &mask), 0);
	assert_int_equal(ibv_modify_qp(qp, &attributes, mask), 0);
}

static void write_empty(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_send_wr *bad, work = {
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED,
				 };
	struct ibv_wc done;
	int count;

	assert_int_equal(ibv_post_send(qp, &work, &bad), 0);
	while ((count = ibv_poll_cq(cq, 1, &done)) == 0)
		;
	assert_int_equal(count, 1);
	assert_int_equal(done.status, IBV_WC_SUCCESS);
}

static void a_program_can_drive_its_own_queue_pair(void **state)
{
	struct rdma_conn_param parameters = {.retry_count = 7};
	struct ibv_qp *client_qp, *server_qp;
	struct ibv_cq *cq;
	struct pair pair;

	(void)state;
	start(&pair);
	resolve(&pair);
	cq = ibv_create_cq(pair.client->verbs, 16, NULL, NULL, 0);
	assert_non_null(cq);
	client_qp = own_qp(pair.client, cq);
	drive(pair.client, client_qp, IBV_QPS_INIT);
	parameters.qp_num = client_qp->qp_num;
	rdma_ack_cm_event(ask(&pair, &parameters));
	server_qp = own_qp(pair.server, cq);
	drive(pair.server, server_qp, IBV_QPS_INIT);
	drive(pair.server, server_qp, IBV_QPS_RTR);
	drive(pair.server, server_qp, IBV_QPS_RTS);
	parameters.qp_num = server_qp->qp_num;
	assert_int_equal(rdma_accept(pair.server, &parameters), 0);
	expect_event(pair.client_channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	drive(pair.client, client_qp, IBV_QPS_RTR);
	drive(pair.client, client_qp, IBV_QPS_RTS);
	assert_int_equal(rdma_establish(pair.client), 0);
	expect_event(pair.server_channel, RDMA_CM_EVENT_ESTABLISHED);
	write_empty(client_qp, cq);
	write_empty(server_qp, cq);
	assert_int_equal(ibv_destroy_qp(client_qp), 0);
	assert_int_equal(ibv_destroy_qp(server_qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	stop(&pair);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(type_of_service_and_ack_timeout_reach_both_queue_pairs),
		cmocka_unit_test(an_address_can_be_reused),
		cmocka_unit_test(events_move_with_their_identifier),
		cmocka_unit_test(events_end_with_their_identifier),
		cmocka_unit_test(a_channel_need_not_block),
		cmocka_unit_test(private_data_has_the_room_that_the_wire_has),
		cmocka_unit_test(a_refusal_tells_why),
		cmocka_unit_test(extensions_are_exchanged),
		cmocka_unit_test(a_program_can_drive_its_own_queue_pair),
	};

	own_address.sin_family = AF_INET;
	if (argc != 2 || inet_pton(AF_INET, argv[1], &own_address.sin_addr) != 1) {
		fputs("usage: cm_program ADDRESS\n", stderr);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

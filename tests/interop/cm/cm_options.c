/* SPDX-License-Identifier: MIT */
/*
 * What librdmacm offers and no program of the distribution asks for. Both ends are in this process:
 *
 *     cm_options ADDRESS
 *
 * under rnic-run, on a device that has that IPv4 address. Connections of the first test have the
 * type of service TOS, for whoever looks at the wire.
 */
#include "tests/interop/cm/cm_ends.h"

#include <rdma/rdma_verbs.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define TOS		      0x68
#define ACK_TIMEOUT	      18
#define PATIENCE_MS	      20000
#define CONNECT_PRIVATE_BYTES 56
#define ACCEPT_PRIVATE_BYTES  196
#define REJECT_PRIVATE_BYTES  148

static void establish(struct cm_ends *ends)
{
	struct rdma_conn_param parameters = {.retry_count = 7};

	cm_ends_create_qp(ends->client);
	rdma_ack_cm_event(cm_ends_ask(ends, &parameters));
	cm_ends_create_qp(ends->server);
	assert_int_equal(rdma_accept(ends->server, &parameters), 0);
	cm_ends_expect_standing(ends);
}

/* One message from the client to the server. */
static void send_word(struct cm_ends *ends)
{
	static char word[8] = "word", received[8];
	struct ibv_mr *from = rdma_reg_msgs(ends->client, word, sizeof(word));
	struct ibv_mr *to = rdma_reg_msgs(ends->server, received, sizeof(received));
	struct ibv_wc done;

	memset(received, 0, sizeof(received));
	assert_int_equal(rdma_post_recv(ends->server, NULL, received, sizeof(received), to), 0);
	assert_int_equal(
		rdma_post_send(ends->client, NULL, word, sizeof(word), from, IBV_SEND_SIGNALED), 0);
	assert_int_equal(rdma_get_send_comp(ends->client, &done), 1);
	assert_int_equal(done.status, IBV_WC_SUCCESS);
	assert_int_equal(rdma_get_recv_comp(ends->server, &done), 1);
	assert_int_equal(done.status, IBV_WC_SUCCESS);
	assert_string_equal(received, "word");
	assert_int_equal(rdma_dereg_mr(from), 0);
	assert_int_equal(rdma_dereg_mr(to), 0);
}

/* --- options --------------------------------------------------------------------------------- */

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

/* A queue pair that the messages of a connection name, and no identifier has. */
static struct ibv_qp *spare_qp(struct rdma_cm_id *id)
{
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);

	assert_non_null(cq);
	return own_qp(id, cq);
}

static void destroy_spare(struct ibv_qp *qp)
{
	struct ibv_cq *cq = qp->send_cq;

	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

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
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	assert_int_equal(
		rdma_set_option(ends.client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)),
		0);
	assert_int_equal(rdma_set_option(ends.client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					 &timeout, sizeof(timeout)),
			 0);
	cm_ends_resolve(&ends);
	establish(&ends);
	assert_int_equal(attributes_of(ends.client).ah_attr.grh.traffic_class, TOS);
	assert_int_equal(attributes_of(ends.server).ah_attr.grh.traffic_class, TOS);
	assert_int_equal(attributes_of(ends.client).timeout, ACK_TIMEOUT);
	assert_int_equal(attributes_of(ends.server).timeout, ACK_TIMEOUT);
	send_word(&ends);
	cm_ends_destroy(&ends);
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
	struct sockaddr_in address = {.sin_family = AF_INET};
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
	struct cm_ends ends;
	struct ibv_qp *spare;

	(void)state;
	assert_non_null(other);
	cm_ends_create(&ends);
	cm_ends_begin_resolving(&ends);
	assert_int_equal(rdma_migrate_id(ends.client, other), 0);
	assert_ptr_equal(ends.client->channel, other);
	cm_ends_take_event(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(ends.client, PATIENCE_MS), 0);
	cm_ends_take_event(other, RDMA_CM_EVENT_ROUTE_RESOLVED);
	/* A request that waits for its listener's program moves with the listener. */
	spare = spare_qp(ends.client);
	parameters.qp_num = spare->qp_num;
	assert_int_equal(rdma_connect(ends.client, &parameters), 0);
	assert_int_equal(poll(&(struct pollfd){ends.server_events->fd, POLLIN, 0}, 1, PATIENCE_MS),
			 1);
	assert_int_equal(rdma_migrate_id(ends.listener, other), 0);
	request = cm_ends_next_event(other, RDMA_CM_EVENT_CONNECT_REQUEST);
	ends.server = request->id;
	assert_ptr_equal(ends.server->channel, other);
	assert_int_equal(rdma_ack_cm_event(request), 0);
	cm_ends_expect_no_event(ends.client_events);
	destroy_spare(spare);
	cm_ends_destroy(&ends);
	rdma_destroy_event_channel(other);
}

static void events_end_with_their_identifier(void **state)
{
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	cm_ends_begin_resolving(&ends);
	assert_int_equal(rdma_destroy_id(ends.client), 0);
	ends.client = NULL;
	cm_ends_expect_no_event(ends.client_events);
	/* Those of others stay. */
	assert_int_equal(rdma_create_id(ends.client_events, &ends.client, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_create_id(ends.client_events, &ends.server, NULL, RDMA_PS_TCP), 0);
	cm_ends_begin_resolving(&ends);
	assert_int_equal(rdma_destroy_id(ends.server), 0);
	ends.server = NULL;
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_ADDR_RESOLVED);
	cm_ends_expect_no_event(ends.client_events);
	cm_ends_destroy(&ends);
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
	};
	struct rdma_cm_event *event;
	struct cm_ends ends;
	struct ibv_qp *qps[2];

	(void)state;
	memset(data, 0x5a, sizeof(data));
	cm_ends_create(&ends);
	cm_ends_resolve(&ends);
	qps[0] = spare_qp(ends.client);
	parameters.qp_num = qps[0]->qp_num;
	assert_int_equal(rdma_connect(ends.client, &parameters), -1);
	assert_int_equal(errno, EINVAL);
	parameters.private_data_len = CONNECT_PRIVATE_BYTES;
	event = cm_ends_ask(&ends, &parameters);
	assert_int_equal(event->param.conn.private_data_len, CONNECT_PRIVATE_BYTES);
	assert_memory_equal(event->param.conn.private_data, data, CONNECT_PRIVATE_BYTES);
	rdma_ack_cm_event(event);
	qps[1] = spare_qp(ends.server);
	parameters.qp_num = qps[1]->qp_num;
	parameters.private_data_len = ACCEPT_PRIVATE_BYTES + 1;
	assert_int_equal(rdma_accept(ends.server, &parameters), -1);
	assert_int_equal(errno, EINVAL);
	parameters.private_data_len = ACCEPT_PRIVATE_BYTES;
	assert_int_equal(rdma_accept(ends.server, &parameters), 0);
	event = cm_ends_next_event(ends.client_events, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event->param.conn.private_data_len, ACCEPT_PRIVATE_BYTES);
	assert_memory_equal(event->param.conn.private_data, data, ACCEPT_PRIVATE_BYTES);
	rdma_ack_cm_event(event);
	destroy_spare(qps[0]);
	destroy_spare(qps[1]);
	cm_ends_destroy(&ends);
}

static void a_refusal_tells_why(void **state)
{
	struct rdma_conn_param parameters = {0};
	uint8_t data[REJECT_PRIVATE_BYTES];
	struct rdma_cm_event *event;
	struct cm_ends ends;
	struct ibv_qp *spare;

	(void)state;
	memset(data, 0xa5, sizeof(data));
	cm_ends_create(&ends);
	cm_ends_resolve(&ends);
	spare = spare_qp(ends.client);
	parameters.qp_num = spare->qp_num;
	rdma_ack_cm_event(cm_ends_ask(&ends, &parameters));
	assert_int_equal(rdma_reject(ends.server, data, sizeof(data)), 0);
	event = cm_ends_next_event(ends.client_events, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	assert_int_equal(event->param.conn.private_data_len, REJECT_PRIVATE_BYTES);
	assert_memory_equal(event->param.conn.private_data, data, sizeof(data));
	rdma_ack_cm_event(event);
	destroy_spare(spare);
	cm_ends_destroy(&ends);
}

/* Extensions that a vendor's queue pairs may agree on travel with request and answer. */
static void extensions_are_exchanged(void **state)
{
	struct ibv_ece offered = {.vendor_id = 0x15b3, .options = 0x55aa};
	struct ibv_ece taken = {.vendor_id = 0x15b3, .options = 0x11};
	struct rdma_conn_param parameters = {0};
	struct ibv_ece seen;
	struct cm_ends ends;
	struct ibv_qp *qps[2];

	(void)state;
	cm_ends_create(&ends);
	cm_ends_resolve(&ends);
	assert_int_equal(rdma_set_local_ece(ends.client, &offered), 0);
	qps[0] = spare_qp(ends.client);
	parameters.qp_num = qps[0]->qp_num;
	rdma_ack_cm_event(cm_ends_ask(&ends, &parameters));
	assert_int_equal(rdma_get_remote_ece(ends.server, &seen), 0);
	assert_int_equal(seen.vendor_id, offered.vendor_id);
	assert_int_equal(seen.options, offered.options);
	assert_int_equal(rdma_set_local_ece(ends.server, &taken), 0);
	qps[1] = spare_qp(ends.server);
	parameters.qp_num = qps[1]->qp_num;
	assert_int_equal(rdma_accept(ends.server, &parameters), 0);
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_get_remote_ece(ends.client, &seen), 0);
	assert_int_equal(seen.vendor_id, taken.vendor_id);
	assert_int_equal(seen.options, taken.options);
	destroy_spare(qps[0]);
	destroy_spare(qps[1]);
	cm_ends_destroy(&ends);
}

/* --- a queue pair of the program's own ------------------------------------------------------- */

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
	struct cm_ends ends;

	(void)state;
	cm_ends_create(&ends);
	cm_ends_resolve(&ends);
	cq = ibv_create_cq(ends.client->verbs, 16, NULL, NULL, 0);
	assert_non_null(cq);
	client_qp = own_qp(ends.client, cq);
	drive(ends.client, client_qp, IBV_QPS_INIT);
	parameters.qp_num = client_qp->qp_num;
	rdma_ack_cm_event(cm_ends_ask(&ends, &parameters));
	server_qp = own_qp(ends.server, cq);
	drive(ends.server, server_qp, IBV_QPS_INIT);
	drive(ends.server, server_qp, IBV_QPS_RTR);
	drive(ends.server, server_qp, IBV_QPS_RTS);
	parameters.qp_num = server_qp->qp_num;
	assert_int_equal(rdma_accept(ends.server, &parameters), 0);
	cm_ends_take_event(ends.client_events, RDMA_CM_EVENT_CONNECT_RESPONSE);
	drive(ends.client, client_qp, IBV_QPS_RTR);
	drive(ends.client, client_qp, IBV_QPS_RTS);
	assert_int_equal(rdma_establish(ends.client), 0);
	cm_ends_take_event(ends.server_events, RDMA_CM_EVENT_ESTABLISHED);
	write_empty(client_qp, cq);
	write_empty(server_qp, cq);
	assert_int_equal(ibv_destroy_qp(client_qp), 0);
	assert_int_equal(ibv_destroy_qp(server_qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	cm_ends_destroy(&ends);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(type_of_service_and_ack_timeout_reach_both_queue_pairs,
				       cm_ends_set_limit),
		cmocka_unit_test_setup(an_address_can_be_reused, cm_ends_set_limit),
		cmocka_unit_test_setup(events_move_with_their_identifier, cm_ends_set_limit),
		cmocka_unit_test_setup(events_end_with_their_identifier, cm_ends_set_limit),
		cmocka_unit_test_setup(a_channel_need_not_block, cm_ends_set_limit),
		cmocka_unit_test_setup(private_data_has_the_room_that_the_wire_has,
				       cm_ends_set_limit),
		cmocka_unit_test_setup(a_refusal_tells_why, cm_ends_set_limit),
		cmocka_unit_test_setup(extensions_are_exchanged, cm_ends_set_limit),
		cmocka_unit_test_setup(a_program_can_drive_its_own_queue_pair, cm_ends_set_limit),
	};

	if (cm_ends_find_device(argc, argv) != 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * A program with one object of each kind that reports asynchronous events. It prints the numbers of
 * its objects, a line for each event and each completion, and ends with its standard input.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RECEIVES 4

struct objects {
	struct ibv_context *context;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
};

static void must(int is_done, const char *what)
{
	if (is_done)
		return;
	printf("failed: %s\n", what);
	exit(EXIT_FAILURE);
}

static void open_device(struct objects *objects)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	must(devices != NULL && devices[0] != NULL, "a device");
	objects->context = ibv_open_device(devices[0]);
	must(objects->context != NULL, "ibv_open_device");
	ibv_free_device_list(devices);
}

static void make_objects(struct objects *objects)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = RECEIVES, .max_sge = 1}};
	struct ibv_qp_init_attr qp = {
		.cap = {.max_send_wr = 1,
			.max_recv_wr = RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_pd *pd = ibv_alloc_pd(objects->context);

	must(pd != NULL, "ibv_alloc_pd");
	objects->cq = ibv_create_cq(objects->context, 2 * RECEIVES, NULL, NULL, 0);
	objects->srq = ibv_create_srq(pd, &srq);
	must(objects->cq != NULL && objects->srq != NULL, "queues");
	qp.send_cq = qp.recv_cq = objects->cq;
	objects->qp = ibv_create_qp(pd, &qp);
	must(objects->qp != NULL, "ibv_create_qp");
	must(ibv_modify_qp(objects->qp, &init,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
		     0,
	     "INIT");
}

static void fill_receive_queue(const struct objects *objects)
{
	struct ibv_recv_wr receive = {0}, *bad;

	for (int i = 0; i < RECEIVES; i++)
		must(ibv_post_recv(objects->qp, &receive, &bad) == 0, "ibv_post_recv");
}

static void print_event(const struct objects *objects)
{
	struct ibv_async_event event;

	must(ibv_get_async_event(objects->context, &event) == 0, "ibv_get_async_event");
	printf("event %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
}

static void print_completions(const struct objects *objects)
{
	struct ibv_wc completion;

	while (ibv_poll_cq(objects->cq, 1, &completion) > 0)
		printf("completion %s\n", ibv_wc_status_str(completion.status));
}

int main(void)
{
	struct objects objects;
	struct pollfd inputs[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};

	setvbuf(stdout, NULL, _IOLBF, 0);
	open_device(&objects);
	make_objects(&objects);
	fill_receive_queue(&objects);
	inputs[1].fd = objects.context->async_fd;
	printf("ready 0x%x\n", objects.qp->qp_num);
	while (inputs[0].revents == 0) {
		poll(inputs, 2, 20);
		if (inputs[1].revents != 0)
			print_event(&objects);
		print_completions(&objects);
	}
	return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/*
 * A program on several devices: several_devices reads commands, a line each, and says what each of
 * its devices reports meanwhile.
 *
 *   list      a line for each device that there is now
 *   traffic   writes from each device that is open and alive to the next one, and compares the data
 *   end       closes all devices
 *
 * An asynchronous event is a line "event NAME WHAT". Each command ends with a line "done COMMAND".
 */
#include <infiniband/verbs.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES_MAX   32
#define MESSAGE_BYTES 8192
#define WAIT_SECONDS  20

struct tried_device {
	struct ibv_context *context;
	const char *name;
	bool is_fatal;
};

/* One end of a connection, on a device. */
struct device_end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t *bytes;
};

static struct tried_device tried[DEVICES_MAX];
static int tried_count;

static _Noreturn void end_badly(const char *what, const char *name)
{
	printf("failed %s %s: %s\n", name, what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* ---- the list ---- */

static void print_device(struct ibv_device *device)
{
	struct ibv_context *context = ibv_open_device(device);
	char text[INET6_ADDRSTRLEN];
	union ibv_gid gid;

	if (context == NULL || ibv_query_gid(context, 1, 0, &gid) != 0)
		end_badly("opening", ibv_get_device_name(device));
	inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
	printf("device %s index=%d dev=%s guid=%016" PRIx64 " gid=%s\n",
	       ibv_get_device_name(device), ibv_get_device_index(device), device->dev_name,
	       be64toh(ibv_get_device_guid(device)), text);
	ibv_close_device(context);
}

static void list_devices(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	if (devices == NULL)
		end_badly("listing", "devices");
	for (int i = 0; devices[i] != NULL; i++)
		print_device(devices[i]);
	ibv_free_device_list(devices);
}

static void open_devices(void)
{
	struct ibv_device **devices = ibv_get_device_list(&tried_count);

	if (devices == NULL || tried_count > DEVICES_MAX)
		end_badly("listing", "devices");
	for (int i = 0; i < tried_count; i++) {
		tried[i].name = strdup(ibv_get_device_name(devices[i]));
		tried[i].context = ibv_open_device(devices[i]);
		if (tried[i].context == NULL)
			end_badly("opening", tried[i].name);
		fcntl(tried[i].context->async_fd, F_SETFL, O_NONBLOCK);
	}
	ibv_free_device_list(devices);
}

/* ---- traffic ---- */

static void end_create(struct device_end *end, const struct tried_device *device)
{
	struct ibv_context *context = device->context;
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	*end = (struct device_end){.bytes = calloc(1, MESSAGE_BYTES)};
	end->pd = ibv_alloc_pd(context);
	end->cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	if (end->pd == NULL || end->cq == NULL || ibv_query_gid(context, 1, 0, &end->gid) != 0)
		end_badly("objects", device->name);
	wanted.send_cq = wanted.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &wanted);
	end->mr = ibv_reg_mr(end->pd, end->bytes, MESSAGE_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (end->qp == NULL || end->mr == NULL)
		end_badly("queue pair", device->name);
}

static void end_destroy(struct device_end *end)
{
	ibv_destroy_qp(end->qp);
	ibv_dereg_mr(end->mr);
	ibv_destroy_cq(end->cq);
	ibv_dealloc_pd(end->pd);
	free(end->bytes);
}

static void end_connect(struct device_end *end, const struct device_end *peer, const char *name)
{
	struct ibv_qp_attr attributes = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.timeout = 12,
		.retry_cnt = 7,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = peer->gid, .hop_limit = 1}},
	};
	const int masks[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	};

	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attributes.qp_state = (enum ibv_qp_state)state;
		errno = ibv_modify_qp(end->qp, &attributes, IBV_QP_STATE | masks[state]);
		if (errno != 0)
			end_badly("connecting", name);
	}
}

static enum ibv_wc_status await_completion(struct ibv_cq *cq)
{
	const time_t deadline = time(NULL) + WAIT_SECONDS;
	struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};

	while (ibv_poll_cq(cq, 1, &wc) == 0 && time(NULL) < deadline)
		;
	return wc.status;
}

static void write_between(const struct tried_device *from, const struct tried_device *to)
{
	struct device_end ends[2];
	struct ibv_send_wr *refused, write = {.opcode = IBV_WR_RDMA_WRITE, .num_sge = 1};
	struct ibv_sge element = {.length = MESSAGE_BYTES};
	enum ibv_wc_status status;

	end_create(&ends[0], from);
	end_create(&ends[1], to);
	end_connect(&ends[0], &ends[1], from->name);
	end_connect(&ends[1], &ends[0], to->name);
	for (int i = 0; i < MESSAGE_BYTES; i++)
		ends[0].bytes[i] = (uint8_t)(i * 7 + from->name[0] + tried_count);
	element.addr = (uintptr_t)ends[0].bytes;
	element.lkey = ends[0].mr->lkey;
	write.sg_list = &element;
	write.send_flags = IBV_SEND_SIGNALED;
	write.wr.rdma.remote_addr = (uintptr_t)ends[1].bytes;
	write.wr.rdma.rkey = ends[1].mr->rkey;
	errno = ibv_post_send(ends[0].qp, &write, &refused);
	if (errno != 0)
		end_badly("posting", from->name);
	status = await_completion(ends[0].cq);
	printf("traffic %s %s %s\n", from->name, to->name,
	       status != IBV_WC_SUCCESS ? ibv_wc_status_str(status)
	       : memcmp(ends[0].bytes, ends[1].bytes, MESSAGE_BYTES) == 0 ? "equal"
									  : "different");
	end_destroy(&ends[0]);
	end_destroy(&ends[1]);
}

/* From each device that is alive to the next one that is. */
static void pass_traffic(void)
{
	const struct tried_device *first = NULL, *last = NULL;

	for (int i = 0; i < tried_count; i++) {
		if (tried[i].is_fatal)
			continue;
		if (last != NULL)
			write_between(last, &tried[i]);
		else
			first = &tried[i];
		last = &tried[i];
	}
	if (last != NULL)
		write_between(last, first);
}

/* ---- events and commands ---- */

static void take_event(struct tried_device *device)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(device->context, &event) != 0)
		return;
	printf("event %s %s\n", device->name, ibv_event_type_str(event.event_type));
	device->is_fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
	ibv_ack_async_event(&event);
}

/* Reports events until a line can be read. */
static void await_command(void)
{
	struct pollfd watched[DEVICES_MAX + 1] = {{.fd = 0, .events = POLLIN}};

	for (;;) {
		for (int i = 0; i < tried_count; i++)
			watched[i + 1] = (struct pollfd){
				.fd = tried[i].is_fatal ? -1 : tried[i].context->async_fd,
				.events = POLLIN,
			};
		if (poll(watched, (nfds_t)tried_count + 1, -1) < 0)
			end_badly("poll", "devices");
		for (int i = 0; i < tried_count; i++)
			if (watched[i + 1].revents != 0)
				take_event(&tried[i]);
		if (watched[0].revents != 0)
			return;
	}
}

int main(void)
{
	char command[32];

	setvbuf(stdin, NULL, _IONBF, 0); /* poll() is to see each line */
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_devices();
	printf("done open\n");
	for (;;) {
		await_command();
		if (fgets(command, sizeof(command), stdin) == NULL)
			break;
		command[strcspn(command, "\n")] = '\0';
		if (strcmp(command, "list") == 0)
			list_devices();
		else if (strcmp(command, "traffic") == 0)
			pass_traffic();
		else
			break;
		printf("done %s\n", command);
	}
	for (int i = 0; i < tried_count; i++)
		ibv_close_device(tried[i].context);
	printf("done end\n");
	return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/*
 * The server of lambda mode. The client WRITEs a request (header, lambda file, input) into a
 * region, and the immediate has its length. The server copies the request once, then checks and
 * runs the copy, whatever the client does to the region meanwhile. The result goes back the same
 * way.
 */
#include "tools/lab/modes/lab_lambda.h"

#include "tools/lab/lab_text.h"
#include "tools/lab/lambda/lambda_file.h"
#include "tools/lab/lambda/sandbox.h"
#include "tools/lab/modes/lambda_trust.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The descriptor of the table, at most one per process. */
static int table_fd = -1;

struct lambda_server {
	struct lab_meeting *meeting;
	struct sandbox sandbox;
	struct lambda_key key;
	struct verbs_region requests;
	struct verbs_region results;
	uint8_t *copy; /* of a request, as large as the region */
	uint32_t next_number;
};

/* ---- before the first client ---- */

static int check_secret(const char *path)
{
	struct lambda_secret secret;
	int error = lambda_secret_load(path, &secret);

	lambda_secret_forget(&secret);
	return error;
}

int lab_lambda_prepare(const struct lab_options *options, struct lab_watch *watch)
{
	(void)watch;
	if (!options->is_lambda_allowed) {
		lab_say("this server would run the code of its clients: give --allow-lambda");
		return -EPERM;
	}
	if (options->table) {
		table_fd = open(options->table, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (table_fd < 0) {
			lab_say("%s: %s", options->table, strerror(errno));
			return -errno;
		}
	}
	return options->secret ? check_secret(options->secret) : 0;
}

/* ---- a request ---- */

static struct lambda_result refusal(int error)
{
	return (struct lambda_result){
		.verdict = LAMBDA_REFUSED, .detail = -error, .value = lambda_machine_here()};
}

/* Decodes a request of `bytes` bytes: -EACCES, -EBADMSG, -EPROTONOSUPPORT, -ENOEXEC. */
static int open_request(struct lambda_server *server, uint32_t bytes,
			struct lambda_request *request, struct lambda_file *file)
{
	int error;

	if (bytes < LAMBDA_REQUEST_BYTES)
		return -EBADMSG;
	if (!lambda_seal_check(&server->key, server->copy, bytes, LAMBDA_REQUEST_SEAL))
		return -EACCES;
	error = lambda_request_decode(server->copy, bytes, request);
	if (error)
		return error;
	if (request->number != server->next_number)
		return -EBADMSG;
	error = lambda_file_decode(server->copy + LAMBDA_REQUEST_BYTES, request->file_bytes, file);
	if (error)
		return error;
	return file->machine == lambda_machine_here() ? 0 : -ENOEXEC;
}

/*
 * The room for output: the least of the client's region, the server's memory and the client's wish.
 */
static uint32_t output_room(const struct lambda_server *server,
			    const struct lambda_request *request)
{
	uint32_t room = server->meeting->theirs.region_bytes;

	if (room > server->results.bytes)
		room = (uint32_t)server->results.bytes;
	room -= LAMBDA_RESULT_BYTES;
	return room < request->output_room ? room : request->output_room;
}

static void lab_lambda_server_tell(const struct lambda_file *file,
				   const struct lambda_request *request,
				   const struct lambda_result *result)
{
	char text[128];

	lambda_result_describe(result, text, sizeof(text));
	lab_say("ran \"%s\" (%u bytes) on %u bytes: %s", file->name, file->code_bytes,
		request->input_bytes, text);
}

/* Runs the request; its output is in the region of results then. */
static int lab_lambda_server_run(struct lambda_server *server, uint32_t bytes,
				 struct lambda_result *result)
{
	struct lambda_request request = {0};
	struct lambda_file file;
	struct sandbox_job job;
	int error = open_request(server, bytes, &request, &file);

	if (error) {
		*result = refusal(error);
		result->number = server->next_number;
		lab_say("refused a request: %s", strerror(-error));
		return 0;
	}
	job = (struct sandbox_job){
		.code = file.code,
		.code_bytes = file.code_bytes,
		.entry = file.entry,
		.input = server->copy + LAMBDA_REQUEST_BYTES + request.file_bytes,
		.input_bytes = request.input_bytes,
		.output = server->results.memory + LAMBDA_RESULT_BYTES,
		.output_room = output_room(server, &request),
	};
	error = sandbox_run(&server->sandbox, server->meeting->watch, &job, result);
	if (error == -ECONNRESET || error == -EINTR || error == -EIO)
		return error;
	if (error)
		*result = refusal(error);
	result->number = request.number;
	lab_lambda_server_tell(&file, &request, result);
	return 0;
}

/* As lab_meeting_reply(). */
static int send_result(struct lambda_server *server, const struct lambda_result *result)
{
	struct lab_meeting *meeting = server->meeting;
	uint32_t bytes = LAMBDA_RESULT_BYTES + result->output_bytes;
	struct ibv_sge element = {.addr = (uintptr_t)server->results.memory,
				  .length = bytes,
				  .lkey = server->results.mr->lkey};
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(bytes),
		.wr.rdma = {.remote_addr = meeting->theirs.region_address,
			    .rkey = meeting->theirs.region_key},
	};

	lambda_result_encode(result, server->results.memory);
	if (lambda_seal_put(&server->key, server->results.memory, bytes, LAMBDA_RESULT_SEAL)) {
		lab_say("there is no HMAC-SHA256");
		return -EIO;
	}
	return lab_meeting_reply(meeting, &request, &element, 1);
}

/* Serves one request, whose length is the immediate. Returns 1, or 0 when the client has left. */
static int serve_request(struct lambda_server *server, const struct ibv_wc *message)
{
	uint32_t bytes = ntohl(message->imm_data);
	struct lambda_result result;
	int error;

	if (message->opcode != IBV_WC_RECV_RDMA_WITH_IMM || bytes > server->requests.bytes) {
		lab_say("the client announces more than it may write");
		return -EPROTO;
	}
	memcpy(server->copy, server->requests.memory, bytes);
	error = verbs_link_receive(&server->meeting->link, NULL, 0);
	if (error == 0)
		error = lab_lambda_server_run(server, bytes, &result);
	if (error)
		return error == -ECONNRESET ? 0 : error;
	server->next_number++;
	return send_result(server, &result);
}

static int serve_requests(struct lambda_server *server)
{
	struct ibv_wc message;
	int result;

	do {
		result = lab_meeting_next(server->meeting, &message);
		if (result == 1)
			result = serve_request(server, &message);
	} while (result == 1);
	return result;
}

/* ---- a client ---- */

static int demand_trust(struct lambda_server *server)
{
	const char *path = server->meeting->options->secret;
	struct lambda_secret secret;
	int error = path ? lambda_secret_load(path, &secret) : 0;

	if (error == 0)
		error = lambda_trust_demand(server->meeting, path ? &secret : NULL, &server->key);
	lambda_secret_forget(&secret);
	return error;
}

static int lab_lambda_server_open_regions(struct lambda_server *server)
{
	struct lab_meeting *meeting = server->meeting;
	uint32_t bytes = meeting->options->buffer_bytes;
	int error;

	if (meeting->theirs.region_bytes < LAMBDA_RESULT_BYTES) {
		exchange_refuse(&meeting->exchange, meeting->watch, "your region holds no result");
		return -EPROTO;
	}
	server->copy = malloc(bytes);
	if (!server->copy)
		return -ENOMEM;
	error = lab_meeting_open(meeting, IBV_ACCESS_REMOTE_WRITE);
	if (error)
		return error;
	error = verbs_region_create(&meeting->link, bytes,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
				    &server->requests);
	if (error)
		return error;
	lab_meeting_offer(meeting, &server->requests, bytes);
	return verbs_region_create(&meeting->link, bytes, 0, &server->results);
}

int lab_lambda_serve(struct lab_meeting *meeting)
{
	const struct lab_options *options = meeting->options;
	struct lambda_server server = {.meeting = meeting, .next_number = 1};
	const struct sandbox_limits limits = {
		.cpu_seconds = options->cpu_limit_s,
		.wall_ms = options->wall_limit_s * 1000,
		.stack_bytes = options->memory_limit_bytes,
	};
	int error = sandbox_start(&server.sandbox, &limits, table_fd);

	if (error) {
		lab_say("cannot start a sandbox: %s", strerror(-error));
		return error;
	}
	error = demand_trust(&server);
	if (error == 0)
		error = lab_lambda_server_open_regions(&server);
	if (error == 0)
		error = verbs_link_receive(&meeting->link, NULL, 0);
	if (error == 0)
		error = lab_meeting_answer(meeting);
	if (error == 0)
		error = serve_requests(&server);
	verbs_region_destroy(&server.requests);
	verbs_region_destroy(&server.results);
	lab_meeting_close(meeting);
	sandbox_stop(&server.sandbox);
	free(server.copy);
	explicit_bzero(&server.key, sizeof(server.key));
	return error;
}

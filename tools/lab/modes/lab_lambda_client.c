/* SPDX-License-Identifier: MIT */
/* The client of lambda mode: carries a function and its input to the server, and shows the result.
 */
#include "tools/lab/modes/lab_lambda.h"

#include "tools/lab/lab_text.h"
#include "tools/lab/lambda/file_bytes.h"
#include "tools/lab/lambda/lambda_file.h"
#include "tools/lab/lambda/program_directory.h"
#include "tools/lab/modes/lab_talk.h"
#include "tools/lab/modes/lambda_trust.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAMBDA_FILE_BYTES_MAX = LAMBDA_HEADER_BYTES + LAMBDA_CODE_BYTES_MAX };

struct lambda_client {
	uint8_t *file;
	size_t file_bytes;
	struct lambda_key key;
	struct verbs_region request; /* header, file, input */
	struct verbs_region result;
	uint8_t *copy; /* of a result */
	uint32_t number;
	bool is_raw; /* the output is written unchanged, and not as a line of text */
};

/* ---- the function ---- */

/* The default function, which was compiled with this program. */
static int find_example(char path[PATH_MAX])
{
	char directory[PROGRAM_DIRECTORY_BYTES];
	int error = program_directory(directory);

	if (error == 0)
		snprintf(path, PATH_MAX, "%s/../share/rnic/word_count.lambda", directory);
	return error;
}

static int load_file(const struct lab_options *options, struct lambda_client *client)
{
	struct lambda_file file;
	char path[PATH_MAX];
	int error = 0;

	if (options->code)
		snprintf(path, sizeof(path), "%s", options->code);
	else
		error = find_example(path);
	if (error == 0)
		error = file_bytes_read(path, LAMBDA_FILE_BYTES_MAX, &client->file,
					&client->file_bytes);
	if (error) {
		lab_say("cannot read the function, %s: %s", path, strerror(-error));
		return error;
	}
	error = lambda_file_decode(client->file, client->file_bytes, &file);
	if (error == -EPROTONOSUPPORT)
		lab_say("%s is a lambda file of another version", path);
	else if (error)
		lab_say("%s is no lambda file", path);
	return error;
}

/* ---- a run ---- */

static int lab_lambda_client_show(const struct lambda_client *client,
				  const struct lambda_result *result)
{
	const uint8_t *output = client->copy + LAMBDA_RESULT_BYTES;
	char text[128];

	if (result->verdict != LAMBDA_RETURNED) {
		lambda_result_describe(result, text, sizeof(text));
		lab_say("the function has no result: %s", text);
		return 1;
	}
	if (!client->is_raw) {
		lab_print_text("", output, result->output_bytes);
		return 0;
	}
	fwrite(output, 1, result->output_bytes, stdout);
	if (isatty(STDOUT_FILENO))
		putchar('\n');
	if (fflush(stdout) == 0)
		return 0;
	lab_say("cannot write the output: %s", strerror(errno));
	return -EIO;
}

/* The header, the file and the input, one element each; they lie behind each other. */
static int lab_lambda_client_send_request(struct lab_meeting *meeting, struct lambda_client *client,
					  uint32_t bytes)
{
	uint32_t lkey = client->request.mr->lkey, file_bytes = (uint32_t)client->file_bytes;
	uint64_t start = (uintptr_t)client->request.memory;
	uint32_t whole = LAMBDA_REQUEST_BYTES + file_bytes + bytes;
	struct ibv_sge elements[] = {
		{.addr = start, .length = LAMBDA_REQUEST_BYTES, .lkey = lkey},
		{.addr = start + LAMBDA_REQUEST_BYTES, .length = file_bytes, .lkey = lkey},
		{.addr = start + LAMBDA_REQUEST_BYTES + file_bytes, .length = bytes, .lkey = lkey},
	};
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(whole),
		.wr.rdma = {.remote_addr = meeting->theirs.region_address,
			    .rkey = meeting->theirs.region_key},
	};
	const struct lambda_request header = {
		.number = client->number,
		.file_bytes = file_bytes,
		.input_bytes = bytes,
		.output_room = (uint32_t)client->result.bytes - LAMBDA_RESULT_BYTES,
	};

	lambda_request_encode(&header, client->request.memory);
	if (lambda_seal_put(&client->key, client->request.memory, whole, LAMBDA_REQUEST_SEAL))
		return -EIO;
	return lab_meeting_request(meeting, &request, elements, bytes ? 3 : 2);
}

static int receive_result(struct lab_meeting *meeting, struct lambda_client *client,
			  struct lambda_result *result)
{
	struct ibv_wc message;
	uint32_t bytes;
	int error = lab_meeting_expect(meeting, &message);

	if (error)
		return error;
	bytes = ntohl(message.imm_data);
	if (message.opcode == IBV_WC_RECV_RDMA_WITH_IMM && bytes >= LAMBDA_RESULT_BYTES &&
	    bytes <= client->result.bytes) {
		memcpy(client->copy, client->result.memory, bytes);
		if (lambda_seal_check(&client->key, client->copy, bytes, LAMBDA_RESULT_SEAL) &&
		    lambda_result_decode(client->copy, bytes, result) == 0 &&
		    result->number == client->number)
			return 0;
	}
	lab_say("this result is not the server's");
	return -EPROTO;
}

static int lab_lambda_client_deliver(struct lab_meeting *meeting, void *context, char *input,
				     uint32_t bytes)
{
	struct lambda_client *client = context;
	size_t before = LAMBDA_REQUEST_BYTES + client->file_bytes;
	struct lambda_result result;
	int error;

	if (before + bytes > meeting->theirs.region_bytes ||
	    before + bytes > client->request.bytes) {
		lab_say("function and input together have %zu bytes; see --buffer-size of both "
			"sides",
			before + bytes);
		return 1;
	}
	error = verbs_link_receive(&meeting->link, NULL, 0);
	if (error)
		return error;
	memcpy(client->request.memory + before, input, bytes);
	client->number++;
	error = lab_lambda_client_send_request(meeting, client, bytes);
	if (error == 0)
		error = receive_result(meeting, client, &result);
	return error ? error : lab_lambda_client_show(client, &result);
}

/* ---- a meeting ---- */

static int run_on_file(struct lab_meeting *meeting, struct lambda_client *client)
{
	const char *path = meeting->options->input;
	uint8_t *input = NULL;
	size_t bytes = 0;
	int error = file_bytes_read(path, client->request.bytes, &input, &bytes);

	if (error) {
		lab_say("cannot read the input, %s: %s", path, strerror(-error));
		return error;
	}
	client->is_raw = true;
	error = lab_lambda_client_deliver(meeting, client, (char *)input, (uint32_t)bytes);
	free(input);
	return error;
}

static int lab_lambda_client_open_regions(struct lab_meeting *meeting, struct lambda_client *client)
{
	uint32_t bytes = meeting->options->buffer_bytes;
	int error;

	client->copy = malloc(bytes);
	if (!client->copy)
		return -ENOMEM;
	error = lab_meeting_open(meeting, IBV_ACCESS_REMOTE_WRITE);
	if (error)
		return error;
	error = verbs_region_create(&meeting->link, bytes, 0, &client->request);
	if (error)
		return error;
	error = verbs_region_create(&meeting->link, bytes,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
				    &client->result);
	if (error)
		return error;
	lab_meeting_offer(meeting, &client->result, bytes);
	if (LAMBDA_REQUEST_BYTES + client->file_bytes <= bytes) {
		memcpy(client->request.memory + LAMBDA_REQUEST_BYTES, client->file,
		       client->file_bytes);
		return 0;
	}
	lab_say("the function has %zu bytes; see --buffer-size", client->file_bytes);
	return -EFBIG;
}

static int meet(struct lab_meeting *meeting, struct lambda_client *client)
{
	const char *path = meeting->options->secret;
	struct lambda_secret secret;
	int error = path ? lambda_secret_load(path, &secret) : 0;

	if (error == 0)
		error = lab_meeting_greet(meeting);
	if (error == 0)
		error = lambda_trust_show(meeting, path ? &secret : NULL, &client->key);
	lambda_secret_forget(&secret);
	return error ? error : lab_meeting_meet(meeting);
}

int lab_lambda_use(struct lab_meeting *meeting)
{
	struct lambda_client client = {0};
	int result = load_file(meeting->options, &client);

	if (result == 0)
		result = lab_lambda_client_open_regions(meeting, &client);
	if (result == 0)
		result = meet(meeting, &client);
	if (result == 0 && meeting->options->input)
		result = run_on_file(meeting, &client);
	else if (result == 0)
		result = lab_talk(meeting, "> ", meeting->options->buffer_bytes,
				  lab_lambda_client_deliver, &client);
	verbs_region_destroy(&client.request);
	verbs_region_destroy(&client.result);
	lab_meeting_close(meeting);
	free(client.copy);
	free(client.file);
	explicit_bzero(&client.key, sizeof(client.key));
	return result;
}

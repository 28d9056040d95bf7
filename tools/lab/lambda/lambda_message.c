/* SPDX-License-Identifier: MIT */
#include "tools/lab/lambda/lambda_message.h"

#include "proto/base/be.h"
#include "tools/lab/lambda/lambda_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUEST_MAGIC = 0x524c5251 /* "RLRQ" */, RESULT_MAGIC = 0x524c5253 /* "RLRS" */ };

/* magic 4, number 4, file 4, input 4, room 4, zero 12, seal 32 */
void lambda_request_encode(const struct lambda_request *request,
			   uint8_t bytes[LAMBDA_REQUEST_BYTES])
{
	memset(bytes, 0, LAMBDA_REQUEST_BYTES);
	rnic_be32_write(bytes, REQUEST_MAGIC);
	rnic_be32_write(bytes + 4, request->number);
	rnic_be32_write(bytes + 8, request->file_bytes);
	rnic_be32_write(bytes + 12, request->input_bytes);
	rnic_be32_write(bytes + 16, request->output_room);
}

int lambda_request_decode(const uint8_t *bytes, size_t count, struct lambda_request *request)
{
	static const uint8_t zero[12];

	if (count < LAMBDA_REQUEST_BYTES || rnic_be32_read(bytes) != REQUEST_MAGIC ||
	    memcmp(bytes + 20, zero, sizeof(zero)) != 0)
		return -EBADMSG;
	*request = (struct lambda_request){
		.number = rnic_be32_read(bytes + 4),
		.file_bytes = rnic_be32_read(bytes + 8),
		.input_bytes = rnic_be32_read(bytes + 12),
		.output_room = rnic_be32_read(bytes + 16),
	};
	if ((uint64_t)request->file_bytes + request->input_bytes != count - LAMBDA_REQUEST_BYTES)
		return -EBADMSG;
	return 0;
}

/* magic 4, number 4, output 4, verdict 4, detail 4, zero 4, address 8, value 8, zero 8, seal 32 */
void lambda_result_encode(const struct lambda_result *result, uint8_t bytes[LAMBDA_RESULT_BYTES])
{
	memset(bytes, 0, LAMBDA_RESULT_BYTES);
	rnic_be32_write(bytes, RESULT_MAGIC);
	rnic_be32_write(bytes + 4, result->number);
	rnic_be32_write(bytes + 8, result->output_bytes);
	rnic_be32_write(bytes + 12, (uint32_t)result->verdict);
	rnic_be32_write(bytes + 16, (uint32_t)result->detail);
	rnic_be64_write(bytes + 24, result->address);
	rnic_be64_write(bytes + 32, (uint64_t)result->value);
}

int lambda_result_decode(const uint8_t *bytes, size_t count, struct lambda_result *result)
{
	uint32_t verdict;

	if (count < LAMBDA_RESULT_BYTES || rnic_be32_read(bytes) != RESULT_MAGIC ||
	    rnic_be32_read(bytes + 20) != 0 || rnic_be64_read(bytes + 40) != 0)
		return -EBADMSG;
	verdict = rnic_be32_read(bytes + 12);
	if (verdict >= LAMBDA_VERDICTS)
		return -EBADMSG;
	*result = (struct lambda_result){
		.number = rnic_be32_read(bytes + 4),
		.output_bytes = rnic_be32_read(bytes + 8),
		.verdict = (enum lambda_verdict)verdict,
		.detail = (int32_t)rnic_be32_read(bytes + 16),
		.address = rnic_be64_read(bytes + 24),
		.value = (int64_t)rnic_be64_read(bytes + 32),
	};
	if (result->output_bytes != count - LAMBDA_RESULT_BYTES ||
	    (result->verdict != LAMBDA_RETURNED && result->output_bytes != 0))
		return -EBADMSG;
	return 0;
}

static void describe_refusal(const struct lambda_result *result, char *text, size_t room)
{
	const char *machine = lambda_machine_name((uint16_t)result->value);

	if (result->detail == ENOEXEC && machine)
		snprintf(text, room, "it was not compiled for the server's machine, %s", machine);
	else
		snprintf(text, room, "the server did not run it: %s", strerror(result->detail));
}

/* The machine is the server's, which may be another one than this program's. */
static void describe_call(const struct lambda_result *result, char *text, size_t room)
{
	const uint32_t architecture = result->value == EM_X86_64    ? SCMP_ARCH_X86_64
				      : result->value == EM_AARCH64 ? SCMP_ARCH_AARCH64
								    : 0;
	char *name = NULL;

	if (architecture != 0 && result->detail >= 0)
		name = seccomp_syscall_resolve_num_arch(architecture, result->detail);
	if (name != NULL)
		snprintf(text, room, "it called the system: %s (call %d)", name, result->detail);
	else
		snprintf(text, room, "it called the system (call %d)", result->detail);
	free(name);
}

void lambda_result_describe(const struct lambda_result *result, char *text, size_t room)
{
	switch (result->verdict) {
	case LAMBDA_RETURNED:
		snprintf(text, room, "it returned %u bytes", result->output_bytes);
		break;
	case LAMBDA_FAILED:
		snprintf(text, room, "it says that it failed: %" PRId64, result->value);
		break;
	case LAMBDA_OVERFLOWED:
		snprintf(text, room, "it returned %" PRId64 " bytes, more than there is room for",
			 result->value);
		break;
	case LAMBDA_LOOPED:
		snprintf(text, room, "it used up its CPU time");
		break;
	case LAMBDA_LATE:
		snprintf(text, room, "it was not done in time");
		break;
	case LAMBDA_CRASHED:
		snprintf(text, room, "it crashed: %s at 0x%" PRIx64, strsignal(result->detail),
			 result->address);
		break;
	case LAMBDA_WROTE_CODE:
		snprintf(text, room, "it wrote to its code, at 0x%" PRIx64, result->address);
		break;
	case LAMBDA_WROTE_INPUT:
		snprintf(text, room, "it wrote to its input or table, at 0x%" PRIx64,
			 result->address);
		break;
	case LAMBDA_WROTE_OUTSIDE:
		snprintf(text, room, "it wrote outside of its memory, at 0x%" PRIx64,
			 result->address);
		break;
	case LAMBDA_CALLED_SYSTEM:
		describe_call(result, text, room);
		break;
	case LAMBDA_OUT_OF_STACK:
		snprintf(text, room, "it used up its memory");
		break;
	case LAMBDA_REFUSED:
	case LAMBDA_VERDICTS:
		describe_refusal(result, text, room);
		break;
	}
}

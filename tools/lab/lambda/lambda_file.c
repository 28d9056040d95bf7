/* SPDX-License-Identifier: MIT */
#include "tools/lab/lambda/lambda_file.h"

#include "proto/base/be.h"
#include "proto/base/bits.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const uint8_t magic[8] = {'R', 'N', 'I', 'C', 'L', 'A', 'M', 'B'};

static const struct machine {
	uint16_t machine;
	uint32_t instruction_alignment;
	const char *name;
} machines[] = {
	{EM_X86_64, 1, "x86_64"},
	{EM_AARCH64, 4, "aarch64"},
};

uint16_t lambda_machine_here(void)
{
#if defined(__x86_64__) && defined(__LP64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

static const struct machine *find_machine(uint16_t machine)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(machines); i++) {
		if (machines[i].machine == machine)
			return &machines[i];
	}
	return NULL;
}

const char *lambda_machine_name(uint16_t machine)
{
	const struct machine *found = find_machine(machine);

	return found ? found->name : NULL;
}

void lambda_file_encode(const struct lambda_file *file, uint8_t header[LAMBDA_HEADER_BYTES])
{
	memset(header, 0, LAMBDA_HEADER_BYTES);
	memcpy(header, magic, sizeof(magic));
	rnic_be16_write(header + 8, LAMBDA_FILE_VERSION);
	rnic_be16_write(header + 10, file->machine);
	rnic_be32_write(header + 12, file->entry);
	rnic_be32_write(header + 16, file->code_bytes);
	memcpy(header + 32, file->name, strnlen(file->name, LAMBDA_NAME_BYTES - 1));
}

static bool lambda_file_is_zero(const uint8_t *bytes, size_t count)
{
	while (count > 0 && bytes[count - 1] == 0)
		count--;
	return count == 0;
}

static bool is_name(const uint8_t *bytes)
{
	size_t length = 0;

	while (length < LAMBDA_NAME_BYTES && bytes[length] >= ' ' && bytes[length] <= '~')
		length++;
	return length < LAMBDA_NAME_BYTES &&
	       lambda_file_is_zero(bytes + length, LAMBDA_NAME_BYTES - length);
}

int lambda_file_decode(const uint8_t *bytes, size_t count, struct lambda_file *file)
{
	struct lambda_file found;
	const struct machine *machine;

	if (count < LAMBDA_HEADER_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	if (rnic_be16_read(bytes + 8) != LAMBDA_FILE_VERSION)
		return -EPROTONOSUPPORT;
	found = (struct lambda_file){
		.machine = rnic_be16_read(bytes + 10),
		.entry = rnic_be32_read(bytes + 12),
		.code_bytes = rnic_be32_read(bytes + 16),
		.code = bytes + LAMBDA_HEADER_BYTES,
	};
	if (!lambda_file_is_zero(bytes + 20, 12) || !is_name(bytes + 32))
		return -EBADMSG;
	memcpy(found.name, bytes + 32, LAMBDA_NAME_BYTES);
	if (found.code_bytes == 0 || found.code_bytes > LAMBDA_CODE_BYTES_MAX ||
	    count - LAMBDA_HEADER_BYTES != found.code_bytes || found.entry >= found.code_bytes)
		return -EBADMSG;
	machine = find_machine(found.machine);
	if (!machine)
		return -ENOEXEC;
	if (found.entry % machine->instruction_alignment != 0)
		return -EBADMSG;
	*file = found;
	return 0;
}

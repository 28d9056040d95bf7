/* SPDX-License-Identifier: MIT */
/*
 * The lambda file, which rnic-lambda-cc writes and a client carries to a server: a header of
 * LAMBDA_HEADER_BYTES in network byte order, and position-independent machine code behind it.
 *
 *    0  magic "RNICLAMB"
 *    8  version 2, machine 2 (ELF's e_machine)
 *   12  entry 4, an offset in the code
 *   16  bytes of code 4
 *   20  zero 12
 *   32  name 32, printable, zeros behind it
 *
 * The author of a file is a stranger; decoded values are within the bounds stated here. Pure.
 */
#ifndef TOOLS_LAB_LAMBDA_LAMBDA_FILE_H
#define TOOLS_LAB_LAMBDA_LAMBDA_FILE_H

#include <stddef.h>
#include <stdint.h>

enum {
	LAMBDA_FILE_VERSION = 1,
	LAMBDA_HEADER_BYTES = 64,
	LAMBDA_NAME_BYTES = 32, /* with the zero at its end */
	LAMBDA_CODE_BYTES_MAX = 1 << 20,
};

struct lambda_file {
	uint16_t machine;    /* one that lambda_machine_name() knows */
	uint32_t entry;	     /* below code_bytes, aligned as the machine wants it */
	uint32_t code_bytes; /* 1 to LAMBDA_CODE_BYTES_MAX */
	const uint8_t *code; /* in the decoded bytes */
	char name[LAMBDA_NAME_BYTES];
};

/* The machine of this program. */
uint16_t lambda_machine_here(void);

/* The name of a machine; NULL: no lambda can be for it. */
const char *lambda_machine_name(uint16_t machine);

/* Writes the header of a valid file; the code follows it. */
void lambda_file_encode(const struct lambda_file *file, uint8_t header[LAMBDA_HEADER_BYTES]);

/*
 * Decodes a file, which is all of `bytes`. -EBADMSG: the bytes are no lambda file, or a damaged
 * one. -EPROTONOSUPPORT: another version. -ENOEXEC: the code is for an unknown machine.
 */
int lambda_file_decode(const uint8_t *bytes, size_t count, struct lambda_file *file);

#endif

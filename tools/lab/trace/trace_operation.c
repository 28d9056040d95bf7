/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_operation.h"

#include "proto/base/bits.h"

#include <infiniband/verbs.h>
#include <string.h>

static const struct trace_operation operations[] = {
	{.name = "send", .words = "SEND", .opcode = IBV_WR_SEND, .takes_receive = true},
	{.name = "write", .words = "WRITE", .opcode = IBV_WR_RDMA_WRITE},
	{.name = "write-imm",
	 .words = "WRITE IMM",
	 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	 .takes_receive = true},
	{.name = "read", .words = "READ", .opcode = IBV_WR_RDMA_READ, .has_data_return = true},
	{.name = "add",
	 .words = "FETCH ADD",
	 .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
	 .is_atomic = true,
	 .has_data_return = true},
};

const struct trace_operation *trace_operation_find(const char *name)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	}
	return NULL;
}

/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/verb_names.h"

#include "lib/nic/port/conditions/fault_reader.h"
#include "proto/base/bits.h"
#include "proto/base/verb_rules.h"
#include "proto/base/wc_status.h"

#include <errno.h>
#include <string.h>

#define ERRNO_MAX 133 /* the last that Linux gives to programs */

static const char *const call_names[RNIC_VERB_CALL_COUNT] = {
	[RNIC_VERB_ALLOC_PD] = "alloc pd",
	[RNIC_VERB_DEALLOC_PD] = "dealloc pd",
	[RNIC_VERB_REG_MR] = "reg mr",
	[RNIC_VERB_REREG_MR] = "rereg mr",
	[RNIC_VERB_DEREG_MR] = "dereg mr",
	[RNIC_VERB_ALLOC_MW] = "alloc mw",
	[RNIC_VERB_DEALLOC_MW] = "dealloc mw",
	[RNIC_VERB_CREATE_COMP_CHANNEL] = "create comp channel",
	[RNIC_VERB_DESTROY_COMP_CHANNEL] = "destroy comp channel",
	[RNIC_VERB_CREATE_CQ] = "create cq",
	[RNIC_VERB_RESIZE_CQ] = "resize cq",
	[RNIC_VERB_DESTROY_CQ] = "destroy cq",
	[RNIC_VERB_CREATE_QP] = "create qp",
	[RNIC_VERB_MODIFY_QP] = "modify qp",
	[RNIC_VERB_QUERY_QP] = "query qp",
	[RNIC_VERB_DESTROY_QP] = "destroy qp",
	[RNIC_VERB_CREATE_AH] = "create ah",
	[RNIC_VERB_DESTROY_AH] = "destroy ah",
	[RNIC_VERB_CREATE_SRQ] = "create srq",
	[RNIC_VERB_MODIFY_SRQ] = "modify srq",
	[RNIC_VERB_QUERY_SRQ] = "query srq",
	[RNIC_VERB_DESTROY_SRQ] = "destroy srq",
	[RNIC_VERB_OPEN_XRCD] = "open xrcd",
	[RNIC_VERB_CLOSE_XRCD] = "close xrcd",
	[RNIC_VERB_OPEN_QP] = "open qp",
	[RNIC_VERB_ATTACH_MCAST] = "attach mcast",
	[RNIC_VERB_DETACH_MCAST] = "detach mcast",
	[RNIC_VERB_QUERY_PORT] = "query port",
	[RNIC_VERB_QUERY_GID] = "query gid",
	[RNIC_VERB_QUERY_PKEY] = "query pkey",
	[RNIC_VERB_IMPORT_PD] = "import pd",
	[RNIC_VERB_IMPORT_MR] = "import mr",
	[RNIC_VERB_CM_CREATE_ID] = "cm create id",
	[RNIC_VERB_CM_BIND_ADDR] = "cm bind addr",
	[RNIC_VERB_CM_RESOLVE_ADDR] = "cm resolve addr",
	[RNIC_VERB_CM_RESOLVE_ROUTE] = "cm resolve route",
	[RNIC_VERB_CM_LISTEN] = "cm listen",
	[RNIC_VERB_CM_CONNECT] = "cm connect",
	[RNIC_VERB_CM_ACCEPT] = "cm accept",
	[RNIC_VERB_CM_DISCONNECT] = "cm disconnect",
	[RNIC_VERB_CM_JOIN_MULTICAST] = "cm join multicast",
	[RNIC_VERB_POST_SEND] = "post send",
	[RNIC_VERB_POST_RECV] = "post recv",
	[RNIC_VERB_POST_SRQ_RECV] = "post srq recv",
};

static const struct {
	const char *name;
	uint32_t opcode; /* enum rnic_wc_opcode */
} work_names[] = {
	{"send", RNIC_WC_SEND},
	{"rdma write", RNIC_WC_RDMA_WRITE},
	{"rdma read", RNIC_WC_RDMA_READ},
	{"comp swap", RNIC_WC_COMPARE_SWAP},
	{"fetch add", RNIC_WC_FETCH_ADD},
	{"bind mw", RNIC_WC_BIND_MW},
	{"local inv", RNIC_WC_LOCAL_INVALIDATE},
	{"flush", RNIC_WC_FLUSH},
	{"atomic write", RNIC_WC_ATOMIC_WRITE},
	{"recv", RNIC_WC_RECV},
	{"recv rdma with imm", RNIC_WC_RECV_RDMA_WITH_IMM},
};

static const struct {
	const char *name;
	uint32_t number;
} errno_names[] = {
	{"EPERM", EPERM},
	{"ENOENT", ENOENT},
	{"EINTR", EINTR},
	{"EIO", EIO},
	{"ENXIO", ENXIO},
	{"EBADF", EBADF},
	{"EAGAIN", EAGAIN},
	{"ENOMEM", ENOMEM},
	{"EACCES", EACCES},
	{"EFAULT", EFAULT},
	{"EBUSY", EBUSY},
	{"EEXIST", EEXIST},
	{"ENODEV", ENODEV},
	{"EINVAL", EINVAL},
	{"ENFILE", ENFILE},
	{"EMFILE", EMFILE},
	{"EFBIG", EFBIG},
	{"ENOSPC", ENOSPC},
	{"ERANGE", ERANGE},
	{"ENOSYS", ENOSYS},
	{"EMSGSIZE", EMSGSIZE},
	{"EPROTO", EPROTO},
	{"EOVERFLOW", EOVERFLOW},
	{"EPROTONOSUPPORT", EPROTONOSUPPORT},
	{"EOPNOTSUPP", EOPNOTSUPP},
	{"EADDRINUSE", EADDRINUSE},
	{"EADDRNOTAVAIL", EADDRNOTAVAIL},
	{"ENETDOWN", ENETDOWN},
	{"ENETUNREACH", ENETUNREACH},
	{"ECONNABORTED", ECONNABORTED},
	{"ECONNRESET", ECONNRESET},
	{"ENOBUFS", ENOBUFS},
	{"EISCONN", EISCONN},
	{"ENOTCONN", ENOTCONN},
	{"ETIMEDOUT", ETIMEDOUT},
	{"ECONNREFUSED", ECONNREFUSED},
	{"EHOSTUNREACH", EHOSTUNREACH},
	{"EALREADY", EALREADY},
	{"EDQUOT", EDQUOT},
	{"ECANCELED", ECANCELED},
	{"EREMOTEIO", EREMOTEIO},
};

uint64_t verb_calls(const char *text, size_t length)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; length != 0 && i < RNIC_VERB_CALL_COUNT; i++)
		if (fault_reader_names(call_names[i], text, length))
			calls |= UINT64_C(1) << i;
	return calls;
}

uint64_t verb_works(const char *text, size_t length)
{
	uint64_t works = 0;

	for (uint32_t i = 0; length != 0 && i < RNIC_COUNT_OF(work_names); i++)
		if (fault_reader_names(work_names[i].name, text, length))
			works |= UINT64_C(1) << rnic_verb_completion_bit(work_names[i].opcode);
	return works;
}

/* A number below `limit`; 0: the text is none. */
static uint32_t verb_number(const char *text, size_t length, uint32_t limit)
{
	struct fault_reader reader = {.at = text, .end = text + length};
	uint64_t number;

	if (!fault_reader_number(&reader, &number) || reader.at != reader.end || number >= limit)
		return 0;
	return (uint32_t)number;
}

static bool verb_is(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && memcmp(name, text, length) == 0;
}

uint32_t verb_status(const char *text, size_t length)
{
	for (uint32_t i = 1; i < RNIC_WC_STATUS_COUNT; i++)
		if (verb_is(rnic_wc_status_name(i), text, length))
			return i;
	return verb_number(text, length, RNIC_WC_STATUS_COUNT);
}

uint32_t verb_errno(const char *text, size_t length)
{
	for (uint32_t i = 0; i < RNIC_COUNT_OF(errno_names); i++)
		if (verb_is(errno_names[i].name, text, length))
			return errno_names[i].number;
	return verb_number(text, length, ERRNO_MAX + 1);
}

/* SPDX-License-Identifier: MIT */
/*
 * Static probes (USDT) at what the data path does: a debugger or a tracer stops or counts there, in
 * a running program, without a rebuild. A probe that nobody reads is one instruction that does
 * nothing. doc/guide/profiling.md shows how to read them; `gdb -batch -ex "info probes stap rnic"
 * PROGRAM` lists them. A build without <sys/sdt.h>, or with -DRNIC_PROBES=off, has none.
 *
 *   probe            where                                 arguments
 *   ---------------  ------------------------------------  -----------------------------------
 *   packet_received  a sound packet reaches the engine     destination QPN, opcode, PSN, bytes
 *   packet_sent      the engine has made a packet          own QPN, opcode, PSN, payload bytes
 *   ack_timeout      no acknowledgement came in time       own QPN, retries left
 *   repair           the requester repairs a gap            own QPN, first PSN, end
 *   send_again       the requester goes back to the        own QPN, oldest PSN, retries left
 *                    oldest unacknowledged packet
 *   rnr_wait         the peer has no receive WQE           own QPN, nanoseconds to wait
 *   qp_trouble       a QP fails or drops something         own QPN, verdict (verdict.h)
 *   wqe_fetched      a send WQE left the client's ring     own QPN, opcode, SGEs
 *   cqe_delivered    a CQE reached the client's queue      own QPN, status, opcode, bytes
 *   loop_slept       a loop of the daemon is awake again   when the sleep began, nanoseconds
 */
#ifndef LIB_NIC_BASE_PROBE_H
#define LIB_NIC_BASE_PROBE_H

#ifdef RNIC_WITH_PROBES

#include <stdint.h>
#include <sys/sdt.h>

/*
 * All arguments are 64 bits wide: gdb 13 does not know the names of the byte registers, in which
 * the compiler may leave narrower ones.
 */
#define RNIC_ARGUMENT(a)	((uint64_t)(a))
#define RNIC_PROBE1(name, a)	DTRACE_PROBE1(rnic, name, RNIC_ARGUMENT(a))
#define RNIC_PROBE2(name, a, b) DTRACE_PROBE2(rnic, name, RNIC_ARGUMENT(a), RNIC_ARGUMENT(b))
#define RNIC_PROBE3(name, a, b, c)                                                                 \
	DTRACE_PROBE3(rnic, name, RNIC_ARGUMENT(a), RNIC_ARGUMENT(b), RNIC_ARGUMENT(c))
#define RNIC_PROBE4(name, a, b, c, d)                                                              \
	DTRACE_PROBE4(rnic, name, RNIC_ARGUMENT(a), RNIC_ARGUMENT(b), RNIC_ARGUMENT(c),            \
		      RNIC_ARGUMENT(d))

#else

#define RNIC_PROBE1(name, a)	      ((void)(a))
#define RNIC_PROBE2(name, a, b)	      ((void)(a), (void)(b))
#define RNIC_PROBE3(name, a, b, c)    ((void)(a), (void)(b), (void)(c))
#define RNIC_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))

#endif

#endif

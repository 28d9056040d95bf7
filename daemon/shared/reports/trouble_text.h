/* SPDX-License-Identifier: MIT */
/*
 * The sentences about troubles that both programs of the daemon may meet: refused requests, and
 * packets that the kernel or the network does not carry. They are for the person who looks for a
 * cause; rnicctl shows them and the log has them.
 */
#ifndef DAEMON_SHARED_REPORTS_TROUBLE_TEXT_H
#define DAEMON_SHARED_REPORTS_TROUBLE_TEXT_H

#include "lib/nic/base/unknown_qp.h"
#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Fills in that the answer to a request of the client is `error` (negative errno) with `reason`
 * ("": the error's own text). Returns false for an answer that is no fault: -EAGAIN.
 */
bool trouble_text_of_request(struct rnic_process_trouble *trouble, uint32_t client_id,
			     uint16_t operation, int error, const char *reason);

/* Fills in that the kernel refuses to send `bytes` bytes to `dest`; negative errno. */
void trouble_text_of_refusal(struct rnic_process_trouble *trouble, const struct rnic_gid *dest,
			     uint32_t bytes, int error);

/*
 * Fills in that the network reports, by ICMP from `from` (zero: unknown sender), that packets to
 * `dest` do not arrive; `error` and `mtu_bytes` are as in struct port_report. `gids` are the
 * device's own.
 */
void trouble_text_of_delivery(struct rnic_process_trouble *trouble,
			      const struct rnic_ctl_gids_reply *gids, const struct rnic_gid *dest,
			      const struct rnic_gid *from, int error, uint32_t mtu_bytes);

/*
 * Fills in that `packets` datagrams in a row from `source`, which may be forged, had a wrong ICRC.
 */
void trouble_text_of_icrc(struct rnic_process_trouble *trouble, const struct rnic_gid *source,
			  uint64_t packets);

/* Fills in that `unknown`, whose source may be forged, keeps naming a queue pair that is not there.
 */
void trouble_text_of_unknown_qp(struct rnic_process_trouble *trouble,
				const struct unknown_qp *unknown);

#endif

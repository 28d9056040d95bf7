/* SPDX-License-Identifier: MIT */
/*
 * What one daemon knows of failures: the flight recorders, queue pairs, troubles and clients that
 * its asker may see. It comes from a daemon, or from a file of `rnicctl record save`. The object
 * owns its rows; rows of a file may say anything.
 */
#ifndef TOOLS_RNICCTL_EVIDENCE_H
#define TOOLS_RNICCTL_EVIDENCE_H

#include "lib/client/admin/admin_link.h"
#include "proto/base/record.h"
#include "proto/ctl/ctl_message.h"
#include "proto/ctl/ctl_cm.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define EVIDENCE_BOOT_BYTES 40

struct evidence {
	char boot_id[EVIDENCE_BOOT_BYTES]; /* of the machine: one clock for equal ones; or "" */
	uint64_t taken_us;		   /* of the monotonic clock, when the ages were right */
	struct rnic_show_record *records;
	size_t record_count;
	struct rnic_show_qp *qps;
	size_t qp_count;
	struct rnic_show_trouble *troubles;
	size_t trouble_count;
	struct rnic_show_client *clients;
	size_t client_count;
	struct rnic_show_cm *connections; /* of a daemon that was asked; a file has none */
	size_t connection_count;
	bool is_of_log; /* troubles of a daemon that has ended, without ages */
};

/*
 * Asks the daemon; queue pairs last, for which a device process has to answer. Errors as of
 * admin_link_show(), with a sentence in link->reason: then the evidence has what came before.
 */
int evidence_collect(struct admin_link *link, struct evidence *evidence);
void evidence_free(struct evidence *evidence);

/* Writes the file. A negative errno with a complaint on standard error. */
int evidence_save(const struct evidence *evidence, const char *path);

/* Reads a file of evidence_save(). A negative errno with a complaint on standard error. */
int evidence_load(struct evidence *evidence, const char *path);

/* Sets the checksum of a document that is written as such a file. False: out of memory. */
bool evidence_seal(json_t *document);

/*
 * The latest entry with this event whose `psn` is `number` (any: UINT32_MAX) and whose `value` is
 * `value` (likewise); NULL: none.
 */
const struct rnic_show_record *evidence_of_device(const struct evidence *evidence,
						  enum rnic_record_event event, uint32_t number,
						  uint32_t value);

/* Whether the trouble is a call of the data path that was refused: no failure of the queue pair. */
bool evidence_is_refusal(const struct rnic_show_trouble *trouble);

#define EVIDENCE_ANY UINT32_MAX

#endif

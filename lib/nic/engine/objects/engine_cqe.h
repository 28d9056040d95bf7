/* SPDX-License-Identifier: MIT */
#ifndef LIB_NIC_ENGINE_OBJECTS_ENGINE_CQE_H
#define LIB_NIC_ENGINE_OBJECTS_ENGINE_CQE_H

#include <stdbool.h>
#include <stdint.h>

struct qp;
struct srq;

/* A completed WQE, before the completion becomes a CQE of the client's ring. */
struct cqe {
	uint64_t wr_id;
	struct qp *qp;
	struct srq *srq; /* that the receive came from; NULL: the QP's own queue */
	uint32_t byte_count;
	uint32_t immediate; /* or the invalidated rkey */
	uint32_t source_qpn;
	uint32_t vendor_error; /* enum rnic_cause, 0 on success */
	uint32_t retired;      /* WQEs ever retired from the work queue, this WQE included */
	uint8_t status;	       /* enum rnic_wc_status */
	uint8_t opcode;	       /* enum rnic_wc_opcode */
	uint8_t wc_flags;      /* enum rnic_wc_flag */
	bool is_recv;
	bool is_solicited;
	bool is_silent; /* of an unsignaled WQE: not to be delivered, unless it becomes an error */
	uint8_t service_level;
	uint32_t source_gid_index;
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * All functions of the interface that the device does not serve. Programs call them and take
 * EOPNOTSUPP as the answer. A missing symbol would keep programs from starting, and a missing
 * inline target would crash them.
 */
#include "lib/client/native/refuse.h"
#include "lib/dropin/verbs/ibv_objects.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <string.h>

/* Functions of releases of rdma-core later than the headers of this build. */
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_buf;
RNIC_API struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context,
					 struct ibv_dmah_init_attr *attributes);
RNIC_API int ibv_dealloc_dmah(struct ibv_dmah *dmah);
RNIC_API struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attributes);
RNIC_API int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
RNIC_API int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);

struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;
RNIC_API int ibv_export_buf_dmabuf_fd(struct ibv_buf *buffer);
RNIC_API int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
				       size_t bytes);
RNIC_API struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
						    struct ibv_comp_cntr_init_attr *attributes);
RNIC_API int ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter);
RNIC_API int ibv_set_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
RNIC_API int ibv_set_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
RNIC_API int ibv_inc_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
RNIC_API int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
RNIC_API int ibv_read_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);
RNIC_API int ibv_read_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);
RNIC_API int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter,
				     struct ibv_qp_attach_comp_cntr_attr *attributes);

/* ---- exported functions ---- */

REFUSES_WITH_NULL(struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd,
					       struct ibv_mr_init_attr *attributes))
REFUSES_WITH_NULL(struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context,
						  struct ibv_dmah_init_attr *attributes))
REFUSES_WITH_ERRNO(int ibv_dealloc_dmah(struct ibv_dmah *dmah))
REFUSES_WITH_MINUS_ONE(int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm))
REFUSES_WITH_ERRNO(int ibv_query_port_speed(struct ibv_context *context, uint32_t port,
					    uint64_t *speed))

REFUSES_WITH_MINUS_ONE(int ibv_export_buf_dmabuf_fd(struct ibv_buf *buffer))
REFUSES_WITH_ERRNO(int _ibv_query_comp_cntr_caps(struct ibv_context *context,
						 struct ibv_comp_cntr_caps *caps, size_t bytes))
REFUSES_WITH_NULL(struct ibv_comp_cntr *ibv_create_comp_cntr(
	struct ibv_context *context, struct ibv_comp_cntr_init_attr *attributes))
REFUSES_WITH_ERRNO(int ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter))
REFUSES_WITH_ERRNO(int ibv_set_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value))
REFUSES_WITH_ERRNO(int ibv_set_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value))
REFUSES_WITH_ERRNO(int ibv_inc_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount))
REFUSES_WITH_ERRNO(int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount))
REFUSES_WITH_ERRNO(int ibv_read_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value))
REFUSES_WITH_ERRNO(int ibv_read_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value))
REFUSES_WITH_ERRNO(int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter,
					       struct ibv_qp_attach_comp_cntr_attr *attributes))

REFUSES_WITH_ERRNO(int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
						   struct ibv_ah_attr *attributes,
						   uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vlan))

/*
 * ---- the extended operations of queue pairs and completion queues ----
 *
 * ibv_create_qp_ex() and ibv_create_cq_ex() fill in what is served where it was asked for; but some
 * programs cast, and later headers have more members. One function serves every member, known and
 * later: it takes no argument, which the calling conventions of all supported machines allow, and
 * its answer is non-zero where one is looked at. But a queue pair's FLUSH and later operations are
 * null pointers, as with rdma_rxe: librpma asks the pointer whether FLUSH is there, and else reads
 * bytes back.
 */
static int refuse_unsupported(void)
{
	return rnic_verbs_errno(-EOPNOTSUPP);
}

typedef int (*refusal)(void);
_Static_assert(sizeof(refusal) == sizeof(void *), "pointers of one size");

static void verbs_unsupported_fill(uint8_t *from, const uint8_t *end)
{
	const refusal answer = refuse_unsupported;

	for (; from + sizeof(answer) <= end; from += sizeof(answer))
		memcpy(from, &answer, sizeof(answer));
}

void rnic_verbs_fill_unsupported_qp(struct rnic_verbs_qp *qp)
{
	verbs_unsupported_fill((uint8_t *)&qp->qp_ex.wr_atomic_cmp_swp,
			       (const uint8_t *)(&qp->qp_ex.wr_atomic_write + 1));
}

void rnic_verbs_fill_unsupported_cq(struct rnic_verbs_cq *cq)
{
	verbs_unsupported_fill((uint8_t *)&cq->cq_ex.start_poll, cq->view + sizeof(cq->view));
}

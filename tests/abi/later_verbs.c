/* SPDX-License-Identifier: MIT */
/*
 * A libibverbs.so.1 of rdma-core 65, as far as a linker looks: the functions that ours have to
 * refuse. later_program.c is linked with this library and runs with ours.
 */
#define OFFERS(name)                                                                               \
	__attribute__((visibility("default"))) int name(void);                                     \
	int name(void)                                                                             \
	{                                                                                          \
		return 0;                                                                          \
	}

OFFERS(_ibv_query_comp_cntr_caps)
OFFERS(ibv_create_comp_cntr)
OFFERS(ibv_destroy_comp_cntr)
OFFERS(ibv_export_buf_dmabuf_fd)
OFFERS(ibv_inc_comp_cntr)
OFFERS(ibv_inc_err_comp_cntr)
OFFERS(ibv_qp_attach_comp_cntr)
OFFERS(ibv_read_comp_cntr)
OFFERS(ibv_read_err_comp_cntr)
OFFERS(ibv_set_comp_cntr)
OFFERS(ibv_set_err_comp_cntr)
OFFERS(verbs_register_driver_65)

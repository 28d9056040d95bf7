/* SPDX-License-Identifier: MIT */
/*
 * A program built for rdma-core 65: starts on our libraries, and hears EOPNOTSUPP. The functions
 * are declared as that release declares them; the installed headers may be of an earlier one.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int _ibv_query_comp_cntr_caps(void *context, void *caps, size_t bytes);
void *ibv_create_comp_cntr(void *context, void *attributes);
int ibv_destroy_comp_cntr(void *counter);
int ibv_export_buf_dmabuf_fd(void *buffer);
int ibv_inc_comp_cntr(void *counter, uint64_t amount);
int ibv_inc_err_comp_cntr(void *counter, uint64_t amount);
int ibv_qp_attach_comp_cntr(void *qp, void *counter, void *attributes);
int ibv_read_comp_cntr(void *counter, uint64_t *value);
int ibv_read_err_comp_cntr(void *counter, uint64_t *value);
int ibv_set_comp_cntr(void *counter, uint64_t value);
int ibv_set_err_comp_cntr(void *counter, uint64_t value);
void verbs_register_driver_65(const void *driver); /* of the providers that programs link */

static int failures;

static void expect(int is_refused, const char *what)
{
	if (is_refused)
		return;
	failures++;
	printf("not refused with EOPNOTSUPP: %s\n", what);
}

#define REFUSED_BY_ERRNO(call) expect((call) == EOPNOTSUPP, #call)
#define REFUSED_WITH(result, call)                                                                 \
	expect((errno = 0, (call) == (result)) && errno == EOPNOTSUPP, #call)

int main(void)
{
	uint64_t value = 0;

	REFUSED_BY_ERRNO(_ibv_query_comp_cntr_caps(NULL, NULL, 0));
	REFUSED_WITH(NULL, ibv_create_comp_cntr(NULL, NULL));
	REFUSED_BY_ERRNO(ibv_destroy_comp_cntr(NULL));
	REFUSED_WITH(-1, ibv_export_buf_dmabuf_fd(NULL));
	REFUSED_BY_ERRNO(ibv_inc_comp_cntr(NULL, 1));
	REFUSED_BY_ERRNO(ibv_inc_err_comp_cntr(NULL, 1));
	REFUSED_BY_ERRNO(ibv_qp_attach_comp_cntr(NULL, NULL, NULL));
	REFUSED_BY_ERRNO(ibv_read_comp_cntr(NULL, &value));
	REFUSED_BY_ERRNO(ibv_read_err_comp_cntr(NULL, &value));
	REFUSED_BY_ERRNO(ibv_set_comp_cntr(NULL, 1));
	REFUSED_BY_ERRNO(ibv_set_err_comp_cntr(NULL, 1));
	verbs_register_driver_65(NULL);
	return failures != 0;
}

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_documents.py BUILD COMPILER

Programs as the documents of the two interfaces have them compile, without a warning, and link, when
nothing but the include path points to include/rnic/compat. Their text is typed here.
"""
import pathlib
import subprocess
import sys
import tempfile

# The complete example of the handle API's document.
EXAMPLE = r"""
#include "kernel/types.h"
#include "user/user.h"
#include "user/rdma.h"

int main(void) {
    // Allocate and register memory
    char send_buf[4096] = "Test message";
    char recv_buf[4096];

    int send_mr = rdma_reg_mr(send_buf, sizeof(send_buf),
                              RDMA_ACCESS_LOCAL_WRITE);
    int recv_mr = rdma_reg_mr(recv_buf, sizeof(recv_buf),
                              RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);

    // Create queue pair
    int qp = rdma_create_qp(64, 64);

    // Post RDMA write
    uint64 remote_addr = 0x80000000;  // Example remote address
    uint32 remote_rkey = 12345;        // Example remote key

    int wr_id = rdma_post_write(qp, send_mr, 0, remote_addr, remote_rkey, 12);

    // Poll for completion
    struct rdma_wc wc;
    while (rdma_poll_cq(qp, &wc, 1) == 0) {
        // Spin waiting for completion
    }

    if (wc.status == RDMA_WC_SUCCESS) {
        printf("RDMA write completed successfully!\n");
    }

    // Cleanup
    rdma_destroy_qp(qp);
    rdma_dereg_mr(send_mr);
    rdma_dereg_mr(recv_mr);

    exit(0);
}
"""

# Its fragments, each within a function.
FRAGMENTS = r"""
#include "kernel/types.h"
#include "user/user.h"
#include "rdma.h"

static char buffer[4096];

static int registering(void)
{
int mr = rdma_reg_mr(buffer, sizeof(buffer),
                     RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);
if (mr < 0) {
    printf("Failed to register memory\n");
    exit(1);
}
return mr;
}

static int creating(void)
{
int qp = rdma_create_qp(64, 64);
if (qp < 0) {
    printf("Failed to create QP\n");
    exit(1);
}
return qp;
}

static int writing(uint32 remote_rkey)
{
char data[1024] = "Hello RDMA!";
int mr = rdma_reg_mr(data, sizeof(data), RDMA_ACCESS_LOCAL_WRITE);
int qp = rdma_create_qp(64, 64);

// Write to remote address 0x80000000
int wr_id = rdma_post_write(qp, mr, 0, 0x80000000, remote_rkey, 1024);
return wr_id;
}

static void polling(int qp)
{
struct rdma_wc wc[10];
int n = rdma_poll_cq(qp, wc, 10);
for (int i = 0; i < n; i++) {
    if (wc[i].status == RDMA_WC_SUCCESS) {
        printf("Operation %d completed successfully\n", wc[i].wr_id);
    } else {
        printf("Operation %d failed\n", wc[i].wr_id);
    }
}
}

int main(void)
{
	polling(creating() + registering());
	return writing(1) + rdma_post_send(1, 2, 3);
}
"""

# The calls of the context API's document, in its order, by both sides.
CONTEXTS = r"""
#include <iwarp.h>
#include <iwarp_objs.h>

static int initiator(const char *remote_addr, uint16_t remote_port, void *priv_data,
		     size_t priv_data_len, void *addr, size_t length)
{
	struct iw_ctx_conn *iw_ctx = NULL;
	struct iw_qp_capacity *qp_capacity = NULL;
	struct iw_pd *shared_pd = NULL;
	struct iw_lmr *iw_lmr_src, *iw_lmr_dst;
	struct iw_rmr iw_rmr;
	struct iw_wc wc_list_out[4];
	int access_flags = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ;
	int send_flags = IW_SEND_SIGNALED;

	/* 1: allocate iWARP connection context */
	iw_ctx_alloc(remote_addr, remote_port, qp_capacity, shared_pd, &iw_ctx);

	/* 2: connect to responder */
	iw_connect(priv_data, priv_data_len, iw_ctx);

	iw_lmr_create(length, access_flags, &iw_lmr_src, iw_ctx);
	iw_lmr_register(addr, length, access_flags, &iw_lmr_dst, iw_ctx);
	iw_post_send_adv(iw_lmr_dst, iw_ctx);
	iw_post_recv_adv(iw_ctx);
	iw_wait_recv_adv(&iw_rmr, iw_ctx);

	struct iw_sge elements[2] = {{iw_lmr_src, 0, 8}, {iw_lmr_src, 8, 8}};
	struct iw_sgl iw_sgl = {elements, 2};

	post_recv_sgl(&iw_sgl, iw_ctx);
	post_recv_lmr(iw_lmr_dst, 0, length, iw_ctx);
	post_send_sgl(&iw_sgl, send_flags, iw_ctx);
	post_send_lmr(iw_lmr_src, 0, length, send_flags, iw_ctx);
	post_write_sgl(&iw_sgl, &iw_rmr, 0, send_flags, iw_ctx);
	post_write_lmr(iw_lmr_src, 0, &iw_rmr, 0, length, send_flags, iw_ctx);
	post_read_sgl(&iw_sgl, &iw_rmr, 0, send_flags, iw_ctx);
	post_read_lmr(iw_lmr_dst, 0, &iw_rmr, 0, length, send_flags, iw_ctx);
	await_completions(IW_SCQ, 4, wc_list_out, iw_ctx);

	iw_lmr_destroy(iw_lmr_src, 1);
	iw_lmr_destroy(iw_lmr_dst, 0);

	/* active connection teardown */
	return iw_disconnect(iw_ctx);
}

static int responder(const char *listen_addr, uint16_t listen_port, int backlog, void *priv_data,
		     size_t priv_data_len)
{
	struct iw_ctx_conn *listen_iw_ctx = NULL, *cli_iw_ctx = NULL;
	struct iw_wc wc_list_out[1];

	/* 1: prepare to listen for inbound connection requests */
	iw_open(listen_addr, listen_port, backlog, &listen_iw_ctx);

	/* 2: listen for inbound connection requests */
	iw_listen(listen_iw_ctx, &cli_iw_ctx);

	/* 3: accept the connection request */
	iw_accept(priv_data, priv_data_len, cli_iw_ctx);
	await_completions(IW_RCQ, 1, wc_list_out, cli_iw_ctx);

	/* passive connection teardown */
	return iw_await_disconnect(cli_iw_ctx);
}

int main(int argc, char **argv)
{
	return argc > 1 ? initiator(argv[1], 7000, "hello", 6, argv, 64)
			: responder(NULL, 7000, 5, "hello", 6);
}
"""

PROGRAMS = [("example", EXAMPLE, "-lrdma", ["-Wno-unused-variable"]),
            ("fragments", FRAGMENTS, "-lrdma", []), ("contexts", CONTEXTS, "-liwarp", [])]


def builds(name, text, library, flags, build, compiler):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        source = program.with_suffix(".c")
        source.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [compiler, "-Wall", "-Werror", *flags, f"-I{build}/include",
             f"-I{build}/include/rnic/compat", source, "-o", program, f"-L{build}/lib", library,
             f"-Wl,-rpath,{build}/lib"], capture_output=True, text=True, check=False)
        print(f"{name}: {'compiles' if done.returncode == 0 else done.stderr}")
        return done.returncode == 0


def main():
    build, compiler = sys.argv[1:]
    return 0 if all([builds(*program, build, compiler) for program in PROGRAMS]) else 1


if __name__ == "__main__":
    sys.exit(main())

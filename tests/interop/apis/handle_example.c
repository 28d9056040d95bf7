/* SPDX-License-Identifier: MIT */
/* The example of the handle API's document; only the lines that include headers are others. */
/* clang-format off */
#include <stdio.h>
#include <stdlib.h>
#include <rnic/rdma.h>

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

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rdma_rxe of Linux 7.2 ignores where in its page an address lies, if the memory region is paged on
# demand. Below, a WRITE of 8 bytes goes to the middle of a page of such a region, completes with
# success, and its bytes are at the start of the page; the middle is as before. A WRITE places its
# bytes at the virtual address of its RETH (IBTA 1.4, 9.4.3), whatever kind of region this is in.
#
# Seen with Linux 7.2.13 of Debian sid. rxe of 6.1 and 6.12 refuses to register memory on demand.
# What helps: register such memory without IBV_ACCESS_ON_DEMAND on rxe.
#
# What it needs, guest.sh says.
# shellcheck source=findings/guest.sh
. "$(dirname "$0")/guest.sh"

guest_make_rxe sid
cat >"$root/write.c" <<'END'
#include "rxe_pair.h"

enum { PAGE = 4096, MIDDLE = 2048, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

int main(void)
{
	struct end one = end_open("rxe0", IBV_QP_EX_WITH_RDMA_WRITE);
	struct end other = end_open("rxe0", IBV_QP_EX_WITH_RDMA_WRITE);
	char *from = aligned_alloc(PAGE, PAGE), *to = aligned_alloc(PAGE, PAGE);
	struct ibv_mr *source, *target;
	int status;

	memcpy(memset(from, '-', PAGE), "WRITTEN", 8);
	memset(to, '.', PAGE);
	source = ibv_reg_mr(one.pd, from, PAGE, RIGHTS);
	target = ibv_reg_mr(other.pd, to, PAGE, RIGHTS | IBV_ACCESS_ON_DEMAND);
	need(source && target, "register");
	end_connect(&one, &other, RIGHTS);
	end_connect(&other, &one, RIGHTS);
	end_write(&one, source, to + MIDDLE, target->rkey);
	status = end_wait(&one);
	printf("@@ status %d, start %.7s, middle %.7s\n", status, to, to + MIDDLE);
}
END
guest_program /write -libverbs
output=$(guest_run '
	/sbin/ip link add va type veth peer name vb
	/sbin/ip address add 10.9.9.1/24 dev va
	/sbin/ip link set vb up; /sbin/ip link set va up
	rdma link add rxe0 type rxe netdev va
	sleep 1
	/write')
echo "$output"
[ "$output" = "status 0, start WRITTEN, middle ......." ] || { echo "this is new"; exit 1; }

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rdma_rxe asks a peer that is gone for ever, if retry_cnt is 7. This count says how often a request
# is sent again before it completes in error (IBTA 1.4, 12.7.38); 7 means "without end" for the RNR
# retry count alone (12.7.39). Below, a WRITE goes to a queue pair that is gone, with a timeout of
# 67 ms. With a retry_cnt of 6 it ends with status 12, IBV_WC_RETRY_EXC_ERR. With 7 no completion
# comes in four waits of 5 s (status -1), and the device has sent it over a hundred times.
#
# Seen with Linux 7.2.13 of Debian sid.
# What helps: a retry_cnt of 6 at most.
#
# What it needs, guest.sh says.
# shellcheck source=findings/guest.sh
. "$(dirname "$0")/guest.sh"

guest_make_rxe sid
cat >"$root/gone.c" <<'END'
#include "rxe_pair.h"

enum { RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, WAITS = 4 };

int main(int count, char **words)
{
	static char bytes[64];
	struct end one = end_open("rxe0", IBV_QP_EX_WITH_RDMA_WRITE);
	struct end gone = end_open("rxe0", IBV_QP_EX_WITH_RDMA_WRITE);
	struct ibv_mr *source = ibv_reg_mr(one.pd, bytes, sizeof(bytes), RIGHTS);
	int status = -1;

	need(source != NULL, "register");
	one.retry_count = count > 1 ? atoi(words[1]) : 0;
	end_connect(&one, &gone, RIGHTS);
	need(ibv_destroy_qp(gone.qp) == 0, "end the peer");
	end_write(&one, source, bytes, source->rkey);
	for (int i = 0; i < WAITS && status < 0; i++)
		status = end_wait(&one);
	printf("@@ retry_cnt %d: status %d\n", one.retry_count, status);
}
END
guest_program /gone -libverbs
mapfile -t output < <(guest_run '
	/sbin/ip link add va type veth peer name vb
	/sbin/ip address add 10.9.9.1/24 dev va
	/sbin/ip link set vb up; /sbin/ip link set va up
	rdma link add rxe0 type rxe netdev va
	sleep 1
	/gone 6; /gone 7
	echo "@@ $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/completer_retry_err)"')
printf '%s\n' "${output[@]:0:2}" "sent again ${output[2]:-0} times"
[[ ${output[0]} = "retry_cnt 6: status 12" && ${output[1]} = "retry_cnt 7: status -1" &&
	${output[2]} -gt 100 ]] || { echo "this is new"; exit 1; }

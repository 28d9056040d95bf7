# SPDX-License-Identifier: MIT
"""A message from a queue pair to itself, by pyverbs: what a project's tests may look like."""

import unittest

from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
import pyverbs.enums as enums
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SendWR, SGE

TEXT = b"over RoCEv2"
POLLS = 10_000_000


class Send(unittest.TestCase):
    def setUp(self):
        names = [device.name.decode() for device in get_device_list()]
        self.assertTrue(names, "there is no RDMA device: run this below rnic-run")
        self.context = Context(name=names[0])
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 8)
        self.mr = MR(self.pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE)
        init = QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=self.cq, rcq=self.cq, sq_sig_all=1,
                          cap=QPCap(max_send_wr=1, max_recv_wr=1))
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = enums.IBV_ACCESS_LOCAL_WRITE
        self.qp = QP(self.pd, init, attributes)
        self.connect_to_itself(attributes)

    def connect_to_itself(self, attributes):
        port = self.context.query_port(1)
        route = GlobalRoute(dgid=self.context.query_gid(1, 0), sgid_index=0)
        attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attributes.path_mtu = port.active_mtu
        attributes.dest_qp_num = self.qp.qp_num
        attributes.timeout = 14
        attributes.retry_cnt = 7
        attributes.rnr_retry = 7
        self.qp.to_rts(attributes)

    def completions(self, count):
        found = []
        for _ in range(POLLS):
            found += self.cq.poll(count - len(found))[1]
            if len(found) == count:
                return found
        self.fail(f"{len(found)} of {count} completions")

    def test_send(self):
        self.qp.post_recv(RecvWR(sg=[SGE(self.mr.buf + 1024, 1024, self.mr.lkey)], num_sge=1))
        self.mr.write(TEXT, len(TEXT))
        self.qp.post_send(SendWR(sg=[SGE(self.mr.buf, len(TEXT), self.mr.lkey)], num_sge=1))
        for completion in self.completions(2):
            self.assertEqual(completion.status, enums.IBV_WC_SUCCESS)
        self.assertEqual(self.mr.read(len(TEXT), 1024), TEXT)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: MIT
"""Cases that need steps of their own. Each function takes (requester, responder) peers and the IP
version and returns what is wrong, as a list of texts.
"""

import time

from rxe_cases import FEW_RETRIES, PATH_MTUS, PORT_MTU
from rxe_exchange import (BRIEF_MS, Exchange, GRH_BYTES, OPERATIONS, POLL_MS, bind_window,
                          exchange, lay_out, mixed_plan)
from rxe_peer import (BUFFER_BYTES, Endpoint, QKEY, SIGNALED, Service, State, Status, connect)

RC_OPERATIONS = [name for name, kind in OPERATIONS.items()
                 if Service.RC in kind.services and not kind.invalidates]
LATE_RETRY = 16     # the timeout of a requester that asks again after the answers could come


def rc_pair(requester, responder, family, first_options=None, second_options=None, **members):
    ends = [Endpoint(peer, Service.RC, family, **members) for peer in (requester, responder)]
    connect(*ends, first_options, second_options)
    return ends


def send(end, message_size, wr_id=0, operation="SEND", **members):
    parts = [(4096, message_size)] if message_size else []
    end.peer.ask("send", *end.sges(parts), qp=end.qp, wr_id=wr_id, flags=SIGNALED,
                 opcode=OPERATIONS[operation].opcode, **members)


def receive(end, size, wr_id=0):
    parts = [(8192, size)] if size else []
    end.peer.ask("receive", *end.sges(parts), wr_id=wr_id, **end.receives)


def statuses(end, which, count, timeout_ms=POLL_MS):
    return [Status(wc.status) for wc in end.poll(which, count, timeout_ms)]


def received(end):
    return [(Status(wc.status), wc.byte_len) for wc in end.poll("recv", 1, POLL_MS)]


def unless(what, found, expected):
    return [] if found == expected else [f"{what}: {found}, not {expected}"]


def when_written(end, checks):
    """Waits until the buffer holds these patterns. What is wrong when they do not come in time."""
    deadline = time.monotonic() + POLL_MS / 1000
    wrong = end.wrong_bytes(checks)
    while wrong and time.monotonic() < deadline:
        time.sleep(0.001)
        wrong = end.wrong_bytes(checks)
    return wrong


def psn_wrap(requester, responder, family):
    """Both directions pass PSN 2^24 in the midst of messages."""
    near_end = {"sq_psn": 0xfffff0, "rq_psn": 0xfffff8}
    back = {"sq_psn": 0xfffff8, "rq_psn": 0xfffff0}
    ends = rc_pair(requester, responder, family, near_end, back)
    return exchange(*ends, lay_out(mixed_plan(RC_OPERATIONS, 40, 6000, 7)))


def both_at_once(requester, responder, family):
    """Each end is requester and responder at the same time."""
    ends = rc_pair(requester, responder, family)
    half = BUFFER_BYTES // 2
    Exchange.prepare(*ends)
    runs = [Exchange(*ends, lay_out(mixed_plan(RC_OPERATIONS, 60, 8000, 1), 64, half)),
            Exchange(*reversed(ends), lay_out(mixed_plan(RC_OPERATIONS, 60, 8000, 2), half),
                     seeds=(2, 1), counter=8)]
    for run in runs:
        run.post()
    return [wrong for run in runs for wrong in run.finish()]


def large_messages(requester, responder, family):
    """Hundreds of packets a message."""
    plan = [("WRITE", 300000), ("READ", 300000), ("SEND", 200001)]
    ends = rc_pair(requester, responder, family, {"path_mtu": PATH_MTUS[1024]},
                   {"path_mtu": PATH_MTUS[1024]})
    return exchange(*ends, lay_out(plan))


def many_reads(requester, responder, family):
    """More READs and atomics than may be under way: the requester holds them back."""
    one = {"max_rd_atomic": 1, "max_dest_rd_atomic": 1}
    ends = rc_pair(requester, responder, family, one, one)
    plan = mixed_plan(["READ", "FETCH_ADD", "CMP_SWAP", "WRITE"], 60, 9000, 3)
    return exchange(*ends, lay_out(plan))


def rnr_recovers(requester, responder, family, **members):
    """A receive that is posted late is in time for a requester without a bound."""
    options = {"rnr_retry": 7, "min_rnr_timer": 10}
    first, second = rc_pair(requester, responder, family, options, options, **members)
    first.fill(1)
    second.fill(2)
    send(first, 3000)
    wrong = unless("completions without a receive", first.poll("send", 1, BRIEF_MS), [])
    receive(second, 4000, wr_id=77)
    wrong += unless("send", statuses(first, "send", 1), [Status.SUCCESS])
    wrong += unless("receive", [(wc.wr_id, wc.status, wc.byte_len)
                                for wc in second.poll("recv", 1, POLL_MS)],
                    [(77, Status.SUCCESS, 3000)])
    return wrong + second.wrong_bytes([(8192, 3000, 1, 4096), (11192, 1000, 2)])


def shared_receives(requester, responder, family):
    """Each end takes its receives from a shared receive queue."""
    ends = rc_pair(requester, responder, family, shared=True)
    operations = ["SEND", "SEND_IMM", "WRITE_IMM", "WRITE", "READ", "FETCH_ADD"]
    return exchange(*ends, lay_out(mixed_plan(operations, 100, 6000, 11)))


def shared_receive_late(requester, responder, family):
    """An empty shared receive queue makes the requester wait as an empty one of its own does."""
    return rnr_recovers(requester, responder, family, shared=True)


def silent_after_reset(requester, responder, family):
    """A peer that has left answers nothing; both requests come back."""
    few = {"timeout": 12, "retry_cnt": 2}
    first, second = rc_pair(requester, responder, family, few)
    second.modify(qp_state=State.RESET)
    send(first, 100, operation="WRITE", rkey=second.buffer["rkey"],
         address=second.buffer["address"])
    send(first, 100)
    return unless("send", statuses(first, "send", 2),
                  [Status.RETRY_EXC_ERR, Status.WR_FLUSH_ERR]) + \
        unless("state", first.state(), State.ERR)


def silent_after_destroy(requester, responder, family):
    few = {"timeout": 12, "retry_cnt": 1}
    first, second = rc_pair(requester, responder, family, few)
    second.peer.ask("destroy", number=second.qp)
    send(first, 100)
    return unless("send", statuses(first, "send", 1), [Status.RETRY_EXC_ERR])


def peer_in_error(requester, responder, family):
    """A queue pair in error flushes its receives and answers nothing."""
    few = {"timeout": 12, "retry_cnt": 1}
    first, second = rc_pair(requester, responder, family, few)
    receive(second, 100)
    second.modify(qp_state=State.ERR)
    send(first, 100)
    return unless("send", statuses(first, "send", 1), [Status.RETRY_EXC_ERR]) + \
        unless("receive", statuses(second, "recv", 1), [Status.WR_FLUSH_ERR])


def without_answers(requester, responder, family, plan, timeout=14):
    """The exchange of a plan. For a time that is shorter than all retries nothing arrives from the
    guest. `timeout` as for ibv_modify_qp()."""
    guest = requester if requester.name == "rxe" else responder
    ends = rc_pair(requester, responder, family, {"timeout": timeout})
    Exchange.prepare(*ends)
    guest.run("/bin/tc qdisc add dev eth0 root netem loss 100%")
    try:
        run = Exchange(*ends, lay_out(plan))
        run.post()
        early = ends[0].poll("send", 1, 150)
        # The qdisc stays to the end: a kernel that removes one may refuse what is sent meanwhile,
        # which is not the loss that this is about.
        guest.run("/bin/tc qdisc change dev eth0 root netem loss 0%")
        return unless("completions without an answer", early, []) + run.finish()
    finally:
        guest.run("/bin/tc qdisc del dev eth0 root")


# Where the opcode is, behind the headers of IP and UDP.
OPCODE_OFFSETS = {4: ("ip", 28), 6: ("ipv6", 48)}
ACKNOWLEDGE, READ_RESPONSE_LAST = 0x11, 0x0f


def delay_answers(guest, device, family, delays_ms):
    """For netem on a device of the guest: the packets of up to two opcodes are late, others not."""
    protocol, offset = OPCODE_OFFSETS[family]
    guest.run(f"/bin/tc qdisc add dev {device} root handle 1: prio")
    for band, (opcode, delay_ms) in zip((1, 3), delays_ms.items()):
        guest.run(f"/bin/tc qdisc add dev {device} parent 1:{band} netem delay {delay_ms}ms && "
                  f"/bin/tc filter add dev {device} parent 1: protocol {protocol} u32 "
                  f"match u8 {opcode} 0xff at {offset} flowid 1:{band}")


def late_acknowledge(requester, responder, family):
    """The ACK of a WRITE comes amid the answer to the READ behind it, which implied it."""
    guest = requester if requester.name == "rxe" else responder
    ends = rc_pair(requester, responder, family, {"timeout": LATE_RETRY})
    device = "eth0"
    if guest is requester:
        device = "ifb0"
        guest.run("ip link set ifb0 up && /bin/tc qdisc add dev eth0 ingress && "
                  "/bin/tc filter add dev eth0 ingress matchall "
                  "action mirred egress redirect dev ifb0")
    try:
        delay_answers(guest, device, family, {ACKNOWLEDGE: 20, READ_RESPONSE_LAST: 40})
        wrong = exchange(*ends, lay_out([("WRITE", 100), ("READ", 2000)]))
        return wrong + unless("state", ends[0].state(), State.RTS)
    finally:
        guest.run(f"(/bin/tc qdisc del dev {device} root; "
                  "/bin/tc qdisc del dev eth0 ingress; true) 2>/dev/null")


def outage(requester, responder, family):
    return without_answers(requester, responder, family, mixed_plan(RC_OPERATIONS, 20, 5000, 5))


def read_before_empty_write(requester, responder, family):
    """The READ is asked for again when the responder has done the WRITE of 0 bytes behind it."""
    return without_answers(requester, responder, family, [("READ", 100), ("WRITE", 0)],
                           LATE_RETRY)


def empty_read_again(requester, responder, family):
    """A READ of 0 bytes is asked for again."""
    return without_answers(requester, responder, family, [("READ", 0)])


def invalidate_unknown_key(requester, responder, family):
    """A key that cannot be taken away: the responder fails, and the requester gets no answer."""
    first, second = rc_pair(requester, responder, family, FEW_RETRIES)
    receive(second, 100)
    send(first, 64, operation="SEND_INV", invalidate=second.buffer["rkey"] + 0x5500)
    return unless("send", statuses(first, "send", 1), [Status.RETRY_EXC_ERR]) + \
        unless("receive", statuses(second, "recv", 1), [Status.REM_INV_REQ_ERR]) + \
        unless("state", second.state(), State.ERR)


def window_taken_away(requester, responder, family):
    """A window lets its holder write until a SEND invalidates it."""
    first, second = rc_pair(requester, responder, family)
    first.fill(1)
    second.fill(2)
    rkey = bind_window(second, 1, 100)
    target = {"rkey": rkey, "address": second.buffer["address"]}
    send(first, 100, operation="WRITE", **target)
    wrong = unless("write", statuses(first, "send", 1), [Status.SUCCESS])
    receive(second, 100)
    send(first, 64, operation="SEND_INV", invalidate=rkey)
    wrong += unless("send", statuses(first, "send", 1), [Status.SUCCESS])
    wrong += unless("receive", statuses(second, "recv", 1), [Status.SUCCESS])
    send(first, 50, operation="WRITE", **target)
    wrong += unless("write afterwards", statuses(first, "send", 1), [Status.REM_ACCESS_ERR])
    return wrong + second.wrong_bytes([(0, 100, 1, 4096), (100, 8000, 2)])


def write_beyond_window(requester, responder, family):
    """A window is what it was bound to, whatever the region around it allows."""
    first, second = rc_pair(requester, responder, family)
    second.fill(2)
    send(first, 100, operation="WRITE", rkey=bind_window(second, 1, 100),
         address=second.buffer["address"] + 1)
    return unless("write", statuses(first, "send", 1), [Status.REM_ACCESS_ERR]) + \
        second.wrong_bytes([(0, 8000, 2)])


def read_by_write_window(requester, responder, family):
    """It allows what it was bound for, and no more."""
    first, second = rc_pair(requester, responder, family)
    send(first, 50, operation="READ", rkey=bind_window(second, 1, 100),
         address=second.buffer["address"])
    return unless("read", statuses(first, "send", 1), [Status.REM_ACCESS_ERR])


def datagram_pair(requester, responder, family):
    ends = [Endpoint(peer, Service.UD, family) for peer in (requester, responder)]
    connect(*ends)
    return ends


def datagram(first, second, size, wr_id=0, qkey=QKEY):
    send(first, size, wr_id=wr_id, ah=first.ah, qpn=second.qpn, qkey=qkey)


def wrong_qkey(requester, responder, family):
    """Dropped without a word; the next one arrives."""
    first, second = datagram_pair(requester, responder, family)
    receive(second, 200)
    datagram(first, second, 10, qkey=QKEY + 1)
    datagram(first, second, 20, wr_id=1)
    return unless("send", statuses(first, "send", 2), [Status.SUCCESS] * 2) + \
        unless("receive", received(second), [(Status.SUCCESS, 20 + GRH_BYTES)])


def datagram_without_receive(requester, responder, family):
    """Dropped, and no error anywhere."""
    first, second = datagram_pair(requester, responder, family)
    witness = Endpoint(responder, Service.UD, family, beside=True)
    witness.connect_to(first.gid, first.qpn, {})
    receive(witness, 200)
    datagram(first, second, 10)
    datagram(first, witness, 20, wr_id=1)
    wrong = unless("send", statuses(first, "send", 2), [Status.SUCCESS] * 2)
    # Datagrams of one queue pair stay in order: the first one has come, too.
    wrong += unless("witness", received(witness), [(Status.SUCCESS, 20 + GRH_BYTES)])
    receive(second, 200)
    datagram(first, second, 30, wr_id=2)
    return wrong + unless("receive", received(second), [(Status.SUCCESS, 30 + GRH_BYTES)])


def datagram_too_long(requester, responder, family):
    """More than a packet's payload is the sender's error."""
    first, second = datagram_pair(requester, responder, family)
    datagram(first, second, PORT_MTU + 1)
    return unless("send", statuses(first, "send", 1), [Status.LOC_LEN_ERR])


def datagram_receive_too_short(requester, responder, family):
    """A message for which the receive has no room is dropped; the receive waits for the next."""
    first, second = datagram_pair(requester, responder, family)
    receive(second, 100 + GRH_BYTES - 1)
    datagram(first, second, 100)
    datagram(first, second, 99, wr_id=1)
    return unless("send", statuses(first, "send", 2), [Status.SUCCESS] * 2) + \
        unless("receive", received(second), [(Status.SUCCESS, 99 + GRH_BYTES)])


def unreliable_receive_too_short(requester, responder, family):
    first, second = unreliable_pair(requester, responder, family)
    receive(second, 2999)
    send(first, 3000)
    send(first, 2500, wr_id=1)
    return unless("send", statuses(first, "send", 2), [Status.SUCCESS] * 2) + \
        unless("receive", received(second), [(Status.SUCCESS, 2500)])


def datagram_to_nobody(requester, responder, family):
    first, _ = datagram_pair(requester, responder, family)
    send(first, 64, ah=first.ah, qpn=0xfffff0, qkey=QKEY)
    return unless("send", statuses(first, "send", 1), [Status.SUCCESS])


def unreliable_pair(requester, responder, family, **options):
    ends = [Endpoint(peer, Service.UC, family, **options) for peer in (requester, responder)]
    connect(*ends)
    return ends


def unreliable_without_receive(requester, responder, family):
    """The message is dropped as a whole; the next one arrives."""
    first, second = unreliable_pair(requester, responder, family)
    first.fill(1)
    second.fill(2)
    send(first, 3000)
    send(first, 64, wr_id=1, operation="WRITE", rkey=second.buffer["rkey"],
         address=second.buffer["address"])
    wrong = unless("send", statuses(first, "send", 2), [Status.SUCCESS] * 2)
    # Packets of one queue pair stay in order: with the WRITE the SEND has come, too.
    wrong += when_written(second, [(0, 64, 1, 4096)])
    receive(second, 4000)
    send(first, 2500, wr_id=2)
    return wrong + unless("receive", received(second), [(Status.SUCCESS, 2500)])


def unreliable_wrong_rkey(requester, responder, family):
    """A WRITE that may not be is dropped and touches nothing."""
    first, second = unreliable_pair(requester, responder, family)
    first.fill(1)
    second.fill(2)
    send(first, 3000, operation="WRITE", rkey=second.buffer["rkey"] + 0x5500,
         address=second.buffer["address"])
    return unless("send", statuses(first, "send", 1), [Status.SUCCESS]) + \
        second.wrong_bytes([(0, BUFFER_BYTES, 2)])


# Those that both peers need memory windows for.
NEED_WINDOWS = {invalidate_unknown_key, window_taken_away, write_beyond_window,
                read_by_write_window}

SCENARIOS = {
    "RC psn wrap": psn_wrap,
    "RC both ends at once": both_at_once,
    "RC large messages": large_messages,
    "RC more reads than may be under way": many_reads,
    "RC receive posted late": rnr_recovers,
    "RC shared receive queue": shared_receives,
    "RC shared receive posted late": shared_receive_late,
    "RC peer reset": silent_after_reset,
    "RC peer destroyed": silent_after_destroy,
    "RC peer in error": peer_in_error,
    "RC outage": outage,
    "RC late acknowledgement amid a READ": late_acknowledge,
    "RC READ before an empty WRITE, asked for again": read_before_empty_write,
    "RC empty READ, asked for again": empty_read_again,
    "RC invalidate unknown key": invalidate_unknown_key,
    "RC window taken away": window_taken_away,
    "RC write beyond a window": write_beyond_window,
    "RC read by a window for writes": read_by_write_window,
    "UD wrong Q_Key": wrong_qkey,
    "UD no receive": datagram_without_receive,
    "UD longer than a packet": datagram_too_long,
    "UD receive too short": datagram_receive_too_short,
    "UC receive too short": unreliable_receive_too_short,
    "UD nobody there": datagram_to_nobody,
    "UC no receive": unreliable_without_receive,
    "UC unknown rkey": unreliable_wrong_rkey,
}

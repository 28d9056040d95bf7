# SPDX-License-Identifier: MIT
"""What is tested against Linux rxe, as tables. rxe_run.py runs them.

A direction is named by its requester: "rnicd" or "rxe" sends the requests, the other responds.

To extend it: an operation is a line in OPERATIONS (rxe_exchange.py) and is then in every transfer
and mixed case; a way to fail is a line in FAILURES; what needs steps of its own is a function in
rxe_scenarios.py; what rxe does otherwise is a line in DEVIATIONS, with its reason.
"""

from typing import NamedTuple, Optional

from rxe_peer import ALL_ACCESS, Access, Event, State, Status

DIRECTIONS = ("rnicd", "rxe")
FAMILIES = (4, 6)
PATH_MTUS = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
PORT_MTU = 4096


def sizes_around(mtu):
    return [0, 1, 2, 3, 4, 5, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1,
            5 * mtu + 7]


DATAGRAM_SIZES = [0, 1, 2, 3, 4, 5, 255, 256, 257, 1024, 4095, PORT_MTU]
ATOMIC_COUNT = 10
RECONNECT_SECONDS = 10   # in which a peer that was restarted must be connected again


class Failure(NamedTuple):
    """Two requests on a fresh RC pair, of which the first must fail as given, and its flush.

    On the wire: operation, size, and what is wrong. In the end: the status of the first and of the
    second request, the requester's state, the statuses of the responder's receive completions, its
    state and its asynchronous event.
    """
    name: str
    operation: str
    first: Status
    second: Status = Status.WR_FLUSH_ERR
    requester: State = State.ERR
    receives: tuple = ()
    responder: State = State.ERR
    event: Event = Event.NONE
    size: int = 64
    rkey_off_by: int = 0             # added to what is right
    address_off_by: int = 0
    lkey_off_by: int = 0
    other_pd: bool = False           # the rkey is of another protection domain
    mr_access: Access = ALL_ACCESS   # of the responder's buffer
    qp_access: Access = ALL_ACCESS   # of the responder's queue pair
    local_access: Access = ALL_ACCESS
    receive_sizes: Optional[tuple] = None    # what the responder posts; None: all that is needed
    receive_lkey_off_by: int = 0
    requester_options: dict = {}
    responder_options: dict = {}
    post_errno: int = 0              # of posting the first, which then never becomes a request


class Deviation(NamedTuple):
    """What rxe shows instead of what the tables say, which is then as good.

    The case is a shell pattern over the names of failures and scenarios, and of stages with storms;
    the requester says who plays which part. `seen` has fields of Failure; for a scenario it is
    empty, and what its function finds wrong is forgiven; for a storm it is empty too, and what
    Exchange.breaks_at_read() describes is forgiven. The kernels are those that were tried: from
    `since` on, and before `until`.
    """
    case: str
    requester: str
    seen: dict
    reason: str
    since: tuple = (0, 0)
    until: tuple = (1000, 0)


END = 1 << 20    # of the buffer
NO_WRITE = Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
NO_READ = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC
NO_ATOMIC = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ
ACCESS = {"first": Status.REM_ACCESS_ERR, "event": Event.QP_ACCESS_ERR}
INVALID = {"first": Status.REM_INV_REQ_ERR, "event": Event.QP_REQ_ERR}
FEW_RETRIES = {"timeout": 12, "retry_cnt": 2}

FAILURES = [
    # Remote access errors, NAK 0x62.
    Failure("write, unknown rkey", "WRITE", rkey_off_by=0x5500, **ACCESS),
    Failure("write of 3 packets, unknown rkey", "WRITE", size=3000, rkey_off_by=0x5500, **ACCESS),
    Failure("write with immediate, unknown rkey", "WRITE_IMM", rkey_off_by=0x5500,
            receives=(Status.LOC_ACCESS_ERR,), **ACCESS),
    Failure("read, unknown rkey", "READ", rkey_off_by=0x5500, **ACCESS),
    Failure("atomic, unknown rkey", "FETCH_ADD", size=8, rkey_off_by=0x5500, **ACCESS),
    Failure("swap, unknown rkey", "CMP_SWAP", size=8, rkey_off_by=0x5500, **ACCESS),
    Failure("write, old rkey", "WRITE", rkey_off_by=1, **ACCESS),
    Failure("write beyond the end", "WRITE", address_off_by=END - 32, **ACCESS),
    Failure("write of 3 packets beyond the end", "WRITE", size=3000, address_off_by=END - 2900,
            **ACCESS),
    Failure("write before the start", "WRITE", address_off_by=-1, **ACCESS),
    Failure("read beyond the end", "READ", address_off_by=END - 32, **ACCESS),
    Failure("read before the start", "READ", address_off_by=-1, **ACCESS),
    Failure("atomic behind the end", "FETCH_ADD", size=8, address_off_by=END, **ACCESS),
    Failure("write, region of another domain", "WRITE", other_pd=True, **ACCESS),
    Failure("read, region of another domain", "READ", other_pd=True, **ACCESS),
    Failure("write, region without the right", "WRITE", mr_access=NO_WRITE, **ACCESS),
    Failure("read, region without the right", "READ", mr_access=NO_READ, **ACCESS),
    Failure("atomic, region without the right", "FETCH_ADD", size=8, mr_access=NO_ATOMIC,
            **ACCESS),
    # Invalid requests, NAK 0x61.
    Failure("write, queue pair without the right", "WRITE", qp_access=NO_WRITE, **INVALID),
    Failure("read, queue pair without the right", "READ", qp_access=NO_READ, **INVALID),
    Failure("atomic, queue pair without the right", "FETCH_ADD", size=8, qp_access=NO_ATOMIC,
            **INVALID),
    Failure("atomic, address not a multiple of 8", "CMP_SWAP", size=8, address_off_by=4,
            **INVALID),
    Failure("send longer than the receive", "SEND", Status.REM_INV_REQ_ERR, receive_sizes=(63,),
            receives=(Status.LOC_LEN_ERR,)),
    Failure("send of 3 packets longer than the receive", "SEND", Status.REM_INV_REQ_ERR, size=3000,
            receive_sizes=(2500,), receives=(Status.LOC_LEN_ERR,)),
    Failure("requester's path MTU is larger", "SEND", size=4096,
            requester_options={"path_mtu": 5}, **INVALID),
    Failure("requester's path MTU is smaller", "SEND", size=4096,
            requester_options={"path_mtu": 1}, **INVALID),
    # Remote operational errors, NAK 0x63.
    Failure("send, receive with unknown lkey", "SEND", Status.REM_OP_ERR,
            receive_lkey_off_by=0x5500, receives=(Status.LOC_PROT_ERR,)),
    # Receiver not ready, and nobody there.
    Failure("send, no receive, 2 retries", "SEND", Status.RNR_RETRY_EXC_ERR, receive_sizes=(),
            requester_options={"rnr_retry": 2}, responder=State.RTS),
    Failure("send, no receive, no retry", "SEND", Status.RNR_RETRY_EXC_ERR, receive_sizes=(),
            requester_options={"rnr_retry": 0}, responder=State.RTS),
    Failure("write with immediate, no receive", "WRITE_IMM", Status.RNR_RETRY_EXC_ERR,
            receive_sizes=(), requester_options={"rnr_retry": 2}, responder=State.RTS),
    Failure("send to another queue pair's PSN", "SEND", Status.RETRY_EXC_ERR,
            requester_options=dict(FEW_RETRIES, sq_psn=5000), responder=State.RTS),
    # The requester's own memory.
    Failure("send, unknown lkey", "SEND", Status.LOC_PROT_ERR, lkey_off_by=0x5500,
            responder=State.RTS),
    Failure("write, unknown lkey", "WRITE", Status.LOC_PROT_ERR, lkey_off_by=0x5500,
            responder=State.RTS),
    Failure("read into memory without local write", "READ", Status.LOC_PROT_ERR,
            local_access=Access.REMOTE_READ, responder=State.RTS),
    # Not errors: a key is not looked at when there is nothing to move.
    Failure("empty write, unknown rkey", "WRITE", Status.SUCCESS, Status.SUCCESS, State.RTS, size=0,
            rkey_off_by=0x5500, responder=State.RTS),
    Failure("empty read, unknown rkey", "READ", Status.SUCCESS, Status.SUCCESS, State.RTS, size=0,
            rkey_off_by=0x5500, responder=State.RTS),
]

NO_CHECK = {"first": Status.SUCCESS, "second": Status.SUCCESS, "requester": State.RTS,
            "responder": State.RTS, "event": Event.NONE}

# Seen on 6.12 and 7.2, and not on 6.1; the kernels between them were not tried.
CHECKS_LENGTH = FLUSHES_FIRST = (6, 12)
REPEATS_BY_LAST_LENGTH = (6, 12)
READ_ENDS_WITH_ACKNOWLEDGE = (6, 12)
TELLS_ACCESS = (7, 0)

PAGE_START = ("rxe copies from and to the start of a page that is paged on demand, wherever in it "
              "the bytes are")

DEVIATIONS = [
    Deviation("*", "rnicd", {"event": Event.NONE},
              "rxe raises no asynchronous event when a request breaks a queue pair",
              until=TELLS_ACCESS),
    Deviation("write with immediate, unknown rkey", "rnicd", {"event": Event.NONE},
              "rxe raises no asynchronous event when it refuses a WRITE with immediate"),
    *(Deviation(case, "rnicd", {"event": Event.NONE},
                "rxe raises no asynchronous event when it gets an invalid request")
      for case in ("*, queue pair without the right", "atomic, address not a multiple of 8",
                   "requester's path MTU is *")),
    Deviation("write with immediate, unknown rkey", "rnicd",
              {"receives": (Status.REM_ACCESS_ERR,)},
              "rxe gives the receive of a refused WRITE with immediate the requester's status"),
    Deviation("send* longer than the receive", "rnicd",
              {"first": Status.REM_OP_ERR, "receives": (Status.LOC_QP_OP_ERR,)},
              "rxe answers NAK 0x63, remote operational error, where 9.7.4.1 wants 0x61"),
    Deviation("send, receive with unknown lkey", "rnicd", {"receives": (Status.LOC_QP_OP_ERR,)},
              "rxe has one status for all that is wrong with a receive"),
    Deviation("requester's path MTU is *", "rnicd",
              dict(NO_CHECK, receives=(Status.SUCCESS, Status.SUCCESS)),
              "rxe does not compare a packet's length with the path MTU", until=CHECKS_LENGTH),
    Deviation("requester's path MTU is *", "rnicd", {"receives": (Status.REM_INV_REQ_ERR,)},
              "rxe gives the receive of a packet of a wrong length the requester's status",
              since=CHECKS_LENGTH),
    Deviation("*, unknown lkey", "rxe", {"first": Status.LOC_QP_OP_ERR},
              "rxe's requester has one status for all that is wrong with its request",
              until=FLUSHES_FIRST),
    Deviation("*, unknown lkey", "rxe", {"first": Status.WR_FLUSH_ERR},
              "rxe's requester flushes a request that has something wrong", since=FLUSHES_FIRST),
    Deviation("atomic, address not a multiple of 8", "rxe", {"post_errno": 22},
              "rxe refuses to post it, so that nothing comes to the wire"),
    Deviation("RC invalidate unknown key", "rnicd", {},
              "rxe acknowledges a SEND with invalidate that it has refused"),
    Deviation("RC write beyond a window", "rnicd", {},
              "rxe checks a memory window's key and rights, but only the region's range"),
    # read_reply() of rxe_resp.c takes the length of the READ or WRITE that it got last for that of
    # the READ that it repeats, and then has no memory region to read from. The queue pair breaks,
    # and where the NAK is lost, a request before the READ ends in RETRY_EXC_ERR. Storms have no
    # READ or WRITE of 0 bytes for that reason (Stage.storm).
    Deviation("RC READ before an empty WRITE, asked for again", "rnicd", {},
              "rxe refuses a READ that it has answered, NAK 0x62, once a WRITE of 0 bytes came",
              since=REPEATS_BY_LAST_LENGTH),
    Deviation("RC empty READ, asked for again", "rnicd", {},
              "rxe never answers a READ of 0 bytes again whose answer was lost",
              since=REPEATS_BY_LAST_LENGTH),
    Deviation("U[CD] receive too short", "rnicd", {},
              "rxe breaks the queue pair over a UC or UD message that is too long, which is to be "
              "dropped"),
    Deviation("UD longer than a packet", "rxe", {},
              "rxe sends nothing and calls it a success"),
    Deviation("RC FLUSH*", "rnicd", {},
              "rxe does not answer a FLUSH of which the ICRC is right"),
    Deviation("RC FLUSH*", "rxe", {},
              "rxe sends a FLUSH with an ICRC that does not fit the packet"),
    Deviation("RC paged on demand", "rnicd", {}, PAGE_START),
    Deviation("RC paged on demand", "rxe", {}, PAGE_START),
    # While the answer to a READ comes, check_psn() of rxe_comp.c lets any ACK with an earlier PSN
    # through, for it may be a NAK of the READ. Behind an ACK the completer expects a new answer,
    # and the READ's next packet breaks the queue pair (findings/rxe-late-ack-in-read.sh). The READ
    # completes with the status that it was posted with. Storms have that only where an ACK comes
    # later than what was sent behind it.
    *(Deviation(case, "rxe", {},
                "a READ at rxe succeeds without its bytes, and the queue pair breaks, when an ACK "
                "of an earlier request comes amid the READ's answer",
                since=READ_ENDS_WITH_ACKNOWLEDGE)
      for case in ("RC late acknowledgement amid a READ", "reorder at rnicd", "all at rnicd",
                   "path in the guest")),
    # Of no single case; the code that looks past it is named.
    Deviation("", "rnicd", {},
              "rxe sets IBV_WC_GRH in completions of connected queue pairs (Exchange.flags)"),
    Deviation("", "rnicd", {},
              "rxe sets the kernel's number of IBV_WC_WITH_INV, which programs read as "
              "IBV_WC_IP_CSUM_OK (Exchange.flags)"),
    Deviation("", "rnicd", {},
              "rxe takes each FIRST or ONLY on UC for the next message, one that is late or came "
              "before too (UnreliableExchange.check_arrived)"),
    Deviation("", "rxe", {},
              "rxe takes an ACK with the PSN of a READ or atomic for the answer, which it then "
              "never asks for (acknowledge_again() in responder_answer.c)"),
    Deviation("", "rxe", {},
              "rxe gives requests new PSNs, or leaves one open, when the ACK of a message comes "
              "amid sending it again (acknowledge_again() in responder_answer.c)"),
]

# What rnicd does to all that it sends and receives, in a stage of its own each.
FAULTS = {
    "drop": "drop=2%,rx:drop=2%",
    "duplicate": "duplicate=5%,rx:duplicate=5%",
    "reorder": "reorder=3%,rx:reorder=3%",
    "corrupt": "corrupt=2%,rx:corrupt=2%",
    "all": "drop=1%,duplicate=1%,reorder=1%,corrupt=1%,"
           "rx:drop=1%,rx:duplicate=1%,rx:reorder=1%,rx:corrupt=1%",
}
# What netem in the guest does to all that rxe sends.
NETEM = {
    "drop": "loss 2%",
    "duplicate": "duplicate 5%",
    "reorder": "delay 1ms reorder 75% 50%",
    "corrupt": "corrupt 2%",
    "all": "delay 500us 300us loss 1% duplicate 1% corrupt 1%",
}
# And on a path, to what rxe sends and to what it receives. Reordering sends a packet at once.
PATH_ROUND_TRIP_MS = 15
PATH = "delay 10ms loss 0.5% duplicate 0.5% reorder 1%"

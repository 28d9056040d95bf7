# SPDX-License-Identifier: MIT
"""The two ends of a test: a verbs_puppet each, and a queue pair on it.

Peer speaks the lines of verbs_puppet. Endpoint is what one case needs on one peer: protection
domain, buffer, completion queues, queue pair. connect() joins two of them.
"""

import enum
import os
import socket
import subprocess
import time
from typing import NamedTuple

ANSWER_SECONDS = 60      # a puppet that is silent for longer is gone
BOOT_SECONDS = 180       # what the emulated machine may take on a busy host
BREAK_SECONDS = 1       # after a NAK, in which a kernel's worker breaks its queue pair
BUFFER_BYTES = 1 << 20
QKEY = 0x11111111


class Service(enum.IntEnum):
    RC = 2
    UC = 3
    UD = 4


class Status(enum.IntEnum):
    SUCCESS = 0
    LOC_LEN_ERR = 1
    LOC_QP_OP_ERR = 2
    LOC_EEC_OP_ERR = 3
    LOC_PROT_ERR = 4
    WR_FLUSH_ERR = 5
    MW_BIND_ERR = 6
    BAD_RESP_ERR = 7
    LOC_ACCESS_ERR = 8
    REM_INV_REQ_ERR = 9
    REM_ACCESS_ERR = 10
    REM_OP_ERR = 11
    RETRY_EXC_ERR = 12
    RNR_RETRY_EXC_ERR = 13


class State(enum.IntEnum):
    RESET = 0
    INIT = 1
    RTR = 2
    RTS = 3
    SQD = 4
    SQE = 5
    ERR = 6


class Event(enum.IntEnum):
    NONE = -1
    CQ_ERR = 0
    QP_FATAL = 1
    QP_REQ_ERR = 2
    QP_ACCESS_ERR = 3
    COMM_EST = 4


class Access(enum.IntFlag):
    LOCAL_WRITE = 1
    REMOTE_WRITE = 2
    REMOTE_READ = 4
    REMOTE_ATOMIC = 8
    MW_BIND = 16
    ON_DEMAND = 64
    FLUSH_GLOBAL = 256


ALL_ACCESS = (Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ
              | Access.REMOTE_ATOMIC)

SIGNALED = 2
WC_GRH, WC_WITH_IMM, WC_IP_CSUM_OK, WC_WITH_INV = 1, 2, 4, 8
WC_RECV, WC_RECV_RDMA_WITH_IMM = 128, 129
LOCAL_INV, BIND_MW = 7, 8
WINDOW_2 = 2             # the type of memory window that a SEND can invalidate


class Completion(NamedTuple):
    wr_id: int
    status: int
    opcode: int
    byte_len: int
    flags: int
    immediate: int
    qpn: int
    source_qpn: int


class PuppetError(Exception):
    """A verb failed: errno, and what was asked."""

    def __init__(self, number, text, line):
        super().__init__(f"{text}: {line}")
        self.errno = number


class PeerLost(Exception):
    """The puppet of a peer has ended."""

    def __init__(self, peer, text="the puppet is gone"):
        super().__init__(f"{peer}: {text}")
        self.peer = peer


class PeerSilent(PeerLost):
    """The puppet of a peer does not answer."""

    def __init__(self, peer):
        super().__init__(peer, "the puppet does not answer")


class Peer:
    """A verbs_puppet at the other end of a stream socket."""

    def __init__(self, name, stream, process=None):
        self.name = name
        self.stream = stream
        self.process = process
        self.received = b""
        self.gids = {}
        self.has_windows = False
        self.kernel = (0, 0)

    @classmethod
    def start(cls, name, command):
        ours, theirs = socket.socketpair()
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs)
        theirs.close()
        return cls(name, ours, process)

    @classmethod
    def reach(cls, name, path):
        """The puppet behind a socket that exists by now; it may still be booting."""
        stream = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + 10
        while True:
            try:
                stream.connect(path)
                return cls(name, stream)
            except OSError as error:
                if time.monotonic() > deadline:
                    raise PeerLost(name, "nobody listens for the puppet") from error
                time.sleep(0.05)

    def greet(self, seconds=BOOT_SECONDS):
        """Waits until the puppet answers, and drops what an earlier talk left behind.

        A guest that boots, or has not noticed the end of the last talk, swallows lines.
        """
        deadline = time.monotonic() + seconds
        self.stream.settimeout(0.5)
        while True:
            number = int.from_bytes(os.urandom(4), "big")
            try:
                # Nobody reads yet while the guest boots: what waits fills the socket in the end.
                self.send(f"hello number={number}\n")
                while self.read_line() != f"ok echo={number}":
                    pass
                break
            except PeerSilent:
                if time.monotonic() > deadline:
                    raise
        self.stream.settimeout(ANSWER_SECONDS)
        self.ask("open")
        self.ask("reset")
        self.has_windows = self.can_allocate_window()
        self.kernel = tuple(self.ask("kernel").values())

    def send(self, text):
        try:
            self.stream.sendall(text.encode())
        except TimeoutError as error:
            raise PeerSilent(self.name) from error
        except OSError as error:
            raise PeerLost(self.name) from error

    def read_line(self):
        while b"\n" not in self.received:
            try:
                piece = self.stream.recv(65536)
            except TimeoutError as error:
                raise PeerSilent(self.name) from error
            except OSError:
                piece = b""
            if not piece:
                raise PeerLost(self.name)
            self.received += piece
        line, _, self.received = self.received.partition(b"\n")
        return line.decode()

    def can_allocate_window(self):
        try:
            self.ask("mw", pd=self.ask("pd")["number"], type=WINDOW_2)
        except PuppetError:
            return False
        return True

    def find_gid(self, family, address):
        """Remembers the index of the GID that is this address."""
        if family == 4:
            wanted = (b"\0" * 10 + b"\xff\xff" + socket.inet_aton(address)).hex()
        else:
            wanted = socket.inet_pton(socket.AF_INET6, address).hex()
        for index in range(16):
            try:
                if self.ask_text("gid", index=index) == f"gid={wanted}":
                    self.gids[family] = (index, wanted)
                    return
            except PuppetError:
                continue
        raise RuntimeError(f"{self.name} has no GID for {address}")

    def send_line(self, command, *words, **members):
        line = " ".join([command, *words, *(f"{name}={int(value)}"
                                            for name, value in members.items())])
        self.send(line + "\n")
        return line

    def read_answer(self, line):
        kind, _, rest = self.read_line().partition(" ")
        if kind == "ok":
            return rest
        number, _, text = rest.partition(" ")
        raise PuppetError(int(number), f"{self.name}: {text}", line)

    def ask_text(self, command, *words, **members):
        return self.read_answer(self.send_line(command, *words, **members))

    def ask(self, command, *words, **members):
        """One command; the numbers that it answers, by name."""
        pieces = self.ask_text(command, *words, **members).split()
        return {name: int(value) for name, _, value in (piece.partition("=") for piece in pieces)}

    def ask_all(self, commands):
        """Many commands (name, words, members), all on the way before the first is answered."""
        lines = [self.send_line(name, *words, **members) for name, words, members in commands]
        return [self.read_answer(line) for line in lines]

    def run(self, command):
        """A shell command beside the puppet."""
        if self.ask("run", command)["status"] != 0:
            raise RuntimeError(f"{self.name}: failed: {command}")

    def close(self):
        self.stream.close()
        if self.process is not None:
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Endpoint:
    """One queue pair and its buffer. Makes everything anew, so that no case sees another.

    With `shared` the receives are those of a shared receive queue. With `beside` the peer keeps the
    objects that it has. `operations` are those of a queue pair for ibv_qp_to_qp_ex().
    """

    def __init__(self, peer, service, family, *, mr_access=ALL_ACCESS, qp_access=ALL_ACCESS,
                 depth=128, shared=False, beside=False, operations=0):
        self.peer = peer
        self.service = service
        self.family = family
        self.sgid_index, self.gid = peer.gids[family]
        self.ah = 0
        if not beside:
            peer.ask("reset")
        self.pd = peer.ask("pd")["number"]
        windows = Access.MW_BIND if peer.has_windows else 0
        self.buffer = peer.ask("mr", pd=self.pd, bytes=BUFFER_BYTES, access=mr_access | windows)
        self.send_cq = peer.ask("cq", entries=2 * depth)["number"]
        self.recv_cq = peer.ask("cq", entries=2 * depth)["number"]
        srq = peer.ask("srq", pd=self.pd, entries=depth)["number"] if shared else 0
        made = peer.ask("qp", pd=self.pd, send_cq=self.send_cq, recv_cq=self.recv_cq,
                        type=service, sends=depth, receives=0 if shared else depth, srq=srq,
                        operations=operations)
        self.qp, self.qpn = made["number"], made["qpn"]
        self.receives = {"srq": srq} if shared else {"qp": self.qp}   # where they are posted
        if service == Service.UC:
            qp_access &= ~(Access.REMOTE_READ | Access.REMOTE_ATOMIC)
        kind = {"qkey": QKEY} if service == Service.UD else {"qp_access_flags": qp_access}
        self.modify(qp_state=State.INIT, pkey_index=0, port_num=1, **kind)

    def modify(self, *words, **members):
        self.peer.ask("modify", *words, qp=self.qp, **members)

    def connect_to(self, gid, qpn, options):
        """To RTS. The options are QP attributes; what is left out has the value given here."""
        path = {"sgid_index": self.sgid_index}
        if self.service == Service.UD:
            self.modify(qp_state=State.RTR)
            self.modify(qp_state=State.RTS, sq_psn=options.get("sq_psn", 100))
            self.ah = self.peer.ask("ah", f"gid={gid}", pd=self.pd, **path)["number"]
            return
        reliable = self.service == Service.RC
        attributes = {"path_mtu": 3, "rq_psn": 100, "sq_psn": 100}
        to_rts = ["sq_psn"]
        if reliable:
            attributes.update(max_rd_atomic=4, max_dest_rd_atomic=4, min_rnr_timer=12,
                              timeout=14, retry_cnt=7, rnr_retry=7)
            to_rts += ["timeout", "retry_cnt", "rnr_retry", "max_rd_atomic"]
        attributes.update(options)
        later = {name: attributes.pop(name) for name in to_rts}
        self.modify(f"gid={gid}", qp_state=State.RTR, dest_qp_num=qpn, **path, **attributes)
        self.modify(qp_state=State.RTS, **later)

    def fill(self, seed):
        self.peer.ask("fill", mr=self.buffer["number"], offset=0, length=BUFFER_BYTES, seed=seed)

    def sges(self, parts):
        return [f"sge={self.buffer['number']}:{offset}:{length}" for offset, length in parts]

    def poll(self, which, count, timeout_ms):
        cq = self.send_cq if which == "send" else self.recv_cq
        rest = self.peer.ask_text("poll", cq=cq, count=count, timeout_ms=timeout_ms)
        return [Completion(*map(int, piece.split(","))) for piece in rest.split()]

    def state(self):
        return State(self.peer.ask("query", qp=self.qp)["state"])

    def wait_for_state(self, state):
        """The state of the queue pair, as soon as it is this one, or when that took too long."""
        deadline = time.monotonic() + BREAK_SECONDS
        while (found := self.state()) != state and time.monotonic() < deadline:
            time.sleep(0.005)    # between two polls
        return found

    def event(self, timeout_ms):
        return Event(self.peer.ask("event", timeout_ms=timeout_ms)["type"])

    def wrong_bytes(self, checks):
        """checks: (offset, length, seed[, origin]). Those that do not hold, as text."""
        commands = []
        for offset, length, seed, *origin in checks:
            commands.append(("check", (), {
                "mr": self.buffer["number"], "offset": offset, "length": length, "seed": seed,
                "origin": origin[0] if origin else offset}))
        return [f"{self.peer.name}: {length} bytes at {offset} should be pattern {seed}: {text}"
                for (offset, length, seed, *_), text in zip(checks, self.peer.ask_all(commands))
                if not text.startswith("wrong=0 ")]


def connect(first, second, first_options=None, second_options=None):
    first.connect_to(second.gid, second.qpn, first_options or {})
    second.connect_to(first.gid, first.qpn, second_options or {})

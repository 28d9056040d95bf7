# SPDX-License-Identifier: MIT
"""Messages from one endpoint to another, and whether all that they promise came true.

Each end's buffer holds a pattern of its own. A message moves bytes between places of the same
offset, so that afterwards every byte of both buffers is known: the requester's pattern where a SEND
or a WRITE put it, the responder's where a READ did, and everywhere else what was there before.
"""

import random
from typing import NamedTuple

from rxe_peer import (Access, BIND_MW, BUFFER_BYTES, QKEY, SIGNALED, Service, State, Status,
                      WC_GRH, WC_IP_CSUM_OK, WC_RECV, WC_RECV_RDMA_WITH_IMM, WC_WITH_IMM,
                      WC_WITH_INV, WINDOW_2)

POLL_MS = 20000
BRIEF_MS = 60            # for what must not come
GRH_BYTES = 40
COUNTER_BYTES = 64       # in front of the buffer: what the atomics change
SLOT_GAP = 71            # bytes between two messages that nobody may touch; odd, to be unaligned
WORD = (1 << 64) - 1
WINDOW_BYTES = 64


class Operation(NamedTuple):
    opcode: int
    completion: int          # what the requester's completion says
    services: tuple
    takes_receive: bool = False
    is_write: bool = False   # names memory of the responder
    has_immediate: bool = False
    is_read: bool = False
    is_atomic: bool = False
    invalidates: bool = False

    @property
    def names_memory(self):
        """Of the responder, of a length that the request says."""
        return self.is_read or self.is_write


ALL, CONNECTED, RELIABLE = tuple(Service), (Service.RC, Service.UC), (Service.RC,)

OPERATIONS = {
    "SEND": Operation(2, 0, ALL, takes_receive=True),
    "SEND_IMM": Operation(3, 0, ALL, takes_receive=True, has_immediate=True),
    "SEND_INV": Operation(9, 0, RELIABLE, takes_receive=True, invalidates=True),
    "WRITE": Operation(0, 1, CONNECTED, is_write=True),
    "WRITE_IMM": Operation(1, 1, CONNECTED, takes_receive=True, is_write=True,
                           has_immediate=True),
    "READ": Operation(4, 2, RELIABLE, is_read=True),
    "CMP_SWAP": Operation(5, 3, RELIABLE, is_atomic=True),
    "FETCH_ADD": Operation(6, 4, RELIABLE, is_atomic=True),
}


class Message(NamedTuple):
    operation: str
    size: int
    offset: int
    immediate: int

    @property
    def kind(self):
        return OPERATIONS[self.operation]

    def parts(self, number):
        """The bytes as 1 to 3 pieces, of which none but a lone one is empty."""
        count = min(number % 3 + 1, max(self.size, 1))
        cuts = [0] + [self.size * i // count for i in range(1, count)] + [self.size]
        return [(self.offset + start, end - start) for start, end in zip(cuts, cuts[1:])]


def lay_out(plan, start=COUNTER_BYTES, stop=BUFFER_BYTES):
    """Messages for (operation, size) pairs, each with a place of its own."""
    messages, offset = [], start
    for number, (operation, size) in enumerate(plan):
        if OPERATIONS[operation].is_atomic:
            offset = (offset + 7) // 8 * 8
        messages.append(Message(operation, size, offset, 0x81000000 + number * 0x10203))
        offset += size + SLOT_GAP
    if offset > stop:
        raise ValueError("the messages do not fit the buffer")
    return messages


def mixed_plan(operations, count, largest, seed):
    chance = random.Random(seed)
    plan = []
    for _ in range(count):
        operation = chance.choice(operations)
        size = 8 if OPERATIONS[operation].is_atomic else chance.choice(
            [chance.randrange(64), chance.randrange(largest + 1)])
        plan.append((operation, size))
    return plan


def bind_window(end, key, length):
    """Allocates a window and binds it to the start of the end's buffer, for WRITEs; its rkey."""
    peer = end.peer
    window = peer.ask("mw", pd=end.pd, type=WINDOW_2)
    rkey = (window["rkey"] & ~0xff) | (key & 0xff)
    peer.ask("send", qp=end.qp, opcode=BIND_MW, flags=SIGNALED, mw=window["number"],
             mr=end.buffer["number"], offset=0, length=length, access=Access.REMOTE_WRITE,
             rkey=rkey)
    bound = [wc.status for wc in end.poll("send", 1, POLL_MS)]
    if bound != [Status.SUCCESS]:
        raise RuntimeError(f"{peer.name}: binding a window: {bound}")
    return rkey


class Exchange:
    """post() everything, then finish() says what is wrong, as a list of texts."""

    def __init__(self, requester, responder, messages, seeds=(1, 2), counter=0):
        self.requester = requester
        self.responder = responder
        self.messages = messages
        self.request_seed, self.respond_seed = seeds
        self.counter_offset = counter
        self.counter = 0x0102030405060708
        self.windows = {}
        self.originals = {}      # message -> what an atomic must have found
        self.statuses = []       # of the requests
        self.wrong = []

    @staticmethod
    def prepare(first, second, seeds=(1, 2)):
        first.fill(seeds[0])
        second.fill(seeds[1])

    def post(self):
        self.bind_windows()
        self.responder.peer.ask("poke", mr=self.responder.buffer["number"],
                                offset=self.counter_offset, length=8, value=self.counter)
        self.post_receives()
        self.requester.peer.ask_all([self.request(number, message)
                                     for number, message in enumerate(self.messages)])

    def bind_windows(self):
        """A memory window of the responder for each message that takes one away."""
        for number, message in enumerate(self.messages):
            if message.kind.invalidates:
                self.windows[number] = bind_window(self.responder, number + 1, WINDOW_BYTES)

    def post_receives(self):
        commands = []
        for number, message in enumerate(self.messages):
            if not message.kind.takes_receive:
                continue
            parts = [] if message.kind.is_write else message.parts(number + 1)
            if self.responder.service == Service.UD:
                parts = [(message.offset, message.size + GRH_BYTES)]
            commands.append(("receive", self.responder.sges(parts),
                             dict(self.responder.receives, wr_id=1000 + number)))
        self.responder.peer.ask_all(commands)

    def request(self, number, message):
        kind, remote = message.kind, self.responder.buffer
        members = {"qp": self.requester.qp, "wr_id": number, "opcode": kind.opcode,
                   "flags": SIGNALED, "rkey": remote["rkey"],
                   "address": remote["address"] + message.offset}
        if kind.has_immediate:
            members["immediate"] = message.immediate
        if kind.invalidates:
            members["invalidate"] = self.windows[number]
        if kind.is_atomic:
            members["address"] = remote["address"] + self.counter_offset
            self.expect_atomic(number, message, members)
        if self.requester.service == Service.UD:
            members.update(ah=self.requester.ah, qpn=self.responder.qpn, qkey=QKEY)
        parts = [(message.offset, 8)] if kind.is_atomic else message.parts(number)
        return "send", self.requester.sges(parts), members

    def expect_atomic(self, number, message, members):
        """Half of the swaps compare with another value and must change nothing."""
        self.originals[number] = self.counter
        if message.operation == "FETCH_ADD":
            members["compare_add"] = 0xf000000000000001 + number
            self.counter = (self.counter + members["compare_add"]) & WORD
            return
        matches = number % 2 == 0
        members["compare_add"] = self.counter if matches else self.counter ^ 1 << 40
        members["swap"] = self.counter ^ 0x1122334455667788 + number
        if matches:
            self.counter = members["swap"]

    def finish(self):
        self.check_requests(self.requester.poll("send", len(self.messages), POLL_MS))
        receives = [number for number, message in enumerate(self.messages)
                    if message.kind.takes_receive]
        # Nothing more comes from a requester that has failed.
        has_failed = any(status != Status.SUCCESS for status in self.statuses)
        self.check_receives(receives, self.responder.poll("recv", len(receives),
                                                          BRIEF_MS if has_failed else POLL_MS))
        self.check_atomics()
        self.wrong += self.requester.wrong_bytes(self.checks("READ"))
        self.wrong += self.responder.wrong_bytes(self.checks("WRITE"))
        return self.wrong

    def check_requests(self, completions):
        expected = [(number, Status.SUCCESS, message.kind.completion)
                    for number, message in enumerate(self.messages)]
        found = [(wc.wr_id, wc.status, wc.opcode) for wc in completions]
        self.statuses = [wc.status for wc in completions]
        if len(found) != len(expected):
            self.wrong.append(f"{self.requester.peer.name}: {len(found)} send completions, not "
                              f"{len(expected)}")
        self.wrong += [f"{self.requester.peer.name}: send completion (wr_id, status, opcode) "
                       f"{one}, not {other}" for one, other in zip(found, expected) if one != other]

    def check_receives(self, numbers, completions):
        if len(numbers) != len(completions):
            self.wrong.append(f"{self.responder.peer.name}: {len(completions)} receive "
                              f"completions, not {len(numbers)}")
        for number, wc in zip(numbers, completions):
            expected = self.expected_receive(number)
            found = (wc.wr_id, wc.status, wc.opcode, wc.byte_len, self.flags(wc), wc.immediate,
                     wc.qpn,
                     wc.source_qpn if self.responder.service == Service.UD else None)
            if found != expected:
                self.wrong.append(f"{self.responder.peer.name}: receive completion {found}, "
                                  f"not {expected}")

    def flags(self, wc):
        """Without what DEVIATIONS says of rxe's completions."""
        flags = wc.flags
        if self.responder.peer.name == "rxe":
            if self.responder.service != Service.UD:
                flags &= ~WC_GRH
            if flags & WC_IP_CSUM_OK:
                flags ^= WC_IP_CSUM_OK | WC_WITH_INV
        return flags

    def expected_receive(self, number):
        message, is_datagram = self.messages[number], self.responder.service == Service.UD
        flags, immediate = WC_GRH if is_datagram else 0, 0
        if message.kind.has_immediate:
            flags, immediate = flags | WC_WITH_IMM, message.immediate
        if message.kind.invalidates:
            flags, immediate = flags | WC_WITH_INV, self.windows[number]
        return (1000 + number, Status.SUCCESS,
                WC_RECV_RDMA_WITH_IMM if message.kind.is_write else WC_RECV,
                message.size + (GRH_BYTES if is_datagram else 0), flags, immediate,
                self.responder.qpn, self.requester.qpn if is_datagram else None)

    def breaks_at_read(self, mtu):
        """Whether requests succeed up to a READ of more than a packet, and nothing else is wrong
        than that the requester has failed with it (READ_ENDS_WITH_ACKNOWLEDGE in DEVIATIONS)."""
        done = self.statuses.count(Status.SUCCESS)
        flushed = [Status.WR_FLUSH_ERR] * (len(self.messages) - done)
        last = self.messages[done - 1] if done else None
        if (last is None or not last.kind.is_read or last.size <= mtu
                or self.statuses != [Status.SUCCESS] * done + flushed
                or self.requester.state() != State.ERR):
            return False
        self.messages = self.messages[:done - 1]
        return not (self.requester.wrong_bytes(self.checks("READ"))
                    + self.responder.wrong_bytes(self.checks("WRITE")))

    def check_atomics(self):
        if not self.originals:
            return
        commands = [("peek", (), {"mr": self.requester.buffer["number"], "length": 8,
                                  "offset": self.messages[number].offset})
                    for number in self.originals]
        found = self.requester.peer.ask_all(commands)
        expected = [f"value={value}" for value in self.originals.values()]
        found.append(self.responder.peer.ask_text(
            "peek", mr=self.responder.buffer["number"], length=8, offset=self.counter_offset))
        expected.append(f"value={self.counter}")
        self.wrong += [f"atomic {number} found {one}, not {other}" for number, one, other
                       in zip([*self.originals, "none"], found, expected) if one != other]

    def checks(self, changed_by):
        """What one end's part of the buffer must be, message by message with the gap behind it."""
        ours, theirs = self.request_seed, self.respond_seed
        if changed_by == "WRITE":
            ours, theirs = theirs, ours
        checks = []
        for message in self.messages:
            kind, size, offset = message.kind, message.size, message.offset
            if kind.is_atomic:
                changed = 8 if changed_by == "READ" else 0
                checks.append((offset + changed, size + SLOT_GAP - changed, ours))
                continue
            is_changed = kind.is_read == (changed_by == "READ")
            origin = offset
            if is_changed and self.responder.service == Service.UD:
                offset += GRH_BYTES
            if is_changed:
                checks.append((offset, size, theirs, origin))
                checks.append((offset + size, SLOT_GAP - (offset - origin), ours))
            else:
                checks.append((offset, size + SLOT_GAP, ours))
        return checks


def exchange(requester, responder, messages):
    """One exchange in one direction; what is wrong."""
    Exchange.prepare(requester, responder)
    run = Exchange(requester, responder, messages)
    run.post()
    return run.finish()

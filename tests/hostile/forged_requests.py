#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays a peer of the connection manager, and whoever can send from its address and port.

    forged_requests.py living|restart|amplify OWN-ADDRESS RNIC-ADDRESS
    forged_requests.py flood OWN-ADDRESS TARGET-ADDRESS

At the RNIC's address a program accepts connections to port 7174.

living   Connects, and forges 10,000 messages of each kind that could end the connection and lack
         one of its numbers. The peer's queue pair answers when it is asked. The connection must
         stand, and end by a right farewell.
restart  Connects, forgets the connection and falls silent, and asks for another one of the same
         queue pair, twice a second. It must be refused as stale at first, and get in within 10 s.
amplify  Asks once and says no more. At most three datagrams may come, each as long as the request.
flood    Asks for 20,000 connections a second, until it is killed.
"""

import ipaddress
import itertools
import os
import random
import select
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "interop", "cm"))
from cm_stranger import (  # noqa: E402
    APR, DREP, DREQ, LAP, REJ, REP, ROCE_PORT, RTU, Stranger, connect_request, icrc, mad)

FORGERIES = 10000
FLOOD_RATE = 20000
ROUND = 100                     # what any receive buffer holds
QPN = 77
SEND_ONLY, ACKNOWLEDGE = 0x04, 0x11
STALE = 10
RESPONSE_TIMEOUT, ACK_TIMEOUT = 14, 15      # 67 and 134 ms
SHORT = 8                       # 1 ms: a connection of the flood makes room for the next one soon


class Peer(Stranger):
    """Hears without a limit of time, and answers for its queue pair unless it is silent."""

    def __init__(self, own, rnic):
        super().__init__(own, rnic)
        self.is_silent = False
        self.probes = 0

    def request(self, comm_id, qpn=QPN):
        return connect_request(self.own, self.rnic, comm_id, qpn, RESPONSE_TIMEOUT, ACK_TIMEOUT)

    def acknowledge(self, packet):
        """What the peer's queue pair answers to a copy of a request."""
        self.probes += 1
        if self.is_silent:
            return
        answer = struct.pack(">BBHI4sI", ACKNOWLEDGE, 0x40, 0xffff, self.rnic_qpn, packet[8:12],
                             0x1f << 24)
        answer = answer[:8] + b"\0" + answer[9:]       # asks for nothing
        self.link.sendto(answer + icrc(self.own, self.rnic, answer), (str(self.rnic), ROCE_PORT))

    def take(self, timeout):
        """The attribute and data of the next message; None when none comes in time."""
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            if not select.select([self.link], [], [], max(left, 0))[0]:
                return None
            packet = self.link.recv(4096)
            if packet[0] == SEND_ONLY and packet[5:8] == QPN.to_bytes(3, "big"):
                self.acknowledge(packet)
            elif packet[0] == 0x64:
                return int.from_bytes(packet[36:38], "big"), packet[44:-4]

    def expect(self, attribute, timeout=10):
        while True:
            message = self.take(timeout)
            if message is None:
                sys.exit(f"message {attribute:#x} did not come")
            if message[0] == attribute:
                return message[1]

    def join(self, comm_id):
        self.say(self.request(comm_id))
        answer = self.expect(REP)
        self.comm_id, self.rnic_comm_id = comm_id, int.from_bytes(answer[:4], "big")
        self.rnic_qpn = int.from_bytes(answer[12:15], "big")
        self.say(mad(RTU, self.numbers()))

    def numbers(self, own_error=0, rnic_error=0):
        return struct.pack(">II", self.comm_id ^ own_error, self.rnic_comm_id ^ rnic_error)

    def drain(self, timeout):
        while self.take(timeout) is not None:
            pass


def forgeries(peer):
    """A name, and a maker of one message of each kind."""
    right_qpn = peer.rnic_qpn.to_bytes(3, "big")
    wrong_qpn = (peer.rnic_qpn ^ 1).to_bytes(3, "big")
    yield "REQ", lambda: peer.request(random.getrandbits(32) | 1)
    yield "DREQ, wrong sender", lambda: mad(DREQ, peer.numbers(own_error=1) + right_qpn)
    yield "DREQ, wrong queue pair", lambda: mad(DREQ, peer.numbers() + wrong_qpn)
    yield "DREQ, guessed identifier", lambda: mad(
        DREQ, peer.numbers(rnic_error=random.getrandbits(31) + 1) + right_qpn)
    yield "DREP", lambda: mad(DREP, peer.numbers())
    yield "REJ, wrong sender", lambda: mad(REJ, peer.numbers(own_error=1))
    yield "REJ, no sender", lambda: mad(REJ, peer.numbers(own_error=peer.comm_id))
    yield "REJ, no receiver", lambda: mad(REJ, peer.numbers(rnic_error=peer.rnic_comm_id))


def living(peer):
    peer.join(0x5a5a0001)
    for name, make in forgeries(peer):
        for _ in range(FORGERIES // ROUND):
            for _ in range(ROUND):
                peer.say(make())
            peer.drain(0.002)
        peer.say(mad(LAP, peer.numbers().ljust(64, b"\0")))
        peer.expect(APR)
        print(f"{FORGERIES} of \"{name}\" ended nothing")
    peer.drain(2)
    peer.say(mad(LAP, peer.numbers().ljust(64, b"\0")))
    peer.expect(APR)
    if not 1 <= peer.probes <= 30:
        sys.exit(f"the peer was asked {peer.probes} times")
    peer.say(mad(DREQ, peer.numbers() + peer.rnic_qpn.to_bytes(3, "big")))
    peer.expect(DREP)
    print(f"the connection stood until its end; its peer was asked {peer.probes} times")


def restart(peer):
    peer.join(0x5a5a0002)
    peer.is_silent = True
    began = time.monotonic()
    refused = 0
    for comm_id in itertools.count(0x5a5b0000):
        peer.say(peer.request(comm_id))
        until = time.monotonic() + 0.5
        while (left := until - time.monotonic()) > 0:
            attribute, data = peer.take(left) or (None, b"")
            if attribute == REJ and data[4:8] == comm_id.to_bytes(4, "big"):
                if data[10:12] != STALE.to_bytes(2, "big"):
                    sys.exit(f"refused for {data[10:12].hex()}")
                refused += 1
            if attribute == REP:
                seconds = time.monotonic() - began
                if refused == 0 or seconds > 10:
                    sys.exit(f"in after {seconds:.1f} s and {refused} refusals")
                print(f"in after {seconds:.1f} s and {refused} refusals")
                peer.is_silent = False
                numbers = struct.pack(">I", comm_id) + data[:4]
                peer.say(mad(RTU, numbers))
                peer.say(mad(DREQ, numbers + data[12:15]))
                peer.expect(DREP)
                return
        if time.monotonic() - began > 12:
            sys.exit("did not get in")


def amplify(peer):
    peer.say(peer.request(0x5a5c0001, 78))
    count = 0
    while (message := peer.take(4)) is not None:
        if message[0] not in (REP, REJ):
            sys.exit(f"message {message[0]:#x}")
        count += 1
    if not 1 <= count <= 3:
        sys.exit(f"{count} datagrams for one")
    print(f"{count} datagrams for one")


def flood(peer):
    packets = []
    for i in range(20000):
        message = peer.HEADERS + connect_request(peer.own, peer.rnic, 0x60000000 + i, 0x100000 + i,
                                                 SHORT, SHORT)
        packets.append(message + icrc(peer.own, peer.rnic, message))
    print("floods", flush=True)
    to = (str(peer.rnic), ROCE_PORT)
    for i, packet in enumerate(itertools.cycle(packets)):
        peer.link.sendto(packet, to)
        if i % ROUND == 0:
            time.sleep(ROUND / FLOOD_RATE)


def main():
    ways = {"living": living, "restart": restart, "amplify": amplify, "flood": flood}
    own, rnic = (ipaddress.ip_address(text) for text in sys.argv[2:4])
    ways[sys.argv[1]](Peer(own, rnic))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""garbage_sender.py ADDRESS: datagrams to the RoCEv2 port that no RNIC may trip over. Seeded."""

import random
import socket
import struct
import sys

ROCE_PORT = 4791


def bth(opcode, qpn, psn, generator):
    return struct.pack(">BBHII", opcode, generator.randrange(256), 0xffff,
                       qpn | generator.randrange(256) << 24, psn | generator.randrange(256) << 24)


def datagrams(generator):
    for length in range(64):  # truncated headers
        yield generator.randbytes(length)
    for opcode in range(256):  # every opcode, unknown QPN, wrong ICRC
        header = bth(opcode, generator.randrange(1 << 24), generator.randrange(1 << 24), generator)
        yield header + generator.randbytes(generator.randrange(0, 300))
    for _ in range(1000):
        yield generator.randbytes(generator.randrange(1, 4300))
    yield b"\0" * 65000


def main():
    address = sys.argv[1]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sender = socket.socket(family, socket.SOCK_DGRAM)
    count = 0
    for datagram in datagrams(random.Random(1)):
        sender.sendto(datagram, (address, ROCE_PORT))
        count += 1
    print(f"{count} datagrams")


if __name__ == "__main__":
    main()

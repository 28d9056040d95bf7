#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger on queue pair 1, who shares no code with the project.

    cm_stranger.py OWN-ADDRESS RNIC-ADDRESS

Asks an RNIC on which nobody listens to connect, to resolve and to part, from a plain UDP socket
with IPv4 addresses. Every answer must be a connection management message with the right ICRC that
says what IBTA 1.4, chapter 12 wants to hear. Exits 1 with a sentence when one is not.
"""

import ipaddress
import socket
import struct
import sys
import zlib

ROCE_PORT = 4791
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2
QKEY = 0x80010000
COMM_ID = 0x5a5a0001
REQ, REJ, DREQ, DREP, SIDR_REQ, SIDR_REP = 0x10, 0x12, 0x15, 0x16, 0x17, 0x18


def icrc(source, dest, payload):
    """Of an IPv4 datagram with identification 0 and DF; `payload` is BTH to pad."""
    length = 28 + len(payload) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, length, 0, 0x4000, 0xff, 17, 0xffff,
                     source.packed, dest.packed)
    udp = struct.pack(">HHHH", ROCE_PORT, ROCE_PORT, length - 20, 0xffff)
    masked = payload[:4] + b"\xff" + payload[5:]
    return struct.pack("<I", zlib.crc32(8 * b"\xff" + ip + udp + masked))


def addresses(own, rnic):
    return struct.pack(">BBH12x4s12x4s", 0, 0x40, 40000, own.packed, rnic.packed)


def mad(attribute, data):
    header = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, 0x1234, attribute, 0, 0)
    return header + data.ljust(232, b"\0")


def gid(address):
    return 10 * b"\0" + b"\xff\xff" + address.packed


def connect_request(own, rnic):
    data = struct.pack(">I4xQQ4xI", COMM_ID, 0x01061c06, 1, 0)
    data += struct.pack(">IIII", 77 << 8 | 1, 1, 20 << 3, 5 << 8 | 20 << 3 | 7)
    data += struct.pack(">HBBHH", 0xffff, 3 << 4 | 7, 15 << 4, 0xffff, 0xffff)
    data += gid(own) + gid(rnic) + struct.pack(">IBBBB", 0, 0, 64, 0, 19 << 3)
    return mad(REQ, data.ljust(140, b"\0") + addresses(own, rnic))


def questions(own, rnic):
    """Message, attribute of the answer, and what its data must begin with."""
    yield (connect_request(own, rnic), REJ, struct.pack(">IIBBH", 0, COMM_ID, 0, 0, 8))
    yield (mad(SIDR_REQ, struct.pack(">IHxxQ", COMM_ID, 0xffff, 0x01111c06) + addresses(own, rnic)),
           SIDR_REP, struct.pack(">IB", COMM_ID, 1))
    yield (mad(DREQ, struct.pack(">IIB", COMM_ID, 0x77777777, 0)), DREP,
           struct.pack(">II", 0x77777777, COMM_ID))


def main():
    own, rnic = (ipaddress.ip_address(text) for text in sys.argv[1:3])
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
    link.bind((str(own), ROCE_PORT))
    link.settimeout(10)
    headers = struct.pack(">BBHIIII", 0x64, 0, 0xffff, 1, 1, QKEY, 1)
    for message, attribute, beginning in questions(own, rnic):
        payload = headers + message
        link.sendto(payload + icrc(own, rnic, payload), (str(rnic), ROCE_PORT))
        answer = link.recv(4096)
        if answer[-4:] != icrc(rnic, own, answer[:-4]):
            sys.exit(f"a wrong ICRC: {answer.hex()}")
        if answer[0] != 0x64 or struct.unpack(">III", answer[4:8] + answer[12:20]) != (1, QKEY, 1):
            sys.exit(f"not from queue pair 1 to queue pair 1: {answer[:20].hex()}")
        if answer[20:24] != b"\1\7\2\3" or answer[28:36] != message[8:16]:
            sys.exit(f"not the answer to what was asked: {answer[20:44].hex()}")
        if answer[36:38] != struct.pack(">H", attribute) or len(answer) != 280:
            sys.exit(f"another message: {answer[36:38].hex()}")
        if not answer[44:].startswith(beginning):
            sys.exit(f"not what it should say: {answer[44:60].hex()}, not {beginning.hex()}")
    print("refused, unresolved and parted, as it should be")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the ICRC of every RoCEv2 packet in capture files, from its definition (IBTA A17.3.3).

    icrc_check.py [--segments] FILE...

Reads pcap and pcapng. Prints one line a file; exits 1 when a packet is wrong, cut or missing. With
--segments a file must hold packets whose IPv4 identification is not 0, as GSO batches have.
"""

import argparse
import struct
import sys
import zlib

ROCE_PORT = 4791
# Link type -> bytes before the IP header.
LINK_HEADER_BYTES = {1: 14, 12: 0, 101: 0, 113: 16, 228: 0, 229: 0, 276: 20}


def read_pcap(data):
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xffff
    at = 24
    while at + 16 <= len(data):
        kept, length = struct.unpack_from(order + "II", data, at + 8)
        yield link, data[at + 16:at + 16 + kept], length
        at += 16 + kept


def read_pcapng(data):
    order, links, at = "<", [], 0
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        kind, length = struct.unpack_from(order + "II", data, at)
        if kind == 1:
            links.append(struct.unpack_from(order + "H", data, at + 8)[0])
        elif kind == 6:
            interface, _, _, kept, original = struct.unpack_from(order + "5I", data, at + 8)
            yield links[interface], data[at + 28:at + 28 + kept], original
        at += length


def read_packets(name):
    with open(name, "rb") as file:
        data = file.read()
    return read_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else read_pcap(data)


def ip_packet(link, frame):
    """(IP packet without padding of the link, length of its IP header), or None."""
    packet = frame[LINK_HEADER_BYTES[link]:]
    if packet[0] >> 4 == 4:
        header_bytes, total = (packet[0] & 15) * 4, struct.unpack_from(">H", packet, 2)[0]
    elif packet[0] >> 4 == 6:
        header_bytes, total = 40, 40 + struct.unpack_from(">H", packet, 4)[0]
    else:
        return None
    return packet[:total], header_bytes


def expected_icrc(packet, header_bytes):
    masked = bytearray(packet[:-4])
    if packet[0] >> 4 == 4:
        masked[1] = masked[8] = 0xff                 # type of service, time to live
        masked[10:12] = b"\xff\xff"                  # header checksum
    else:
        masked[0:4] = bytes([packet[0] | 0x0f]) + b"\xff\xff\xff"  # traffic class, flow label
        masked[7] = 0xff                             # hop limit
    masked[header_bytes + 6:header_bytes + 8] = b"\xff\xff"        # UDP checksum
    masked[header_bytes + 12] = 0xff                 # BTH: FECN, BECN, reserved
    return zlib.crc32(bytes(8 * [0xff]) + bytes(masked))


def check_file(name, wants_segments):
    good = bad = cut = segments = 0
    for link, frame, length in read_packets(name):
        found = ip_packet(link, frame)
        if found is None:
            continue
        packet, header_bytes = found
        if struct.unpack_from(">H", packet, header_bytes + 2)[0] != ROCE_PORT:
            continue
        if len(frame) < length or len(packet) < header_bytes + 24:
            cut += 1
        elif struct.unpack("<I", packet[-4:])[0] == expected_icrc(packet, header_bytes):
            good += 1
        else:
            bad += 1
        segments += packet[0] >> 4 == 4 and packet[4:6] != b"\0\0"
    print(f"{name}: {good} good, {bad} bad, {cut} cut, {segments} later segments of a GSO batch")
    return good > 0 and bad == 0 and cut == 0 and (segments > 0 or not wants_segments)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--segments", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    return 0 if all([check_file(name, arguments.segments) for name in arguments.files]) else 1


if __name__ == "__main__":
    sys.exit(main())

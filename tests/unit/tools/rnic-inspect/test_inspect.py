#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rnic-inspect says of frames that networks, captures and other programs change.

    test_inspect.py RNIC-INSPECT

The frames and their ICRCs are made here, by the definition (IBTA A17.3.3) and zlib, without code
of the project.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ETHERNET, RAW_INFINIBAND, ERF, USER = 1, 247, 197, 147
IPV4, IPV6, ROCE_V1 = b"\x08\x00", b"\x86\xdd", b"\x89\x15"
PORT = 4791
# A SEND ONLY of RC: opcode, AckReq off, to queue pair 0x11, PSN 7.
BTH = bytes.fromhex("04 00 ffff 00 000011 00 000007".replace(" ", ""))


def ipv4_header(payload_bytes, identification=0, dont_fragment=True, options=b"", more=False):
    flags = (0x4000 if dont_fragment else 0) | (0x2000 if more else 0)
    return struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0,
                       28 + len(options) + payload_bytes, identification, flags, 64, 17, 0,
                       bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])) + options


def ipv6_header(payload_bytes, extension=b""):
    return struct.pack(">IHBB16s16s", 6 << 28, 8 + payload_bytes + len(extension),
                       60 if extension else 17, 64,
                       bytes.fromhex("20010db8" + 23 * "0" + "1"),
                       bytes.fromhex("20010db8" + 23 * "0" + "2")) + extension


def icrc_of(header, udp, packet):
    masked = bytearray(header)
    if header[0] >> 4 == 4:
        masked[1] = masked[8] = masked[10] = masked[11] = 0xff
    else:
        masked[0:4] = b"\x6f\xff\xff\xff"
        masked[7] = 0xff
    bth = bytearray(packet)
    bth[4] = 0xff
    return zlib.crc32(8 * b"\xff" + bytes(masked) + udp[:6] + b"\xff\xff" + bytes(bth))


def udp_packet(header_for_icrc, payload):
    """A UDP datagram with a RoCEv2 packet whose ICRC is right below that IP header."""
    udp = struct.pack(">HHHH", 61000, PORT, 8 + len(payload) + len(BTH) + 4, 0)
    packet = BTH + payload
    return udp + packet + struct.pack("<I", icrc_of(header_for_icrc, udp, packet))


def frame(shown=None, hashed=None, payload=bytes(16), **options):
    """An Ethernet frame whose ICRC is made for the header with `hashed`, but shows `shown`."""
    size = len(BTH) + len(payload) + 4
    header = ipv4_header(size, **(shown or {}), **options)
    return 12 * b"\2" + IPV4 + header + udp_packet(ipv4_header(size, **(hashed or {})), payload)


def in_file(frames, link_type=ETHERNET):
    """A pcap file; a frame is bytes, or (captured bytes, original length)."""
    pcap = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, link_type)
    for each in frames:
        captured, length = each if isinstance(each, tuple) else (each, len(each))
        pcap += struct.pack("<IIII", 0, 0, len(captured), length) + captured
    return pcap


class Inspect(unittest.TestCase):
    program = None

    def inspect(self, frames, link_type=ETHERNET):
        """(lines of the output, exit status, summary of --json)"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "capture.pcap")
            with open(path, "wb") as file:
                file.write(in_file(frames, link_type))
            run = subprocess.run([self.program, path], capture_output=True, text=True)
            as_json = subprocess.run([self.program, "--json", path], capture_output=True, text=True)
        self.assertEqual(run.stderr + as_json.stderr, "")
        self.assertEqual(run.returncode, as_json.returncode)
        summary = json.loads(as_json.stdout.splitlines()[-1])["summary"]
        return run.stdout.splitlines(), run.returncode, summary

    def assert_says(self, frames, status, *words, link_type=ETHERNET):
        """The output has each of the words, and the JSON summary counts all frames."""
        lines, returned, summary = self.inspect(frames, link_type)
        for each in words:
            self.assertIn(each, "\n".join(lines))
        self.assertEqual(returned, status, lines)
        self.assertEqual(summary["packets"], len(frames))
        return summary

    def test_right(self):
        self.assert_says([frame()], 0, "length 16: ICRC ok",
                         "1 packets, 1 RoCEv2, 0 bad ICRC, 0 undecodable")

    def test_right_without_dont_fragment(self):
        """The bit is covered as it is: FPGA designs send without it."""
        free = {"dont_fragment": False, "identification": 0x1234}
        self.assert_says([frame(free, free)], 0, "ICRC ok")

    def test_renumbered(self):
        """A router with GRO joined datagrams, and numbered them as it cut them again."""
        frames = [frame({"identification": number}) for number in range(8)]
        summary = self.assert_says(frames, 1, "ICRC right for identification 0: renumbered on the "
                                   "way", "8 RoCEv2, 0 bad ICRC, 0 undecodable, 7 renumbered on "
                                   "the way")
        self.assertEqual((summary["good"], summary["renumbered"]), (1, 7))
        self.assert_says([frame({"identification": 3}, {"identification": 500})], 1,
                         "ICRC right for identification 500: renumbered on the way")
        self.assert_says([frame({"dont_fragment": False})], 1,
                         "ICRC right for identification 0 with don't fragment: changed on the way")

    def test_damaged(self):
        bad = frame()[:-6] + b"\x55\xaa" + frame()[-4:]
        lines = self.inspect([bad, frame(), frame()])[0]
        self.assertEqual(lines[-1], "3 packets, 3 RoCEv2, 1 bad ICRC, 0 undecodable")
        self.assertNotIn("addresses", self.inspect([bad])[0][-1])

    def test_addresses_changed(self):
        """NAT on the way, or tcprewrite: every ICRC is wrong, in both directions."""
        moved = [each[:26] + bytes([203, 0, 113, 9]) + each[30:]
                 for each in (frame(payload=bytes([n] * 16)) for n in range(4))]
        summary = self.assert_says(moved, 1, "4 bad ICRC", "all ICRCs are wrong: were addresses or "
                                   "ports changed, by NAT on the way or in the file?")
        self.assertTrue(summary["all_icrcs_bad"])
        self.assertFalse(self.inspect(moved + [frame()])[2]["all_icrcs_bad"])

    def test_cut_by_the_capture(self):
        whole = frame(payload=bytes(256))
        summary = self.assert_says([(whole[:96], len(whole)), frame()], 0,
                                   "cut short by the capture, not judged",
                                   "2 RoCEv2, 0 bad ICRC, 0 undecodable, 1 cut short")
        self.assertEqual((summary["cut"], summary["undecodable"]), (1, 0))

    def test_options(self):
        """No device hears of such a packet: the header of RoCEv2 has no options."""
        for options in (4 * b"\1", 40 * b"\1"):
            summary = self.assert_says([frame(options=options)], 0, "IPv4 options",
                                       "1 RoCEv2, 0 bad ICRC, 0 undecodable, 1 with IPv4 options")
            self.assertEqual(summary["options"], 1)
        extension = bytes([17, 0, 1, 4, 0, 0, 0, 0])
        header = ipv6_header(len(BTH) + 4, extension)
        six = 12 * b"\2" + IPV6 + header + udp_packet(header[:40], b"")
        self.assert_says([six], 0, "1 RoCEv2, 0 bad ICRC, 0 undecodable, 1 with IPv4 options or "
                         "IPv6 extension headers")
        plain = ipv6_header(len(BTH) + 4)
        self.assert_says([12 * b"\2" + IPV6 + plain + udp_packet(plain, b"")], 0, "ICRC ok")

    def test_broken_headers_stay_damage(self):
        short = frame()[:-8]
        self.assert_says([short], 1, "IP and UDP lengths disagree", "1 undecodable")
        self.assert_says([frame({"more": True})[:-8]], 1, ": a fragment", "1 undecodable")
        endless = 12 * b"\2" + IPV6 + ipv6_header(8, bytes([60, 255] + 6 * [0]))
        self.assert_says([endless], 0, "1 packets, 0 RoCEv2")

    def test_native_infiniband(self):
        words = ("0 RoCEv2, 0 bad ICRC, 0 undecodable, 1 frames of native InfiniBand or RoCE "
                 "version 1, which are not RoCEv2")
        lrh = bytes(8) + BTH
        self.assert_says([lrh], 0, words, link_type=RAW_INFINIBAND)
        self.assert_says([bytes(8) + bytes([21]) + bytes(7) + lrh], 0, words, link_type=ERF)
        self.assert_says([bytes(8) + bytes([0x80 | 21]) + bytes(7) + lrh], 0, words, link_type=ERF)
        self.assert_says([12 * b"\2" + ROCE_V1 + bytes(40) + BTH], 0, words)
        unknown = "1 frames of an unknown link type"
        self.assert_says([bytes(8) + bytes([2]) + bytes(40)], 0, unknown, link_type=ERF)
        self.assert_says([bytes(8)], 0, unknown, link_type=ERF)
        self.assert_says([lrh], 0, unknown, link_type=USER)


if __name__ == "__main__":
    Inspect.program = sys.argv.pop(1)
    unittest.main()

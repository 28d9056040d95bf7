/* SPDX-License-Identifier: MIT */
/*
 * Reads RoCEv2 packets from the bytes of a pcap or pcapng file. The file may hold anything: every
 * read is checked against its end, and what is no RoCEv2 packet is counted and passed over.
 *
 * A packet: {timeUs, from, to, qpn, psn, opcode, name, kind, payloadBytes, syndrome, sent,
 * comment}; `sent` is true or false where the capture says in which direction the packet went, else
 * null.
 */
"use strict";

const captureReader = (() => {
  const ROCE_PORT = 4791;
  const ICRC_BYTES = 4;
  const BTH_BYTES = 12;
  const PACKETS_MAX = 500000; // a browser's memory ends somewhere

  /* The low five bits of an opcode: name, kind, bytes of extended headers (of RC). */
  const operations = {
    0x00: ["SEND_FIRST", "request", 0], 0x01: ["SEND_MIDDLE", "request", 0],
    0x02: ["SEND_LAST", "request", 0], 0x03: ["SEND_LAST_IMM", "request", 4],
    0x04: ["SEND_ONLY", "request", 0], 0x05: ["SEND_ONLY_IMM", "request", 4],
    0x06: ["WRITE_FIRST", "request", 16], 0x07: ["WRITE_MIDDLE", "request", 0],
    0x08: ["WRITE_LAST", "request", 0], 0x09: ["WRITE_LAST_IMM", "request", 4],
    0x0a: ["WRITE_ONLY", "request", 16], 0x0b: ["WRITE_ONLY_IMM", "request", 20],
    0x0c: ["READ_REQUEST", "request", 16], 0x0d: ["READ_RESPONSE_FIRST", "response", 4],
    0x0e: ["READ_RESPONSE_MIDDLE", "response", 0], 0x0f: ["READ_RESPONSE_LAST", "response", 4],
    0x10: ["READ_RESPONSE_ONLY", "response", 4], 0x11: ["ACKNOWLEDGE", "response", 4],
    0x12: ["ATOMIC_ACKNOWLEDGE", "response", 12], 0x13: ["COMPARE_SWAP", "request", 28],
    0x14: ["FETCH_ADD", "request", 28], 0x16: ["SEND_LAST_INV", "request", 4],
    0x17: ["SEND_ONLY_INV", "request", 4],
  };
  const services = { 0: "RC", 1: "UC", 3: "UD", 5: "XRC" };
  const service_header_bytes = { 3: 8, 5: 4 }; // DETH, XRCETH
  const has_aeth = new Set([0x0d, 0x0f, 0x10, 0x11, 0x12]);
  /* Those without a service: congestion, and what rnicd tells rnicd of lost packets. */
  const notifications = { 0x81: ["CNP", 16], 0xc0: ["HOLES", 4] };

  /* ---- RoCEv2 ---- */

  function describeOpcode(opcode) {
    if (notifications[opcode])
      return { name: notifications[opcode][0], kind: "notification",
        headerBytes: notifications[opcode][1] };
    const [name, kind, bytes] = operations[opcode & 0x1f] || ["opcode " + opcode, "request", 0];
    const service = services[opcode >> 5] || "?";
    const more = service_header_bytes[opcode >> 5] || 0;
    return { name: service === "RC" ? name : service + " " + name, kind, headerBytes: bytes + more };
  }

  /* What an AETH says: an acknowledgement, or the reason of a NAK. */
  function syndromeText(syndrome) {
    if (syndrome >> 5 === 0)
      return "ACK";
    if (syndrome >> 5 === 1)
      return "RNR NAK";
    const reasons = ["sequence error", "invalid request", "remote access error",
      "remote operational error", "invalid RD request"];
    return "NAK: " + (reasons[syndrome & 0x1f] || "code " + (syndrome & 0x1f));
  }

  function readTransport(view, at, end, addresses) {
    if (end - at < 8 + BTH_BYTES + ICRC_BYTES || view.getUint16(at + 2) !== ROCE_PORT)
      return null;
    const bth = at + 8;
    const opcode = view.getUint8(bth);
    const { name, kind, headerBytes } = describeOpcode(opcode);
    const padding = view.getUint8(bth + 1) >> 4 & 3;
    const aeth = bth + BTH_BYTES + (service_header_bytes[opcode >> 5] || 0);
    const has = has_aeth.has(opcode & 0x1f) && kind === "response" && aeth + 4 <= end;
    const syndrome = has ? view.getUint8(aeth) : null;
    return {
      ...addresses, opcode, kind, syndrome, timeUs: 0, sent: null, comment: "",
      name: syndrome === null || syndrome >> 5 === 0 ? name : syndromeText(syndrome),
      qpn: view.getUint32(bth + 4) & 0xffffff,
      psn: view.getUint32(bth + 8) & 0xffffff,
      payloadBytes: Math.max(0, end - bth - BTH_BYTES - headerBytes - padding - ICRC_BYTES),
    };
  }

  function ipv6Text(view, at) {
    const words = [];
    for (let i = 0; i < 8; i++)
      words.push(view.getUint16(at + 2 * i).toString(16));
    return words.join(":").replace(/(^|:)0(:0)+(:|$)/, "::");
  }

  function ipv4Text(view, at) {
    return [0, 1, 2, 3].map((i) => view.getUint8(at + i)).join(".");
  }

  function readIp(view, at, end) {
    if (end - at < 20)
      return null;
    const version = view.getUint8(at) >> 4;
    if (version === 4 && view.getUint8(at + 9) === 17) {
      const header = (view.getUint8(at) & 15) * 4;
      const whole = Math.min(end, at + view.getUint16(at + 2));
      return readTransport(view, at + header, whole,
        { from: ipv4Text(view, at + 12), to: ipv4Text(view, at + 16) });
    }
    if (version === 6 && end - at >= 40 && view.getUint8(at + 6) === 17)
      return readTransport(view, at + 40, Math.min(end, at + 40 + view.getUint16(at + 4)),
        { from: ipv6Text(view, at + 8), to: ipv6Text(view, at + 24) });
    return null;
  }

  /* LINKTYPE_ number -> bytes before the IP packet. */
  function linkBytes(view, at, end, type) {
    if (type === 1) { // Ethernet, with VLAN tags
      let offset = 12;
      while (at + offset + 4 < end && view.getUint16(at + offset) === 0x8100)
        offset += 4;
      return offset + 2;
    }
    return { 0: 4, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20 }[type];
  }

  function readFrame(view, at, end, linkType) {
    const before = linkBytes(view, at, end, linkType);
    return before === undefined ? null : readIp(view, at + before, end);
  }

  /* ---- files ---- */

  class Damaged extends Error {}

  function need(condition) {
    if (!condition)
      throw new Damaged("the file is damaged, or ends within a packet");
  }

  function* readPcap(view, little, isNanoseconds) {
    need(view.byteLength >= 24);
    const linkType = view.getUint32(20, little) & 0xffff;
    for (let at = 24; at < view.byteLength;) {
      need(at + 16 <= view.byteLength);
      const captured = view.getUint32(at + 8, little);
      need(captured <= view.byteLength - at - 16);
      const timeUs = view.getUint32(at, little) * 1e6 +
        view.getUint32(at + 4, little) / (isNanoseconds ? 1e3 : 1);
      yield { at: at + 16, end: at + 16 + captured, linkType, timeUs, sent: null, comment: "" };
      at += 16 + captured;
    }
  }

  function* readOptions(view, at, end, little) {
    while (at + 4 <= end) {
      const code = view.getUint16(at, little);
      const length = view.getUint16(at + 2, little);
      if (code === 0 || at + 4 + length > end)
        return;
      yield { code, at: at + 4, length };
      at += 4 + (length + 3 & ~3);
    }
  }

  function readInterface(view, at, end, little) {
    const found = { linkType: view.getUint16(at + 8, little), ticksPerUs: 1 };
    for (const option of readOptions(view, at + 16, end - 4, little))
      if (option.code === 9 && option.length === 1) {
        const resolution = view.getUint8(option.at);
        found.ticksPerUs = (resolution & 0x80 ? 2 ** (resolution & 0x7f) : 10 ** resolution) / 1e6;
      }
    return found;
  }

  function readEnhancedPacket(view, at, end, little, interfaces) {
    need(end - at >= 32);
    const from = interfaces[view.getUint32(at + 8, little)];
    const captured = view.getUint32(at + 20, little);
    need(from && captured <= end - at - 32);
    const ticks = view.getUint32(at + 12, little) * 2 ** 32 + view.getUint32(at + 16, little);
    const frame = { at: at + 28, end: at + 28 + captured, linkType: from.linkType,
      timeUs: ticks / from.ticksPerUs, sent: null, comment: "" };
    for (const option of readOptions(view, at + 28 + (captured + 3 & ~3), end - 4, little)) {
      const bytes = new Uint8Array(view.buffer, view.byteOffset + option.at, option.length);
      if (option.code === 1)
        frame.comment = new TextDecoder().decode(bytes);
      else if (option.code === 2 && option.length === 4)
        frame.sent = { 1: false, 2: true }[view.getUint32(option.at, little) & 3] ?? null;
    }
    return frame;
  }

  function* readPcapng(view) {
    let little = true;
    let interfaces = [];
    for (let at = 0; at < view.byteLength;) {
      need(at + 12 <= view.byteLength);
      const type = view.getUint32(at, little);
      if (type === 0x0a0d0d0a) {
        little = view.getUint32(at + 8, true) === 0x1a2b3c4d;
        interfaces = [];
      }
      const length = view.getUint32(at + 4, little);
      need(length >= 12 && length % 4 === 0 && length <= view.byteLength - at);
      if (type === 1 && length >= 20)
        interfaces.push(readInterface(view, at, at + length, little));
      else if (type === 6)
        yield readEnhancedPacket(view, at, at + length, little, interfaces);
      at += length;
    }
  }

  function framesOf(view) {
    need(view.byteLength >= 4);
    const magic = view.getUint32(0, true);
    switch (magic) {
    case 0x0a0d0d0a: return readPcapng(view);
    case 0xa1b2c3d4: return readPcap(view, true, false);
    case 0xa1b23c4d: return readPcap(view, true, true);
    case 0xd4c3b2a1: return readPcap(view, false, false);
    case 0x4d3cb2a1: return readPcap(view, false, true);
    default: throw new Damaged("this is no capture: pcap and pcapng can be read");
    }
  }

  /*
   * Returns {packets, others, problem}: the RoCEv2 packets, the count of other frames, and a
   * sentence where the file could not be read to its end, else "".
   */
  function read(buffer) {
    const view = new DataView(buffer);
    const result = { packets: [], others: 0, problem: "" };
    try {
      for (const frame of framesOf(view)) {
        const packet = readFrame(view, frame.at, frame.end, frame.linkType);
        if (!packet) {
          result.others++;
          continue;
        }
        if (result.packets.length === PACKETS_MAX) {
          result.problem = `only the first ${PACKETS_MAX} packets are shown`;
          break;
        }
        packet.timeUs = frame.timeUs;
        packet.sent = frame.sent;
        packet.comment = frame.comment;
        result.packets.push(packet);
      }
    } catch (error) {
      if (!(error instanceof Damaged) && !(error instanceof RangeError))
        throw error;
      result.problem = error instanceof Damaged ? error.message
        : "the file is damaged, or ends within a packet";
    }
    return result;
  }

  return { read, syndromeText };
})();

if (typeof module !== "undefined")
  module.exports = captureReader;

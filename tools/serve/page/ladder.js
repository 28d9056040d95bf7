/* SPDX-License-Identifier: MIT */
/*
 * Makes ladders from the packets of captures: which two queue pairs talk, which records of both
 * hosts are one packet, what got lost, and what went wrong first.
 */
"use strict";

const ladderMaker = (() => {
  const PSN_SPAN = 1 << 24;

  /* How far `psn` is behind `other`, modulo 2^24: negative when it is ahead. */
  function psnDistance(psn, other) {
    const distance = (psn - other + PSN_SPAN) % PSN_SPAN;
    return distance >= PSN_SPAN / 2 ? distance - PSN_SPAN : distance;
  }

  const flowOf = (packet) => `${packet.from}>${packet.to}/${packet.qpn}`;
  const wayOf = (packet) => `${packet.from}>${packet.to}`;
  const wayBack = (packet) => `${packet.to}>${packet.from}`;

  /*
   * Packets name the queue pair at their destination alone. An answer has the PSN of a request of
   * the other direction: each such pair of packets votes for its pair of flows.
   */
  function pairFlows(packets) {
    const requests = new Map(); // way and PSN -> flow of the latest request
    const votes = new Map();
    for (const packet of packets) {
      if (packet.kind === "request") {
        requests.set(`${wayOf(packet)} ${packet.psn}`, flowOf(packet));
        continue;
      }
      const asked = requests.get(`${wayBack(packet)} ${packet.psn}`);
      if (!asked)
        continue;
      const flow = flowOf(packet);
      const counts = votes.get(flow) || votes.set(flow, new Map()).get(flow);
      counts.set(asked, (counts.get(asked) || 0) + 1);
    }
    const pairs = new Map();
    for (const [flow, counts] of votes)
      pairs.set(flow, [...counts].reduce((a, b) => (b[1] > a[1] ? b : a))[0]);
    return pairs;
  }

  /* ---- one packet, two records ---- */

  const recordKey = (packet) => `${flowOf(packet)} ${packet.psn} ${packet.opcode} ${packet.syndrome}`;

  function groupBy(packets, keyOf) {
    const groups = new Map();
    for (const packet of packets) {
      const key = keyOf(packet);
      const group = groups.get(key);
      if (group)
        group.push(packet);
      else
        groups.set(key, [packet]);
    }
    return groups;
  }

  /*
   * How far the receiver's clock is ahead of the sender's, with the shortest time on the way, by
   * the packets that each saw once. Clocks of two hosts need not agree.
   */
  function clockOffset(groups) {
    const offsets = [];
    for (const group of groups.values()) {
      const sent = group.filter((packet) => packet.sent === true);
      const received = group.filter((packet) => packet.sent === false);
      if (sent.length === 1 && received.length === 1)
        offsets.push(received[0].timeUs - sent[0].timeUs);
    }
    return offsets.length > 0 ? offsets.reduce((a, b) => Math.min(a, b)) : 0;
  }

  /* The latest sending that can have arrived by then: earlier ones of the same PSN got lost. */
  function matchReceipt(sendings, receipt, offset) {
    const roundingUs = 1; // of times as floating-point numbers
    const free = sendings.filter((event) => event.receivedUs === null);
    const possible = free.filter((event) => event.timeUs + offset <= receipt.timeUs + roundingUs);
    return possible[possible.length - 1] ?? free[0] ?? null;
  }

  function eventOf(packet, offset) {
    return { packet, timeUs: packet.sent === false ? packet.timeUs - offset : packet.timeUs,
      receivedUs: packet.sent === false ? packet.timeUs - offset : null, isLost: false, mark: "",
      comments: packet.comment ? [packet.comment] : [] };
  }

  /* The events of one direction: each packet once, with the times at both ends. */
  function mergeWay(packets) {
    const groups = groupBy(packets, recordKey);
    const offset = clockOffset(groups);
    const hasReceiver = packets.some((packet) => packet.sent === false);
    const events = [];
    for (const group of groups.values()) {
      const sendings = group.filter((packet) => packet.sent !== false)
        .map((packet) => eventOf(packet, 0));
      events.push(...sendings);
      for (const receipt of group.filter((packet) => packet.sent === false)) {
        const sending = matchReceipt(sendings, receipt, offset);
        if (!sending) {
          events.push(eventOf(receipt, offset));
          continue;
        }
        sending.receivedUs = receipt.timeUs - offset;
        if (receipt.comment)
          sending.comments.push(receipt.comment);
      }
    }
    for (const event of events)
      event.isLost = hasReceiver && event.packet.sent === true && event.receivedUs === null;
    return events;
  }

  /* ---- what went wrong ---- */

  const READ_REQUEST = 0x0c; // takes as many PSNs as it has answers

  function markOfRequest(packet, flow) {
    const isOrdered = packet.opcode >> 5 !== 3; // UD has an order of its own
    const ahead = flow.highest === null ? 1 : psnDistance(packet.psn, flow.highest);
    const mark = flow.seen.has(packet.psn) ? "again"
      : isOrdered && ahead > 1 && !flow.endsWithRead ? "gap" : "";
    flow.seen.add(packet.psn);
    if (ahead > 0) {
      flow.highest = packet.psn;
      flow.endsWithRead = (packet.opcode & 0x1f) === READ_REQUEST;
    }
    return isOrdered ? mark : "";
  }

  /* Says of each packet what is not as usual with it; "" for most. */
  function markEvents(events) {
    const flows = new Map();
    for (const event of events) {
      const { packet } = event;
      const name = flowOf(packet);
      if (!flows.has(name))
        flows.set(name, { highest: null, endsWithRead: false, seen: new Set() });
      if (packet.syndrome !== null && packet.syndrome >> 5 !== 0)
        event.mark = packet.syndrome >> 5 === 1 ? "rnr" : "nak";
      else if (packet.kind === "request")
        event.mark = markOfRequest(packet, flows.get(name));
      else if (packet.name === "CNP")
        event.mark = "cnp";
      if (event.isLost && event.mark !== "again")
        event.mark = "lost";
    }
  }

  const sentences = {
    lost: (p) => `PSN ${p.psn} (${p.name}) left ${p.from} and did not arrive at ${p.to}`,
    gap: (p) => `packets before PSN ${p.psn} are missing: they were lost before ${p.from} sent, ` +
      "or before this capture saw them",
    again: (p) => `${p.from} sent PSN ${p.psn} again: no acknowledgement had come in time`,
    rnr: (p) => `${p.from} had no receive posted for PSN ${p.psn} (RNR NAK)`,
    nak: (p) => `${p.from} refused PSN ${p.psn}: ${p.name}`,
    cnp: (p) => `${p.from} reports congestion`,
  };

  /* What a mark means, as a sentence. */
  const explain = (event) => (event.mark ? sentences[event.mark](event.packet) : "");

  /* ---- ladders ---- */

  /*
   * Returns the conversations of `packets`, the longest first: {id, title, left, right, flows,
   * count}, where left and right are addresses.
   */
  function conversations(packets) {
    const pairs = pairFlows(packets);
    const found = new Map();
    for (const [name, group] of groupBy(packets, flowOf)) {
      const other = pairs.get(name);
      const id = [name, other].filter(Boolean).sort().join(" and ");
      const known = found.get(id) ||
        { id, left: group[0].from, right: group[0].to, flows: new Set(), count: 0 };
      known.flows.add(name);
      known.count += group.length;
      found.set(id, known);
    }
    return joinOneWay([...found.values()]).sort((a, b) => b.count - a.count)
      .map((one) => ({ ...one, title: titleOf(one) }));
  }

  /* A flow without answers of its own that another flow is paired with belongs to that pair. */
  function joinOneWay(list) {
    const pairs = list.filter((one) => one.id.includes(" and "));
    return list.filter((one) => {
      const pair = !one.id.includes(" and ") && pairs.find((two) => two.id.includes(one.id));
      if (!pair)
        return true;
      for (const flow of one.flows)
        pair.flows.add(flow);
      pair.count += one.count;
      return false;
    });
  }

  function titleOf(one) {
    const ends = new Map([[one.left, "?"], [one.right, "?"]]);
    for (const flow of one.flows) {
      const [way, qpn] = flow.split("/");
      ends.set(way.split(">")[1], "0x" + Number(qpn).toString(16).padStart(6, "0"));
    }
    return `${one.left} ${ends.get(one.left)} and ${one.right} ${ends.get(one.right)}`;
  }

  /*
   * How the page draws an event: {label, from, to, kind, isLost, isAnswer, title}. `from` and `to`
   * are "left" or "right", `to` is null for what happens at one end; `title` are sentences.
   */
  function describe(event, left) {
    const { packet } = event;
    const bytes = packet.payloadBytes > 0 ? `, ${packet.payloadBytes} bytes` : "";
    const [from, to] = packet.from === left ? ["left", "right"] : ["right", "left"];
    return { label: `PSN ${packet.psn} ${packet.name}`, from, to, kind: packet.kind,
      isLost: event.isLost, isAnswer: packet.kind !== "request",
      title: [`${packet.name}${bytes}`, explain(event), ...event.comments].filter(Boolean) };
  }

  /*
   * Returns {left, right, events, first, describe, explain, remark}: `first` is the index of the
   * first cause, or -1, and `remark` a sentence on the whole, or "".
   */
  function make(packets, conversation) {
    const own = packets.filter((packet) => conversation.flows.has(flowOf(packet)));
    const events = [];
    for (const group of groupBy(own, wayOf).values())
      events.push(...mergeWay(group));
    events.sort((a, b) => a.timeUs - b.timeUs);
    markEvents(events);
    return { left: conversation.left, right: conversation.right, events, remark: "", explain,
      describe: (event) => describe(event, conversation.left),
      first: events.findIndex((event) => event.mark !== "" && event.mark !== "cnp") };
  }

  return { conversations, make };
})();

if (typeof module !== "undefined")
  module.exports = ladderMaker;

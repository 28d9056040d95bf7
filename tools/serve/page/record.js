/* SPDX-License-Identifier: MIT */
/*
 * Makes ladders from files of `rnicctl record save`: what the flight recorders of one or both hosts
 * have of a connection. Ordinary packets leave no entry there, so a step is an entry, not a packet.
 * The file may hold anything: every member that is used is checked. rnicctl(1) describes the file,
 * proto/base/record.h the entries, and explain_qp.c says the same first cause, and why.
 */
"use strict";

const recordMaker = (() => {
  const FORMAT = "rnic-record";
  const VERSION = 1;
  const ROWS_MAX = 400000;

  /* enum rnic_record_event */
  const TROUBLE = 5, DROPPED = 6, NAK_SENT = 7, NAK_RECEIVED = 8, TIMED_OUT = 9, SENT_AGAIN = 10,
    SEND_FAILED = 11, RECEIVE_FAILED = 12, CONNECTED = 13, QP_TOOK = 14, QP_ENDED = 15,
    REGION_ENDED = 16, LINK = 17, ADDRESS = 18, PROGRAM_ENDED = 20;
  /* enum rnic_cause */
  const RETRY_EXCEEDED = 0x81, RNR_RETRY_EXCEEDED = 0x82, REMOTE_ACCESS = 0x88,
    REMOTE_OPERATIONAL = 0x89, REMOTE_INVALID_REQUEST = 0x8a, FLUSHED = 0xf0;
  /* What a NAK said: the peer knows why. */
  const WORDS_OF_PEER = new Set([RNR_RETRY_EXCEEDED, REMOTE_ACCESS, REMOTE_OPERATIONAL,
    REMOTE_INVALID_REQUEST]);
  const SQE = 5, ERR = 6; // enum rnic_qp_state
  /* Two hosts are connected at about the same time; a daemon takes so long to answer. */
  const SLACK_OF_CONNECTION_US = 200000;
  const SLACK_OF_QUESTION_US = 20000;

  const numbers = ["age_us", "event", "detail", "extra", "psn", "value", "qpn", "peer_qpn", "pid"];
  const hex = (qpn) => "0x" + qpn.toString(16).padStart(6, "0");

  /* ---- files ---- */

  /* The words are for people: a file without them is shown, too. */
  function rowOf(row) {
    if (numbers.some((key) => !Number.isSafeInteger(row?.[key]) || row[key] < 0))
      return null;
    const text = typeof row.text === "string" ? row.text : `event ${row.event}, PSN ${row.psn}`;
    const program = typeof row.program === "string" ? row.program : "";
    return { ...Object.fromEntries(numbers.map((key) => [key, row[key]])), text, program };
  }

  const isRecord = (bytes) => bytes.length > 0 && bytes[0] === "{".charCodeAt(0);

  /* Returns {name, bootId, takenUs, rows, problem}; with a problem, a sentence, rows is empty. */
  function read(buffer, name) {
    const none = { name, bootId: "", takenUs: 0, rows: [] };
    let file;
    try {
      file = JSON.parse(new TextDecoder().decode(buffer));
    } catch {
      return { ...none, problem: "the record is damaged, or was cut off" };
    }
    if (file.format !== FORMAT || file.version !== VERSION)
      return { ...none, problem: "this is no file of rnicctl record save, or of a later version" };
    const rows = Array.isArray(file.record) && file.record.length <= ROWS_MAX
      ? file.record.map(rowOf) : [null];
    if (rows.includes(null) || !Number.isSafeInteger(file.taken_us) ||
        typeof file.boot_id !== "string")
      return { ...none, problem: "rows of the record are missing or damaged" };
    return { name, bootId: file.boot_id, takenUs: file.taken_us, rows, problem: "" };
  }

  /* ---- the ends of connections ---- */

  const latest = (rows) => rows.reduce((a, b) => (a && a.age_us < b.age_us ? a : b), null);
  const qpnOf = (row) => ([CONNECTED, QP_TOOK, QP_ENDED].includes(row.event) ? row.psn : row.qpn);

  function groupBy(items, keyOf) {
    const groups = new Map();
    for (const item of items) {
      const key = keyOf(item);
      const group = groups.get(key);
      if (group)
        group.push(item);
      else
        groups.set(key, [item]);
    }
    return groups;
  }

  /* Where nothing tells of the connection, `connected` is null, and all is of this one. */
  function endOf(source, qpn, rows) {
    const connected = latest(rows.filter((row) => row.event === CONNECTED));
    const own = rows.filter((row) => row.qpn === qpn &&
      (!connected || row.age_us <= connected.age_us));
    const ended = latest(rows.filter((row) => row.event === QP_ENDED));
    return { source, qpn, connected, own, ended,
      peerQpn: connected?.value || own[0]?.peer_qpn || ended?.value || 0,
      program: own.find((row) => row.program)?.program ?? "" };
  }

  function endsOf(source) {
    return [...groupBy(source.rows, qpnOf)].filter(([qpn]) => qpn !== 0)
      .map(([qpn, rows]) => endOf(source, qpn, rows));
  }

  const isFailure = (row) => row.event === TROUBLE && (row.extra === ERR || row.extra === SQE);
  const nameOf = ({ qpn, program, source }) =>
    `${hex(qpn)}${program ? ` of ${program}` : ""} in ${source.name}`;

  /*
   * Returns the connections of files that read() took: {title, failedUs, count, ends}: first the
   * one that failed last. `ends` are one or two, `count` is of entries.
   */
  function conversations(sources) {
    const ends = sources.flatMap(endsOf);
    const byQpn = groupBy(ends, (end) => end.qpn);
    const paired = new Set();
    const found = [];
    for (const end of ends) {
      if (paired.has(end))
        continue;
      const peer = byQpn.get(end.peerQpn)?.find((other) => other !== end && !paired.has(other) &&
        [0, end.qpn].includes(other.peerQpn));
      const both = peer ? [end, peer] : [end];
      both.forEach((one) => paired.add(one));
      const failures = both.flatMap((one) => one.own.filter(isFailure));
      found.push({ ends: both, failedUs: latest(failures)?.age_us ?? Infinity,
        count: both.reduce((sum, one) => sum + one.own.length, 0),
        title: peer ? `${nameOf(end)} and ${nameOf(peer)}`
          : `${nameOf(end)}, without its peer ${hex(end.peerQpn)}` });
    }
    return found.sort((a, b) => a.failedUs - b.failedUs || b.count - a.count);
  }

  /* ---- one time for both ---- */

  /* {shiftUs, slackUs}: from the ages of `other` to those of `end`; null: nothing is known. */
  function alignAges(end, other) {
    if (end.source === other.source)
      return { shiftUs: 0, slackUs: 0 };
    if (end.source.bootId !== "" && end.source.bootId === other.source.bootId)
      return { shiftUs: end.source.takenUs - other.source.takenUs, slackUs: SLACK_OF_QUESTION_US };
    if (end.connected && other.connected)
      return { shiftUs: end.connected.age_us - other.connected.age_us,
        slackUs: SLACK_OF_CONNECTION_US };
    return null;
  }

  /* ---- entries ---- */

  /* Those of the device that can explain what the queue pair met. */
  function deviceRows(end) {
    const keys = new Set(end.own.filter((row) => row.event === TROUBLE).map((row) => row.value));
    const isOwn = (row) => row.event === LINK || row.event === PROGRAM_ENDED ||
      row.event === ADDRESS && row.extra === end.connected.extra ||
      row.event === REGION_ENDED && keys.has(row.value);
    const rows = !end.connected ? [] : end.source.rows.filter((row) => isOwn(row) &&
      row.pid === end.connected.pid && row.age_us <= end.connected.age_us);
    return [...rows, end.connected, end.ended].filter(Boolean);
  }

  function markOf(row) {
    switch (row.event) {
    case NAK_SENT:
    case NAK_RECEIVED: return row.detail >> 5 === 1 ? "rnr" : "nak";
    case DROPPED: return "dropped";
    case TIMED_OUT: return "silence";
    case SENT_AGAIN: return "again";
    case TROUBLE: return isFailure(row) ? "failed" : "dropped";
    case SEND_FAILED:
    case RECEIVE_FAILED: return "failed";
    case QP_ENDED:
    case REGION_ENDED:
    case PROGRAM_ENDED: return "ended";
    case LINK:
    case ADDRESS: return row.detail === 0 ? "down" : "";
    default: return "";
    }
  }

  /* A NAK that both ends recorded is one step; entries of one moment stay in their order. */
  function eventsOf(ends, alignment) {
    const events = ends.flatMap((end, side) => [...deviceRows(end), ...end.own].map((row) =>
      ({ row, side, mark: markOf(row),
        timeUs: -row.age_us - (side === 1 ? alignment.shiftUs : 0) })));
    events.sort((a, b) => a.timeUs - b.timeUs);
    const sent = groupBy(events.filter((event) => event.row.event === NAK_SENT),
      ({ row, side }) => `${side} ${row.psn} ${row.detail}`);
    return events.filter(({ row, side }) => row.event !== NAK_RECEIVED ||
      !sent.get(`${1 - side} ${row.psn} ${row.detail}`)?.pop());
  }

  /* ---- the first cause, by the rules of explain_qp.c ---- */

  /* Of the end that waited for an answer, or got a NAK; else of the end that failed first. */
  function errorOf(events) {
    const errors = events.filter((event) => isFailure(event.row) && event.row.detail !== FLUSHED);
    return errors.find((event) => event.row.detail === RETRY_EXCEEDED) ??
      errors.find((event) => WORDS_OF_PEER.has(event.row.detail)) ?? errors[0];
  }

  /* The silence that led to the error began with the first time-out in a row. */
  function beginOf(error, events) {
    if (error.row.detail !== RETRY_EXCEEDED)
      return error;
    const before = events.slice(0, events.indexOf(error)).filter((event) =>
      event.side === error.side && event.row.event === TIMED_OUT);
    return before.findLast((event) => event.row.extra <= 1) ?? before[0] ?? error;
  }

  /* When link and address of each end came last before the silence: what was down before is not. */
  function comebacksOf(events, limitUs) {
    const times = new Map();
    for (const { row, side, timeUs } of events)
      if ((row.event === LINK || row.event === ADDRESS) && row.detail === 1 && timeUs <= limitUs)
        times.set(`${side} ${row.event}`, timeUs);
    return times;
  }

  function isLead(event, error, comebacks) {
    switch (event.mark) {
    case "down":
      return error.row.detail === RETRY_EXCEEDED &&
        !(comebacks.get(`${event.side} ${event.row.event}`) >= event.timeUs);
    case "ended":
      return event.row.event === REGION_ENDED ||
        event.side !== error.side && error.row.detail === RETRY_EXCEEDED;
    case "failed":
    case "dropped": // such as a first PSN that does not fit, which is no error of the peer's
      return event.side !== error.side && event.row.event === TROUBLE &&
        event.row.detail !== RETRY_EXCEEDED;
    default:
      return false;
    }
  }

  /* The index of the first cause; -1: nothing went wrong. */
  function firstCause(events, slackUs) {
    const error = errorOf(events);
    if (!error)
      return events.findIndex((event) => !["", "ended"].includes(event.mark));
    const begin = beginOf(error, events);
    const comebacks = comebacksOf(events, begin.timeUs);
    const first = events.findIndex((event) => isLead(event, error, comebacks) &&
      event.timeUs <= begin.timeUs + (event.side === error.side ? 0 : slackUs));
    return first >= 0 ? first : events.indexOf(begin);
  }

  /* ---- ladders ---- */

  /* As ladder.js has it. Entries about packets of the other end come from there. */
  function describe(event) {
    const { row, side } = event;
    const sides = ["left", "right"];
    const own = sides[side];
    const far = sides[1 - side];
    const [from, to] = { [NAK_SENT]: [own, far], [NAK_RECEIVED]: [far, own],
      [SENT_AGAIN]: [own, far], [DROPPED]: [far, own] }[row.event] ?? [own, null];
    const kind = event.mark === "" ? "note" : "entry";
    return { label: row.text, from, to, kind, isLost: row.event === DROPPED,
      isAnswer: row.event === NAK_SENT || row.event === NAK_RECEIVED,
      title: [`${own}: ${row.text}`] };
  }

  /* Returns what ladderMaker.make() returns. */
  function make({ ends }) {
    const alignment = ends.length === 2 ? alignAges(...ends) : { shiftUs: 0, slackUs: 0 };
    const events = eventsOf(ends, alignment ?? { shiftUs: 0 });
    const first = firstCause(events, alignment?.slackUs ?? 0);
    return { left: nameOf(ends[0]), right: ends[1] ? nameOf(ends[1]) : hex(ends[0].peerQpn), events,
      first, describe, explain: (event) => `${nameOf(ends[event.side])}: ${event.row.text}`,
      remark: alignment ? "" : "The clocks of the two hosts could not be compared, so the order " +
        "of the two ends is a guess." };
  }

  return { isRecord, read, conversations, make };
})();

if (typeof module !== "undefined")
  module.exports = recordMaker;

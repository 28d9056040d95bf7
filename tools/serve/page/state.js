/* SPDX-License-Identifier: MIT */
/*
 * What the page shows of the state document: the rows of each view with their rates, and who talks
 * with whom. The columns are those of rnicctl top.
 */
"use strict";

const stateReader = (() => {
  const number = (key, heading, width) => ({ key, heading, width, isNumber: true });
  const text = (key, heading, width) => ({ key, heading, width, isNumber: false });

  /* Widths are in characters. */
  const views = {
    clients: [text("device", "Device", 12), number("client", "Client", 8), number("pid", "PID", 9),
      number("uid", "UID", 9), text("program", "Program", 20), number("qps", "QPs", 7),
      number("mrs", "MRs", 7), number("registered_bytes", "Registered", 14),
      number("tx", "TX Mbit/s", 11), number("rx", "RX Mbit/s", 11),
      number("done", "Done/s", 10), number("resent", "Resent/s", 10)],
    qps: [text("device", "Device", 12), text("number", "QPN", 10), text("type", "Type", 8),
      text("state", "State", 8), text("peer_gid", "Peer", 18), text("peer_number", "Peer QPN", 11),
      number("tx", "TX Mbit/s", 11), number("rx", "RX Mbit/s", 11), number("done", "Done/s", 10),
      number("packets_in_flight", "In flight", 11), number("send_posted", "Sends", 8),
      number("recv_posted", "Recvs", 8), number("retransmitted_packets", "Resent", 9),
      number("timeouts", "Timeouts", 10), number("rnr_naks_received", "RNR", 7),
      text("program", "Program", 20)],
    paths: [text("device", "Device", 12), text("peer_gid", "Peer", 40), number("qps", "QPs", 7),
      number("least_round_trip_us", "Least us", 10),
      number("smoothed_round_trip_us", "Smoothed us", 13),
      number("rate_mbit_per_s", "Mbit/s", 10), number("window_bytes", "Window", 12),
      number("in_flight_bytes", "In flight", 12), text("limit", "Limit", 12),
      text("program", "Program", 20)],
    faults: [text("device", "Device", 12), number("rule", "Rule", 7), number("hits", "Hits", 12),
      number("uid", "UID", 9), text("packets", "Packets", 9), text("text", "Text", 80)],
    troubles: [text("device", "Device", 12), number("age_ms", "ms ago", 11),
      number("pid", "PID", 9), text("program", "Program", 20), text("cause", "Cause", 20),
      text("subject", "What", 26), text("reason", "Why", 120)],
  };

  const hex = (value) => "0x" + value.toString(16).padStart(6, "0");

  /* Devices of several hosts may have one name: they are numbered as on the command line. */
  function nameOf(device, state) {
    const name = device.device?.name ?? device.socket;
    const equal = state.devices.filter((other) => (other.device?.name ?? other.socket) === name);
    return equal.length > 1 ? `${name} (${equal.indexOf(device) + 1})` : name;
  }

  const identityOf = (device, row) => `${device.socket} ${row.client} ${row.qpn}`;

  /* A count that is smaller than before began anew. */
  function growth(now, before, key, seconds) {
    const from = before && before[key] <= now[key] ? before[key] : 0;
    return (now[key] - from) / seconds;
  }

  function ratesOf(row, before, seconds) {
    const megabits = 8e-6;
    return { tx: growth(row, before, "sent_bytes", seconds) * megabits,
      rx: growth(row, before, "received_bytes", seconds) * megabits,
      done: growth(row, before, "completions", seconds),
      resent: growth(row, before, "retransmitted_packets", seconds) };
  }

  const none = { tx: 0, rx: 0, done: 0, resent: 0 };
  const sum = (a, b) => Object.fromEntries(Object.keys(none).map((key) => [key, a[key] + b[key]]));

  function qpRows(state, before) {
    const old = new Map();
    const times = new Map();
    for (const device of before?.devices ?? []) {
      times.set(device.socket, device.time_ms);
      for (const row of device.qps ?? [])
        old.set(identityOf(device, row), row);
    }
    const rows = [];
    for (const device of state.devices) {
      const programs = new Map((device.clients ?? []).map((row) => [row.client, row.program]));
      const seconds = (device.time_ms - times.get(device.socket)) / 1000; // or no number
      const name = nameOf(device, state);
      for (const row of device.qps ?? []) {
        const identity = identityOf(device, row);
        rows.push({ ...row, device: name, identity, program: programs.get(row.client),
          number: hex(row.qpn), peer_number: hex(row.peer_qpn),
          ...(seconds > 0 ? ratesOf(row, old.get(identity), seconds) : none) });
      }
    }
    return rows;
  }

  function clientRows(state, qps) {
    const rates = new Map();
    for (const row of qps) {
      const key = `${row.device} ${row.client}`;
      rates.set(key, sum(rates.get(key) ?? none, row));
    }
    return state.devices.flatMap((device) => (device.clients ?? []).map((row) => {
      const name = nameOf(device, state);
      const key = `${name} ${row.client}`;
      return { ...row, device: name, identity: key, ...(rates.get(key) ?? none) };
    }));
  }

  function otherRows(state, view) {
    return state.devices.flatMap((device) => {
      const programs = new Map((device.clients ?? []).map((row) => [row.client, row.program]));
      return (device[view] ?? []).map((row, i) => ({
        program: programs.get(row.client), ...row, device: nameOf(device, state),
        identity: `${device.socket} ${row.rule ?? i}` }));
    });
  }

  /* All rows of each view. `before` is an older document, or null: then all rates are 0. */
  function rowsOf(state, before) {
    const qps = qpRows(state, before);
    return { qps, clients: clientRows(state, qps), paths: otherRows(state, "paths"),
      faults: otherRows(state, "faults"), troubles: otherRows(state, "troubles") };
  }

  /* Who talks with whom: [{device, peer, qps, tx, rx}], the busiest first. */
  function pairsOf(rows) {
    const pairs = new Map();
    for (const row of rows.qps) {
      if (row.peer_gid === "-")
        continue;
      const key = `${row.device} ${row.peer_gid}`;
      const pair = pairs.get(key) ?? { device: row.device, peer: row.peer_gid, qps: 0, tx: 0, rx: 0 };
      pairs.set(key, { ...pair, qps: pair.qps + 1, tx: pair.tx + row.tx, rx: pair.rx + row.rx });
    }
    return [...pairs.values()].sort((a, b) => b.tx + b.rx - a.tx - a.rx);
  }

  /* The sentences of a row, as rnicctl show has them below it. */
  function sentencesOf(row) {
    return [["waiting for", row.waiting_for], ["last error", row.last_error],
      ["timeout", row.timeout]].filter(([, words]) => words)
      .map(([name, words]) => `${name}: ${words}`).join(". ");
  }

  function compareRows(column, isReversed) {
    const order = column.isNumber
      ? (a, b) => (b[column.key] ?? 0) - (a[column.key] ?? 0)
      : (a, b) => String(a[column.key] ?? "").localeCompare(String(b[column.key] ?? ""));
    return isReversed ? (a, b) => -order(a, b) : order;
  }

  function cellText(row, column) {
    const value = row[column.key];
    if (!column.isNumber || typeof value !== "number")
      return String(value ?? "");
    return Number.isInteger(value) || value >= 100 ? String(Math.round(value)) : value.toFixed(1);
  }

  return { views, nameOf, rowsOf, pairsOf, sentencesOf, compareRows, cellText };
})();

if (typeof module !== "undefined")
  module.exports = stateReader;

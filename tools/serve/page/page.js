/* SPDX-License-Identifier: MIT */
/*
 * The page: tabs, tables, the picture and the ladder. What comes from daemons and captures becomes
 * text, never markup. Tables and ladders hold the rows that are on the screen alone.
 */
"use strict";

(() => {
  const ROW_PX = 24;
  const STEP_PX = 26;
  const PERIOD_MS = 1000;
  const ROWS_AROUND = 10; // drawn above and below what is on the screen

  const tabs = ["map", "clients", "qps", "paths", "faults", "troubles", "ladder"];
  const titles = { map: "Devices and peers", clients: "Clients", qps: "Queue pairs",
    paths: "Paths", faults: "Faults", troubles: "Troubles", ladder: "Packets" };
  const byId = (id) => document.getElementById(id);
  const isServed = location.protocol !== "file:";

  const page = { tab: "map", now: null, before: null, rows: null, shown: [], order: {}, chosen: null,
    head: null, headKey: "", conversations: [], ladder: null, step: -1 };

  function element(name, classes, text) {
    const made = document.createElement(name);
    made.className = classes;
    if (text !== undefined)
      made.textContent = text;
    return made;
  }

  function svgElement(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes))
      made.setAttribute(key, value);
    if (text !== undefined)
      made.textContent = text;
    return made;
  }

  /* ---- a list of which only a part is drawn ---- */

  /* `draw(i)` makes the element of row i; its place is set here. */
  function drawPart(box, count, rowPx, head, draw) {
    const spacer = element("div", "spacer");
    spacer.style.height = `${count * rowPx}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / rowPx) - ROWS_AROUND);
    const last = Math.min(count, Math.ceil((box.scrollTop + box.clientHeight) / rowPx) + ROWS_AROUND);
    for (let i = first; i < last; i++) {
      const row = draw(i);
      row.style.top = `${i * rowPx}px`;
      spacer.append(row);
    }
    const top = box.scrollTop;
    const left = box.scrollLeft;
    if (head && box.firstChild !== head || !box.lastChild) // else the focus would leave the head
      box.replaceChildren(...[head].filter(Boolean), spacer);
    else
      box.lastChild.replaceWith(spacer);
    box.scrollTop = top;
    box.scrollLeft = left;
  }

  function showRow(box, index, rowPx) {
    const above = index * rowPx;
    const room = box.clientHeight - 2 * rowPx; // the heading, and a horizontal scroll bar
    if (above < box.scrollTop)
      box.scrollTop = above;
    else if (above > box.scrollTop + room)
      box.scrollTop = above - room;
  }

  /* ---- tables ---- */

  const orderOf = (view) => page.order[view] ?? { column: 0, isReversed: false };

  function sortBy(view, column) {
    const order = orderOf(view);
    page.order[view] = { column, isReversed: order.column === column && !order.isReversed };
    drawTable();
    document.querySelectorAll("#table .head button")[column].focus();
  }

  /* The same element until the view or the order changes. */
  function headOf(view) {
    const key = JSON.stringify([view, orderOf(view)]);
    if (page.headKey !== key) {
      page.headKey = key;
      page.head = makeHead(view);
    }
    return page.head;
  }

  function makeHead(view) {
    const head = element("div", "head");
    head.style.display = "flex";
    head.setAttribute("role", "row");
    const order = orderOf(view);
    stateReader.views[view].forEach((column, i) => {
      const arrow = i !== order.column ? "" : order.isReversed ? " \u25b2" : " \u25bc";
      const button = element("button", column.isNumber ? "number" : "", column.heading + arrow);
      button.type = "button";
      button.style.width = `${column.width + 2}ch`;
      button.addEventListener("click", () => sortBy(view, i));
      head.append(button);
    });
    return head;
  }

  function rowElement(view, row) {
    const made = element("div", row.identity === page.chosen ? "row chosen" : "row");
    made.setAttribute("role", "row");
    made.setAttribute("aria-selected", row.identity === page.chosen);
    for (const column of stateReader.views[view]) {
      const cell = element("span", column.isNumber ? "number" : "",
        stateReader.cellText(row, column));
      cell.style.width = `${column.width + 2}ch`;
      cell.setAttribute("role", "gridcell");
      made.append(cell);
    }
    made.addEventListener("click", () => choose(row.identity));
    return made;
  }

  function fits(row, words) {
    return words === "" || Object.values(row).some((value) => String(value).includes(words));
  }

  function drawTable() {
    const view = page.tab;
    if (!stateReader.views[view])
      return;
    const order = orderOf(view);
    const column = stateReader.views[view][order.column];
    page.shown = (page.rows?.[view] ?? []).filter((row) => fits(row, byId("filter").value))
      .sort(stateReader.compareRows(column, order.isReversed));
    scrollTable();
    const chosen = page.shown.find((row) => row.identity === page.chosen);
    byId("detail").textContent = chosen ? stateReader.sentencesOf(chosen)
      : `${page.shown.length} rows`;
  }

  function scrollTable() {
    const view = page.tab;
    const box = byId("table");
    box.setAttribute("aria-rowcount", page.shown.length);
    drawPart(box, page.shown.length, ROW_PX, headOf(view),
      (i) => rowElement(view, page.shown[i]));
  }

  function choose(identity) {
    page.chosen = identity;
    drawTable();
  }

  const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -20, PageDown: 20, Home: -Infinity,
    End: Infinity };

  /* The row of `count` that the key leads to from row `at`, or from none (-1); -1: to none. */
  function nextOf(key, at, count) {
    return steps[key] === undefined || count === 0 ? -1
      : Math.min(count - 1, Math.max(0, at + steps[key]));
  }

  function onTableKey(event) {
    const at = page.shown.findIndex((row) => row.identity === page.chosen);
    const next = nextOf(event.key, at, page.shown.length);
    if (event.target !== byId("table") || next < 0)
      return;
    event.preventDefault();
    showRow(byId("table"), next, ROW_PX);
    choose(page.shown[next].identity);
  }

  /* ---- the picture ---- */

  function drawMap() {
    const pairs = stateReader.pairsOf(page.rows ?? { qps: [] }).slice(0, 12);
    const devices = (page.now?.devices ?? []).map((one) => stateReader.nameOf(one, page.now));
    const peers = [...new Set(pairs.map((pair) => pair.peer))];
    const height = 60 * Math.max(devices.length, pairs.length, 1);
    const svg = svgElement("svg", { viewBox: `0 0 900 ${height}`, role: "img" });
    const placeY = (i, count) => (i + 0.5) * height / Math.max(count, 1);
    svg.append(svgElement("title", {}, "Devices at the left, their peers at the right"));
    for (const pair of pairs) {
      const from = placeY(devices.indexOf(pair.device), devices.length);
      const to = placeY(peers.indexOf(pair.peer), peers.length);
      svg.append(svgElement("line", { x1: 200, y1: from, x2: 640, y2: to,
        "stroke-width": 1 + Math.log10(1 + pair.tx + pair.rx) }));
      svg.append(svgElement("text", { x: 400, y: (from + 3 * to) / 4 - 6, "text-anchor": "middle" },
        `${pair.qps} QPs, ${pair.tx.toFixed(0)} \u2192 ${pair.rx.toFixed(0)} \u2190 Mbit/s`));
    }
    devices.forEach((name, i) => drawEnd(svg, 10, placeY(i, devices.length), name));
    peers.forEach((name, i) => drawEnd(svg, 640, placeY(i, peers.length), name));
    byId("picture").replaceChildren(svg);
  }

  function drawEnd(svg, x, y, name) {
    svg.append(svgElement("rect", { x, y: y - 18, width: 240, height: 36, rx: 6 }));
    svg.append(svgElement("text", { x: x + 10, y: y + 5 }, name));
  }

  /* ---- the ladder ---- */

  /* An arrow from side to side, to a cross where the packet was lost, or a mark at one end. */
  function arrowOf({ from, to, isLost, isAnswer }) {
    const svg = svgElement("svg", { viewBox: "0 0 400 26", preserveAspectRatio: "none",
      "aria-hidden": "true" });
    const isLeft = from === "left";
    if (to === null) {
      svg.append(svgElement("rect", { x: isLeft ? 4 : 384, y: 8, width: 12, height: 10,
        fill: "currentColor" }));
      return svg;
    }
    const [start, end] = isLeft ? [4, isLost ? 200 : 396] : [396, isLost ? 200 : 4];
    const back = isLeft ? -10 : 10;
    const tip = isLost ? `M${end - 6} 7 L${end + 6} 19 M${end - 6} 19 L${end + 6} 7`
      : `M${end + back} 7 L${end} 13 L${end + back} 19`;
    svg.append(svgElement("path", { d: `M${start} 13 L${end} 13 ${tip}`, fill: "none",
      stroke: "currentColor", "stroke-width": 2,
      "stroke-dasharray": isAnswer ? "6 3" : "none" }));
    return svg;
  }

  const marks = { lost: "lost", gap: "gap before", again: "sent again", nak: "refused", rnr: "not ready",
    cnp: "congestion", silence: "no answer", dropped: "dropped", failed: "failed", ended: "ended",
    down: "gone", "": "" };

  function stepElement(i) {
    const { ladder } = page;
    const event = ladder.events[i];
    const told = ladder.describe(event);
    const state = `${i === ladder.first ? " first" : ""}${i === page.step ? " chosen" : ""}`;
    const made = element("div", `step ${told.kind} ${event.mark}${state}`);
    const ms = ((event.timeUs - ladder.events[0].timeUs) / 1000).toFixed(3);
    made.id = `step-${i}`;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", i === page.step);
    made.title = told.title.join("\n");
    const middle = element("span", "");
    middle.append(arrowOf(told));
    made.append(element("span", "", `${ms} ms`), element("span", "", told.label), middle,
      element("span", "", marks[event.mark]));
    made.addEventListener("click", () => chooseStep(i));
    return made;
  }

  function drawLadder() {
    drawPart(byId("steps"), page.ladder?.events.length ?? 0, STEP_PX, null, stepElement);
  }

  function chooseStep(i) {
    page.step = i;
    byId("steps").setAttribute("aria-activedescendant", `step-${i}`);
    byId("cause").textContent = page.ladder.describe(page.ladder.events[i]).title.join(". ");
    drawLadder();
  }

  function onLadderKey(event) {
    const count = page.ladder?.events.length ?? 0;
    const next = nextOf(event.key, page.step, count);
    if (next < 0)
      return;
    event.preventDefault();
    showRow(byId("steps"), next, STEP_PX);
    chooseStep(next);
  }

  function showFirst() {
    byId("steps").scrollTop = Math.max(0, page.ladder.first - 3) * STEP_PX;
    byId("steps").focus();
    chooseStep(page.ladder.first);
    byId("cause").textContent = causeOf(page.ladder);
  }

  /* "In all: 12 lost, 12 sent again." */
  function countsOf(ladder) {
    const counts = Object.keys(marks).filter(Boolean)
      .map((mark) => [marks[mark], ladder.events.filter((event) => event.mark === mark).length])
      .filter(([, count]) => count > 0).map(([words, count]) => `${count} ${words}`);
    return `In all: ${counts.join(", ")}.`;
  }

  function causeOf(ladder) {
    const first = ladder.events[ladder.first];
    const cause = first ? `First cause: ${ladder.explain(first)}. ${countsOf(ladder)}`
      : "Nothing went wrong.";
    return [cause, ladder.remark].filter(Boolean).join(" ");
  }

  function showConversation() {
    const conversation = page.conversations[byId("conversation").selectedIndex];
    page.ladder = conversation?.make() ?? null;
    page.step = -1;
    byId("steps").removeAttribute("aria-activedescendant");
    byId("steps").classList.toggle("entries", Boolean(conversation?.isOfEntries));
    byId("left").textContent = page.ladder?.left ?? "";
    byId("right").textContent = page.ladder?.right ?? "";
    byId("first").hidden = !page.ladder || page.ladder.first < 0;
    byId("cause").textContent = page.ladder ? causeOf(page.ladder) : "";
    byId("steps").scrollTop = 0;
    drawLadder();
  }

  /* A file is a capture or a record of rnicctl record save. */
  function readFile(name, buffer) {
    return recordMaker.isRecord(new Uint8Array(buffer))
      ? { name, packets: [], others: 0, ...recordMaker.read(buffer, name) }
      : { name, rows: [], ...captureReader.read(buffer) };
  }

  /* {title, count, isOfEntries, make}: of records, and then of captures. */
  function conversationsOf(readings, packets) {
    const records = readings.filter((reading) => reading.rows.length > 0);
    return [
      ...recordMaker.conversations(records).map((one) => ({ ...one, isOfEntries: true,
        title: `${one.title}: ${one.count} entries`, make: () => recordMaker.make(one) })),
      ...ladderMaker.conversations(packets).map((one) => ({ ...one, isOfEntries: false,
        title: `${one.title}: ${one.count} packets`, make: () => ladderMaker.make(packets, one) })),
    ];
  }

  function counted(count, words) {
    return count > 0 ? [`${count} ${words}`] : [];
  }

  function showFiles(readings) {
    const packets = readings.flatMap((reading) => reading.packets)
      .sort((a, b) => a.timeUs - b.timeUs);
    const sum = (countOf) => readings.reduce((count, reading) => count + countOf(reading), 0);
    page.conversations = conversationsOf(readings, packets);
    byId("conversation").replaceChildren(...page.conversations.map((one) =>
      element("option", "", one.title)));
    showConversation();
    const problems = readings.filter((reading) => reading.problem)
      .map((reading) => `${reading.name}: ${reading.problem}`);
    byId("summary").textContent = [...counted(packets.length, "packets"),
      ...counted(sum((reading) => reading.rows.length), "entries of flight recorders"),
      ...counted(sum((reading) => reading.others), "frames that are no RoCEv2"),
      ...problems].join("; ") || "There is nothing in it.";
    select("ladder");
  }

  async function openFiles(files) {
    showFiles(await Promise.all([...files].map(async (file) =>
      readFile(file.name, await file.arrayBuffer()))));
  }

  async function openServed() {
    const readings = await Promise.all(page.now.captures.map(async ({ name }, i) => {
      const answer = await fetch(`capture/${i}`);
      return answer.ok ? readFile(name, await answer.arrayBuffer())
        : { name, packets: [], rows: [], others: 0, problem: "the file cannot be read" };
    }));
    showFiles(readings);
  }

  /* What the devices have now, as rnicctl record save would save it. */
  async function openRecorders() {
    showFiles(await Promise.all(page.now.devices.map(async (device, i) => {
      const name = stateReader.nameOf(device, page.now);
      const answer = await fetch(`record/${i}`);
      return answer.ok ? readFile(name, await answer.arrayBuffer())
        : { name, packets: [], rows: [], others: 0, problem: "the daemon does not answer" };
    })));
  }

  /* ---- tabs ---- */

  function select(tab) {
    page.tab = tab;
    page.chosen = null;
    for (const button of byId("tabs").children) {
      button.setAttribute("aria-selected", button.id === `tab-${tab}`);
      button.tabIndex = button.id === `tab-${tab}` ? 0 : -1;
    }
    const isTable = Boolean(stateReader.views[tab]);
    byId("tools").hidden = byId("table").hidden = byId("detail").hidden = !isTable;
    byId("picture").hidden = tab !== "map";
    byId("ladder").hidden = tab !== "ladder";
    byId("table").scrollTop = 0;
    draw();
  }

  function draw() {
    if (page.tab === "map")
      drawMap();
    else if (page.tab === "ladder")
      drawLadder();
    else
      drawTable();
  }

  function onTabKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step)
      return;
    const next = tabs[(tabs.indexOf(page.tab) + step + tabs.length) % tabs.length];
    select(next);
    byId(`tab-${next}`).focus();
  }

  /* ---- the state ---- */

  function summaryOf(state) {
    return state.devices.map((one) => (one.error ? `${one.socket}: ${one.error}`
      : `${stateReader.nameOf(one, state)} on ${one.device.netdev}, ${one.device.state}: ` +
        `${one.clients.length} clients, ${one.qps.length} queue pairs, ` +
        `${one.troubles.length} troubles`)).join("; ");
  }

  async function readState() {
    try {
      const answer = await fetch("state");
      if (!answer.ok)
        throw new Error(`the server says ${answer.status}`);
      page.before = page.now;
      page.now = await answer.json();
      page.rows = stateReader.rowsOf(page.now, page.before);
      if (page.now.devices.length > 0 && page.tab !== "ladder")
        byId("summary").textContent = summaryOf(page.now);
      byId("served").hidden = page.now.captures.length === 0;
      byId("recorders").hidden = page.now.devices.length === 0;
      if (page.tab !== "ladder")
        draw();
    } catch (error) {
      byId("summary").textContent = `rnicctl serve does not answer: ${error.message}`;
    }
  }

  async function follow() {
    await readState();
    setTimeout(follow, PERIOD_MS);
  }

  async function start() {
    for (const tab of tabs) {
      const button = element("button", "", titles[tab]);
      button.id = `tab-${tab}`;
      button.type = "button";
      button.setAttribute("role", "tab");
      button.addEventListener("click", () => select(tab));
      byId("tabs").append(button);
    }
    byId("tabs").addEventListener("keydown", onTabKey);
    byId("table").addEventListener("keydown", onTableKey);
    byId("table").addEventListener("scroll", scrollTable);
    byId("steps").addEventListener("scroll", drawLadder);
    byId("steps").addEventListener("keydown", onLadderKey);
    byId("filter").addEventListener("input", drawTable);
    byId("conversation").addEventListener("change", showConversation);
    byId("files").addEventListener("change", (event) => openFiles(event.target.files));
    byId("served").addEventListener("click", openServed);
    byId("recorders").addEventListener("click", openRecorders);
    byId("first").addEventListener("click", showFirst);
    addEventListener("resize", draw);
    select(isServed ? "map" : "ladder");
    if (!isServed)
      return;
    await follow();
    if (page.now?.captures.length > 0)
      await openServed();
  }

  start();
})();

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
    head: null, headKey: "", packets: [], conversations: [], ladder: null };

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

  function onTableKey(event) {
    if (event.target !== byId("table") || steps[event.key] === undefined ||
        page.shown.length === 0)
      return;
    event.preventDefault();
    const at = page.shown.findIndex((row) => row.identity === page.chosen);
    const next = Math.min(page.shown.length - 1, Math.max(0, at + steps[event.key]));
    showRow(byId("table"), next, ROW_PX);
    choose(page.shown[next].identity);
  }

  /* ---- the picture ---- */

  function drawMap() {
    const pairs = stateReader.pairsOf(page.rows ?? { qps: [] }).slice(0, 12);
    const devices = (page.now?.devices ?? []).map((one) => one.device?.name ?? one.socket);
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

  function arrowOf(event, toRight) {
    const svg = svgElement("svg", { viewBox: "0 0 400 26", preserveAspectRatio: "none",
      "aria-hidden": "true" });
    const [start, end] = toRight ? [4, event.isLost ? 200 : 396] : [396, event.isLost ? 200 : 4];
    const back = toRight ? -10 : 10;
    const tip = event.isLost ? `M${end - 6} 7 L${end + 6} 19 M${end - 6} 19 L${end + 6} 7`
      : `M${end + back} 7 L${end} 13 L${end + back} 19`;
    svg.append(svgElement("path", { d: `M${start} 13 L${end} 13 ${tip}`, fill: "none",
      stroke: "currentColor", "stroke-width": 2,
      "stroke-dasharray": event.packet.kind === "request" ? "none" : "6 3" }));
    return svg;
  }

  const marks = { lost: "lost", gap: "gap before", again: "sent again", nak: "refused", rnr: "not ready",
    cnp: "congestion", "": "" };

  function stepElement(i) {
    const { ladder } = page;
    const event = ladder.events[i];
    const { packet } = event;
    const made = element("div", `step ${packet.kind} ${event.mark}${i === ladder.first ? " first" : ""}`);
    const ms = ((event.timeUs - ladder.events[0].timeUs) / 1000).toFixed(3);
    made.setAttribute("role", "listitem");
    made.append(element("span", "", `${ms} ms`), element("span", "", `PSN ${packet.psn}`));
    const middle = element("span", "");
    middle.append(arrowOf(event, packet.from === ladder.left));
    made.append(middle, element("span", "", marks[event.mark]));
    const bytes = packet.payloadBytes > 0 ? `, ${packet.payloadBytes} bytes` : "";
    made.title = [`${packet.name}${bytes}`, ladderMaker.explain(event), ...event.comments]
      .filter(Boolean).join("\n");
    made.children[1].textContent += ` ${packet.name}`;
    made.addEventListener("click", () => {
      byId("cause").textContent = made.title.replaceAll("\n", ". ");
    });
    return made;
  }

  function drawLadder() {
    if (page.ladder)
      drawPart(byId("steps"), page.ladder.events.length, STEP_PX, null, stepElement);
  }

  /* "In all: 12 lost, 12 sent again." */
  function countsOf(ladder) {
    const counts = Object.keys(marks).filter(Boolean)
      .map((mark) => [marks[mark], ladder.events.filter((event) => event.mark === mark).length])
      .filter(([, count]) => count > 0).map(([words, count]) => `${count} ${words}`);
    return `In all: ${counts.join(", ")}.`;
  }

  function showConversation() {
    const conversation = page.conversations[byId("conversation").selectedIndex];
    page.ladder = conversation ? ladderMaker.make(page.packets, conversation) : null;
    byId("left").textContent = page.ladder?.left ?? "";
    byId("right").textContent = page.ladder?.right ?? "";
    const first = page.ladder ? page.ladder.events[page.ladder.first] : undefined;
    byId("first").hidden = !first;
    byId("cause").textContent = first ? `First cause: ${ladderMaker.explain(first)}. ${countsOf(page.ladder)}`
      : page.ladder ? "Nothing went wrong." : "";
    byId("steps").scrollTop = 0;
    drawLadder();
  }

  function showCaptures(readings) {
    page.packets = readings.flatMap((reading) => reading.packets)
      .sort((a, b) => a.timeUs - b.timeUs);
    page.conversations = ladderMaker.conversations(page.packets);
    byId("conversation").replaceChildren(...page.conversations.map((one) =>
      element("option", "", `${one.title}: ${one.count} packets`)));
    showConversation();
    const problems = readings.filter((reading) => reading.problem)
      .map((reading) => `${reading.name}: ${reading.problem}`);
    const others = readings.reduce((count, reading) => count + reading.others, 0);
    byId("summary").textContent = [`${page.packets.length} packets`,
      ...(others ? [`${others} frames that are no RoCEv2`] : []), ...problems].join("; ");
    select("ladder");
  }

  async function openFiles(files) {
    const readings = await Promise.all([...files].map(async (file) =>
      ({ name: file.name, ...captureReader.read(await file.arrayBuffer()) })));
    showCaptures(readings);
  }

  async function openServed() {
    const readings = await Promise.all(page.now.captures.map(async ({ name }, i) => {
      const answer = await fetch(`capture/${i}`);
      return answer.ok ? { name, ...captureReader.read(await answer.arrayBuffer()) }
        : { name, packets: [], others: 0, problem: "the file cannot be read" };
    }));
    showCaptures(readings);
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
      : `${one.device.name} on ${one.device.netdev}, ${one.device.state}: ` +
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
    byId("filter").addEventListener("input", drawTable);
    byId("conversation").addEventListener("change", showConversation);
    byId("files").addEventListener("change", (event) => openFiles(event.target.files));
    byId("served").addEventListener("click", openServed);
    byId("first").addEventListener("click", () => {
      byId("steps").scrollTop = Math.max(0, page.ladder.first - 3) * STEP_PX;
    });
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

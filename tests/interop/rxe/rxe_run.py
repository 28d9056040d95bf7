#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the cases of rxe_cases.py between rnicd and rxe.

    rxe_run.py --list [--only PATTERN] [--long]     prints the stages, or those with such a case:
                                                    name, options of rnicd
    rxe_run.py --agent SOCKET --stage NAME [--only PATTERN] [--long] -- COMMAND...

COMMAND starts verbs_puppet on rnicd, SOCKET leads to the one in the guest. Prints a line for each
case and exits 1 when one failed, or 3 when rxe does not answer any more.
"""

import argparse
import fnmatch
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Callable, NamedTuple

import rxe_cases as cases
from rxe_exchange import (Exchange, GRH_BYTES, OPERATIONS, POLL_MS, exchange, lay_out, mixed_plan)
from rxe_later import LATER, LATER_SCENARIOS
from rxe_peer import (Endpoint, Peer, PeerLost, PuppetError, QKEY, SIGNALED, Service, Status,
                      connect)
from rxe_programs import CM_PROGRAMS, PROGRAMS, Programs
from rxe_restart import Restart
from rxe_scenarios import NEED_WINDOWS, RC_OPERATIONS, SCENARIOS

DEAD_NETWORK = "dead network"    # rxe_guest.sh looks for it
ADDRESSES = {"rnicd": {4: "10.77.0.1", 6: "fd77::1"}, "rxe": {4: "10.77.0.2", 6: "fd77::2"}}


SLOW_SECONDS = 30        # a case that fails after so long has waited in vain
SLOW_FAILURES_MAX = 3    # after so many the others would wait in vain too
LINES_MAX = 12           # of what is wrong in a case
FAILURES_IN_A_ROW = 3    # after so many the guest is asked whether it has a network


class Hopeless(Exception):
    """So many cases have waited in vain that the stage ends."""


class Report:
    """What became of each case. `guest` is the peer in the emulated machine."""

    def __init__(self, only, guest):
        self.only = only
        self.guest = guest
        self.slow_failures = 0
        self.failures_in_a_row = 0
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.deviations = set()

    def is_wanted(self, name):
        return not self.only or fnmatch.fnmatch(name, self.only)

    def run(self, name, function, *arguments):
        """The function's result is what is wrong; a refused verb of ours is a failure too."""
        if not self.is_wanted(name):
            return
        start = time.monotonic()
        try:
            wrong = function(*arguments)
        except (PuppetError, RuntimeError, subprocess.TimeoutExpired) as error:
            wrong = [str(error)]
        except PeerLost:
            self.count("FAIL", name)
            raise
        seconds = time.monotonic() - start
        self.count("FAIL" if wrong else "ok", f"{name} ({seconds * 1000:.0f} ms)")
        for text in wrong[:LINES_MAX]:
            print("      |", text)
        if len(wrong) > LINES_MAX:
            print(f"      | and {len(wrong) - LINES_MAX} more")
        self.judge_failures(bool(wrong), seconds)

    def judge_failures(self, has_failed, seconds):
        """Ends the stage where the cases to come would fail for the same reason."""
        self.failures_in_a_row = self.failures_in_a_row + 1 if has_failed else 0
        if self.failures_in_a_row == FAILURES_IN_A_ROW:
            check_network(self.guest)
        if has_failed and seconds > SLOW_SECONDS:
            self.slow_failures += 1
        if self.slow_failures >= SLOW_FAILURES_MAX:
            raise Hopeless("too many cases have waited in vain: the others are left out")

    def forgive(self, name, requester, seen):
        """Whether rxe is known to show this in that case; remembers that it did."""
        for deviation in cases.DEVIATIONS:
            if (fnmatch.fnmatchcase(name, deviation.case) and deviation.requester == requester
                    and deviation.since <= self.guest.kernel < deviation.until
                    and bool(deviation.seen) == bool(seen)
                    and seen.items() <= deviation.seen.items()):
                self.deviations.add(deviation.reason)
                return True
        return False

    def skip(self, names, reason):
        wanted = [name for name in names if self.is_wanted(name)]
        if wanted:
            self.count("skip", f"{'; '.join(wanted)}: {reason}")

    def count(self, verdict, text):
        self.counts[verdict] += 1
        print(f"{verdict:5} {text}", flush=True)


class Names(Report):
    """Runs nothing, and knows whether there is a case that is wanted."""

    def __init__(self, only):
        super().__init__(only, None)
        self.has_wanted = False

    def run(self, name, function, *arguments):
        self.has_wanted |= self.is_wanted(name)


def check_network(guest):
    """Raises PeerLost where the host's kernel does not answer ping; rnicd has no part in that.
    The guest's console then shows the state of its network."""
    try:
        for address in ADDRESSES["rnicd"].values():
            guest.run(f"ping -c 3 -i 0.2 -W 2 {address} >/dev/null 2>&1")
    except RuntimeError as error:
        guest.run(f"(echo {DEAD_NETWORK}; cat /proc/net/dev /proc/interrupts; ip neigh; "
                  "/bin/tc -s qdisc show dev eth0; true) >/dev/console 2>&1")
        raise PeerLost(guest.name, "its network is dead: the host's kernel does not answer "
                       "ping") from error


class Stage:
    """The peers, and one method for each kind of case."""

    def __init__(self, name, peers, report, is_long, launcher):
        self.name = name
        self.peers = peers
        self.report = report
        self.is_long = is_long
        self.launcher = launcher

    def directions(self):
        for requester in cases.DIRECTIONS:
            responder = next(name for name in cases.DIRECTIONS if name != requester)
            for family in cases.FAMILIES:
                yield (f"{requester} to {responder}, IPv{family}", self.peers[requester],
                       self.peers[responder], family)

    def lacks_windows(self, name, where):
        """Says so, and why the case does not run."""
        lacking = [peer.name for peer in self.peers.values() if not peer.has_windows]
        if lacking:
            self.report.skip([f"{name}, {where}"],
                             f"no memory windows at {' and '.join(lacking)}")
        return bool(lacking)

    def transfers(self):
        """Everything as it should be."""
        for where, requester, responder, family in self.directions():
            for operation, kind in OPERATIONS.items():
                if kind.invalidates and self.lacks_windows(operation, where):
                    continue
                for service in kind.services:
                    for mtu in self.path_mtus(service):
                        self.report.run(f"{service.name} {operation}, path MTU {mtu}, {where}",
                                        self.transfer, requester, responder, family, service,
                                        operation, mtu)

    @staticmethod
    def path_mtus(service):
        return [cases.PORT_MTU] if service == Service.UD else list(cases.PATH_MTUS)

    @staticmethod
    def transfer(requester, responder, family, service, operation, mtu):
        ends = [Endpoint(peer, service, family) for peer in (requester, responder)]
        options = {"path_mtu": cases.PATH_MTUS[mtu]}
        connect(*ends, options, options)
        if OPERATIONS[operation].is_atomic:
            sizes = [8] * cases.ATOMIC_COUNT
        elif service == Service.UD:
            sizes = cases.DATAGRAM_SIZES
        else:
            sizes = cases.sizes_around(mtu)
        plan = [(operation, size) for size in sizes]
        if service == Service.UC and operation == "WRITE":
            plan.append(("SEND", 1))     # tells when the WRITEs before it are done
        return exchange(*ends, lay_out(plan))

    def failures(self):
        for where, requester, responder, family in self.directions():
            for failure in cases.FAILURES:
                self.report.run(f"RC {failure.name}, {where}", self.fail, requester, responder,
                                family, failure)

    def fail(self, requester, responder, family, failure):
        wrong = []
        for field, value in observe(requester, responder, family, failure).items():
            if value == getattr(failure, field):
                continue
            if not self.report.forgive(failure.name, requester.name, {field: value}):
                wrong.append(f"{field}: {value!r}, not {getattr(failure, field)!r}")
        return wrong

    def scenarios(self):
        for where, requester, responder, family in self.directions():
            for name, scenario in SCENARIOS.items():
                if scenario in NEED_WINDOWS and self.lacks_windows(name, where):
                    continue
                self.report.run(f"{name}, {where}", self.play, name, requester, responder, family,
                                scenario)
        if self.peers["rxe"].kernel >= LATER:
            self.later_scenarios()
        else:
            self.report.skip([f"{name}, {where}" for where, *_ in self.directions()
                              for name in LATER_SCENARIOS], "this kernel is too old")

    def later_scenarios(self):
        for where, requester, responder, family in self.directions():
            for name, scenario in LATER_SCENARIOS.items():
                self.report.run(f"{name}, {where}", self.play, name, requester, responder, family,
                                scenario)

    def play(self, name, requester, responder, family, scenario):
        wrong = scenario(requester, responder, family)
        return [] if wrong and self.report.forgive(name, requester.name, {}) else wrong

    def programs(self):
        runner = Programs(self.launcher, self.peers["rxe"], ADDRESSES)
        gids = {name: peer.gids[4][0] for name, peer in self.peers.items()}
        for server in self.peers:
            for program in PROGRAMS:
                self.report.run(f"{program}, server on {server}", runner.run, program, server,
                                gids)
            for programs in CM_PROGRAMS:
                name = programs[1].format("SERVER")
                for family in cases.FAMILIES:
                    self.report.run(f"{name}, IPv{family}, server on {server}", runner.run_cm,
                                    programs, server, family)

    def restarts(self):
        restart = Restart(Programs(self.launcher, self.peers["rxe"], ADDRESSES),
                          self.peers["rxe"], ADDRESSES)
        for family in cases.FAMILIES:
            self.report.run(f"a peer restarts and connects again, IPv{family}", restart.run, family)

    def storms(self):
        """On a bad network."""
        mtus = list(cases.PATH_MTUS) if self.is_long else [256, 1024, 4096]
        self.storm_all(mtus, 3000 if self.is_long else 300, timeout=12)

    def path(self):
        """On a bad path with a long round trip, by timeouts that allow for it."""
        self.storm_all([1024, 4096], 1000, timeout=15)

    def storm_all(self, mtus, count, timeout):
        """`timeout` as for ibv_modify_qp()."""
        for where, requester, responder, family in self.directions():
            for mtu in mtus:
                self.report.run(f"RC all operations, path MTU {mtu}, {where}", self.storm,
                                requester, responder, family, mtu, count, timeout)
            self.report.run(f"UC, {where}", self.unreliable, requester, responder, family,
                            Service.UC)
            self.report.run(f"UD, {where}", self.unreliable, requester, responder, family,
                            Service.UD)

    def storm(self, requester, responder, family, mtu, count, timeout):
        wrong = []
        for start in range(0, count, 100):
            ends = [Endpoint(peer, Service.RC, family) for peer in (requester, responder)]
            options = {"path_mtu": cases.PATH_MTUS[mtu], "timeout": timeout}
            connect(*ends, options, options)
            plan = mixed_plan(RC_OPERATIONS, 100, 4 * mtu, start)
            if responder.name == "rxe" and responder.kernel >= cases.REPEATS_BY_LAST_LENGTH:
                plan = [(operation, max(size, OPERATIONS[operation].names_memory))
                        for operation, size in plan]
            Exchange.prepare(*ends)
            run = Exchange(*ends, lay_out(plan))
            run.post()
            found = run.finish()
            if not (found and run.breaks_at_read(mtu)
                    and self.report.forgive(self.name, requester.name, {})):
                wrong += found
        return wrong

    @staticmethod
    def unreliable(requester, responder, family, service):
        """What arrives is whole. At rnicd a UC message comes in order and not twice."""
        ends = [Endpoint(peer, service, family, depth=256) for peer in (requester, responder)]
        connect(*ends)
        largest = cases.PORT_MTU if service == Service.UD else 3000
        messages = lay_out(mixed_plan(["SEND_IMM"], 100, largest, 1))
        return UnreliableExchange(*ends, messages).run()


class UnreliableExchange(Exchange):
    """Messages of which some never arrive. The immediate value says which one did."""

    MARK = 0x7fffffff

    def run(self):
        self.prepare(self.requester, self.responder)
        size = self.messages[-1].offset + self.messages[-1].size
        room = max(message.size for message in self.messages) + GRH_BYTES
        self.places = [size + i * room for i in range(120)]
        self.responder.peer.ask_all([
            ("receive", self.responder.sges([(place, room)]),
             dict(self.responder.receives, wr_id=number))
            for number, place in enumerate(self.places)])
        self.requester.peer.ask_all([self.request(number, message)
                                     for number, message in enumerate(self.messages)])
        self.check_requests(self.requester.poll("send", len(self.messages), POLL_MS))
        arrived = self.take_all()
        self.check_arrived(arrived)
        return self.wrong

    def take_all(self):
        """All completions up to a mark that is sent until one arrives."""
        arrived = []
        for _ in range(50):
            members = {"qp": self.requester.qp, "flags": SIGNALED, "immediate": self.MARK,
                       "opcode": OPERATIONS["SEND_IMM"].opcode, "wr_id": 0}
            if self.requester.service == Service.UD:
                members.update(ah=self.requester.ah, qpn=self.responder.qpn, qkey=QKEY)
            self.requester.peer.ask("send", **members)
            self.requester.poll("send", 1, POLL_MS)
            arrived += self.responder.poll("recv", len(self.places), 50)
            if any(wc.immediate == self.MARK for wc in arrived):
                break
        return [wc for wc in arrived if wc.immediate != self.MARK]

    def check_arrived(self, arrived):
        numbers = {message.immediate: i for i, message in enumerate(self.messages)}
        order = [numbers.get(wc.immediate, -1) for wc in arrived]
        peer, is_datagram = self.responder.peer.name, self.responder.service == Service.UD
        if len(set(order)) < len(self.messages) // 10:
            self.wrong.append(f"{peer}: only {len(set(order))} messages arrived")
        # The other peer deviates.
        if peer == "rnicd" and not is_datagram and order != sorted(set(order)):
            self.wrong.append(f"{peer}: out of order, or twice: {order}")
        checks, header = [], GRH_BYTES if is_datagram else 0
        for wc, number in zip(arrived, order):
            message = self.messages[number]
            if number < 0 or (wc.status, wc.byte_len) != (Status.SUCCESS, message.size + header):
                self.wrong.append(f"{peer}: receive completion {wc}")
                continue
            checks.append((self.places[wc.wr_id] + header, message.size, self.request_seed,
                           message.offset))
        self.wrong += self.responder.wrong_bytes(checks)


def observe(requester, responder, family, failure):
    """The fields of a Failure as they are."""
    first = Endpoint(requester, Service.RC, family, mr_access=failure.local_access)
    second = Endpoint(responder, Service.RC, family, mr_access=failure.mr_access,
                      qp_access=failure.qp_access)
    connect(first, second, failure.requester_options, failure.responder_options)
    remote, kind = second.buffer, OPERATIONS[failure.operation]
    if failure.other_pd:
        other = responder.ask("pd")["number"]
        remote = responder.ask("mr", pd=other, bytes=8192, access=failure.mr_access)
    sizes = failure.receive_sizes
    if sizes is None:
        sizes = (failure.size,) * 2 if kind.takes_receive else ()
    for number, size in enumerate(sizes):
        responder.ask("receive", f"sge={second.buffer['number']}:0:{size}:"
                      f"{failure.receive_lkey_off_by}", wr_id=number, **second.receives)
    size = 8 if kind.is_atomic else failure.size
    words = [f"sge={first.buffer['number']}:4096:{size}:{failure.lkey_off_by}"] if size else []
    for number in range(2):
        try:
            requester.ask("send", *words, qp=first.qp, wr_id=number, opcode=kind.opcode,
                          flags=SIGNALED, rkey=remote["rkey"] + failure.rkey_off_by,
                          address=remote["address"] + failure.address_off_by)
        except PuppetError as error:
            return {"post_errno": error.errno}
    statuses = [Status(wc.status) for wc in first.poll("send", 2, POLL_MS)] + [None, None]
    received = second.poll("recv", len(sizes), 50) if sizes else []
    return {"first": statuses[0], "second": statuses[1], "requester": first.state(),
            "receives": tuple(Status(wc.status) for wc in received
                              if wc.status != Status.WR_FLUSH_ERR),
            "responder": second.wait_for_state(failure.responder), "event": second.event(0)}


class Kind(NamedTuple):
    """A stage: the method of Stage that runs it, options of rnicd, and what netem does in the guest
    to the packets that rxe sends and to those that it receives."""
    method: Callable
    options: str = ""
    sent: str = ""
    received: str = ""


def stages(is_long):
    """Name -> Kind."""
    table = {"transfers": Kind(Stage.transfers),
             "failures": Kind(Stage.failures),
             "scenarios": Kind(Stage.scenarios),
             "programs": Kind(Stage.programs),
             "restart": Kind(Stage.restarts)}
    if is_long:
        table["transfers, by socket calls"] = Kind(Stage.transfers, "--port socket")
    for name, fault in cases.FAULTS.items():
        table[f"{name} at rnicd"] = Kind(Stage.storms, f"--fault {fault},seed=1")
    for name, fault in cases.NETEM.items():
        table[f"{name} in the guest"] = Kind(Stage.storms, sent=fault)
    if is_long:
        table["path in the guest"] = Kind(Stage.path, sent=cases.PATH, received=cases.PATH)
    return table


def has_case(name, kind, only, is_long):
    """Whether a stage has a case whose name matches. No peer is asked."""
    peers = {peer: SimpleNamespace(name=peer, has_windows=True, kernel=LATER, gids={4: (0, "")})
             for peer in cases.DIRECTIONS}
    names = Names(only)
    kind.method(Stage(name, peers, names, is_long, []))
    return names.has_wanted


def spoil(guest, kind):
    """netem as the stage wants it. An earlier stage has left its own, whether it came to its end or
    not. What comes in goes through a device ifb0, since netem is for what leaves a device."""
    guest.run("(/bin/tc qdisc del dev eth0 root; /bin/tc qdisc del dev eth0 ingress; "
              "/bin/tc qdisc del dev ifb0 root; true) 2>/dev/null")
    if kind.sent:
        # Both kernels resolve each other's addresses before packets are lost.
        check_network(guest)
        guest.run(f"/bin/tc qdisc add dev eth0 root netem limit 10000 {kind.sent}")
    if kind.received:
        guest.run(f"/bin/tc qdisc add dev ifb0 root netem limit 10000 {kind.received} && "
                  "ip link set ifb0 up && /bin/tc qdisc add dev eth0 ingress && "
                  "/bin/tc filter add dev eth0 ingress matchall "
                  "action mirred egress redirect dev ifb0")
        # The fourth piece is the average.
        guest.run(f"ping -c 5 -i 0.2 {ADDRESSES['rnicd'][4]} | "
                  f"awk -F/ '/min.avg.max/ {{ long = $4 >= {cases.PATH_ROUND_TRIP_MS} }} "
                  "END { exit !long }'")


def run_stage(kind, arguments):
    peers = {"rxe": Peer.reach("rxe", arguments.agent),
             "rnicd": Peer.start("rnicd", arguments.command)}
    report = Report(arguments.only, peers["rxe"])
    try:
        for name, peer in peers.items():
            peer.greet()
            for family, address in ADDRESSES[name].items():
                peer.find_gid(family, address)
        spoil(peers["rxe"], kind)
        kind.method(Stage(arguments.stage, peers, report, arguments.long,
                          arguments.command[:-1]))
        peers["rxe"].ask("reset")
    finally:
        for peer in peers.values():
            peer.close()
    for reason in sorted(report.deviations):
        print("#     deviation:", reason)
    release = ".".join(map(str, peers["rxe"].kernel))
    print(f"#     {arguments.stage}, Linux {release}: {report.counts}")
    return 1 if report.counts["FAIL"] else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--agent")
    parser.add_argument("--stage")
    parser.add_argument("--only", help="cases whose names match this shell pattern")
    parser.add_argument("command", nargs="*")
    arguments = parser.parse_args()
    table = stages(arguments.long)
    if arguments.list:
        for name, kind in table.items():
            if has_case(name, kind, arguments.only, arguments.long):
                print(f"{name}:{kind.options}")
        return 0
    try:
        return run_stage(table[arguments.stage], arguments)
    except PeerLost as error:
        print("      |", error)
        return 3 if error.peer == "rxe" else 1
    except Hopeless as error:
        print("FAIL ", error)
        return 1


if __name__ == "__main__":
    sys.exit(main())

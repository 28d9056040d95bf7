# SPDX-License-Identifier: MIT
"""Scenarios of what rxe can only on later kernels: FLUSH, ATOMIC WRITE and memory that is paged on
demand. As in rxe_scenarios.py."""

from rxe_cases import FEW_RETRIES, PATH_MTUS
from rxe_exchange import OPERATIONS, POLL_MS, exchange, lay_out, mixed_plan
from rxe_peer import ALL_ACCESS, Access, Endpoint, SIGNALED, Service, Status, connect
from rxe_scenarios import RC_OPERATIONS, send, statuses, unless

LATER = (7, 0)           # the releases of Linux that are tried with these: 7.2 and what follows
PAGED = ALL_ACCESS | Access.ON_DEMAND
FLUSHABLE = ALL_ACCESS | Access.FLUSH_GLOBAL
GLOBAL, PERSISTENT = 1, 2        # types of placement
RANGE, REGION = 0, 1             # what a FLUSH is for
WITH_FLUSH_AND_ATOMIC_WRITE = 1 << 11 | 1 << 12
WC_WRITE, WC_FLUSH, WC_ATOMIC_WRITE = 1, 8, 9
PAGE = 4096


def extended_pair(requester, responder, family, mr_access=FLUSHABLE, qp_access=FLUSHABLE):
    ends = [Endpoint(peer, Service.RC, family, mr_access=mr_access, qp_access=qp_access,
                     operations=WITH_FLUSH_AND_ATOMIC_WRITE) for peer in (requester, responder)]
    connect(*ends, FEW_RETRIES)
    return ends


def flush(first, second, wr_id, placement=GLOBAL, level=RANGE):
    first.peer.ask("flush", qp=first.qp, wr_id=wr_id, flags=SIGNALED, type=placement, level=level,
                   rkey=second.buffer["rkey"], address=second.buffer["address"], length=3000)


def atomic_write(first, second, wr_id, value, offset):
    first.peer.ask("atomic_write", qp=first.qp, wr_id=wr_id, flags=SIGNALED, value=value,
                   rkey=second.buffer["rkey"], address=second.buffer["address"] + offset)


def completions(end, count):
    return [(wc.wr_id, Status(wc.status), wc.opcode) for wc in end.poll("send", count, POLL_MS)]


def write_and_flush(requester, responder, family):
    """A FLUSH of a range and one of the region, behind a WRITE."""
    first, second = extended_pair(requester, responder, family)
    first.fill(1)
    second.fill(2)
    send(first, 3000, operation="WRITE", rkey=second.buffer["rkey"],
         address=second.buffer["address"])
    flush(first, second, 1)
    flush(first, second, 2, level=REGION)
    return unless("completions", completions(first, 3),
                  [(0, Status.SUCCESS, WC_WRITE), (1, Status.SUCCESS, WC_FLUSH),
                   (2, Status.SUCCESS, WC_FLUSH)]) + \
        second.wrong_bytes([(0, 3000, 1, 4096), (3000, 8000, 2)])


def flush_refused(requester, responder, family):
    """The region, the queue pair and the kind of memory must allow it."""
    wrong = []
    for what, mr_access, qp_access, placement, expected in (
            ("region", ALL_ACCESS, FLUSHABLE, GLOBAL, Status.REM_ACCESS_ERR),
            ("queue pair", FLUSHABLE, ALL_ACCESS, GLOBAL, Status.REM_INV_REQ_ERR),
            ("memory", FLUSHABLE, FLUSHABLE, PERSISTENT, Status.REM_INV_REQ_ERR)):
        first, second = extended_pair(requester, responder, family, mr_access, qp_access)
        flush(first, second, 1, placement)
        wrong += unless(f"{what} without the right", statuses(first, "send", 1), [expected])
    return wrong


def words_written_whole(requester, responder, family):
    """The last of three ATOMIC WRITEs is what is there, and nothing beside it has changed."""
    first, second = extended_pair(requester, responder, family)
    second.fill(2)
    values = [0x0102030405060708, 0xffffffffffffffff, 0x8877665544332211]
    for number, value in enumerate(values):
        atomic_write(first, second, number, value, 64)
    wrong = unless("completions", completions(first, 3),
                   [(number, Status.SUCCESS, WC_ATOMIC_WRITE) for number in range(3)])
    found = second.peer.ask("peek", mr=second.buffer["number"], offset=64, length=8)["value"]
    return wrong + unless("word", found, values[-1]) + \
        second.wrong_bytes([(0, 64, 2), (72, 8000, 2)])


def word_refused(requester, responder, family):
    """An ATOMIC WRITE beside a multiple of 8, and one without the right."""
    first, second = extended_pair(requester, responder, family)
    second.fill(2)
    atomic_write(first, second, 0, 1, 68)
    wrong = unless("not aligned", statuses(first, "send", 1), [Status.REM_INV_REQ_ERR])
    wrong += second.wrong_bytes([(0, 8000, 2)])
    no_write = FLUSHABLE & ~Access.REMOTE_WRITE
    first, second = extended_pair(requester, responder, family, mr_access=no_write)
    second.fill(2)
    atomic_write(first, second, 0, 1, 64)
    return wrong + unless("no right", statuses(first, "send", 1), [Status.REM_ACCESS_ERR]) + \
        second.wrong_bytes([(0, 8000, 2)])


def paged_pair(requester, responder, family, options):
    ends = [Endpoint(peer, Service.RC, family, mr_access=PAGED) for peer in (requester, responder)]
    connect(*ends, options, options)
    return ends


def paged_on_demand(requester, responder, family):
    """All operations with memory that is paged on demand at both ends."""
    plan = mixed_plan(RC_OPERATIONS, 60, 9000, 13)
    return exchange(*paged_pair(requester, responder, family, {}), lay_out(plan))


def move_pages(end, operation, other, local, remote):
    """Two pages from or to two pages; each packet is one of them."""
    end.peer.ask("send", *end.sges([(local * PAGE, 2 * PAGE)]), qp=end.qp, flags=SIGNALED,
                 opcode=OPERATIONS[operation].opcode, rkey=other.buffer["rkey"],
                 address=other.buffer["address"] + remote * PAGE)
    return unless(operation, statuses(end, "send", 1), [Status.SUCCESS])


def pages_that_went(requester, responder, family):
    """Pages that both ends gave back come anew: with what is written, and else with zeros."""
    first, second = paged_pair(requester, responder, family, {"path_mtu": PATH_MTUS[PAGE]})
    first.fill(1)
    second.fill(2)
    wrong = move_pages(first, "WRITE", second, local=1, remote=4)
    wrong += second.wrong_bytes([(4 * PAGE, 2 * PAGE, 1, PAGE), (6 * PAGE, PAGE, 2)])
    for end in (first, second):
        end.peer.ask("discard", mr=end.buffer["number"], offset=4 * PAGE, length=8 * PAGE)
    wrong += move_pages(first, "WRITE", second, local=1, remote=6)
    wrong += second.wrong_bytes([(6 * PAGE, 2 * PAGE, 1, PAGE), (12 * PAGE, PAGE, 2)])
    wrong += move_pages(first, "READ", second, local=4, remote=7)
    wrong += first.wrong_bytes([(4 * PAGE, PAGE, 1, 2 * PAGE), (12 * PAGE, PAGE, 1)])
    zeros = first.peer.ask("peek", mr=first.buffer["number"], offset=5 * PAGE, length=8)["value"]
    return wrong + unless("a READ from a page that nobody wrote", zeros, 0)


LATER_SCENARIOS = {
    "RC FLUSH": write_and_flush,
    "RC FLUSH refused": flush_refused,
    "RC ATOMIC WRITE": words_written_whole,
    "RC ATOMIC WRITE refused": word_refused,
    "RC paged on demand": paged_on_demand,
    "RC pages that went": pages_that_went,
}

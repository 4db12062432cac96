"""Times lookback beside PyTorch, ONNX Runtime and OpenVINO, in one process; see tools/peers."""
import argparse
import ctypes
import datetime
import importlib
import os
import re
import sys
import time
from pathlib import Path

try:
    import numpy  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}" if "--self-test" in sys.argv else f"tools/peers: {error}")
    sys.exit("--self-test" not in sys.argv)

import report
from ours import Ours
from problem import Problem, all_cases, tiny_cases
from turns import Plan, fastest, pair
from ways import Unsupported

PEERS = ["torch", "onnxruntime", "openvino"]


def arguments():
    parser = argparse.ArgumentParser(prog="tools/peers", description=__doc__)
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--quick", action="store_true", help="a few shapes, 3 pairs of turns each")
    parser.add_argument("--shapes", metavar="REGEX", default="",
                        help="only the shapes whose name it matches; --list shows the names")
    parser.add_argument("--peers", metavar="NAME,...", default=",".join(PEERS),
                        help="default: %(default)s")
    parser.add_argument("--threads", metavar="N,...", default="1,2" if cores > 1 else "1",
                        help="default: %(default)s")
    parser.add_argument("--pairs", type=int, help="of turns at least (default 7)")
    parser.add_argument("--seconds", type=float,
                        help="of measuring per shape, peer and thread count (default 1.2)")
    parser.add_argument("--out", metavar="DIR", type=Path,
                        help="write DATE.md and peers.png there (default: bench/results; a part "
                             "of the list is only printed)")
    parser.add_argument("--list", action="store_true", help="show the names of the shapes")
    parser.add_argument("--library", default=os.environ.get("LOOKBACK_LIBRARY"),
                        help=argparse.SUPPRESS)
    parser.add_argument("--self-test", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    try:
        given.threads = sorted({int(n) for n in given.threads.split(",")})
        given.shapes = re.compile(given.shapes)
    except (ValueError, re.error) as error:
        parser.error(str(error))
    if given.threads[0] < 1:
        parser.error("--threads counts from 1")
    given.peers = given.peers.split(",")
    unknown = sorted(set(given.peers) - set(PEERS))
    if unknown:
        parser.error(f"--peers: {unknown[0]} is none of {', '.join(PEERS)}")
    return given


def load_peers(names):
    """The peers that are there, and why the others are not."""
    peers, missing = [], {}
    for name in names:
        try:
            peers.append(importlib.import_module(f"{name}_peer").Peer())
        except Exception as error:  # a broken installation can throw anything
            missing[name] = f"{error} ({type(error).__name__})".splitlines()[0]
            print(f"{name} is left out: {missing[name]}")
    return peers, missing


def tbb_version():
    tbb = ctypes.CDLL("libtbb.so.12")
    tbb.TBB_runtime_version.restype = ctypes.c_char_p
    return tbb.TBB_runtime_version().decode()


def measure(ours, peers, cases, threads, plan):
    """{case: {threads: {peer: Pairing, or why there is none}}}, printed as it comes."""
    results = {}
    for case in cases:
        problem = Problem(case)
        by_threads = results[case] = {}
        for t in threads:
            by_peer = by_threads[t] = {}
            mine = fastest(ours.ways(problem, t))
            for peer in peers:
                try:
                    by_peer[peer.name] = pair(mine, peer.ways(problem, t), case.dtype, plan)
                except Unsupported as reason:
                    by_peer[peer.name] = str(reason)
            print(f"{case.name:40} {t}  " + "  ".join(
                f"{report.cell(by_peer[peer.name]):22}" for peer in peers), flush=True)
    return results


def disagreements(results):
    return [f"{case.name}, {t} threads: {name} differs by {r.difference:.2g}"
            for case, by_threads in results.items() for t, by_peer in by_threads.items()
            for name, r in by_peer.items() if not isinstance(r, str) and not r.agrees]


def run(given):
    cases = [case for case in all_cases()
             if given.shapes.search(case.name) and (case.quick or not given.quick)]
    if given.list:
        print("\n".join(case.name for case in cases))
        return 0
    if not cases:
        print("tools/peers: no shape has such a name; --list shows them", file=sys.stderr)
        return 2
    plan = Plan(least=3, most=3) if given.quick else Plan()
    plan.least = given.pairs or plan.least
    plan.most = max(plan.most, plan.least)
    plan.seconds = given.seconds or plan.seconds
    # Before ours: OpenVINO brings a oneTBB of its own, which ours then uses too; the system's may
    # be too old for it.
    peers, missing = load_peers(given.peers)
    if not peers:
        return 1
    ours = Ours(given.library)
    versions = {peer.name: peer.version for peer in peers}
    where = report.machine(ours, tbb_version())
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"The machine is busy, load average {load:.1f}: what follows means little.")
    where += f"; load average {load:.1f} at the start"
    print(where + "\n" + ", ".join(f"{n} {v}" for n, v in versions.items()))
    print("theirs / ours in time: median (quartiles)\n")
    print(f"{'shape':40} threads  " + "  ".join(f"{name:22}" for name in versions))

    start = time.monotonic()
    results = measure(ours, peers, cases, given.threads, plan)
    print(f"\n{time.monotonic() - start:.0f} s")
    whole = not given.quick and len(cases) == len(all_cases()) and given.peers == PEERS
    write(given, whole, where, versions, missing, results)
    wrong = disagreements(results)
    print("\n".join(wrong) or "All agree.")
    return 1 if wrong else 0


def write(given, whole, where, versions, missing, results):
    if not whole and not given.out:
        return
    folder = given.out or Path(__file__).resolve().parents[2] / "bench" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.date.today().isoformat()
    picture = "peers.png"
    try:
        import plot
        plot.draw(folder / picture, results, list(versions), f"{report.cpu_model()}, {date}")
    except ImportError as error:
        print(f"no picture: {error}")
        picture = None
    text = report.page(date, where, versions, missing, results, picture)
    (folder / f"{date}.md").write_text(text)
    print(f"Written: {folder / date}.md")


def self_test(given):
    """This program on tiny shapes, with the float64 reference as the peer."""
    ours, peer = Ours(given.library), importlib.import_module("numpy_peer").Peer()
    results = measure(ours, [peer], tiny_cases(), [1, 2], Plan(seconds=0, least=2, most=2))
    wrong = disagreements(results)
    text = report.page("today", report.machine(ours, tbb_version()), {peer.name: peer.version}, {},
                       results, None)
    if any(case.name not in text for case in tiny_cases()):
        wrong.append("the page lacks a case")
    case = tiny_cases()[0]
    mine = fastest(ours.ways(Problem(case), 1))
    other = pair(mine, peer.ways(Problem(case, seed=2), 1), case.dtype, Plan(least=1, most=1))
    if other.agrees:
        wrong.append("a difference goes unseen")
    print("\n".join(wrong) or "peers: all as it should be")
    return 1 if wrong else 0


given = arguments()
sys.exit(self_test(given) if given.self_test else run(given))

"""What was measured, as a page of Markdown."""
import os
import platform


def cpu_model():
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine(ours, tbb):
    """One line: what it ran on."""
    cores = len(os.sched_getaffinity(0))
    return (f"{cpu_model()}, {cores} cores; {platform.system()} {platform.machine()}; "
            f"lookback {ours.version} on {ours.target()}, oneTBB {tbb}")


def cell(result):
    """A Pairing, or the reason why there is none."""
    if isinstance(result, str):
        return "-"
    low, high = result.quartiles
    wrong = "" if result.agrees else " **differs**"
    return f"{result.ratio:.2f} ({low:.2f} to {high:.2f}){wrong}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ratios(results, peers, threads):
    """A row per case: ours, and each peer's time over ours."""
    rows = []
    for case, by_threads in results.items():
        by_peer = by_threads[threads]
        paired = [r for r in by_peer.values() if not isinstance(r, str)]
        speed = case.speed(min(r.ours for r in paired)) if paired else "-"
        rows.append([case.name, speed] + [cell(by_peer[peer]) for peer in peers])
    return table(["shape", "lookback", *peers], rows)


def details(results):
    rows = []
    for case, by_threads in results.items():
        for threads, by_peer in by_threads.items():
            for peer, r in by_peer.items():
                if isinstance(r, str):
                    continue
                rows.append([case.name, str(threads), f"{peer}: {r.how}", f"{r.ours * 1e3:.3f}",
                             f"{r.theirs * 1e3:.3f}", case.speed(r.theirs), str(len(r.ratios)),
                             f"{r.difference:.1e} of {r.tolerance:.0e}"])
    return table(["shape", "threads", "peer", "ours, ms", "theirs, ms", "their speed", "pairs",
                  "difference"], rows)


def left_out(results, missing):
    """Each reason once, with where it holds."""
    reasons = {f"{peer}: {why}": [] for peer, why in missing.items()}
    for case, by_threads in results.items():
        for by_peer in by_threads.values():
            for peer, r in by_peer.items():
                if isinstance(r, str):
                    names = reasons.setdefault(f"{peer}: {r}", [])
                    names += [case.name] * (case.name not in names)
    lines = [f"- {why}" + (f" ({', '.join(names)})" if names else "")
             for why, names in reasons.items()]
    return "\n".join(lines)


def page(date, where, versions, missing, results, picture):
    peers = list(versions)
    threads = list(next(iter(results.values())))
    out = [f"# lookback beside its peers, {date}",
           f"Machine: {where}.\n\nPeers: " + ", ".join(f"{n} {v}" for n, v in versions.items())
           + ".",
           "A ratio is the peer's time over ours, above 1 where lookback is faster: the median of "
           "alternate turns in one process, and the quartiles. `tools/peers` made this page; "
           "`bench/README.md` says how. GFLOP/s counts 2 (d + d_v) per visible pair, GB/s the "
           "bytes of K and V once."]
    if picture:
        out.append(f"![ratios]({picture})")
    for t in threads:
        out += [f"## {t} thread{'s' if t > 1 else ''}", ratios(results, peers, t)]
    out += ["## Times, and how each peer did it",
            "The fastest of a peer's operators or backends, and the largest difference of any "
            "output from ours.", details(results)]
    reasons = left_out(results, missing)
    if reasons:
        out += ["## Left out", reasons]
    return "\n\n".join(out) + "\n"

"""Progress, Ctrl-C, threads, and what a call costs."""

import signal
import threading
import time

import numpy as np
import pytest

import lookback


@pytest.fixture
def long_call(rng):
    """Some seconds of work, and where its result goes."""
    q = rng.standard_normal((1, 8, 12000, 64)).astype(np.float32)
    return q, np.empty_like(q)


def test_progress(rng):
    q = rng.standard_normal((1, 8, 2000, 64)).astype(np.float32)
    seen = []
    lookback.attend(q, q, q, progress=seen.append)
    assert seen[0] == 0 and seen[-1] == 1 and sorted(seen) == seen
    seen.clear()
    lookback.align(q, q, summary=True, progress=seen.append)
    assert seen[0] == 0 and seen[-1] == 1


def test_progress_cancels(long_call):
    q, out = long_call
    start = time.monotonic()
    with pytest.raises(lookback.Cancelled, match="cancel"):
        lookback.attend(q, q, q, out=out, progress=lambda done: np.bool_(done < 0.01))
    assert time.monotonic() - start < 5


def test_an_exception_in_progress_is_passed_on(long_call):
    q, out = long_call

    def progress(done):
        if done > 0.01:
            raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        lookback.attend(q, q, q, out=out, progress=progress)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(long_call, threads):
    q, out = long_call
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        lookback.attend(q, q, q, out=out, threads=threads)
        time.sleep(10)  # should the call have been faster than the signal
    assert time.monotonic() - start < 5
    timer.join()


def test_other_threads_run_meanwhile(long_call):
    q, out = long_call
    stop = threading.Event()
    ticks = []

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    ticker = threading.Thread(target=tick)
    ticker.start()
    lookback.attend(q[:, :, :4000], q[:, :, :4000], q[:, :, :4000], out=out[:, :, :4000], threads=1)
    stop.set()
    ticker.join()
    assert len(ticks) > 5


def test_calls_from_several_threads(qkv):
    q, k, v = qkv(2, 4, 50, 300, d=32)
    want = lookback.attend(q, k, v, causal="bottom-right")
    results = []

    def call():
        for _ in range(20):
            results.append(lookback.attend(q, k, v, causal="bottom-right"))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    for result in results:
        np.testing.assert_array_equal(result, want)


def test_no_memory_is_kept(qkv):
    import tracemalloc

    q, k, v = qkv()
    mask = np.ones((7, 7), bool)
    call = lambda: lookback.attend(  # noqa: E731
        q, k, v, mask=mask, lengths=[3, 4], sinks=[0.0] * 4, causal=[0, 0], return_lse=True
    )
    call()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(500):
        call()
        with pytest.raises(ValueError):
            lookback.attend(q, k, v, lengths=[99, 0])
    assert tracemalloc.get_traced_memory()[0] - before < 50_000
    tracemalloc.stop()


def test_overhead_is_printed(qkv, capsys):
    """The call with nothing to compute, beside the smallest one that computes."""

    def median(call, times=2000):
        spent = []
        for _ in range(times):
            start = time.perf_counter_ns()
            call()
            spent.append(time.perf_counter_ns() - start)
        return sorted(spent)[times // 2] / 1000

    q, k, v = (a[0, 0] for a in qkv(1, 1, 16, 16, 64))
    none = q[:0]
    empty = median(lambda: lookback.attend(none, none, none))
    small = median(lambda: lookback.attend(q, k, v))
    with capsys.disabled():
        print(f"\ncall overhead: n = 0 {empty:.1f} us, n = 16, d = 64 {small:.1f} us")
    assert empty < 1000

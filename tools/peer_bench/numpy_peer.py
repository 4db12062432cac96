"""The reference in the place of a peer: for the test of this program itself."""
import numpy as np

from problem import reference
from ways import Way


class Peer:
    name = "numpy"
    version = np.__version__

    def ways(self, problem, threads):
        found = []

        def call():
            found[:] = [reference(problem)]

        return [("float64", lambda: Way("float64", call, lambda: found[0]))]

"""Hidden probes: the mark of a task, from calls of the submission whose expected values and verdict stay outside its process.

The submission runs in a child, which answers calls with plain data (`grading/child.py`). What is right is worked out here, by Python,
NumPy or finite differences, when the answer has come. So a submission earns a probe by answering rightly, in whatever way it does so.

What cannot be seen from outside stays with the visible tests:

* that a function calls no other of its file, which the compiler of Module 3 could not see;
* that a loop is parallel and a kernel compiled, that no index buffer is made, that a layer computes one matrix product on its own backend;
* that a GPU's threads share the work, each read memory once, write only what is theirs, and meet at barriers outside of any branch;
* tests that students write, which are graded by wrong answers.

`bank.UNSEEN` names the wrong answers that this lets through.
"""

from __future__ import annotations

from course.staff.probes import module0 as module0
from course.staff.probes import module0_modules as module0_modules
from course.staff.probes import module1 as module1
from course.staff.probes import module1_backpropagation as module1_backpropagation
from course.staff.probes import module2 as module2
from course.staff.probes import module2_gradients as module2_gradients
from course.staff.probes import module2_operations as module2_operations
from course.staff.probes import module2_training as module2_training
from course.staff.probes import module3 as module3
from course.staff.probes import module3_cuda as module3_cuda
from course.staff.probes import module4 as module4
from course.staff.probes import module4_functional as module4_functional
from course.staff.probes import module4_networks as module4_networks
from course.staff.probes.check import Outcome, Probe, edges_of, probes_of, run_probes, share, weights_of
from course.staff.probes.compare import FULL, PROFILES, PUBLISHED
from course.staff.probes.remote import Launcher, NoReply, Remote, Running, plain_launcher

__all__ = [
    "FULL",
    "PROFILES",
    "PUBLISHED",
    "Launcher",
    "NoReply",
    "Outcome",
    "Probe",
    "Remote",
    "Running",
    "edges_of",
    "plain_launcher",
    "probes_of",
    "run_probes",
    "share",
    "weights_of",
]

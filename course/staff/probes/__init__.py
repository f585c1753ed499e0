"""Hidden probes: grade a task by calling the submission, with expected values and verdict kept outside its process.

The submission runs in a child process, which answers calls with plain data (`grading/child.py`). The expected value is computed here, with
Python, NumPy or finite differences, after the answer arrives. So a submission passes a probe by returning the right values, however it
computes them.

The visible tests check what cannot be observed from outside:

* that a function calls no other function of its file, which the compiler of Module 3 could not resolve;
* that a loop is parallel and a kernel compiled, that no index buffer is allocated, that a layer computes one matrix product on its backend;
* that GPU threads share the work, read each global element once, write only their own output, and synchronize outside of any branch;
* tests that students write, which are graded by wrong answers.

`bank.UNSEEN` lists the wrong answers that pass the probes.
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
from course.staff.probes import module3_cuda_kernels as module3_cuda_kernels
from course.staff.probes import module4 as module4
from course.staff.probes import module4_functional as module4_functional
from course.staff.probes import module4_networks as module4_networks
from course.staff.probes import module5 as module5
from course.staff.probes import module6 as module6
from course.staff.probes import module6_attention as module6_attention
from course.staff.probes import module6_cuda as module6_cuda
from course.staff.probes import module6_fused as module6_fused
from course.staff.probes import module6_generation as module6_generation
from course.staff.probes import module6_layers as module6_layers
from course.staff.probes import module6_lora as module6_lora
from course.staff.probes import module6_machines as module6_machines
from course.staff.probes import module6_model as module6_model
from course.staff.probes import module6_quantization as module6_quantization
from course.staff.probes import module6_training as module6_training
from course.staff.probes import own_networks as own_networks
from course.staff.probes.check import Outcome, Probe, edges_of, probes_of, run_probes, share, weights_of
from course.staff.probes.compare import FULL, PROFILES, PUBLISHED
from course.staff.probes.remote import ChildProcess, Launcher, NoReply, Remote, plain_launcher

__all__ = [
    "FULL",
    "PROFILES",
    "PUBLISHED",
    "ChildProcess",
    "Launcher",
    "NoReply",
    "Outcome",
    "Probe",
    "Remote",
    "edges_of",
    "plain_launcher",
    "probes_of",
    "run_probes",
    "share",
    "weights_of",
]

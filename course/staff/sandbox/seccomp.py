"""A seccomp filter, which Linux runs before every system call of a sandboxed program."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from dataclasses import dataclass

ALLOW, FAIL, KILL = 0x7FFF0000, 0x00050000, 0x80000000
"""Return values of a filter: allow the call, fail with the error number in the low bits, kill the process."""

LOAD, IS, AT_LEAST, HAS, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
"""BPF instructions: load a word; jump if equal, if greater or equal, if bits are set; return."""

NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in the filter's input; an argument has eight bytes, low word first."""

X32 = 0x40000000
"""On x86_64, calls of the x32 convention have numbers from here on, which the numbers below would not match."""

NAMESPACES = 0x7E020000
"""Flags of clone that create a namespace: mount, cgroup, UTS, IPC, user, PID, network."""

THREAD = 0x00010000
"""The flag of clone for a thread of the same process."""

KEYBOARD = (0x5412, 0x541C)
"""The ioctl requests TIOCSTI and TIOCLINUX, which insert input into the grader's terminal."""

LEASES = (1024, 1026)
"""The fcntl commands F_SETLEASE and F_NOTIFY; a lease delays other processes that open the file."""

CORE = 4
"""RLIMIT_CORE: if a program lowered it from 1 to 0, the machine's crash handler would receive its memory when it crashes."""

CALLS: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "personality": (135, 92),
    "vhangup": (153, 58),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # memory that does not count toward any limit
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "socketpair": (53, 199),
    # objects whose number per user is limited
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    # the network
    "socket": (41, 198),
    # with setsid, a program would get an additional share of CPU time
    "setsid": (112, 157),
}
"""Calls that fail with EPERM, with their numbers on x86_64 and aarch64."""

STRICT_CALLS: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "setpgid": (109, 154),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
"""Further calls that fail where a program shares its user, processes and files with others, because Landlock does not restrict them."""


@dataclass(frozen=True)
class Machine:
    """A processor architecture.

    Attributes:
        code: The kernel's audit code of the architecture.
        column: The index of its numbers in the tables above.
        clone, clone3, ioctl, fcntl, setrlimit, prlimit64: Numbers of calls with checked arguments, or with another error.
    """

    code: int
    column: int
    clone: int
    clone3: int
    ioctl: int
    fcntl: int
    setrlimit: int
    prlimit64: int


MACHINES = {
    "x86_64": Machine(0xC000003E, 0, clone=56, clone3=435, ioctl=16, fcntl=72, setrlimit=160, prlimit64=302),
    "aarch64": Machine(0xC00000B7, 1, clone=220, clone3=435, ioctl=29, fcntl=25, setrlimit=164, prlimit64=261),
}
"""By the name that platform.machine() returns."""


def seccomp_filter(machine: str, strict: bool = False) -> bytes:
    """The filter as a BPF program.

    Args:
        machine: "x86_64" or "aarch64".
        strict: Whether the program may neither start processes nor affect other processes of its user.

    Raises:
        ValueError: If the machine is not supported.
    """
    if machine not in MACHINES:
        raise ValueError(f"the seccomp filter expected {' or '.join(MACHINES)}, got {machine}; grade on one of these")
    cpu = MACHINES[machine]
    calls = CALLS | STRICT_CALLS if strict else CALLS
    steps = [
        _step(LOAD, ARCHITECTURE),
        _step(IS, cpu.code, yes=1),
        _step(ANSWER, KILL),
        _step(LOAD, NUMBER),
    ]
    if machine == "x86_64":
        steps += [_step(AT_LEAST, X32, no=1), _step(ANSWER, KILL)]
    for numbers in calls.values():
        number = numbers[cpu.column]
        if number is not None:
            steps += [_step(IS, number, no=1), _refuse(errno.EPERM)]
    steps += [_step(IS, cpu.clone3, no=1), _refuse(errno.ENOSYS)]  # a filter cannot read its flags; libraries fall back to clone
    clone = [_step(LOAD, ARGUMENTS), _step(HAS, NAMESPACES, no=1), _refuse(errno.EPERM)]
    if strict:
        clone += [_step(HAS, THREAD, yes=1), _refuse(errno.EPERM)]
    steps += _for_call(cpu.clone, clone)
    steps += _for_call(cpu.ioctl, [_step(LOAD, ARGUMENTS + 8), *_refuse_values(KEYBOARD)])
    steps += _for_call(cpu.fcntl, [_step(LOAD, ARGUMENTS + 8), *_refuse_values(LEASES)])
    steps += _for_call(cpu.setrlimit, [_step(LOAD, ARGUMENTS), *_refuse_values([CORE])])
    itself = [_step(LOAD, ARGUMENTS), _step(IS, 0, yes=1), _refuse(errno.EPERM)]
    changes = [  # whether the third argument, a pointer to a new value, is not null
        _step(LOAD, ARGUMENTS + 8),
        _step(IS, CORE, no=5),
        _step(LOAD, ARGUMENTS + 16),
        _step(IS, 0, no=2),
        _step(LOAD, ARGUMENTS + 20),
        _step(IS, 0, yes=1),
        _refuse(errno.EPERM),
    ]
    steps += _for_call(cpu.prlimit64, [*itself, *changes])
    return b"".join([*steps, _step(ANSWER, ALLOW)])


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; after a comparison, `yes` or `no` instructions are skipped."""
    return struct.pack("<HBBI", code, yes, no, value)


def _refuse(error: int) -> bytes:
    """Make the call fail with this error."""
    return _step(ANSWER, FAIL | error)


def _refuse_values(values: Iterable[int]) -> list[bytes]:
    """Make the call fail with EPERM if the loaded word is one of these values."""
    return [step for value in values for step in (_step(IS, value, no=1), _refuse(errno.EPERM))]


def _for_call(number: int, steps: list[bytes]) -> list[bytes]:
    """Instructions for one call, which is allowed if none of them returns."""
    return [_step(IS, number, no=len(steps) + 1), *steps, _step(ANSWER, ALLOW)]

"""Written by `npm run schema` from schemas/: change the files there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Verdict:
    bottleneck: Literal["gpu", "data", "comms", "host", "compute", "unknown"]
    """
    gpu: busy computing; compute: the same without GPU; data: waits for input; comms: exposed transfers; host:
    launching, synchronizing, compiling, Python; unknown: the evidence does not decide
    """
    cause: str
    """short id of what causes it, e.g. num-workers-zero"""
    confidence: float
    label: str
    """the answer in a word or two, e.g. Data-bound, Probably data-bound, Unknown"""
    headline: str
    """what it rests on: one clause, with its figures"""
    details: tuple[str, ...]
    """further sentences, without their full stop"""
    sentence: str
    """label, headline and details, joined"""
    second: Literal["gpu", "data", "comms", "host", "compute", "unknown"] | None
    """a close runner-up; null where the first stands alone"""
    next: tuple[str, ...]
    """what to do next: when the evidence does not decide, what to capture"""


@dataclass(frozen=True)
class ReportJobPhase:
    name: str
    """
    steps, start-up, end (after the last step), checkpoint, evaluation, generation, inference, no_grad, logging, gc,
    compile, or the job's own name
    """
    s: float
    share: float
    """of wall_s; the shares add up to 1"""
    count: int
    """how often"""
    sampled: bool
    """true: measured in recorded steps and scaled to all steps"""


@dataclass(frozen=True)
class ReportJob:
    wall_s: float
    """from the start of the process to its end, or to the last record"""
    phases: tuple[ReportJobPhase, ...]
    """where all of it went, largest first; no time counts twice"""


@dataclass(frozen=True)
class TimeShares:
    """fractions of the step that add up to 1; all 0 where there are no steps"""

    compute: float
    """GPU computing"""
    comms_transfer: float
    """exposed transfers between ranks"""
    comms_wait: float
    """collectives waiting for a late rank"""
    copy: float
    """exposed copies between host and GPU"""
    idle_data: float
    """GPU idle: waiting for the next batch"""
    idle_sync: float
    """GPU idle: the host synchronized with it, then had to catch up"""
    idle_compile: float
    """GPU idle: something is being compiled"""
    idle_comms: float
    """GPU idle: the host waits in a collective"""
    idle_host: float
    """GPU idle: the host does not launch fast enough"""
    idle_other: float
    """GPU idle for no recorded reason"""


@dataclass(frozen=True)
class ReportStepPart:
    name: str
    ms: float
    between: bool
    """it is between training steps, not in them"""


@dataclass(frozen=True)
class ReportIteration:
    optimizer_steps: int
    """in one step; the usual number if it varies"""
    optimizers: int
    backward_passes: int
    """0: not seen"""
    varies: bool
    """steps differ in their number of optimizer steps"""
    rollout: bool
    """it has a stretch in which the model is called without gradients"""
    text: str


@dataclass(frozen=True)
class ReportStep:
    ms: float | None
    """
    step time without the profiler, measured or estimated, including the time between steps; null: no steps were
    recorded
    """
    source: Literal["events", "gpu-timeline", "host"]
    """what ms was measured with"""
    profiled_ms: float | None
    """step time as the profiler recorded it; null without a trace"""
    profiled_time: TimeShares | None
    """
    how profiled_ms divides, if that names another bottleneck than the estimate without the profiler, or the estimate is
    at its limit; else null
    """
    times_ms: tuple[float, ...]
    """
    step times that ms is the mean of, in order: what compare needs; of many steps, means of groups of equal length; if
    unrecorded steps set the pace, means from one recorded step to the next
    """
    corrected: bool
    """true: ms is an estimate, profiled_ms without the profiler's own cost"""
    parts: tuple[ReportStepPart, ...]
    """
    parts of ms with a name: time between training steps (checkpoint, evaluation, logging), and the job's own phases on
    the host
    """
    iteration: ReportIteration | None
    """what one step is, if it is more than one optimizer step after one backward pass; null: it is not, or unknown"""
    whole_window: bool
    """true: no steps were found, and everything here is about the whole recording"""
    count: int
    """number of steps measured"""
    first: int | None
    last: int | None


@dataclass(frozen=True)
class Speedup:
    low: float
    likely: float
    high: float


@dataclass(frozen=True)
class FindingEvidence:
    text: str
    """what was observed, with its figures, one line"""
    value: float | None
    """the main figure of the text, for programs"""
    unit: str | None
    """unit of value, e.g. ms/step"""
    rank: int | None
    step: int | None
    ts_ns: float | None
    """position in the trace: nanoseconds from its first event"""
    dur_ns: float | None


@dataclass(frozen=True)
class FindingFix:
    text: str
    code: str
    """code to paste; may be empty"""


@dataclass(frozen=True)
class FindingFurtherFix:
    text: str
    code: str


@dataclass(frozen=True)
class FindingFurther:
    id: str
    """id of this level, e.g. no-cuda-graphs"""
    title: str
    fix: FindingFurtherFix
    speedup: Speedup
    """of both levels together"""
    saving_ms: float
    """of both levels together, after the fixes listed before"""


@dataclass(frozen=True)
class Finding:
    id: str
    """short id of the fault, e.g. num-workers-zero"""
    rule: str
    """id of the rule, e.g. T4; `whyslow rules T4` explains it"""
    title: str
    cost: Literal["free", "knob", "code", "hardware"]
    """free: a flag; knob: an argument; code: an edit to the loop or model; hardware: a machine"""
    risk: Literal["none", "numerics", "memory", "data"]
    """what the fix may change besides speed"""
    speedup: Speedup | None
    """step time before divided by after; null: the evidence supports no estimate"""
    saving_ms: float | None
    """milliseconds per step that this fix saves after those listed before it; null if speedup is null"""
    confidence: float
    """that the fault is real"""
    ranks: tuple[int, ...]
    evidence: tuple[FindingEvidence, ...]
    fix: FindingFix
    further: FindingFurther | None
    """a larger fix that extends this one, e.g. CUDA graphs after torch.compile; null: none"""
    addresses: Literal["gpu", "data", "comms", "host", "compute", "unknown"] | None
    """the bottleneck it relieves; null: none, e.g. advice on measuring"""


@dataclass(frozen=True)
class ReportHardwareKind:
    kind: Literal["products", "convolutions", "attention", "streaming"]
    precision: str
    """unknown for streaming: elementwise kernels, reductions, copies"""
    ms: float
    """per step"""
    tflops: float
    """10¹² operations per second; 0 for streaming"""
    gbps: float
    """least memory traffic, 10⁹ bytes per second"""
    of_peak: float | None
    """above 1 where caches serve the traffic; null: unknown"""


@dataclass(frozen=True)
class ReportHardwareKernel:
    text: str
    operator: str | None
    kernel: str
    shapes: str
    """of its inputs, or the grid of its launches; empty: not recorded"""
    ms: float
    """per step"""
    calls: float
    """per step"""
    tflops: float | None
    gbps: float | None
    bound: Literal["compute", "memory"] | None
    """what paces it at best"""
    of_limit: float | None
    """of what the device can do at most for it"""


@dataclass(frozen=True)
class ReportHardware:
    """how far the step is from what its GPU can do"""

    device: str | None
    """as the driver names it"""
    peaks: str | None
    """whose peaks are meant, and their source; null: not in the table"""
    text: tuple[str, ...]
    """how far the step is from the hardware: sentences without their full stop"""
    mfu: float | None
    """arithmetic of products, convolutions and attention at the peak, of the step; null: unknown"""
    at_most: float | None
    """how many times faster the same kernels could make the step at the peak, without gaps between them"""
    reachable: float | None
    """the same at the rates that good kernels reach"""
    done: bool
    """neither a fix nor a kernel promises 5%"""
    gaps_ms: float
    """per step, time in which the device has nothing queued"""
    unknown: float
    """of the GPU time, work whose shapes are not known"""
    kinds: tuple[ReportHardwareKind, ...]
    """empty: no shapes were recorded"""
    kernels: tuple[ReportHardwareKernel, ...]
    """the three to look at: what is furthest from its limit; without shapes, what takes most time"""


@dataclass(frozen=True)
class ReportSilent:
    rule: str
    reason: str


@dataclass(frozen=True)
class ReportLine:
    file: str
    line: int
    function: str
    source: str
    """empty if the file could not be read"""
    share: float
    """of the training thread's time, with the libraries that the line calls"""
    samples: int
    calls: tuple[str, ...]
    """library functions that ran there, the most frequent first"""


@dataclass(frozen=True)
class ReportRankClock:
    offset_us: float
    error_us: float


@dataclass(frozen=True)
class ReportRankGpu:
    span_us: float
    compute_us: float
    non_compute_us: float
    idle_us: float
    comm_overlap: float | None
    """part of communication hidden by compute; null: there is none"""


@dataclass(frozen=True)
class ReportRank:
    rank: int
    host: str | None
    coordinates: dict[str, int] | None
    """position in the mesh by axis, e.g. dp"""
    step_ms: float | None
    time: TimeShares
    """fractions of the step that add up to 1; all 0 where there are no steps"""
    clock: ReportRankClock | None
    """relative to the reference rank; null: not comparable"""
    gpu: ReportRankGpu | None
    """
    interval unions over GPU work, as HTA defines them: with two or more steps, work whose launch was recorded before
    the end of the last step; null without GPU work
    """


@dataclass(frozen=True)
class ReportManyRanksAxeLatest:
    value: str
    ranks: int
    late_ms: float
    """mean over its ranks and the steps of heat"""
    time: TimeShares
    """fractions of the step that add up to 1; all 0 where there are no steps"""


@dataclass(frozen=True)
class ReportManyRanksAxe:
    name: str
    """host, or an axis of the mesh, e.g. pp"""
    values: int
    """how many different values"""
    latest: tuple[ReportManyRanksAxeLatest, ...]
    """those whose ranks are latest, at most 16"""


@dataclass(frozen=True)
class ReportManyRanks:
    ranks: int
    """how many were measured"""
    files: int
    """how many were read"""
    groups: int
    """how many process groups have matched collectives"""
    latest_other_ms: tuple[float, ...]
    """for each step of heat: how late the latest rank is that is not listed"""
    axes: tuple[ReportManyRanksAxe, ...]
    """ranks by host and by each axis of the mesh"""


Pattern = Literal["persistent", "spike", "periodic", "rotating", "host", "stage"]


LateCause = Literal["data", "gpu", "host", "compile", "link", "unknown"]


@dataclass(frozen=True)
class ReportStraggler:
    ranks: tuple[int, ...]
    """empty for a rotating imbalance"""
    pattern: Pattern
    cause: LateCause
    cost_ms: float
    """milliseconds per step that the others wait"""
    cost_high_ms: float | None
    """the most that it may cost, if a log does not show how much of the delay is hidden; else null"""
    confidence: float
    sentence: str


IncidentCause = Literal[
    "loader",
    "copies",
    "network",
    "host",
    "compute",
    "garbage-collection",
    "memory",
    "checkpoint",
    "evaluation",
    "logging",
    "compile",
    "gpu-clock",
    "neighbor",
    "threads",
    "more-work",
    "late-rank",
    "unknown",
]


@dataclass(frozen=True)
class Incident:
    schema: Literal["whyslow/incident/1"]
    id: str
    """within its run; a later line with the same id and run replaces an earlier one"""
    run: str | None
    kind: Literal["slower", "growing", "pauses", "behind", "leak", "more-work", "faster"]
    """
    slower, growing (ever slower), pauses, behind (one rank, not yet the job), leak (memory grows), more-work and faster
    (no alarms)
    """
    state: Literal["open", "ended", "restarted"]
    """ended: the pace is back; restarted: the job began anew meanwhile"""
    alarm: bool
    """it costs time, or will"""
    step: int
    """the first step that shows it"""
    time: str | None
    """ISO 8601, UTC; null: the log has no times"""
    detected_step: int
    """when there was enough evidence"""
    detected_time: str | None
    until_step: int | None
    until_time: str | None
    before_ms: float
    """step time of the job before"""
    after_ms: float
    """step time since"""
    change: float
    """0.12: a step takes 12% longer; of a leak: memory grew by this share"""
    ranks: tuple[int, ...]
    """the ranks that changed; empty: all, or no one in particular"""
    cause: IncidentCause
    sentence: str
    evidence: tuple[str, ...]
    """what shows the cause"""
    fix: str | None
    """what to do"""
    rank_hours_per_hour: float | None
    """time that is lost per hour, summed over ranks (on GPUs: GPU-hours); null: none"""
    cost_per_day: float | None
    """what that costs, in the currency of --price; null without a price"""
    traces: tuple[str, ...]
    """profiler windows that were recorded because of it, relative to OUT"""


@dataclass(frozen=True)
class ReportMoneyFinding:
    id: str
    per_day: float


@dataclass(frozen=True)
class ReportMoney:
    per_gpu_hour: float
    gpus: int
    """ranks that were measured: each counts as one GPU"""
    per_day: float
    """all of them, whatever they do"""
    bottleneck_per_day: float | None
    """
    the part of per_day that goes to the bottleneck: waiting for data, for other ranks, for the host; null: it is the
    computing itself, or unknown
    """
    findings: tuple[ReportMoneyFinding, ...]
    """what each fix saves at the same number of steps, after those listed before it; only those with an estimate"""


@dataclass(frozen=True)
class ReportEnergy:
    watts: float
    """all GPUs of the measured ranks together, while they are busy"""
    kwh_per_day: float
    joules_per_step: float | None


@dataclass(frozen=True)
class ReportHeatRow:
    rank: int
    late_ms: tuple[float, ...]
    """own time minus that of the median rank, per step"""


@dataclass(frozen=True)
class ReportHeat:
    steps: tuple[int, ...]
    """steps that all ranks have"""
    rows: tuple[ReportHeatRow, ...]


TimeClass = Literal[
    "compute",
    "comms_transfer",
    "comms_wait",
    "copy",
    "idle_data",
    "idle_sync",
    "idle_compile",
    "idle_comms",
    "idle_host",
    "idle_other",
]


@dataclass(frozen=True)
class ReportPathByRank:
    rank: int
    share: float
    """share of the path on this rank"""
    mostly: TimeClass
    mostly_ms: float
    """per step, of that class"""


@dataclass(frozen=True)
class ReportPath:
    by_class: TimeShares
    """fractions of the step that add up to 1; all 0 where there are no steps"""
    by_rank: tuple[ReportPathByRank, ...]
    """largest share first; ranks not on the path are left out"""
    hops: float
    """changes from one rank to another, per step"""


@dataclass(frozen=True)
class ReportCollectivesGroup:
    name: str
    ranks: tuple[int, ...]
    """members that were captured"""
    size: int | None
    """number of members; null: not recorded"""
    matched: int
    confidence: float
    """that the matched collectives belong together"""
    wait_ms: float
    transfer_ms: float


@dataclass(frozen=True)
class ReportCollectives:
    matched: int
    """collectives found on all captured members"""
    unmatched: int
    wait_ms: float
    """per step, waiting for a late member"""
    transfer_ms: float
    """per step, moving data"""
    groups: tuple[ReportCollectivesGroup, ...]


@dataclass(frozen=True)
class ReportWhatIfCase:
    text: str
    """the change, e.g. without the delay of rank 5"""
    ranks: tuple[int, ...]
    """the ranks concerned; empty: all"""
    saving_ms: float
    """milliseconds saved per step"""


@dataclass(frozen=True)
class ReportWhatIf:
    actual_s: float
    ideal_s: float
    """the same without stragglers, by replay"""
    slowdown: float
    """actual_s / ideal_s"""
    m_w: float | None
    """share of the slowdown that the slowest few workers explain"""
    m_s: float | None
    """share of the slowdown that the last pipeline stage explains"""
    cases: tuple[ReportWhatIfCase, ...]
    """from replaying all ranks; empty if the replay does not reproduce the recorded steps"""


@dataclass(frozen=True)
class ReportRun:
    id: str
    command: str | None
    started: str | None
    """ISO 8601, UTC"""
    ranks: int
    analyzed: bool
    """the report is about this run"""


@dataclass(frozen=True)
class ProblemFirst:
    unit: Literal["byte", "stored-byte", "line", "row"]
    at: float


@dataclass(frozen=True)
class Problem:
    code: str
    """stable id, e.g. truncated-gzip"""
    count: int
    message: str
    """what happened"""
    consequence: str
    """what it means for the figures"""
    first: ProblemFirst | None
    """where it first occurred"""


@dataclass(frozen=True)
class ReportInput:
    path: str
    kind: str
    """kineto, events, dmon, …"""
    rank: int | None
    bytes: float
    """as stored"""
    events: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class HealthProblem:
    code: str
    """stable id, e.g. truncated-gzip"""
    count: int
    message: str
    """what happened"""
    consequence: str
    """what it means for the figures"""
    first: ProblemFirst | None
    """where it first occurred"""
    severity: Literal["note", "warning", "severe"]
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Health:
    grade: Literal["good", "usable", "poor"]
    problems: tuple[HealthProblem, ...]
    """worst first"""


@dataclass(frozen=True)
class ReportTool:
    name: Literal["whyslow"]
    version: str


@dataclass(frozen=True)
class ReportFields:
    """What `whyslow diagnose --json` prints"""

    schema: Literal["whyslow/report/1"]
    verdict: Verdict
    job: ReportJob | None
    """all of the wall time of one process; null: not recorded"""
    step: ReportStep
    time: TimeShares
    """fractions of the step that add up to 1; all 0 where there are no steps"""
    findings: tuple[Finding, ...]
    """in the order to try them"""
    hardware: ReportHardware | None
    """null: no GPU work was recorded"""
    silent: tuple[ReportSilent, ...]
    """rules that did not fire, and why"""
    host_lines: tuple[ReportLine, ...]
    """lines of the job that hold the host, largest share first; empty if not sampled"""
    ranks: tuple[ReportRank, ...]
    """every rank; of more than 256 the odd ones, see many_ranks"""
    many_ranks: ReportManyRanks | None
    """null up to 256 ranks, or with --all; otherwise ranks, heat, inputs and collectives.groups list what stands out"""
    stragglers: tuple[ReportStraggler, ...]
    incidents: tuple[Incident, ...]
    """lasting changes that `whyslow watch` or `run --watch` found while the run went on"""
    money: ReportMoney | None
    """null without --price"""
    energy: ReportEnergy | None
    """from recorded power; null: it is not known of every rank"""
    heat: ReportHeat | None
    """how late each rank is in each step; null for a single rank"""
    critical_path: ReportPath | None
    """what set the pace, followed through all ranks; null for a single rank"""
    collectives: ReportCollectives | None
    """null: no collectives could be matched"""
    what_if: ReportWhatIf | None
    """the run without stragglers; null: it cannot be replayed"""
    runs: tuple[ReportRun, ...]
    """the runs that the files belong to, oldest first; empty if the files do not say"""
    inputs: tuple[ReportInput, ...]
    ignored: tuple[str, ...]
    """files in searched directories that whyslow does not recognize"""
    health: Health
    tool: ReportTool


StepVerdict = Literal["faster", "slower", "same", "cannot-tell"]


@dataclass(frozen=True)
class ComparedStep:
    before_ms: float
    """mean step before, without rare pauses"""
    after_ms: float
    speedup: Speedup
    """time before divided by time after, per step or sample; low and high: the interval"""
    level: float
    """of the interval, e.g. 0.95"""
    per: Literal["step", "sample"]
    """sample: the sides have different batch sizes"""
    more_steps: int | None
    """to record on each side to distinguish this difference from noise; null: more steps do not help"""
    more_runs: int | None
    """runs needed on each side; null: runs are not what is missing"""


@dataclass(frozen=True)
class ComparisonTime:
    class_: TimeClass
    before_ms: float
    after_ms: float


@dataclass(frozen=True)
class ChangedTime:
    name: str
    before_ms: float | None
    """null: the side does not have it"""
    after_ms: float | None
    """null: the side does not have it"""


WorkChange = Literal["new", "gone", "longer", "shorter", "more-often", "less-often", "reshaped"]


@dataclass(frozen=True)
class ChangedWork:
    name: str
    shape: str | None
    """grid of the launches; null: all of them, or none was recorded"""
    change: WorkChange
    """reshaped: on both sides, but with other grids"""
    before_ms: float
    after_ms: float
    before_count: float
    """calls per step"""
    after_count: float


@dataclass(frozen=True)
class ComparisonRank:
    rank: int
    before_ms: float
    after_ms: float


@dataclass(frozen=True)
class ChangedLine:
    name: str
    """file:line, as it is after"""
    before_ms: float | None
    """null: the side does not have it"""
    after_ms: float | None
    """null: the side does not have it"""
    function: str
    source: str
    before_share: float | None
    """of the training thread"""
    after_share: float | None


@dataclass(frozen=True)
class NamedFinding:
    id: str
    rule: str
    title: str
    speedup: Speedup | None
    saving_ms: float | None


@dataclass(frozen=True)
class ComparedFindingsPredicted:
    rule: str
    id: str
    speedup: Speedup
    """predicted gain of fixing it"""
    measured: float | None
    """measured gain of the change; null: several findings are gone at once, see together"""


@dataclass(frozen=True)
class ComparedFindingsTogether:
    predicted: float
    measured: float


@dataclass(frozen=True)
class ComparedFindings:
    gone: tuple[NamedFinding, ...]
    """before only"""
    new: tuple[NamedFinding, ...]
    """after only"""
    predicted: tuple[ComparedFindingsPredicted, ...]
    together: ComparedFindingsTogether | None


@dataclass(frozen=True)
class ComparedSetup:
    name: Literal["device", "torch", "ranks", "batch size", "command"]
    before: str | None
    """null: not recorded"""
    after: str | None


@dataclass(frozen=True)
class ComparedRun:
    label: str
    """as the user named it"""
    step_ms: float
    """mean step"""
    usual_ms: float
    """the same without rare pauses: what is compared"""
    steps: int
    times_ms: tuple[float, ...]
    """of each step, in order; of many steps, means of groups; empty: only the mean is known"""
    source: Literal["measured", "estimated"]
    """estimated: from a trace, without the profiler"""


@dataclass(frozen=True)
class ComparedSide:
    runs: tuple[ComparedRun, ...]
    bottleneck: str


@dataclass(frozen=True)
class HistoryPoint:
    label: str
    time: str | None
    """ISO 8601; null: this run, or not recorded"""
    step_ms: float
    good: bool
    """later runs are compared with it"""


@dataclass(frozen=True)
class HistoryChange:
    at: str
    """label of the first run after it"""
    time: str | None
    before_ms: float
    after_ms: float
    since: int
    """runs since, that one included"""


@dataclass(frozen=True)
class HistoryAnswer:
    runs: int
    """in the file before this one"""
    compared: int
    """the last good runs, which this one was compared with"""
    points: tuple[HistoryPoint, ...]
    """runs on the same set-up, oldest first, this one last; of a long history, the end"""
    change: HistoryChange | None
    """the last lasting change of the step time; null: none"""


@dataclass(frozen=True)
class ComparisonTool:
    name: Literal["whyslow"]
    version: str


@dataclass(frozen=True)
class ComparisonFields:
    schema: Literal["whyslow/compare/1"]
    verdict: StepVerdict
    """faster, slower: the interval excludes no difference; same: it is within 3%"""
    sentence: str
    """the answer for a person"""
    step: ComparedStep
    time: tuple[ComparisonTime, ...]
    """classes of time, per step"""
    phases: tuple[ChangedTime, ...]
    """phases of event logs, and time between steps"""
    kernels: tuple[ChangedWork, ...]
    """largest change first; only what matters to the step"""
    operators: tuple[ChangedWork, ...]
    """host calls, by their own time under the profiler"""
    ranks: tuple[ComparisonRank, ...]
    """ranks that both sides have; empty: a single rank"""
    host_lines: tuple[ChangedLine, ...]
    """lines of the job, by how long they hold the training thread"""
    findings: ComparedFindings
    setup: tuple[ComparedSetup, ...]
    """what each side ran on, as far as it is known"""
    notes: tuple[str, ...]
    """what else differs between the sides, and what the answer rests on"""
    before: ComparedSide
    after: ComparedSide
    history: HistoryAnswer | None
    """null: no --history"""
    tool: ComparisonTool

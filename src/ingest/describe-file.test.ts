import { describe, expect, it } from 'vitest';
import { describeFile } from './describe-file.js';

const said = (content: string | readonly number[], path = 'a.json') =>
  describeFile(typeof content === 'string' ? Buffer.from(content) : Uint8Array.from(content), path);
const pickle = (text: string) => [0x80, 4, 0x95, ...Buffer.from(text)];

describe('a file that no reader knows', () => {
  it.each([
    ['empty', said(''), /^it is empty$/],
    ['a login page', said('\n<!DOCTYPE html><html>'), /web page/],
    ['a Git LFS pointer', said('version https://git-lfs.github.com/spec/v1\noid'), /git lfs pull/],
    ['an Nsight Systems recording', said([1, 2, 3], 'runs/report.nsys-rep'), /nsys export --type sqlite/],
    ['one in an archive', said([1, 2, 3], 'a.tar!b/report.qdrep'), /nsys export --type sqlite/],
    ['an Nsight Compute report', said([1, 2, 3], 'k.ncu-rep'), /ncu --import/],
    ['an nvprof profile', said([1, 2, 3], 'a.nvvp'), /nvprof.*nsys profile/],
    ['an XProf profile', said([1, 2, 3], 'host.xplane.pb'), /XProf.*torch\.profiler/],
    ['a table of rocprof', said('"Index","KernelName","gpu-id"\n'), /rocprof.*torch\.profiler/],
    ['a table of rocprofv3', said('"Kind","Agent_Id","Queue_Id"\n'), /rocprof.*torch\.profiler/],
    ['JSON of rocprofv3', said('{"rocprofiler-sdk-tool": ['), /rocprofv3.*torch\.profiler/],
    [
      'the page of a memory timeline',
      said('<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title>'),
      /memory timeline \(export_memory_timeline\).*torch\.profiler/,
    ],
    [
      'the JSON of a memory timeline',
      said('[[1704161511420306, 1704161511420307, 5, 6], [['),
      /memory timeline/,
    ],
    ['the raw events of a memory timeline', said('[[1704161511420306, 0, 512, 4], [17'), /memory timeline/],
    [
      'a table of flight recorders',
      said('failed to fetch from 1 of 8\n\n=== FR Trace ===\n--- Groups ---\n  id  desc    size\n'),
      /empty recorders.*nccl_trace_rank/,
    ],
    [
      'the status of NCCL’s RAS',
      said('Job summary\n===========\n\n  Nodes  Processes         GPUs\n(total)   per node  per process\n'),
      /differs between versions of NCCL.*ncclras -f json.*whyslow triage --stacks/,
    ],
    ['what nvprof prints', said('==77== NVPROF is profiling process 77'), /nvprof.*nsys profile/],
    ['a table of Nsight Compute', said('"ID","Process ID","Process Name"\n'), /Nsight Compute/],
    ['a table of nsys stats', said('Time (%),Total Time (ns),Instances\n'), /nsys stats.*nsys export/],
    [
      'a trace table of nsys stats',
      said('Start (ns),Duration (ns),CorrId,GrdX\n'),
      /nsys stats.*nsys export/,
    ],
    ['a table of Ascend', said('Step Id,Model ID,Task ID,Stream ID,Name\n'), /Ascend.*trace_view\.json/],
    ['another table of Ascend', said('Step,Type,Index,Computing,Free\n'), /Ascend.*trace_view\.json/],
    ['a profile of cProfile', said([0xfb, 0xa9, 3, 0xfa, 1]), /cProfile.*torch\.profiler/],
    ['a profile of cProfile without flags', said([0x7b, 0x28, 3, 0, 0]), /cProfile/],
    ['JSON that begins like marshal', said('{(\n'), /^it begins with/],
    ['a table of TensorFlow', said([0, 1, 2, 0], 'host.overview_page.pb'), /XProf.*torch\.profiler/],
    ['a Chakra trace', said([0, 1, 2, 0], 'a.tar!b/chakra.0.et'), /Chakra.*timeline/],
    ['a pprof profile', said([0x1f, 0x8b, 0, 0], 'cpu.pb.gz'), /pprof/],
    [
      'a Proton profile',
      said('[{"children": [], "frame": {"name": "ROOT"}, "metrics": {}}'),
      /Proton.*torch\.pro/,
    ],
    ['a TensorBoard log', said([0, 0, 9], 'runs/events.out.tfevents.17.host'), /TensorBoard/],
    [
      'JSON',
      said('{"loss": 1, "step": 2, "a": {"b": 3}, "c": 1'),
      /^it is JSON .* keys "loss", "step", "a"$/,
    ],
    ['JSON without keys', said('[1, 2]'), /^it begins with "\[1, 2\]"$/],
    ['XML', said('<?xml version="1.0"?><a/>'), /^it is XML; pass/],
    ['a memory snapshot', said(pickle('}(segments]}(device'), 'memory.pickle'), /memory_viz/],
    ['another pickle', said(pickle('}(x'), 'a.pkl'), /run any code/],
    ['a table of key_averages', said('----------  -------\n  Name  Self CPU %\n'), /pass the trace itself/],
    ['binary', said([0, 1, 2, 0, 1, 2]), /^it is binary$/],
    ['text', said('trial_name\n1\n'), /^it begins with "trial_name"$/],
    ['text with quotes', said('"a": 1'), /^it begins with "a": 1$/],
  ])('%s', (_, text, expected) => expect(text).toMatch(expected));
});

import { Exchange } from './exchange.js';
import { planFaults } from './faults.js';
import type { Job } from './job.js';
import { Machine } from './machine.js';
import type { Fault } from './options.js';
import { train } from './training-loop.js';

/** Runs all ranks to the end. Each runs until it needs a collective that others have not reached yet. */
export function play(job: Job, fault: Fault | null, record: boolean) {
  const { settings, layout, work } = job;
  const faults = planFaults(settings, layout, work, fault);
  const exchange = new Exchange(settings, faults);
  const machines = Array.from({ length: settings.ranks }, (_, rank) => new Machine(rank, exchange, record));
  exchange.ready.push(...machines.map((m) => train(m, job)));
  let done = 0;
  for (let program = exchange.ready.pop(); program; program = exchange.ready.pop()) {
    const { value: awaited } = program.next();
    if (!awaited) done++;
    else if (Number.isNaN(awaited.end)) awaited.waiting.push(program);
    else exchange.ready.push(program);
  }
  if (done < machines.length) throw new Error(`${machines.length - done} ranks wait for each other`);
  for (const m of machines) m.finish();
  return { machines, exchange, faults };
}

export type Played = ReturnType<typeof play>;

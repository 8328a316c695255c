import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { type AlertForJob, tellJob } from '../../launch/tell-job.js';
import type { Incident } from '../../model/incident.js';

const ANSWER_MS = 10_000;
const COMMAND_MS = 60_000;

export type Tracker = AlertForJob['to'];
export const TRACKERS: readonly Tracker[] = ['wandb', 'mlflow'];

/** What a webhook gets. Slack and Mattermost show `text`; other receivers have the incident as data. */
export const messageFor = (incident: Incident, out: string) => ({
  text: [
    `whyslow: ${incident.sentence}`,
    ...incident.evidence.slice(0, 2),
    ...(incident.fix ? [`→ ${incident.fix}`] : []),
    out,
  ].join('\n'),
  out,
  host: hostname(),
  incident,
});

/** POSTs each incident as JSON. False: it was not taken; a receiver that says the message is wrong is not asked again. */
export const webhook =
  (url: string, out: string) =>
  async (incident: Incident): Promise<boolean> => {
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(messageFor(incident, out)),
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      await answer.body?.cancel();
      return answer.ok || (answer.status >= 400 && answer.status < 500 && answer.status !== 429);
    } catch {
      return false;
    }
  };

/** Rank 0 polls once per second, in very large jobs every few seconds. */
const TAKEN_MS = 30_000;

/** Sends each incident to the run that the job itself has at W&B or MLflow. False: the job did not take it. */
export const tracker =
  (to: Tracker, out: string) =>
  ({ id, kind, sentence, evidence, fix, step }: Incident): Promise<boolean> => {
    const text = [sentence, ...evidence.slice(0, 2), ...(fix ? [fix] : [])].join('\n');
    return tellJob(
      out,
      { to, incident: id, title: `whyslow: ${kind} since step ${step}`, text, step },
      TAKEN_MS,
    );
  };

/** Runs a shell command for each incident: the incident on its standard input, its main fields as variables. */
export const command =
  (line: string, out: string) =>
  (incident: Incident): Promise<boolean> =>
    new Promise((resolve) => {
      const child = spawn(line, {
        shell: true,
        stdio: ['pipe', 'ignore', 'ignore'],
        env: {
          ...process.env,
          WHYSLOW_INCIDENT: incident.id,
          WHYSLOW_INCIDENT_CAUSE: incident.cause,
          WHYSLOW_INCIDENT_TEXT: incident.sentence,
          WHYSLOW_INCIDENT_OUT: out,
        },
        // With a group of its own, all that it starts can be ended.
        detached: true,
      });
      const end = setTimeout(() => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
        } catch {
          // It has ended meanwhile.
        }
      }, COMMAND_MS);
      // What it does is its own matter: it is not run twice.
      const done = () => {
        clearTimeout(end);
        resolve(true);
      };
      child.once('error', done).once('exit', done);
      child.stdin.on('error', () => {});
      child.stdin.end(`${JSON.stringify(incident)}\n`);
    });

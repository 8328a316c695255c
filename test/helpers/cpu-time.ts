/** What this process has computed, in ms: unlike time on a clock it does not grow while others have the processor. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

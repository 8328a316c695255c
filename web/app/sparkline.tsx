interface SparklineProps {
  readonly name: string;
  readonly values: Float32Array;
  /** The lowest and the highest value in words. */
  readonly range: (low: number, high: number) => string;
  /** What the top of the chart stands for. */
  readonly top: number;
  /** What its bottom stands for; 0 unless given. */
  readonly bottom?: number;
}

const WIDTH = 240;
const HEIGHT = 44;

/** A line over the whole recording, with its mean and its ends in words. */
export function Sparkline({ name, values, range, top, bottom = 0 }: SparklineProps) {
  const known = values.filter((v) => !Number.isNaN(v));
  if (known.length < 2) return null;
  const [low, high] = known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [known[0]!, known[0]!]);
  const x = (i: number) => (i * WIDTH) / (values.length - 1);
  const height = Math.max(top, high) - bottom || 1;
  const y = (v: number) => HEIGHT - 2 - ((HEIGHT - 4) * (v - bottom)) / height;
  // A gap in the recording is a gap in the line.
  const path = Array.from(values, (v, i) =>
    Number.isNaN(v)
      ? ''
      : `${i === 0 || Number.isNaN(values[i - 1]!) ? 'M' : 'L'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`,
  ).join('');
  const ends = range(low, high);
  return (
    <figure class="sparkline">
      <figcaption>
        {name} <span class="muted number">{ends}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${ends}`}
      >
        <path d={path} />
      </svg>
    </figure>
  );
}

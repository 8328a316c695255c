import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { NO_STEP, sampleFinding, sampleReport, shares } from '../../test/helpers/sample-reports.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import { CARD_COLORS, renderCard } from './card.js';

describe('the card of a report in notebooks', () => {
  it('has the verdict, the step bar with its parts, and the first fixes with gain and code', () => {
    const report = sampleReport({ findings: [sampleFinding()] });
    const card = renderCard(report);
    expect(card).toContain(`${report.verdict.label}: ${report.verdict.headline}`);
    expect(card).toContain('num_workers=0 loads every batch on the main thread</b> (T4)');
    expect(card).toContain('×8.1–11');
    expect(card).toContain('DataLoader(..., num_workers=8');
    const widths = [...card.matchAll(/width:([\d.]+)%/g)].map(([, width]) => Number(width));
    expect(widths.reduce((sum, width) => sum + width, 0)).toBeCloseTo(100, 0);
    expect([...widths].sort((a, b) => b - a)).toEqual(widths);
  });

  it('escapes what comes from the recording', () => {
    const evil = '<img src=x onerror="alert(1)">';
    const report = sampleReport({
      findings: [sampleFinding({ title: evil, fix: { text: evil, code: evil } })],
    });
    const named = { ...report.verdict, headline: evil, details: [evil], next: [evil] };
    const step = { ...report.step, parts: [{ name: evil, ms: 10, between: true }] };
    expect(renderCard({ ...report, verdict: named, step } as never)).not.toContain('<img');
  });

  it('shows three fixes and how many more there are', () => {
    const findings = [1, 2, 3, 4, 5].map((n) => sampleFinding({ title: `fault ${n}` }));
    const card = renderCard(sampleReport({ findings }));
    expect(card.match(/<li>/g)).toHaveLength(3);
    expect(card).toContain('2 more on the full page');
  });

  it('has no bar without steps', () => {
    const card = renderCard(sampleReport({ step: NO_STEP, time: shares({}), findings: [] }));
    expect(card).not.toMatch(/width:[\d.]+%|NaN|undefined|null/);
  });

  it("has the page's colors", () => {
    const css = readFileSync(new URL('../../web/app/theme.css', import.meta.url), 'utf8');
    for (const name of TIME_CLASSES)
      expect(css).toContain(`--c-${name.replace('_', '-')}: ${CARD_COLORS[name]};`);
  });
});

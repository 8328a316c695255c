import { formatMs } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { SLOWER } from '../../run/collectives/bandwidth.js';
import { timeEvidence } from '../kit/evidence.js';
import { type AnyRule, found, silent, threshold } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  servesToo: true,
  unpriced: 'allowed',
  info: {
    id: 'slow-link',
    alias: 'W5',
    title: 'One group’s transfers are slower than those of its siblings',
    needs: 'ranks',
    looksFor:
      'All members of a group arrive together, and the transfer takes longer than that of sibling groups with the same kind and size of collective.',
    why: 'A degraded link, a NIC that fell back, or a cable sets the pace of every group that crosses it.',
    ...about('test-links'),
    thresholds: [
      threshold(
        'slower than siblings',
        SLOWER,
        'times',
        'transfers of healthy siblings differ by a few per cent',
      ),
    ],
  },
  check(view, run) {
    const own = run.across?.links.filter((l) => l.ranks[0] === view.rank) ?? [];
    if (own.length === 0) return silent('no group’s transfers stand out');
    return found(
      ...own.map((link) => {
        const hosts = link.hosts.length > 0 ? `; hosts ${link.hosts.slice(0, 4).join(', ')}` : '';
        const text = `${link.kind} of ${link.group} (ranks ${link.ranks.slice(0, 8).join(', ')}): ${link.gbps.toFixed(1)} GB/s, siblings ${link.usualGbps.toFixed(1)} GB/s, ${formatMs(link.cost)} per step${hosts}`;
        return {
          id: `slow-link-${link.group.slice(0, 40)}` as const,
          title: `transfers of group ${link.group} are slow`,
          confidence: 0.75,
          addresses: 'comms' as const,
          evidence: [timeEvidence(view, link.cost, text)],
          price: null,
        };
      }),
    );
  },
};

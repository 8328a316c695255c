// The list of everything in the packages that others wrote, as CycloneDX 1.6. Its source are the notices that the build writes.

/** @returns {{name: string, version: string, license: string}[]} */
export const componentsOf = (notices) =>
  notices
    .split(/^-{80}$/m)
    .slice(1)
    .map((part) => /^(\S+) (\S+) \((.+)\)$/m.exec(part))
    .map(([, name, version, license]) => ({ name, version, license }));

export function sbomOf({ name, version, license, components, time }) {
  const component = (it) => ({
    type: 'library',
    'bom-ref': purl(it),
    name: it.name,
    version: it.version,
    purl: purl(it),
    licenses: [{ license: { id: it.license } }],
  });
  const own = `pkg:npm/${name}@${version}`;
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: time,
      component: {
        type: 'application',
        'bom-ref': own,
        name,
        version,
        purl: own,
        licenses: [{ license: { id: license } }],
      },
    },
    components: components.map(component),
    dependencies: [{ ref: own, dependsOn: components.map(purl) }],
  };
}

const purl = ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

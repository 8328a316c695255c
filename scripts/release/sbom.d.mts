export interface Component {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

export function componentsOf(notices: string): Component[];
export function sbomOf(about: Component & { components: readonly Component[]; time: string }): {
  components: { 'bom-ref': string; purl: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

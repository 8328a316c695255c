import type { Component } from './sbom.mjs';

export function wrongInNpm(paths: readonly string[], bytes: number): string[];
export function wrongInWheel(
  paths: readonly string[],
  bytes: number,
  metadata: string,
  version: string,
): string[];
export function wrongLicenses(components: readonly Component[]): string[];
export function wrongInChangelog(text: string, version: string): string[];

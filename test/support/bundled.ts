import { bundlesOfSources, synthesise } from '../../infra/local/synth.ts'

/** Makes bundles and templates before hosts in several processes want them at once. */
export default async function setup(): Promise<void> {
  await Promise.all([synthesise({ legacySignatures: false }), bundlesOfSources()])
}

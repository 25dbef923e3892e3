import type { ProveOptions } from '../../../infra/command/prove/tools.ts'

/** The options of `cloud-auth prove --json`, without a place and without a release. */
export const proveOptions: ProveOptions = {
  region: undefined,
  peerRegion: undefined,
  eksCluster: undefined,
  profile: undefined,
  release: undefined,
  limit: undefined,
  subnet: undefined,
  isDry: false,
  isCleanup: false,
  keeps: false,
  isResume: false,
  json: true,
  showsAccount: false,
  words: [],
}

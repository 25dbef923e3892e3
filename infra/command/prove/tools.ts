import type { ApiConnection, CommandEnvironment } from '../connection.ts'
import type { openProveAccount } from './account.ts'

/** Options of `cloud-auth prove`. */
export interface ProveOptions {
  region: string | undefined
  /** the other region of a run in two regions */
  peerRegion: string | undefined
  /** name of an EKS cluster from which a pod logs in */
  eksCluster: string | undefined
  profile: string | undefined
  release: string | undefined
  limit: string | undefined
  subnet: string | undefined
  isDry: boolean
  isCleanup: boolean
  /** whether the stacks stay after the probes */
  keeps: boolean
  /** whether the probes of a kept run are repeated */
  isResume: boolean
  json: boolean
  showsAccount: boolean
  /** the run to clean up or to resume */
  words: readonly string[]
}

export interface ProveTools {
  environment: CommandEnvironment
  connection: ApiConnection
  print(text: string): void
  say(text: string): void
  confirm(question: string): Promise<boolean>
  /** calls a function at each SIGINT, SIGTERM and SIGHUP, in place of the process's end */
  onSignal(called: (signal: string) => void): void
  open: typeof openProveAccount
  /** returns the address at which the base URL of an API is reached */
  reach(address: string): string
  /** returns the address at which the other cluster reaches an API */
  linkTo(address: string): string
}

import { parseJson } from '../../../shared/values/json.ts'
import { readTextFile } from '../os/cluster-file.ts'

/** Address and control token of a provider in another process. */
export interface ReachedProvider {
  url: string
  control_token: string
}

/** The content of `aws.json`, written by the process of a directory's provider. */
export interface ProviderNote extends ReachedProvider {
  pid: number
}

/** Exit code of a provider whose directory is locked by another process. */
export const LOCKED_EXIT_CODE = 75

/**
 * Reads the note of the provider that runs or ran in a directory. Returns undefined if no provider has run in
 * the directory.
 */
export const readProviderNote = (directory: string): ProviderNote | undefined =>
  parseJson(readTextFile(`${directory}/aws.json`) ?? '') as ProviderNote | undefined

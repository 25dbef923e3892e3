import { parseJson } from '../../../shared/values/json.ts'
import { textOf } from '../os/cluster-file.ts'

/** How a provider in another process is reached. */
export interface ReachedProvider {
  url: string
  control_token: string
}

/** What the process of a directory's provider says of itself: `aws.json`. */
export interface ProviderNote extends ReachedProvider {
  pid: number
}

/** The code with which a provider ends whose directory another process has. */
export const TAKEN = 75

/** What the present provider of a directory has noted, or an earlier one; undefined: there was none. */
export const providerNote = (directory: string): ProviderNote | undefined =>
  parseJson(textOf(`${directory}/aws.json`) ?? '') as ProviderNote | undefined

import { isObject } from '../../../shared/values/json.ts'
import { escapeToOneLine } from '../output.ts'
import type { ProveCloud } from './cloud.ts'
import { PROBE_ROLES } from './probe-stack.ts'

/** The observation of a probe. */
export interface Seen {
  /** undefined: the run saw nothing that decides */
  held: boolean | undefined
  note: string
  measured?: Record<string, string>
}

/** Number of logins of a probe. */
export const LOGINS = 20
const MOST_NOTE = 300

/** Returns a value below which a part of the values is. */
export const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN

export const listOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isObject) : []

const isServed = (login: Record<string, unknown>): boolean =>
  login['status'] === 200 && login['token'] === true

/** Describes the result of the code that logs in. @param caller for example `a Lambda function` */
export function describeLogins(result: unknown, caller: string, platform: string): Seen {
  const logins = listOf(isObject(result) ? result['logins'] : undefined)
  const served = logins.filter(isServed)
  const times = served.map(one => Number(one['ms'])).sort((a, b) => a - b)
  const refusal = logins.find(one => !isServed(one))
  const why =
    refusal === undefined
      ? ''
      : `; one answer was ${escapeToOneLine(JSON.stringify(refusal).slice(0, MOST_NOTE))}`
  return {
    held: served.length === LOGINS,
    note: `${served.length} of ${LOGINS} iam logins of ${caller} got a token${why}`,
    ...(times.length === 0
      ? {}
      : {
          measured: {
            [`iam login from ${platform}, first`]: `${Number(logins[0]?.['ms'])} ms`,
            [`iam login from ${platform}, median`]: `${quantile(times, 0.5)} ms`,
            [`iam login from ${platform}, slowest`]: `${times.at(-1)} ms`,
          },
        }),
  }
}

/** The probe function, and the cluster to which it logs in. */
interface ProbeFunction {
  cloud: ProveCloud
  probeFunction: string
  /** base URL of the cluster */
  address: string
}

/** Logs in to an address from the probe function. */
export async function logInFromFunction({ cloud, probeFunction, address }: ProbeFunction): Promise<Seen> {
  const event = { address, role: PROBE_ROLES.iam, times: LOGINS }
  return describeLogins(await cloud.invokeFunction(probeFunction, event), 'a Lambda function', 'Lambda')
}

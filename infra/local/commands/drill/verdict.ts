import type { Disaster, Rehearsed } from './drill.ts'

/** What a whole drill has seen. */
export interface Drilled {
  there: Rehearsed
  back: Rehearsed
  disaster: Disaster
}

/** The result as `--json` prints it; times in milliseconds. */
export interface DrillResult {
  verdict: 'passed' | 'failed'
  /** why it failed, a sentence each */
  faults: readonly string[]
  /** as far as it came */
  parts: readonly {
    part: string
    nobody_served_ms: number
    primaries_at_once: number
    logins: number
    lost: number
    /** of a disaster: logins that the report of the former primary names */
    reported?: number
  }[]
}

const NAMES = {
  there: 'Planned switch, east to west',
  back: 'Planned switch, west to east',
  disaster: 'Disaster: east is cut off, and west promoted by force',
} as const

type Seen = Rehearsed & Partial<Disaster>

/** Judges a drill. @param fault what broke it off */
export function judged(drilled: Partial<Drilled>, fault?: string): DrillResult {
  const seen = Object.entries(NAMES).flatMap(([name, part]): [string, Seen][] => {
    const one: Seen | undefined = drilled[name as keyof Drilled]
    return one ? [[part, one]] : []
  })
  const faults = seen.flatMap(([part, one]) => faultsOf(one).map(text => `${part}: ${text}`))
  if (fault !== undefined) faults.unshift(fault)
  const parts = seen.map(([part, { longestGap, mostAtOnce, logins, lost, reported }]) => ({
    part,
    nobody_served_ms: longestGap,
    primaries_at_once: mostAtOnce,
    logins,
    lost: lost.length,
    ...(reported && { reported: reported.length }),
  }))
  return { verdict: faults.length === 0 ? 'passed' : 'failed', faults, parts }
}

function faultsOf({ mostAtOnce, logins, lost, reported }: Seen): string[] {
  const unnamed = lost.filter(one => !reported?.includes(one)).length
  return [
    ...(mostAtOnce > 1 ? [`${mostAtOnce} primaries served at once`] : []),
    ...(logins === 0 ? ['no workload could log in, so nothing is shown'] : []),
    ...(!reported && lost.length > 0 ? [`${lost.length} acknowledged logins were lost`] : []),
    ...(reported && unnamed > 0 ? [`${unnamed} of ${lost.length} lost logins are in no report`] : []),
  ]
}

/** The result as people read it; the last line is the verdict. */
export function described({ verdict, faults, parts }: DrillResult): string {
  const told = parts.map(({ part, nobody_served_ms, primaries_at_once, logins, lost, reported }) =>
    [
      part,
      `  nobody served for   ${nobody_served_ms} ms at most`,
      `  primaries at once   ${primaries_at_once} at most`,
      `  logins meanwhile    ${logins}`,
      `  logins lost         ${lost}${reported === undefined ? '' : `; the report names ${reported}`}`,
      '',
    ].join('\n'),
  )
  const last =
    verdict === 'passed'
      ? 'PASSED: nothing was lost but what the report names'
      : `FAILED: ${faults.join('; ')}`
  return [...told, last].join('\n')
}

import type { PlayedPart } from './drill.ts'

/** The result of a drill as `--json` prints it. Times are in milliseconds. */
export interface DrillResult {
  verdict: 'passed' | 'failed'
  /** faults of the drill, one sentence each */
  faults: readonly string[]
  /** the parts of the drill that were played */
  parts: readonly {
    part: string
    nobody_served_ms: number
    primaries_at_once: number
    logins: number
    lost: number
    /** number of lost logins in the former primary's report; absent without a disaster */
    reported?: number
  }[]
}

/** Judges a drill by the parts that were played. @param fault the error that stopped the drill */
export function judgeDrill(played: readonly PlayedPart[], fault?: string): DrillResult {
  const faults = played.flatMap(one => faultsOf(one).map(text => `${one.part}: ${text}`))
  if (fault !== undefined) faults.unshift(fault)
  const parts = played.map(({ part, longestGap, mostAtOnce, logins, lost, reported }) => ({
    part,
    nobody_served_ms: longestGap,
    primaries_at_once: mostAtOnce,
    logins,
    lost: lost.length,
    ...(reported && { reported: reported.length }),
  }))
  return { verdict: faults.length === 0 ? 'passed' : 'failed', faults, parts }
}

function faultsOf({ mostAtOnce, logins, lost, reported }: PlayedPart): string[] {
  const unnamed = lost.filter(one => !reported?.includes(one)).length
  return [
    ...(mostAtOnce > 1 ? [`${mostAtOnce} primaries served at once`] : []),
    ...(logins === 0 ? ['no workload could log in, so the drill proves nothing'] : []),
    ...(!reported && lost.length > 0 ? [`${lost.length} acknowledged logins were lost`] : []),
    ...(reported && unnamed > 0
      ? [`${unnamed} of ${lost.length} lost logins are missing from the report`]
      : []),
  ]
}

/** Formats the result of a drill for people. The last line is the verdict. */
export function formatDrill({ verdict, faults, parts }: DrillResult): string {
  const told = parts.map(({ part, nobody_served_ms, primaries_at_once, logins, lost, reported }) =>
    [
      part,
      `  no cluster served   ${nobody_served_ms} ms at most`,
      `  primaries at once   ${primaries_at_once} at most`,
      `  logins meanwhile    ${logins}`,
      `  logins lost         ${lost}${reported === undefined ? '' : `; the report names ${reported}`}`,
      '',
    ].join('\n'),
  )
  const last =
    verdict === 'passed'
      ? 'PASSED: no login was lost except those in the report'
      : `FAILED: ${faults.join('; ')}`
  return [...told, last].join('\n')
}

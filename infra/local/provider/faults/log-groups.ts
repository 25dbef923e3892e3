/** One line in a log group. */
export interface KeptLogEvent {
  stream: string
  /** Milliseconds since 1970, as the sender gave it. */
  timestamp: number
  message: string
}

/** The name of a log group. */
export interface LogGroupName {
  account: string
  region: string
  group: string
}

/** By account, region and group, then by stream. */
export type LogGroups = Map<string, Map<string, KeptLogEvent[]>>

/** Returns the streams of a log group. A log group is created when a call first names it. */
export function logStreamsOf(
  groups: LogGroups,
  { account, region, group }: LogGroupName,
): Map<string, KeptLogEvent[]> {
  const key = `${account}/${region}/${group}`
  const streams = groups.get(key) ?? new Map<string, KeptLogEvent[]>()
  groups.set(key, streams)
  return streams
}

import type { CommonAlarm } from '../../../infra/watching/alarms.ts'
import { metricNamespace, toEmbeddedMetrics } from '../../../shared/watching/metrics.ts'
import { type CloudWatch, cloudWatch } from '../service/cloud-watch.ts'
import type { ClusterSet } from './set.ts'

/** The namespace of metrics in the templates of tests. */
export const TEST_NAMESPACE = metricNamespace('local')

const MINUTE_MS = 60_000
const PULL_MS = 700

/** Lets an imitated CloudWatch read the logs of each cluster. Each cluster has a CloudWatch of its own. */
export async function watchedSet(set: ClusterSet) {
  const watching = new Map<string, CloudWatch>()
  const seen = new Map<string, { told: number; audited: number }>()
  for (const { name } of set.members) watching.set(name, await cloudWatch())
  const at = (name: string): CloudWatch => {
    const found = watching.get(name)
    if (!found) throw new Error(`nobody watches ${name}`)
    return found
  }
  /** Reads the lines that functions have printed and the entries of the audit log, since the last call. */
  function readLogs(name: string): void {
    const { told, audited } = set.at(name)
    const from = seen.get(name) ?? { told: 0, audited: 0 }
    const now = set.clock.now()
    for (const { level, message, fields, measures, at: then } of told.slice(from.told)) {
      const line = { level: level.toUpperCase(), message, ...(fields as object) }
      const text = JSON.stringify({ ...line, ...toEmbeddedMetrics(measures, TEST_NAMESPACE, then) })
      // CloudWatch has its own clock, so lines of a cluster with a fast clock count as present
      at(name).event(text, Math.min(then, now))
    }
    for (const message of audited.slice(from.audited))
      at(name).event(JSON.stringify({ level: 'INFO', message }), now)
    seen.set(name, { told: told.length, audited: audited.length })
  }
  return {
    at,
    isOn: (name: string, alarm: CommonAlarm): boolean => {
      readLogs(name)
      return at(name).isOn(alarm, set.clock.now())
    },
    /** returns the alarms that are on */
    on: (name: string): CommonAlarm[] => {
      readLogs(name)
      return at(name).on(set.clock.now())
    },
    /** runs the scheduled work of some minutes on all clusters */
    minutes: async (count: number): Promise<void> => {
      for (let minute = 0; minute < count; minute++) {
        set.pass(MINUTE_MS)
        // heartbeats come every ten seconds, so the last heartbeat is recent at the end of the minute
        for (const one of set.members) await quietly(one.pull(PULL_MS, { source: 'aws.events' }))
        for (const one of set.members) await quietly(one.minute({ hashes: true }))
        for (const { name } of set.members) readLogs(name)
      }
    },
    /** runs work, and counts the function as failed if the work throws, as Lambda does */
    reported: async (name: string, work: () => Promise<unknown>): Promise<void> => {
      const status = await work().then(
        () => 'success',
        () => 'error',
      )
      const event = { type: 'platform.report', record: { requestId: 'r', status } }
      at(name).event(JSON.stringify(event), set.clock.now())
    },
  }
}

const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined)

import * as v from 'valibot'
import { instanceOfArn } from '../../identity-proof/aws-claims.ts'
import { type ClusterRecord, isActiveRecord, isCopyOfPrimary } from '../../model/cluster.ts'
import { failed, ok, type Result } from '../../values/result.ts'

/** The end of an instance, as EC2 reports it in an event. */
export interface EndedInstance {
  /** 12 digits: the account whose EC2 sent the event. AWS writes it, so an account cannot send an event for another account */
  account: string
  id: string
}

const stateChange = v.object({
  source: v.literal('aws.ec2'),
  'detail-type': v.literal('EC2 Instance State-change Notification'),
  account: v.pipe(v.string(), v.regex(/^\d{12}$/)),
  resources: v.optional(v.array(v.string()), []),
  detail: v.object({
    'instance-id': v.pipe(v.string(), v.regex(/^i-[0-9a-f]{8,17}$/)),
    state: v.picklist(['shutting-down', 'terminated']),
  }),
})

/**
 * Reads an event about the end of an instance.
 * @returns `no-end`: the event reports another change. `other-account`: the event is forged, because it names an instance
 * of an account that did not send it
 */
export function readInstanceEvent(event: unknown): Result<EndedInstance, 'no-end' | 'other-account'> {
  const read = v.safeParse(stateChange, event)
  if (!read.success) return failed('no-end')
  const { account, resources, detail } = read.output
  const isForeign = resources.some(arn => (instanceOfArn(arn)?.account ?? account) !== account)
  return isForeign ? failed('other-account') : ok({ account, id: detail['instance-id'] })
}

/**
 * Decides what a cluster does with an event. `drop`: the primary gets the event too, because each account forwards
 * its events to all clusters. A cluster that does its first sync has no tokens yet. `repeat`: the cluster may become the
 * primary, so Lambda delivers the event again.
 */
export function chooseEventFate(
  record: ClusterRecord | undefined,
  deployment: { home: string },
): 'record' | 'drop' | 'repeat' {
  if (!record || isCopyOfPrimary(record, deployment)) return 'drop'
  if (isActiveRecord(record)) return 'record'
  return record.mode === 'secondary' && record.operation !== undefined ? 'repeat' : 'drop'
}

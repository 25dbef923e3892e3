import { expect } from 'vitest'
import type { Reply } from '../service/api.ts'
import { aws, eventually } from '../service/cluster.ts'

/** A call to AWS, with the parts that distinguish it from calls of other tests. */
interface HeldCall {
  service: 'ec2' | 'iam' | 'sts'
  action: string
  account: string
}

/**
 * Sends a request, makes a change while the request's first AWS call of this kind waits for its answer, and
 * returns the reply. @throws when the request ends before the change
 */
export async function whileHeld(
  held: HeldCall,
  send: () => Promise<Reply>,
  change: () => Promise<unknown>,
): Promise<Reply> {
  const { id } = await aws.fault({ ...held, kind: 'hold', times: 1 })
  let answered = false
  const reply = send().finally(() => {
    answered = true
  })
  await eventually(async () => (await aws.held({ id })).calls === 1)
  await change()
  expect(answered, 'the request has ended before the change').toBe(false)
  await aws.release({ id })
  return reply
}

import { observeMember } from './ask.ts'
import { classifyMember, decideDeployOrder, type MemberState } from './order.ts'
import type { MemberPlan, PairPlan } from './settings.ts'

/** Ports of a deployment. */
export interface PairDeployPorts {
  say(text: string): void
  /**
   * deploys the stacks of a cluster and returns when the deployment is complete. @throws if the deployment
   * fails
   */
  deploy(member: MemberPlan): Promise<void>
  wait(ms: number): Promise<void>
}

/** Milliseconds between two observations of a deployed cluster, and the number of observations. */
const STACK_LOOK_PAUSE_MS = 5000
const LOOKS = 60

/** Observes a cluster until it is back in its earlier state. @throws if the cluster does not return to that state */
async function waitUntilRestored(
  member: MemberPlan,
  before: MemberState,
  { say, wait }: PairDeployPorts,
): Promise<void> {
  const { name } = member
  let standing: MemberState = 'absent'
  for (let looks = 0; looks < LOOKS; looks += 1) {
    standing = classifyMember(await observeMember(member))
    if (standing === before) return say(`${name} is ${standing}, as before`)
    await wait(STACK_LOOK_PAUSE_MS)
  }
  throw new Error(
    `${name} was ${before} and is ${standing} after its deployment. The deployment has stopped. Repair ${name}, or deploy the previous version`,
  )
}

/**
 * Deploys both clusters of a pair, the primary last. A cluster that answered before must return to its earlier state
 * before the other is deployed.
 * @param anyway see `decideDeployOrder`
 * @throws Error if the order is refused, or a cluster does not return to its state
 */
export async function deployPair(pair: PairPlan, anyway: boolean, around: PairDeployPorts): Promise<void> {
  const { say, deploy } = around
  const see = async (member: MemberPlan) => {
    const standing = classifyMember(await observeMember(member))
    return { name: member.name, member, standing }
  }
  const seen = await Promise.all([see(pair[0]), see(pair[1])])
  for (const { name, standing } of seen) say(`${name} is ${standing}`)
  const decided = decideDeployOrder(seen, anyway)
  if ('refused' in decided) throw new Error(`nothing was deployed: ${decided.refused}`)
  say(`deploying ${decided.order.map(({ name }) => name).join(', then ')}: ${decided.why}`)
  for (const { member, standing } of decided.order) {
    await deploy(member)
    // a cluster that was absent may not have a DNS name yet
    if (standing !== 'absent') await waitUntilRestored(member, standing, around)
  }
}

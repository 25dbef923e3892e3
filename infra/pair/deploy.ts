import { lookAtMember } from './ask.ts'
import { type MemberStanding, memberStandingOf, orderOf } from './order.ts'
import type { MemberPlan, PairPlan } from './settings.ts'

/** What surrounds a deployment. */
export interface DeploySurroundings {
  say(text: string): void
  /** deploys the stacks of a cluster, and ends when they stand. @throws where they do not */
  deploy(member: MemberPlan): Promise<void>
  wait(ms: number): Promise<void>
}

/** Milliseconds between two looks at a cluster that was deployed, and how often it is looked at. */
const PAUSE_MS = 5000
const LOOKS = 60

/** Looks until a cluster is what it was. @throws when it does not become so */
async function comesBack(
  member: MemberPlan,
  before: MemberStanding,
  { say, wait }: DeploySurroundings,
): Promise<void> {
  const { name } = member
  let standing: MemberStanding = 'absent'
  for (let looks = 0; looks < LOOKS; looks += 1) {
    standing = memberStandingOf(await lookAtMember(member))
    if (standing === before) return say(`${name} is ${standing}, as before`)
    await wait(PAUSE_MS)
  }
  throw new Error(
    `${name} was ${before}, and is ${standing} after its deployment: nothing else was deployed. Mend it, or deploy the version before`,
  )
}

/**
 * Deploys both clusters of a pair, the primary last; whoever answered before has to be what it was before the other's
 * turn comes.
 * @param anyway as `orderOf` takes it
 * @throws Error when the order is refused, and when a cluster does not come back
 */
export async function deployPair(pair: PairPlan, anyway: boolean, around: DeploySurroundings): Promise<void> {
  const { say, deploy } = around
  const see = async (member: MemberPlan) => {
    const standing = memberStandingOf(await lookAtMember(member))
    return { name: member.name, member, standing }
  }
  const seen = await Promise.all([see(pair[0]), see(pair[1])])
  for (const { name, standing } of seen) say(`${name} is ${standing}`)
  const decided = orderOf(seen, anyway)
  if ('refused' in decided) throw new Error(`nothing was deployed: ${decided.refused}`)
  say(`deploying ${decided.order.map(({ name }) => name).join(', then ')}: ${decided.why}`)
  for (const { member, standing } of decided.order) {
    await deploy(member)
    // its name may lead nowhere yet
    if (standing !== 'absent') await comesBack(member, standing, around)
  }
}

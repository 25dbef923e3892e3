import { lookAtNamed, type NamedCluster } from '../command/set/look.ts'
import type { MemberPlan } from './settings.ts'

/** Time limit of an answer: changes of role take the longest. */
export const memberConnection = { timeoutMs: 60_000 }

type Member = Pick<MemberPlan, 'name' | 'address'>
export const namedMember = ({ name, address }: Member): NamedCluster => ({ name, base: `${address}/v1` })
export const lookAtMember = (member: Member) => lookAtNamed(namedMember(member), memberConnection)
